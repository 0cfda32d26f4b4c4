package need

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// maySkip are the files that skip a test for another reason than something
// missing, with that reason.
var maySkip = map[string]string{
	"internal/need/need.go": "the one place",
}

// TestTestsSkipThroughNeedOnly keeps the gate honest: a test that lacks something says
// so by Missing, which the gate turns into a failure.
func TestTestsSkipThroughNeedOnly(t *testing.T) {
	skips := regexp.MustCompile(`\b(t|tb|b|f)\.Skip(f|Now)?\(`)
	seen := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !skips.Match(text) {
			return err
		}
		name, err := filepath.Rel("../..", path)
		if seen[filepath.ToSlash(name)] = true; maySkip[filepath.ToSlash(name)] == "" {
			t.Errorf("%s skips a test by itself: use need.Missing, or give the reason in maySkip", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range maySkip {
		if !seen[name] {
			t.Errorf("maySkip names %s, which skips nothing", name)
		}
	}
}

// ended replaces a test and records how it was ended.
type ended struct {
	testing.TB
	failed, skipped bool
}

func (*ended) Helper()                 {}
func (e *ended) Fatalf(string, ...any) { e.failed = true }
func (e *ended) Skipf(string, ...any)  { e.skipped = true }

func TestMissing(t *testing.T) {
	for value, failed := range map[string]bool{"1": true, "": false} {
		t.Setenv(All, value)
		e := &ended{TB: t}
		if Program(e, "there-is-no-such-program"); e.failed != failed || e.skipped == failed {
			t.Errorf("%s=%q: failed %v, skipped %v", All, value, e.failed, e.skipped)
		}
	}
	e := &ended{TB: t}
	if path := Program(e, "there-is-no-such-program", "go"); path == "" || e.failed || e.skipped {
		t.Errorf("go: %q, %+v", path, e)
	}
}
