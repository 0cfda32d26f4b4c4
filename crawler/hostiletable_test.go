package crawler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of hostile servers has every row, and every test that it names exists.
func TestHostileTable(t *testing.T) {
	table, err := os.ReadFile("testdata/hostile.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 81; n++ {
		row := fmt.Sprintf("| R%03d |", n)
		if crawls := n <= 47 || n >= 74; crawls && strings.Count(string(table), row) != 1 {
			t.Errorf("%s stands in the table %d times", row, strings.Count(string(table), row))
		}
	}
	sources := map[string]string{}
	named := 0
	for _, m := range regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`").FindAllStringSubmatch(string(table), -1) {
		named++
		dir, test := m[1], m[2]
		if _, read := sources[dir]; !read {
			sources[dir] = testsOf(t, dir)
		}
		if !strings.Contains(sources[dir], "\nfunc "+test+"(") {
			t.Errorf("there is no test %s in %s", test, dir)
		}
	}
	if named < 100 {
		t.Errorf("the table names %d tests", named)
	}
	for _, line := range strings.Split(string(table), "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| row") && !strings.HasPrefix(line, "| what is done") && !strings.Contains(line, "`") {
			t.Errorf("no test is named: %s", line)
		}
	}
}

// testsOf is the source of the tests of a package.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("there are no tests in %s: %v", dir, err)
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
