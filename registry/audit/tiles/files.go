package tiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/tlog"
)

// Files reads the files of a log by their names: "checkpoint", "tile/0/x001/234",
// "tile/entries/000.p/7"; and "key", the public key. The error matches [ErrNoFile] if no file has
// that name. [Dir] and [Remote] return such functions.
type Files func(ctx context.Context, name string) ([]byte, error)

// Dir reads the files below a directory: an export of a log or a mirror.
func Dir(dir string) Files {
	return func(ctx context.Context, name string) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, tile := ParseName(name); !tile && name != CheckpointFile && name != KeyFile {
			return nil, UnknownFile(name)
		}
		f, err := os.OpenInRoot(dir, filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNoFile, filepath.Join(dir, name))
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readFile(f, name)
	}
}

// Remote reads the files over HTTP below a URL prefix. The client decides which addresses are
// allowed and how long an answer may take.
func Remote(client *http.Client, prefix string) Files {
	prefix = strings.TrimSuffix(prefix, "/") + "/"
	return func(ctx context.Context, name string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, prefix+name, nil)
		if err != nil {
			return nil, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRemote, err)
		}
		defer answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
			return readFile(answer.Body, name)
		case http.StatusNotFound, http.StatusGone:
			return nil, fmt.Errorf("%w: %s%s", ErrNoFile, prefix, name)
		}
		return nil, fmt.Errorf("%w: the answer to %s%s is %s", ErrRemote, prefix, name, answer.Status)
	}
}

// UnknownFile returns the error for a name that no file of the layout has.
func UnknownFile(name string) error {
	return fmt.Errorf("%w: %q", ErrNoFile, protocol.ClipBytes(name, checkpoint.MaxQuoted))
}

// readFile reads a file that is at most as long as files of its kind can be.
func readFile(r io.Reader, name string) ([]byte, error) {
	most := int64(Bytes)
	switch {
	case name == CheckpointFile || name == KeyFile:
		most = checkpoint.MaxSize
	case strings.HasPrefix(name, leavesStart):
		most = Width * (2 + MaxLeaf)
	}
	content, err := limit.ReadAll(r, most)
	if errors.Is(err, limit.ErrTooLarge) {
		return nil, fmt.Errorf("%s is longer than the %d bytes that it can have", name, most)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return content, nil
}

// newHashReader returns a reader of the hashes of a tree of the given size. It does not check them.
// It caches the tiles that it has read.
func newHashReader(ctx context.Context, files Files, size int64) tlog.HashReader {
	read := map[tlog.Tile][]byte{}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			tile := tlog.TileForIndex(Height, index)
			tile = At(tile.L, tile.N, size)
			data, known := read[tile]
			if !known {
				var err error
				if data, err = readTile(ctx, files, tile); err != nil {
					return nil, err
				}
				read[tile] = data
			}
			var err error
			if out[i], err = tlog.HashFromTile(tile, data, index); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// readTile reads a tile. If the partial tile no longer exists because the log has grown, the full
// tile begins with it.
func readTile(ctx context.Context, files Files, tile tlog.Tile) ([]byte, error) {
	name := Name(tile)
	content, err := files(ctx, name)
	if errors.Is(err, ErrNoFile) && tile.W < Width {
		if full, fullErr := files(ctx, Name(fullTile(tile))); fullErr == nil {
			content, err = full, nil
			if tile.L == EntriesLevel {
				if content, err = cutBundle(full, tile.W); err != nil {
					return nil, err
				}
			} else if len(full) == Bytes {
				content = full[:tile.W*tlog.HashSize]
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if tile.L != EntriesLevel && len(content) != tile.W*tlog.HashSize {
		return nil, &DamagedError{File: name,
			Problem: fmt.Sprintf("has %d bytes and should have %d", len(content), tile.W*tlog.HashSize)}
	}
	return content, nil
}

// fullTile returns the full tile that a partial one becomes.
func fullTile(t tlog.Tile) tlog.Tile {
	t.W = Width
	return t
}
