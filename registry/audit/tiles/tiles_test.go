package tiles_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

func TestTileNames(t *testing.T) {
	tests := []struct {
		name  string
		level int
		n     int64
		width int
	}{
		{"tile/0/000", 0, 0, 256},
		{"tile/entries/x001/x234/067", tiles.EntriesLevel, 1234067, 256},
		{"tile/63/999.p/1", 63, 999, 1},
		{"tile/entries/000.p/255", tiles.EntriesLevel, 0, 255},
	}
	for _, test := range tests {
		tile := tlog.Tile{H: tiles.Height, L: test.level, N: test.n, W: test.width}
		if got, ok := tiles.ParseName(test.name); !ok || got != tile {
			t.Errorf("%s is read as %+v, %v", test.name, got, ok)
		}
		if got := tiles.Name(tile); got != test.name {
			t.Errorf("%s is written as %s", test.name, got)
		}
	}
	for _, name := range []string{
		"", "tile", "tile/", "tile/0", "tile/0/", "tile/0/0", "tile/0/00", "tile/0/0000", "tile/00/000",
		"tile/64/000", "tile/-1/000", "tile/+1/000", "tile/0/+00", "tile/0/x000", "tile/0/x000/000",
		"tile/0/x001/x002", "tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0", "tile/0/000.p/00",
		"tile/0/000.p/01", "tile/0/000.p/256", "tile/0/000.p/1.p/1", "tile/0/000/", "/tile/0/000",
		"tile//000", "tile/0//000", "tile/0/000 ", "tile/0/../0/000", "tile/data/000", "tile/entries",
		"tile/0/x999/x999/x999/x999/x999/x999/x999/999", "tile/٠/000", "tile/8/0/000",
	} {
		if tile, ok := tiles.ParseName(name); ok {
			t.Errorf("%q is read as %+v", name, tile)
		}
	}
}

// FuzzTileName checks that each tile has only one accepted name.
func FuzzTileName(f *testing.F) {
	for _, name := range []string{"tile/0/000", "tile/entries/x001/234.p/7", "tile/63/999.p/255", "tile/0/000.p/256", "tile/0/x000/000", "checkpoint", "tile//", "tile/0/x999/x999/x999/x999/x999/999"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		tile, ok := tiles.ParseName(name)
		if !ok {
			return
		}
		if tile.H != tiles.Height || tile.L < tiles.EntriesLevel || tile.L > 63 || tile.N < 0 || tile.W < 1 || tile.W > tiles.Width {
			t.Fatalf("%q is read as %+v", name, tile)
		}
		if again := tiles.Name(tile); again != name {
			t.Fatalf("%q is written as %q", name, again)
		}
	})
}

func FuzzBundle(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00\x00"), 2)
	f.Add([]byte("\xff\xff"), 1)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, bundle []byte, width int) {
		if width < 0 || width > tiles.Width {
			return
		}
		leaves, err := tiles.SplitBundle(bundle, width)
		if err != nil {
			return
		}
		n := 0
		for _, leaf := range leaves {
			n += 2 + len(leaf)
		}
		if len(leaves) != width || n != len(bundle) {
			t.Fatalf("%d leaves of %d bytes from %d", len(leaves), n, len(bundle))
		}
	})
}

// filesOf returns the files of another registry's log, made by the tile code of tlog.
func filesOf(s *audittest.Tree, size int64) tiles.Files {
	checkpoint := s.Grow(size, "leaf")
	return func(_ context.Context, name string) ([]byte, error) {
		if name == tiles.CheckpointFile {
			return checkpoint, nil
		}
		tile, ok := tiles.ParseName(name)
		if !ok {
			return nil, tiles.ErrNoFile
		}
		if tile.L != tiles.EntriesLevel {
			return tlog.ReadTileData(tile, s)
		}
		var bundle []byte
		for i := range int64(tile.W) {
			leaf := []byte("leaf " + strconv.FormatInt(tile.N*tiles.Width+i, 10))
			bundle = tiles.AppendLeaf(bundle, leaf)
		}
		return bundle, nil
	}
}

// TestVerifyOthers verifies logs of many sizes that other code has made.
func TestVerifyOthers(t *testing.T) {
	for _, size := range []int64{0, 1, 2, 255, 256, 257, 65535, 65536, 65537, 66000} {
		s := audittest.NewTree(t, "other.example/log")
		if r, err := tiles.Verify(t.Context(), filesOf(s, size), s.Key.Verifier()); err != nil || r.N != size {
			t.Errorf("%d leaves: %+v, %v", size, r, err)
		}
	}
}

// An operator rewrites history and signs it: everyone who kept an older checkpoint sees it.
func TestVerifyRewritten(t *testing.T) {
	honest, rewritten := audittest.NewTree(t, "other.example/log"), audittest.NewTree(t, "other.example/log")
	rewritten.Key = honest.Key
	first, v := honest.Grow(10, "another leaf"), honest.Key.Verifier()
	if _, err := tiles.Verify(t.Context(), filesOf(rewritten, 700), v); err != nil {
		t.Fatalf("without an older checkpoint: %v", err)
	}
	_, err := tiles.Verify(t.Context(), filesOf(rewritten, 700), v, first)
	if !errors.Is(err, tiles.ErrContradiction) || !strings.Contains(err.Error(), "older checkpoint 1") {
		t.Errorf("with an older checkpoint: %v", err)
	}
}

// TestRemoteAnswers checks the handling of invalid answers of servers.
func TestRemoteAnswers(t *testing.T) {
	v := audittest.NewKey(t, "other.example/log").Verifier()
	tests := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		{"404", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, "no such file in the log: "},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "/checkpoint is 500"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>hello</html>")) }, "it is not a signed checkpoint"},
		{"without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "checkpoint is longer than the 65536 bytes"},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(test.answer))
		if _, err := tiles.Verify(t.Context(), tiles.Remote(server.Client(), server.URL), v); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		server.Close()
	}
}
