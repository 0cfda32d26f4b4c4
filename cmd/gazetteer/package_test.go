package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/internal/need"
)

// TestPackage packs this program as .ci/package packs one that it has built, and runs what it
// unpacks in a bare directory.
func TestPackage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "tar", "gzip", "sha256sum"} {
		need.Program(t, program)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	runIn := func(dir string, environment []string, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = dir, environment
		var complaints bytes.Buffer
		c.Stderr = &complaints
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", c, err, out, &complaints)
		}
		return string(out)
	}
	built, out := t.TempDir(), t.TempDir()
	programs := filepath.Join(built, "linux-amd64")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(programs, "gazlint"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(programs, "gazetteer")); err != nil {
		t.Fatal(err)
	}
	runIn("../..", append(os.Environ(), "BUILT="+built, "OUT="+out, "VERSION=v1.2.3", "SOURCE_DATE_EPOCH=1767312000", "LEVEL=1"), ".ci/package", "linux/amd64")
	const name = "gazetteer-1.2.3-linux-amd64"

	bare := t.TempDir()
	environment := []string{"PATH=/usr/bin:/bin", "HOME=" + bare}
	runIn(out, environment, "sha256sum", "--check", "--strict", "SHA256SUMS")
	var list []string
	times := map[string]bool{}
	for line := range strings.Lines(runIn(out, environment, "tar", "--full-time", "--utc", "--numeric-owner", "-tvzf", name+".tar.gz")) {
		fields := strings.Fields(line) // mode, owner, size, date, time, name
		if len(fields) != 6 || fields[1] != "0/0" {
			t.Fatalf("the archive has the entry %q", line)
		}
		list = append(list, strings.TrimSuffix(fields[5], "/"))
		times[fields[3]+fields[4]] = true
	}
	// Nothing of the machine that packs is in the archive, so that others get the same bytes.
	if !slices.IsSortedFunc(list, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }) || len(times) != 1 || !times["2026-01-0200:00:00"] {
		t.Errorf("the archive is in the order %q, with the times %v", list, times)
	}
	for _, file := range []string{"gazetteer", "gazlint", "gazetteer.service", "alerts.yml", "config.toml", "README.md", "CHANGELOG.md", "LICENSE", "LICENSES-OF-DEPENDENCIES", "docs/operating.md"} {
		if !slices.Contains(list, name+"/"+file) {
			t.Errorf("the archive has no %s: %q", file, list)
		}
	}
	runIn(out, environment, "tar", "-xzf", name+".tar.gz", "-C", bare)
	unpacked := filepath.Join(bare, name)
	if text := runIn(unpacked, environment, "./gazetteer", "version"); !strings.HasPrefix(text, "gazetteer ") {
		t.Errorf("version: %s", text)
	}
	// The configuration of the archive is valid: the program reads it.
	if text := runIn(unpacked, environment, "sh", "-c", "./gazetteer --config config.toml --set listen=127.0.0.1:1 services 2>&1; test $? = 4"); !strings.Contains(text, "there is no data in the directory data") {
		t.Errorf("services: %s", text)
	}
	checkLinksOfPages(t, unpacked)
	licenses, err := os.ReadFile(filepath.Join(unpacked, "LICENSES-OF-DEPENDENCIES"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"github.com/spf13/cobra", "go.etcd.io/bbolt", "github.com/gin-gonic/gin"} {
		if !bytes.Contains(licenses, []byte("\n"+module+" v")) || !bytes.Contains(modules, []byte(module)) {
			t.Errorf("the archive has no license of %s", module)
		}
	}
	unit, err := os.ReadFile(filepath.Join(unpacked, "gazetteer.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Type=notify", "RestartSec=2", "RestartPreventExitStatus=2", "ExecStart=/usr/local/bin/gazetteer serve --config /etc/gazetteer/config.toml --data-dir /var/lib/gazetteer/data", "StartLimitIntervalSec=0"} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("gazetteer.service has no line %q", line)
		}
	}
}

// checkLinksOfPages checks that each relative link of a Markdown page below dir leads to a file there.
func checkLinksOfPages(t *testing.T, dir string) {
	t.Helper()
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)\s]*\)`)
	links := 0
	err := filepath.WalkDir(dir, func(page string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(l[1], ":") || strings.HasPrefix(l[1], "/") {
				continue // an address, or an example of a document
			}
			links++
			target := filepath.Join(filepath.Dir(page), l[1])
			if rel, err := filepath.Rel(dir, target); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("%s leads out of the archive: %s", page, l[1])
			} else if _, err := os.Stat(target); err != nil {
				t.Errorf("%s leads to nothing: %s", page, l[1])
			}
		}
		return nil
	})
	if err != nil || links < 100 {
		t.Errorf("%d links were found: %v", links, err)
	}
}
