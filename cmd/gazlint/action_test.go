package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"gazetteer/fetch"
	"gazetteer/internal/need"
)

// action is action.yml as far as these tests read it.
type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description string
		Default     *string
	}
	Runs struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, If, Uses, Shell, Run string
	With, Env                  map[string]string
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithKnownFields())
	if err != nil {
		t.Fatal(err)
	}
	if err := loader.Load(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

var expression = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)

// TestActionDocumentsEveryInput checks that every input exists and is used, and that none becomes
// part of a script.
func TestActionDocumentsEveryInput(t *testing.T) {
	var a action
	load(t, "action.yml", &a)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) < 3 {
		t.Fatalf("not a composite action: %+v", a)
	}
	used := map[string]bool{}
	note := func(text string) {
		for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if _, ok := a.Inputs[m[1]]; !ok {
				t.Errorf("there is no input %s", m[1])
			}
		}
	}
	for _, s := range a.Runs.Steps {
		if s.Name == "" || (s.Run == "") == (s.Uses == "") || s.Run != "" && s.Shell == "" {
			t.Errorf("step %q: want a name and either uses, or run and shell", s.Name)
		}
		if s.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w/-]+@v[0-9]+$`).MatchString(s.Uses) {
			t.Errorf("step %q uses %q without a version", s.Name, s.Uses)
		}
		if expression.MatchString(s.Run) {
			t.Errorf("step %q puts an expression into its script", s.Name)
		}
		note(s.If)
		for _, values := range []map[string]string{s.With, s.Env} {
			for _, v := range values {
				note(v)
			}
		}
	}
	for name, in := range a.Inputs {
		if in.Description == "" || in.Default == nil {
			t.Errorf("input %s has no description or no default", name)
		}
		if !used[name] {
			t.Errorf("input %s is not used", name)
		}
	}
}

// The steps run as GitHub would run them, with this checkout as the action.
func TestActionRuns(t *testing.T) {
	need.Time(t, "it builds the program")
	bash := need.Program(t, "bash")
	var a action
	load(t, "action.yml", &a)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	temp, work := t.TempDir(), t.TempDir()
	good := `{"aiendpoint":"1.0","service":{"name":"Notes","description":"Keeps notes"},"capabilities":[{"id":"list_notes","description":"Lists notes","endpoint":"/notes","method":"GET","returns":"notes[]"}],"auth":{"type":"apikey","header":"X-API-Key"}}`
	for name, text := range map[string]string{"good.json": good, "a bad one.json": strings.Replace(good, "GET", "FETCH", 1)} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, inputs map[string]string) (code int, out string) {
		t.Helper()
		i := slices.IndexFunc(a.Runs.Steps, func(s step) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("no step %q", name)
		}
		s := a.Runs.Steps[i]
		c := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		c.Dir = work
		c.Env = os.Environ() // with the flags of this test, which the packages are compiled with already
		for variable, value := range s.Env {
			value = expression.ReplaceAllStringFunc(value, func(e string) string {
				switch name := expression.FindStringSubmatch(e)[1]; name {
				case "github.action_path":
					return root
				case "runner.temp":
					return temp
				default:
					in := strings.TrimPrefix(name, "inputs.")
					if v, given := inputs[in]; given {
						return v
					}
					return *a.Inputs[in].Default
				}
			})
			c.Env = append(c.Env, variable+"="+value)
		}
		c.Env = append(c.Env, "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary.md"))
		text, err := c.CombinedOutput()
		if _, failed := err.(*exec.ExitError); err != nil && !failed {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(text)
	}

	if code, out := run("Install gazlint", nil); code != 0 {
		t.Fatalf("install: %d\n%s", code, out)
	}
	if code, out := run("Check", map[string]string{"files": "good.json\n"}); code != 0 {
		t.Errorf("a good document: %d\n%s", code, out)
	}
	code, out := run("Check", map[string]string{"files": "good.json\n\na bad one.json\n"})
	if code != 1 || !strings.Contains(out, "::error file=a bad one.json,line=1") {
		t.Errorf("a bad document: %d\n%s", code, out)
	}
	if page, err := os.ReadFile(filepath.Join(temp, "summary.md")); err != nil || !strings.Contains(string(page), "AI418") {
		t.Errorf("the summary: %v\n%s", err, page)
	}
	if code, out := run("Check", map[string]string{"files": "$(touch hacked)\n--fix"}); code != 3 {
		t.Errorf("names of no files: %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(work, "hacked")); err == nil {
		t.Error("an input became a command")
	}
	if code, out := run("Write SARIF", map[string]string{"files": ".", "sarif": "out.sarif"}); code != 0 {
		t.Errorf("SARIF: %d\n%s", code, out)
	}
	if log, err := os.ReadFile(filepath.Join(work, "out.sarif")); err != nil || !bytes.Contains(log, []byte(`"ruleId": "AI418"`)) {
		t.Errorf("SARIF: %v\n%s", err, log)
	}
}

// hook is a row of .pre-commit-hooks.yaml.
type hook struct {
	ID, Name, Description, Entry, Language, Files string
	RequireSerial                                 bool `yaml:"require_serial"`
}

func TestPreCommitHooks(t *testing.T) {
	var hooks []hook
	load(t, ".pre-commit-hooks.yaml", &hooks)
	if len(hooks) == 0 {
		t.Fatal("no hooks")
	}
	for _, h := range hooks {
		if h.ID == "" || h.Name == "" || h.Description == "" || h.Language != "golang" || !h.RequireSerial {
			t.Errorf("hook %+v", h)
		}
		// pre-commit adds the names of the files to the entry.
		args := append(strings.Fields(h.Entry)[1:], "testdata/ai.json")
		if strings.Fields(h.Entry)[0] != "gazlint" {
			t.Errorf("%s: the entry is %q", h.ID, h.Entry)
		}
		command, rest, err := newRoot(streams{}, fetch.Options{}).Find(args)
		if err != nil || command.ParseFlags(rest) != nil {
			t.Errorf("%s: %q is no command line of gazlint: %v", h.ID, h.Entry, err)
		}
		files, err := regexp.Compile(h.Files)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{
			"ai.json": true, "public/ai.json": true, ".well-known/ai": true, "site/.well-known/agis.json": true,
			"agis.yaml": true, "docs/agis.yml": true, "agis.json": true, "tables.agis": true, "tables.agis.yaml": true, "x/tables.agis.json": true,
			"openai.json": false, "package.json": false, "notagis.yaml": false, "well-known/ai": false, "ai.json.bak": false, "ai.yaml": false,
		} {
			if files.MatchString(name) != want {
				t.Errorf("%s: %s matches: %t", h.ID, name, !want)
			}
		}
	}
}
