package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/server"
)

// TestCommandGroups checks that the help shows every command in a group, and that every group names
// commands that exist.
func TestCommandGroups(t *testing.T) {
	root := newRoot(cli.Streams{}, server.Environment{})
	named := map[string]bool{}
	for _, g := range commandGroups {
		for name := range strings.FieldsSeq(g.commands) {
			if named[name] {
				t.Errorf("%s has two groups", name)
			}
			named[name] = true
		}
	}
	for _, c := range root.Commands() {
		if !named[c.Name()] && c.Name() != "version" {
			t.Errorf("%s has no group", c.Name())
		}
		delete(named, c.Name())
	}
	if len(named) != 0 {
		t.Errorf("groups name commands that do not exist: %v", named)
	}
	if help := root.UsageString(); !strings.Contains(help, "Run a server:\n  backup ") {
		t.Errorf("the help is\n%s", help)
	}
}

// TestHelpWidth checks that no line of a help is wider than a terminal of 100 columns.
func TestHelpWidth(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot(cli.Streams{}, server.Environment{}))
}
