package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"gazetteer/fetch"
	"gazetteer/lint/format"
)

// page is the documentation that these tests hold against the program.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the blocks of code of one language.
func blocks(page, language string) (out []string) {
	parts := strings.Split(page, "\n```")
	for i := 1; i < len(parts); i += 2 {
		if name, code, _ := strings.Cut(parts[i], "\n"); name == language {
			out = append(out, code)
		}
	}
	return out
}

// TestPageCommands checks that the program accepts every command line of the page, and that the
// page has every flag.
func TestPageCommands(t *testing.T) {
	text := page(t)
	root := newRoot(streams{}, fetch.Options{})
	lines := 0
	for _, block := range append(blocks(text, ""), blocks(text, "yaml")...) {
		for line := range strings.Lines(block) {
			line = strings.TrimLeft(strings.TrimSpace(line), "-$ ")
			line, isCommand := strings.CutPrefix(strings.TrimPrefix(line, "./"), "gazlint ")
			if !isCommand {
				continue
			}
			lines++
			line, _, _ = strings.Cut(line, "  ") // what it does stands behind it
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " < ")
			command, rest, err := newRoot(streams{}, fetch.Options{}).Find(strings.Fields(line))
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil || !command.HasParent() {
				t.Errorf("gazlint %s: %v", line, err)
			}
		}
	}
	if lines < 15 {
		t.Errorf("the page has only %d command lines", lines)
	}

	known := map[string]bool{}
	for _, command := range root.Commands() {
		if !slices.Contains([]string{"validate", "diff", "convert", "init"}, command.Name()) {
			continue
		}
		command.Flags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			if !strings.Contains(text, "--"+f.Name) && !(f.Shorthand != "" && strings.Contains(text, "-"+f.Shorthand+" ")) {
				t.Errorf("%s --%s is not on the page", command.Name(), f.Name)
			}
		})
	}
	for _, m := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !known[m[1]] {
			t.Errorf("the page speaks of --%s, which there is not", m[1])
		}
	}
	for _, name := range format.Names() {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("the format %s is not on the page", name)
		}
	}
}

// TestPageTranscript checks that the program gives the answers that the page shows.
func TestPageTranscript(t *testing.T) {
	text := page(t)
	t.Chdir("testdata/docs")
	shown := 0
	for _, block := range blocks(text, "") {
		command, want, found := strings.Cut(strings.TrimPrefix(block, "$ gazlint "), "\n")
		if !found || !strings.HasPrefix(block, "$ gazlint ") {
			continue
		}
		shown++
		var out, complaints bytes.Buffer
		code := runCommand(t.Context(), strings.Fields(command), streams{strings.NewReader(""), &out, &complaints}, fetch.Options{})
		if got := strings.TrimRight(out.String(), "\n"); code != 1 || got != want || complaints.Len() > 0 {
			t.Errorf("gazlint %s: exit code %d, %s\n%s\nthe page says\n%s", command, code, complaints.String(), got, want)
		}
	}
	if shown == 0 {
		t.Error("the page shows no answer")
	}
}

// The recipes are what their readers can read, and name what exists.
func TestPageRecipes(t *testing.T) {
	text := page(t)
	var a action
	load(t, "action.yml", &a)
	var hooks []hook
	load(t, ".pre-commit-hooks.yaml", &hooks)
	inputs, ids := 0, 0
	for _, block := range blocks(text, "yaml") {
		var recipe struct {
			Repos []struct {
				Hooks []struct{ ID string }
			}
			Jobs map[string]struct {
				Steps []struct{ With map[string]string }
			}
		}
		if err := yaml.Unmarshal([]byte(block), &recipe); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
		for _, r := range recipe.Repos {
			for _, h := range r.Hooks {
				ids++
				if !slices.ContainsFunc(hooks, func(known hook) bool { return known.ID == h.ID }) {
					t.Errorf("there is no hook %s", h.ID)
				}
			}
		}
		for _, j := range recipe.Jobs {
			for _, s := range j.Steps {
				for name := range s.With {
					inputs++
					if _, ok := a.Inputs[name]; !ok {
						t.Errorf("the action has no input %s", name)
					}
				}
			}
		}
	}
	if inputs == 0 || ids == 0 {
		t.Errorf("%d inputs of the action and %d hooks are named", inputs, ids)
	}
	settings := blocks(text, "json")
	if len(settings) == 0 {
		t.Error("no settings of an editor")
	}
	for _, block := range settings {
		if !json.Valid([]byte(block)) {
			t.Errorf("not JSON:\n%s", block)
		}
	}
	// The schemas that it names are those that the drafts' packages hold.
	for _, m := range regexp.MustCompile(`/schemas/([a-z0-9.-]+\.json)`).FindAllStringSubmatch(text, -1) {
		if files, err := filepath.Glob("../../protocol/*/" + m[1]); err != nil || len(files) != 1 {
			t.Errorf("there is no schema %s: %v, %v", m[1], files, err)
		}
	}
}
