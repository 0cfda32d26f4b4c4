package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReliabilityTable: docs/reliability.md has every row once, each names a test,
// and every test that it names exists.
func TestReliabilityTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 66; n <= 117; n++ {
		row := fmt.Sprintf("\n| R%03d |", n)
		if ours := n <= 73 || n >= 84 && n <= 98 || n >= 106; ours && strings.Count(string(page), row) != 1 {
			t.Errorf("%s stands there %d times", strings.TrimSpace(row), strings.Count(string(page), row))
		}
	}
	name := regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
	tests := map[string]string{} // sources, by folder
	for line := range strings.Lines(string(page)) {
		named := name.FindAllStringSubmatch(line, -1)
		if cells := strings.HasPrefix(line, "| ") && !strings.Contains(line, "shown by |"); cells && len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range named {
			if tests[m[1]] == "" {
				tests[m[1]] = testsIn(t, m[1])
			}
			if !strings.Contains(tests[m[1]], "\nfunc "+m[2]+"(") {
				t.Errorf("there is no test %s in %s", m[2], m[1])
			}
		}
	}
}

// testsIn is the source of the tests in a folder.
func testsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
