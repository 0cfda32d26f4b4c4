package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

// TestMain makes this test binary the program itself: the scripts run it as
// "gazlint", with the small internet in the place of the real one.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gazlint": func() { os.Exit(testProgram()) }})
}

func testProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitInternal
	}
	defer internet.Close()
	o := fetch.Options{Dial: internet.Dial(nil), Roots: internet.Roots()}
	return runCommand(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, o)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GITHUB_STEP_SUMMARY", "") // the tests may run under GitHub themselves
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"noescapes": noEscapes, "exits": exits},
	})
}

// exits runs a command and wants one exit code: exits 3 gazlint validate x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if e, ok := err.(*exec.ExitError); ok {
		code = fmt.Sprint(e.ExitCode())
	} else {
		ts.Check(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// noEscapes fails when a file (or stdout, stderr) has a byte that a terminal
// could take for a command.
func noEscapes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noescapes FILE")
	}
	for i, r := range ts.ReadFile(args[0]) {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			ts.Fatalf("%s: %U at byte %d", filepath.Base(args[0]), r, i)
		}
	}
}

// The program that service owners install has no server, index, store or
// crawler in it. Of the index it has the tables of words, by which diff tells
// whether two descriptions mean the same, and of the inner packages four
// small ones, of which only nearest has an import, the distance of two words.
func TestStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("go list names only %d packages", len(deps))
	}
	for _, dep := range deps {
		if slices.Contains([]string{"gazetteer/index/translate", "gazetteer/index/wordvec", "gazetteer/internal/nearest", "gazetteer/internal/psl", "gazetteer/internal/version", "gazetteer/internal/wait"}, dep) {
			continue
		}
		for _, heavy := range []string{"github.com/gin-gonic/gin", "github.com/blevesearch", "go.etcd.io/bbolt", "github.com/gocolly/colly",
			"github.com/danielgtaylor/huma", "gazetteer/api", "gazetteer/web", "gazetteer/crawler", "gazetteer/index", "gazetteer/store", "gazetteer/internal"} {
			if dep == heavy || strings.HasPrefix(dep, heavy+"/") {
				t.Errorf("gazlint reaches %s", dep)
			}
		}
	}
}
