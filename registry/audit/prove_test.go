package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	merkleproof "github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
)

// sizes contains the sizes at which trees and their tiles change shape.
var sizes = []int64{1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 700}

// TestProofs checks proofs with the two libraries that others would check them
// with, and every root against one computed from the leaves alone.
func TestProofs(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 700)
	leaves, roots := h.leavesAndRoots()
	for _, size := range sizes {
		for index := int64(0); index < size; index += 1 + size/40 {
			p, err := h.log.Prove(t.Context(), index, size)
			if err != nil {
				t.Fatal(err)
			}
			if p.Index != index || p.Size != size || p.Leaf != tlog.RecordHash(leaves[index]) {
				t.Errorf("the proof of leaf %d in %d is for %+v", index, size, p)
			}
			if err := tlog.CheckRecord(p.Hashes, size, roots[size], index, p.Leaf); err != nil {
				t.Errorf("tlog refuses the proof of leaf %d in %d: %v", index, size, err)
			}
			if err := merkleproof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), uint64(size), rfc6962.DefaultHasher.HashLeaf(leaves[index]), plain(p.Hashes...), plain(roots[size])[0]); err != nil {
				t.Errorf("merkle refuses the proof of leaf %d in %d: %v", index, size, err)
			}
		}
		for _, newer := range sizes {
			if newer < size {
				continue
			}
			p, err := h.log.proveConsistency(t.Context(), size, newer)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(p, newer, roots[newer], size, roots[size]); err != nil {
				t.Errorf("tlog refuses the proof from %d to %d: %v", size, newer, err)
			}
			if err := merkleproof.VerifyConsistency(rfc6962.DefaultHasher, uint64(size), uint64(newer), plain(p...), plain(roots[size])[0], plain(roots[newer])[0]); err != nil {
				t.Errorf("merkle refuses the proof from %d to %d: %v", size, newer, err)
			}
		}
	}
	h.shut()
}

// TestProofsReadLittle checks that a proof reads its own hashes and not all those between them: a
// check of 256 leaves makes 256 proofs, and anybody may request one.
func TestProofsReadLittle(t *testing.T) {
	h := newFixture(t)
	const size = 500
	h.events(1, 0, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for index := range int64(size) {
		if _, err := h.log.Prove(t.Context(), index, size); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / size; each > 6<<10 {
		t.Errorf("a proof in a tree of %d leaves allocates %d bytes", size, each)
	}
	h.shut()
}

// plain returns hashes as the other library has them.
func plain(hashes ...tlog.Hash) (out [][]byte) {
	for _, h := range hashes {
		out = append(out, h[:])
	}
	return out
}

// leavesAndRoots returns all leaves, and the root of each tree of the sizes as
// the library for others computes it from the leaves alone.
func (h *fixture) leavesAndRoots() (leaves [][]byte, roots map[int64]tlog.Hash) {
	h.t.Helper()
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	roots = map[int64]tlog.Hash{}
	for i := range h.log.Head().N {
		e, err := h.log.Entry(h.t.Context(), i)
		if err != nil {
			h.t.Fatal(err)
		}
		leaves = append(leaves, e.Leaf)
		hashes, err := tlog.StoredHashes(i, e.Leaf, read)
		if err != nil {
			h.t.Fatal(err)
		}
		stored = append(stored, hashes...)
		if roots[i+1], err = tlog.TreeHash(i+1, read); err != nil {
			h.t.Fatal(err)
		}
	}
	return leaves, roots
}

func TestProofOutside(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 5)
	for _, p := range [][2]int64{{-1, 3}, {3, 3}, {0, 0}, {0, 6}, {5, 5}, {0, -1}} {
		if _, err := h.log.Prove(t.Context(), p[0], p[1]); !errors.Is(err, ErrRange) {
			t.Errorf("leaf %d in %d: %v", p[0], p[1], err)
		}
	}
	for _, p := range [][2]int64{{-1, 3}, {4, 3}, {0, 6}, {6, 6}} {
		if _, err := h.log.proveConsistency(t.Context(), p[0], p[1]); !errors.Is(err, ErrRange) {
			t.Errorf("from %d to %d: %v", p[0], p[1], err)
		}
	}
	for _, index := range []int64{-1, 5} {
		if _, err := h.log.Entry(t.Context(), index); !errors.Is(err, ErrRange) {
			t.Errorf("leaf %d: %v", index, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.log.Prove(ended, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	h.shut()
}

// TestProofText saves a proof and checks it without the log.
func TestProofText(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	e, err := h.log.Entry(t.Context(), 77)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.log.Prove(t.Context(), 77, 300)
	if err != nil {
		t.Fatal(err)
	}
	text := p.Text(h.checkpoint())
	h.events(1, 300, 310) // an old proof holds when the log has grown
	v := h.verifier()
	if got, c, err := proof.Check(text, e.Leaf, v); err != nil || got.Index != 77 || c.N != 300 {
		t.Errorf("%+v of %+v, error %v", got, c, err)
	}
	h.shut()

	lines := strings.Split(string(text), "\n")
	change := func(line int, to string) []byte {
		changed := append([]string{}, lines...)
		changed[line] = to
		return []byte(strings.Join(changed, "\n"))
	}
	withExtra := []byte(strings.Replace(string(text), "\n", "\nextra QQ==\n", 1))
	if _, _, err := proof.Check(withExtra, e.Leaf, v); err != nil {
		t.Errorf("with extra data: %v", err)
	}
	other, err := checkpoint.NewVerifier(audittest.NewKey(t, "other.example").Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := proof.Check(text, e.Leaf, other); err == nil || !strings.Contains(err.Error(), "is not signed with the key other.example") {
		t.Errorf("with another key: %v", err)
	}
	tests := []struct {
		name string
		text []byte
		leaf []byte
		want string
	}{
		{"another leaf", text, append([]byte("x"), e.Leaf...), "does not lead from the leaf to the root"},
		{"another index", change(1, "index 78"), e.Leaf, "does not lead"},
		{"an index outside", change(1, "index 300"), e.Leaf, "the checkpoint has 300 leaves"},
		{"an index with a zero", change(1, "index 077"), e.Leaf, "not a decimal number"},
		{"no index", change(1, "index"), e.Leaf, "no line with the index"},
		{"a hash changed", change(2, lines[3]), e.Leaf, "does not lead"},
		{"a hash too many", change(2, lines[2]+"\n"+lines[2]), e.Leaf, "does not lead"},
		{"no hash", change(2, "none"), e.Leaf, "not a hash of 32 bytes"},
		{"the hash in another spelling", change(2, strings.TrimSuffix(lines[2], "=")), e.Leaf, "not a hash of 32 bytes"},
		{"64 hashes", change(2, strings.Repeat(lines[2]+"\n", 63)+lines[2]), e.Leaf, "more than 63"},
		{"another format", change(0, "c2sp.org/tlog-proof@v2"), e.Leaf, "first line"},
		{"the size changed", bytes.Replace(text, []byte("\n300\n"), []byte("\n301\n"), 1), e.Leaf, "the signature of registry.example/log is invalid"},
		{"no checkpoint", text[:bytes.Index(text, []byte("\n\n"))+2], e.Leaf, "not a signed checkpoint"},
		{"nothing", nil, e.Leaf, "no empty line"},
		{"a million bytes", bytes.Repeat([]byte("a"), 1<<20), e.Leaf, "1048576 bytes"},
	}
	for _, test := range tests {
		if _, _, err := proof.Check(test.text, test.leaf, v); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// tilesOf reads tiles for tlog's own client.
type tilesOf struct {
	t     *testing.T
	files tiles.Files
}

func (r tilesOf) Height() int                     { return tiles.Height }
func (r tilesOf) SaveTiles([]tlog.Tile, [][]byte) {}
func (r tilesOf) path(tile tlog.Tile) (string, error) {
	return strings.Replace(tile.Path(), "tile/8/", "tile/", 1), nil
}

func (r tilesOf) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range tiles {
		name, err := r.path(tile)
		if err != nil {
			return nil, err
		}
		content, err := r.files(r.t.Context(), name)
		if err != nil {
			return nil, err
		}
		data = append(data, content)
	}
	return data, nil
}

// TestTiles reads our tiles with the client of the Go checksum database: it fetches tiles, checks
// them against the root, and makes proofs from them.
func TestTiles(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 700)
	leaves, roots := h.leavesAndRoots()
	exported := t.TempDir()
	if err := audittest.WriteMirror(t.Context(), h.log.File, h.log.Head().N, exported); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]tiles.Files{"log": h.log.File, "directory": FilesIn(filepath.Join(h.dir, "log")), "export": FilesIn(exported)} {
		reader := tlog.TileHashReader(tlog.Tree{N: 700, Hash: roots[700]}, tilesOf{t, files})
		for index := int64(0); index < 700; index += 33 {
			p, err := tlog.ProveRecord(700, index, reader)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := tlog.CheckRecord(p, 700, roots[700], index, tlog.RecordHash(leaves[index])); err != nil {
				t.Errorf("%s: leaf %d: %v", name, index, err)
			}
		}
	}
	// Partial tiles of earlier sizes stay, as the layout demands.
	for _, size := range sizes {
		reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: roots[size]}, tilesOf{t, h.log.File})
		if _, err := tlog.ProveRecord(size, size-1, reader); err != nil {
			t.Errorf("at size %d: %v", size, err)
		}
	}
	for _, n := range []int64{0, 1, 2} {
		tile := tiles.At(tiles.EntriesLevel, n, 700)
		name := tiles.Name(tile)
		bundle, err := h.log.File(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tiles.SplitBundle(bundle, tile.W)
		if err != nil {
			t.Fatal(err)
		}
		for i, leaf := range got {
			if !bytes.Equal(leaf, leaves[n*tiles.Width+int64(i)]) {
				t.Errorf("%s: leaf %d is %s", name, i, leaf)
			}
		}
	}
	h.shut()
}

// The log and its directory have no other files than those of the layout.
func TestUnknownFiles(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	for _, name := range []string{"", "state", "rows", "../key", "tile/0/001.p/45", "tile/0/002", "tile/1/000", "tile/1/000.p/2", "tile/2/000.p/1", "tile/63/000", "tile/entries/001.p/45", "checkpoint/", "/checkpoint", "LOCK"} {
		for source, files := range map[string]tiles.Files{"log": h.log.File, "directory": FilesIn(filepath.Join(h.dir, "log"))} {
			if _, err := files(t.Context(), name); !errors.Is(err, tiles.ErrNoFile) {
				t.Errorf("%s: %q: %v", source, name, err)
			}
		}
	}
	h.shut()
}

// TestDamageProof flips a bit in a file of hashes while the log is open: no
// proof that leads nowhere is given, and the error names the tile.
func TestDamageProof(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 600)
	flip(t, filepath.Join(h.dir, "log", hashesFile), tlog.StoredHashIndex(0, 300)*tlog.HashSize)
	var damage *tiles.DamagedError
	_, err := h.log.Prove(t.Context(), 301, 600)
	if !errors.As(err, &damage) || !strings.Contains(err.Error(), "of leaves 300 to 301, does not follow from those below it") {
		t.Errorf("a proof over a damaged tile: %v", err)
	}
	if _, err := h.log.proveConsistency(t.Context(), 301, 600); !errors.Is(err, tiles.ErrDamaged) {
		t.Errorf("a proof over a damaged tile: %v", err)
	}
	if _, err := h.log.Prove(t.Context(), 3, 600); err != nil {
		t.Errorf("a proof that needs nothing damaged: %v", err)
	}
	if _, err := h.log.Entry(t.Context(), 300); !errors.Is(err, tiles.ErrDamaged) {
		t.Errorf("a leaf whose hash is damaged: %v", err)
	}
	h.shut()
}

// TestReadYourWrites proves a record immediately after its write, like the answer to a
// registration.
func TestReadYourWrites(t *testing.T) {
	h := newFixture(t)
	for n := range 3 {
		seq, err := h.store.Apply(t.Context(), event(1, n), store.Put("agent/AIR-0001", fmt.Append(nil, n)))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.log.WaitFor(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		for e, err := range h.log.Find(t.Context(), "agent/AIR-0001") {
			if err != nil || e.Key != eventKey(1, n) {
				t.Errorf("after write %d the newest leaf is %q, error %v", n, e.Key, err)
			}
			break
		}
	}
	h.shut()
}
