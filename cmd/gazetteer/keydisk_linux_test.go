package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gazetteer/internal/exit"
	"gazetteer/internal/need"
	"gazetteer/registry/keyfile"
)

// TestKeysOnFullDisk makes, rotates, recovers, moves and merges agents whose key files are on a disk with
// no free block, with one, and so on up to enough: each command does its work or says that the disk is full,
// and the same command does it when there is space. The key of the agent is always there.
func TestKeysOnFullDisk(t *testing.T) {
	p := startProgramIn(t, t.TempDir(), "crawler.enabled=false")
	disk := need.Tmpfs(t, "size=256k")
	ballast := filepath.Join(disk, "ballast")
	// leave fills the disk up to a number of free blocks.
	leave := func(blocks int64) {
		t.Helper()
		var free syscall.Statfs_t
		if err := syscall.Statfs(disk, &free); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ballast, make([]byte, (int64(free.Bavail)-blocks)*free.Bsize), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for blocks := range int64(5) {
		dir := filepath.Join(disk, fmt.Sprint(blocks))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		key, other := filepath.Join(dir, "agent.key"), filepath.Join(dir, "other.key")
		for _, words := range []string{
			"agent new Name --key " + key,
			"agent new Other --key " + other,
			"agent rotate --key " + key,
			"agent export --key " + key + " --out " + filepath.Join(dir, "export"),
			"agent merge --yes --key " + other + " --into " + key,
		} {
			leave(blocks)
			out, code := p.cli(strings.Fields(words)...)
			switch {
			case code != exit.OK && (code != exit.Data || !strings.Contains(out, "is full")):
				t.Errorf("%d blocks free: %s: exit code %d, want %d\n%s", blocks, words, code, exit.Data, out)
			case strings.Contains(out, "the registry has the new key"):
				if again := "gazetteer agent show --key " + key; !strings.Contains(out, "To put it in its place: "+again) {
					t.Errorf("%d blocks free: %s does not name %s\n%s", blocks, words, again, out)
				}
			case code == exit.OK && blocks == 0 && !strings.Contains(words, "--withdraw") && !strings.Contains(words, "merge"):
				t.Errorf("%s needs no space: the disk was not full", words)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			if code != exit.OK {
				if out, code = p.cli(strings.Fields(words)...); code != exit.OK {
					t.Errorf("%s after %d blocks were free: exit code %d\n%s", words, blocks, code, out)
				}
			}
			if _, err := keyfile.Open(key); err != nil {
				t.Fatalf("%d blocks free: %s: %v", blocks, words, err)
			}
			if out, code := p.cli("agent", "update", "--description", words, "--key", key); code != exit.OK {
				t.Errorf("the agent after %s: exit code %d\n%s", words, code, out)
			}
		}
		if retired, err := os.ReadDir(filepath.Join(dir, "agent.mail", "keys")); err != nil || len(retired) == 0 {
			t.Errorf("%d blocks free: the retired key is not in %s: %v", blocks, dir, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
