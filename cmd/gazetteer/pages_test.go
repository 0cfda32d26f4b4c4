package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestPageLinks checks that each link between pages of the documentation leads to a file and, if it
// has an anchor, to a heading there.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	links := 0
	for name, text := range readPages(t) {
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") || strings.HasPrefix(file, "/") {
				continue // an address, or an example of a document
			}
			links++
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			content, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr != nil {
				t.Errorf("%s leads to nothing: %s", name, m[1])
			} else if anchor != "" && (info.IsDir() || err != nil || !slices.Contains(anchorsOf(string(content), 1), anchor)) {
				t.Errorf("%s leads to a heading that does not exist: %s", name, m[1])
			}
		}
	}
	if links < 200 {
		t.Errorf("only %d links were found", links)
	}
}

// TestPageContents checks that each page with more than 150 lines begins with its contents, which
// name each section once, and that no page has contents with a single entry.
func TestPageContents(t *testing.T) {
	t.Parallel()
	for name, text := range readPages(t) {
		if filepath.Base(filepath.Dir(name)) != "docs" {
			continue
		}
		head, _, _ := strings.Cut(text, "\n## ")
		var listed []string
		for _, m := range pageLink.FindAllStringSubmatch(head, -1) {
			if anchor, ok := strings.CutPrefix(m[1], "#"); ok {
				listed = append(listed, anchor)
			}
		}
		sections := anchorsOf(text, 2)
		if len(listed) == 1 {
			t.Errorf("%s: contents with one entry lead a reader nowhere", name)
		}
		if strings.Count(text, "\n") > 150 && !slices.Equal(listed, sections) {
			t.Errorf("%s: the contents are %q, the sections %q", name, listed, sections)
		}
	}
}

// readPages returns the pages for readers of the repository, without their blocks of code, by file.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "web/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no pages, %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages[name] = fencedBlock.ReplaceAllString(string(text), "")
		}
	}
	return pages
}

// anchorsOf returns the anchors that GitHub gives to the headings of a page; those of the level, or
// of all levels if it is 1.
func anchorsOf(text string, level int) []string {
	var out []string
	for _, m := range pageHeading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		if level == 1 || len(m[1]) == level {
			heading := strings.ToLower(strings.TrimSpace(m[2]))
			out = append(out, strings.ReplaceAll(notInAnchor.ReplaceAllString(heading, ""), " ", "-"))
		}
	}
	return out
}
