package main

import (
	"strings"
	"testing"

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
