package audit

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/tlog"
)

// TestVerifySources verifies one log from its own directory, from a copy of that
// while it is open, from an export, and over HTTP.
func TestVerifySources(t *testing.T) {
	h := newFixture(t)
	var older [][]byte
	for _, size := range []int{0, 1, 256, 600} {
		h.events(1, int(h.log.Head().N), size)
		older = append(older, h.checkpoint())
	}
	h.events(1, 600, 777)
	server := httptest.NewServer(http.StripPrefix("/log", handler(h.log)))
	defer server.Close()
	exported := filepath.Join(t.TempDir(), "export")
	for range 2 {
		if err := audittest.WriteMirror(t.Context(), h.log.File, h.log.Head().N, exported); err != nil {
			t.Fatal(err)
		}
		for name, files := range map[string]tiles.Files{
			"directory": FilesIn(filepath.Join(h.dir, "log")),
			"copy":      FilesIn(filepath.Join(h.save("log"), "log")),
			"export":    FilesIn(exported),
			"HTTP":      tiles.Remote(server.Client(), server.URL+"/log/"),
			"log":       h.log.File,
		} {
			r, err := tiles.Verify(t.Context(), files, h.verifier(), older...)
			if err != nil || r.Tree != h.log.Head() || r.Older != len(older) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		h.events(1, int(h.log.Head().N), int(h.log.Head().N)+300)
	}
	if _, err := tiles.Verify(t.Context(), FilesIn(exported), h.verifier(), h.checkpoint()); !errors.Is(err, tiles.ErrContradiction) || !strings.Contains(err.Error(), "it has 1377 leaves, the log only 1077") {
		t.Errorf("against a newer checkpoint: %v", err)
	}
	h.shut()
	server.Close()
	if _, err := tiles.Verify(t.Context(), tiles.Remote(server.Client(), server.URL), h.verifier()); err == nil || !strings.Contains(err.Error(), "the log could not be fetched: ") {
		t.Errorf("from a server that is gone: %v", err)
	}
}

// TestVerifyTampered changes an exported log in each way that a holder of the files could, and
// checks that the error names the changed part.
func TestVerifyTampered(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	first := h.checkpoint()
	h.events(1, 10, 700)
	h.apply(store.Delete(eventKey(1, 3)))
	exported := filepath.Join(t.TempDir(), "export")
	if err := audittest.WriteMirror(t.Context(), h.log.File, h.log.Head().N, exported); err != nil {
		t.Fatal(err)
	}
	h.shut()
	v := h.verifier()
	if r, err := tiles.Verify(t.Context(), FilesIn(exported), v, first); err != nil || r.Erased != 1 {
		t.Fatalf("as exported: %+v, %v", r, err)
	}
	forged := audittest.NewTree(t, origin)

	var dir string
	edit := func(name string, change func([]byte) []byte) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(bytes.Clone(content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bundle := func(name string, change func([][]byte) [][]byte) {
		t.Helper()
		width := tiles.Width
		if tile, ok := tiles.ParseName(name); ok {
			width = tile.W
		}
		edit(name, func(content []byte) []byte {
			leaves, err := tiles.SplitBundle(content, width)
			if err != nil {
				t.Fatal(err)
			}
			var out []byte
			for _, leaf := range change(leaves) {
				out = tiles.AppendLeaf(out, leaf)
			}
			return out
		})
	}
	tests := []struct {
		name   string
		tamper func()
		says   string
	}{
		{"a leaf changed", func() {
			bundle("tile/entries/001", func(l [][]byte) [][]byte {
				l[44] = bytes.Replace(l[44], []byte("agent 1"), []byte("agent 2"), 1)
				return l
			})
		}, "tile/entries/001 has another leaf 300 than tile/0/001 has the hash of"},
		{"a leaf removed", func() {
			bundle("tile/entries/002.p/189", func(l [][]byte) [][]byte { return append(l[:5], l[6:]...) })
		}, "tile/entries/002.p/189 is not a bundle of 189 leaves: it ends after 188"},
		{"a leaf emptied, as if it were erased", func() {
			bundle("tile/entries/001", func(l [][]byte) [][]byte { l[44] = nil; return l })
		}, "erased-undeclared: tile/entries/001 has no content for leaf 300, and no leaf of an erasure names it; 1 in all"},
		{"two leaves exchanged", func() {
			bundle("tile/entries/000", func(l [][]byte) [][]byte { l[7], l[8] = l[8], l[7]; return l })
		}, "tile/entries/000 has another leaf 7"},
		{"a leaf added", func() {
			bundle("tile/entries/000", func(l [][]byte) [][]byte { return append(l, []byte("{}")) })
		}, "tile/entries/000 is not a bundle of 256 leaves: there are 4 bytes after"},
		{"a leaf and its hash changed", func() {
			bundle("tile/entries/001", func(l [][]byte) [][]byte { l[44] = []byte("{}"); return l })
			edit("tile/0/001", func(b []byte) []byte {
				h := tlog.RecordHash([]byte("{}"))
				copy(b[44*tlog.HashSize:], h[:])
				return b
			})
		}, "tile/1/000.p/2 has another hash in place 1 than follows from tile/0/001"},
		{"a leaf, its hash and the one above changed", func() {
			bundle("tile/entries/001", func(l [][]byte) [][]byte { l[44] = []byte("{}"); return l })
			var root tlog.Hash
			edit("tile/0/001", func(b []byte) []byte {
				h := tlog.RecordHash([]byte("{}"))
				copy(b[44*tlog.HashSize:], h[:])
				root = tileRoot(b)
				return b
			})
			edit("tile/1/000.p/2", func(b []byte) []byte { copy(b[tlog.HashSize:], root[:]); return b })
		}, "the first 701 leaves have the root"},
		{"a hash in the last tile", func() {
			bundle("tile/entries/002.p/189", func(l [][]byte) [][]byte { l[100] = []byte("{}"); return l })
			edit("tile/0/002.p/189", func(b []byte) []byte {
				h := tlog.RecordHash([]byte("{}"))
				copy(b[100*tlog.HashSize:], h[:])
				return b
			})
		}, "the first 701 leaves have the root"},
		{"a tile cut", func() { edit("tile/0/000", func(b []byte) []byte { return b[:8000] }) }, "tile/0/000 has 8000 bytes and should have 8192"},
		{"a tile too long", func() { edit("tile/0/000", func(b []byte) []byte { return append(b, 0) }) }, "tile/0/000 is longer than the 8192 bytes"},
		{"a tile lost", func() {
			if err := os.Remove(filepath.Join(dir, "tile/0/001")); err != nil {
				t.Fatal(err)
			}
		}, "no such file in the log: " + "DIR/tile/0/001"},
		{"the size in the checkpoint", func() {
			edit("checkpoint", func(b []byte) []byte { return bytes.Replace(b, []byte("\n701\n"), []byte("\n700\n"), 1) })
		}, "the signature of registry.example/log is invalid"},
		{"the checkpoint of a forger", func() {
			edit("checkpoint", func([]byte) []byte { return forged.Grow(701, "x") })
		}, "is not signed with the key registry.example/log+"},
		{"the checkpoint lost", func() {
			if err := os.Remove(filepath.Join(dir, "checkpoint")); err != nil {
				t.Fatal(err)
			}
		}, "no such file in the log: " + "DIR/checkpoint"},
	}
	for _, test := range tests {
		dir = filepath.Join(t.TempDir(), "export")
		copyTo(t, exported, dir)
		test.tamper()
		_, err := tiles.Verify(t.Context(), FilesIn(dir), v, first)
		if want := strings.Replace(test.says, "DIR", dir, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}

	if _, err := tiles.Verify(t.Context(), FilesIn(exported), v, []byte("noise")); err == nil || !strings.Contains(err.Error(), "verify older checkpoint 1: it is not a signed checkpoint") {
		t.Errorf("with noise for an older checkpoint: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tiles.Verify(ended, FilesIn(exported), v); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// tileRoot returns the root of a full tile of hashes.
func tileRoot(tile []byte) tlog.Hash {
	var hashes []tlog.Hash
	for ; len(tile) > 0; tile = tile[tlog.HashSize:] {
		hashes = append(hashes, tlog.Hash(tile))
	}
	for ; len(hashes) > 1; hashes = hashes[:len(hashes)/2] {
		for i := range len(hashes) / 2 {
			hashes[i] = tlog.NodeHash(hashes[2*i], hashes[2*i+1])
		}
	}
	return hashes[0]
}

// The verification of a log's own directory names a missing file.
func TestVerifyNamesMissingFile(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.checkpoint()
	own := h.log.dir
	h.shut()
	for _, name := range []string{stateFile, rowsFile, hashesFile, entriesFile} {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(own)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		_, err := tiles.Verify(t.Context(), FilesIn(dir), h.verifier())
		if !errors.Is(err, tiles.ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
