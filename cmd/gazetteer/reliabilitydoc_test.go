package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReliabilityTable checks that each page of what bad input meets has its rows once, each names
// a test, and every test that it names exists.
func TestReliabilityTable(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
	tests := map[string]string{} // sources, by folder
	for _, c := range []struct {
		page string
		rows func(n int) bool
	}{
		{"docs/reliability.md", func(n int) bool { return n <= 18 || n >= 48 }},
		{"crawler/testdata/hostile.md", func(n int) bool { return n <= 47 || n >= 74 && n <= 81 }},
	} {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(c.page)))
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		for n := 1; n <= 140; n++ {
			row := fmt.Sprintf("\n| R%03d |", n)
			if c.rows(n) && strings.Count(page, row) != 1 {
				t.Errorf("%s: %s stands there %d times", c.page, strings.TrimSpace(row), strings.Count(page, row))
			}
		}
		before := ""
		for line := range strings.Lines(page) {
			named := name.FindAllStringSubmatch(line, -1)
			// The first line of a table says what its columns are.
			if strings.HasPrefix(line, "| ") && strings.HasPrefix(before, "|") && len(named) == 0 {
				t.Errorf("%s: no test is named: %s", c.page, line)
			}
			before = line
			for _, m := range named {
				if tests[m[1]] == "" {
					tests[m[1]] = testsIn(t, m[1])
				}
				if !strings.Contains(tests[m[1]], "\nfunc "+m[2]+"(") {
					t.Errorf("%s: there is no test %s in %s", c.page, m[2], m[1])
				}
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
