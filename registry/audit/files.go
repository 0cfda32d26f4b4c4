package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/tlog"
)

// Files reads the files of a log in the layout of C2SP tlog-tiles by their names: "checkpoint",
// "tile/0/x001/234", "tile/entries/000.p/7"; and "key", the public key. The error matches
// [ErrNoFile] if no file has that name. [FilesIn] and [Remote] return such functions; [Log.File] is
// another one.
type Files func(ctx context.Context, name string) ([]byte, error)

// entriesLevel is the level of the tiles that hold leaves instead of hashes.
const entriesLevel = -1

// tileName returns the name of a tile with the given number of hashes or leaves.
func tileName(level int, n int64, width int) string {
	name := "tile/entries/"
	if level != entriesLevel {
		name = "tile/" + strconv.Itoa(level) + "/"
	}
	number := fmt.Sprintf("%03d", n%1000)
	for n /= 1000; n > 0; n /= 1000 {
		number = fmt.Sprintf("x%03d/%s", n%1000, number)
	}
	name += number
	if width < tileWidth {
		name += ".p/" + strconv.Itoa(width)
	}
	return name
}

// The layout's tiles.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	tileBytes  = tileWidth * tlog.HashSize
)

// maxSize is the maximum number of leaves of a log that can be written and verified.
const maxSize = 1 << 40

// levelSize returns the number of hashes in a level of tiles of a tree of the given size.
func levelSize(level int, size int64) int64 { return size >> (level * tileHeight) }

// maxTileName is longer than the name of any tile.
const maxTileName = 64

// parseTileName reads the name of a tile. It accepts only the canonical spelling.
func parseTileName(name string) (level int, n int64, width int, ok bool) {
	rest, tile := strings.CutPrefix(name, "tile/")
	if !tile || len(name) > maxTileName {
		return 0, 0, 0, false
	}
	text, rest, _ := strings.Cut(rest, "/")
	level = entriesLevel
	if text != "entries" {
		number, err := strconv.ParseUint(text, 10, 6) // 0 to 63
		if err != nil {
			return 0, 0, 0, false
		}
		level = int(number)
	}
	width = tileWidth
	if number, partial, cut := strings.Cut(rest, ".p/"); cut {
		w, err := strconv.ParseUint(partial, 10, tileHeight)
		if err != nil || w == 0 {
			return 0, 0, 0, false
		}
		width, rest = int(w), number
	}
	for part := range strings.SplitSeq(rest, "/") {
		d, err := strconv.ParseUint(strings.TrimPrefix(part, "x"), 10, 64)
		if err != nil || d > 999 || n > maxSize {
			return 0, 0, 0, false
		}
		n = n*1000 + int64(d)
	}
	return level, n, width, tileName(level, n, width) == name
}

// File reads one file of the layout up to the newest checkpoint. Only an erased leaf has length 0
// in its bundle.
func (l *Log) File(ctx context.Context, name string) (_ []byte, err error) {
	defer l.haltIfDamaged(&err)
	switch name {
	case checkpointFile:
		return l.Checkpoint()
	case keyFile:
		return []byte(l.Key() + "\n"), nil
	}
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	data, err := readTile(name, head.N, l.hashes, l.leaves)
	if err != nil {
		return nil, err
	}
	if level, n, width, _ := parseTileName(name); level != entriesLevel {
		if err := l.hashes.authenticateTile(head.Tree, level, n, width); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// readTile reads a tile of a tree of the given size. A partial tile can be requested after the tile
// has become wider: its first hashes are the same.
func readTile(name string, size int64, hashes *hashes, leaves *leaves) ([]byte, error) {
	level, n, width, ok := parseTileName(name)
	if !ok || n*tileWidth+int64(width) > levelSize(max(level, 0), size) {
		return nil, fmt.Errorf("%w: %q", ErrNoFile, protocol.ClipBytes(name, checkpoint.MaxQuoted))
	}
	if level != entriesLevel {
		return tlog.ReadTileData(tlog.Tile{H: tileHeight, L: level, N: n, W: width}, hashes)
	}
	var bundle []byte
	for i := range int64(width) {
		e, _, err := leaves.readEntry(n*tileWidth+i, hashes)
		if err != nil {
			return nil, err
		}
		bundle = append(binary.BigEndian.AppendUint16(bundle, uint16(len(e.Leaf))), e.Leaf...)
	}
	return bundle, nil
}

// splitBundle returns the leaves of an entry bundle; an erased one is nil.
func splitBundle(bundle []byte, width int) ([][]byte, error) {
	leaves := make([][]byte, 0, width)
	for len(leaves) < width {
		if len(bundle) < 2 {
			return nil, fmt.Errorf("it ends after %d of %d leaves", len(leaves), width)
		}
		n := int(binary.BigEndian.Uint16(bundle))
		bundle = bundle[2:]
		if len(bundle) < n {
			return nil, fmt.Errorf("leaf %d has %d bytes, %d are left", len(leaves), n, len(bundle))
		}
		var leaf []byte
		if n > 0 {
			leaf = bundle[:n]
		}
		leaves, bundle = append(leaves, leaf), bundle[n:]
	}
	if len(bundle) > 0 {
		return nil, fmt.Errorf("there are %d bytes after its %d leaves", len(bundle), width)
	}
	return leaves, nil
}

// maxFile is the maximum size of each kind of file.
func maxFile(name string) int64 {
	switch {
	case name == checkpointFile || name == keyFile:
		return checkpoint.MaxSize
	case strings.HasPrefix(name, "tile/entries/"):
		return tileWidth * (2 + maxLeaf)
	}
	return tileBytes
}

// FilesIn reads the files of a log below a directory: an export of [Log.Export], a mirror, or the
// log's own directory, even while it is in use.
func FilesIn(dir string) Files {
	return func(ctx context.Context, name string) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, _, _, tile := parseTileName(name)
		if !tile && name != checkpointFile && name != keyFile {
			return nil, fmt.Errorf("%w: %q", ErrNoFile, protocol.ClipBytes(name, checkpoint.MaxQuoted))
		}
		if tile && isOwn(dir) {
			return tileOfLog(dir, name)
		}
		f, err := os.OpenInRoot(dir, filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNoFile, filepath.Join(dir, name))
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f, name, maxFile(name))
	}
}

// isOwn reports whether a directory is a log's own, even if some of its files are missing.
func isOwn(dir string) bool {
	return slices.ContainsFunc([]string{stateFile, rowsFile, hashesFile}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// tileOfLog reads a tile from a log's own directory. Like the log, it uses the last checkpoint.
func tileOfLog(dir, name string) ([]byte, error) {
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = &DamagedError{File: filepath.Join(dir, stateFile), Problem: "is missing", Remedy: remedyRestore}
	}
	if err != nil {
		return nil, err
	}
	signed, err := os.ReadFile(filepath.Join(dir, checkpointFile))
	if err != nil {
		return nil, err
	}
	head, _, err := checkpoint.Open(signed) // Verify has checked the signature
	if err != nil {
		return nil, err
	}
	size := min(head.N, s.Size)
	hashes, err := openHashes(dir, os.O_RDONLY, size)
	if err != nil {
		return nil, err
	}
	defer hashes.file.Close()
	leaves, err := openLeaves(dir, os.O_RDONLY, size, 0)
	if err != nil {
		return nil, err
	}
	defer leaves.closeFiles()
	return readTile(name, size, hashes, leaves)
}

func readBounded(r io.Reader, name string, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%s is longer than the %d bytes that it can have", name, most)
	}
	return content, nil
}

// Remote reads the files of a log over HTTP below a URL prefix. The client decides which addresses
// are allowed and how long an answer may take.
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
			return readBounded(answer.Body, name, maxFile(name))
		case http.StatusNotFound, http.StatusGone:
			return nil, fmt.Errorf("%w: %s%s", ErrNoFile, prefix, name)
		}
		return nil, fmt.Errorf("%w: the answer to %s%s is %s", ErrRemote, prefix, name, answer.Status)
	}
}

// hashesOf returns a reader of the hashes of a tree of the given size from the files. It does not
// check them. It caches the tiles that it has read.
func hashesOf(ctx context.Context, files Files, size int64) tlog.HashReader {
	read := map[tlog.Tile][]byte{}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			tile := tlog.TileForIndex(tileHeight, index)
			tile.W = tileWidthOf(tile.L, tile.N, size)
			data, known := read[tile]
			if !known {
				var err error
				if data, err = tileOf(ctx, files, tile.L, tile.N, size); err != nil {
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

// tileWidthOf returns the number of hashes or leaves of a tile in a tree of the given size.
func tileWidthOf(level int, n, size int64) int {
	return int(min(tileWidth, levelSize(max(level, 0), size)-n*tileWidth))
}

// tileOf reads a tile with its width in a tree of the given size. If the partial tile no longer
// exists because the log has grown, the full tile begins with it.
func tileOf(ctx context.Context, files Files, level int, n, size int64) ([]byte, error) {
	width := tileWidthOf(level, n, size)
	name := tileName(level, n, width)
	content, err := files(ctx, name)
	if errors.Is(err, ErrNoFile) && width < tileWidth {
		if full, fullErr := files(ctx, tileName(level, n, tileWidth)); fullErr == nil {
			content, err = full, nil
			if level == entriesLevel {
				if content, err = cutBundle(full, width); err != nil {
					return nil, err
				}
			} else if len(full) == tileBytes {
				content = full[:width*tlog.HashSize]
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if level != entriesLevel && len(content) != width*tlog.HashSize {
		return nil, &DamagedError{File: name, Problem: fmt.Sprintf("has %d bytes and should have %d", len(content), width*tlog.HashSize)}
	}
	return content, nil
}

// cutBundle returns the first leaves of a full bundle, as a bundle.
func cutBundle(full []byte, width int) ([]byte, error) {
	leaves, err := splitBundle(full, tileWidth)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, leaf := range leaves[:width] {
		n += 2 + len(leaf)
	}
	return full[:n], nil
}

// Export writes the current files of the log below a directory in the layout of C2SP tlog-tiles. It
// creates the directory if it is missing. Any web server can serve the files, and [Verify] checks
// them. Export writes the checkpoint last, so that a repeated export into a mirror never announces
// missing files.
func (l *Log) Export(ctx context.Context, dir string) error {
	head, signed, err := l.newestHead()
	if err != nil {
		return err
	}
	for level := entriesLevel; levelSize(max(level, 0), head.N) > 0; level++ {
		hashes := levelSize(max(level, 0), head.N)
		for n := int64(0); n*tileWidth < hashes; n++ {
			name := tileName(level, n, tileWidthOf(level, n, head.N))
			content, err := l.File(ctx, name)
			if err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
			if err := exportFile(dir, name, content); err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
		}
	}
	err = exportFile(dir, keyFile, []byte(l.Key()+"\n"))
	if err == nil {
		err = exportFile(dir, checkpointFile, signed)
	}
	if err != nil {
		return fmt.Errorf("export the checkpoint: %w", err)
	}
	return nil
}

func exportFile(dir, name string, content []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+newSuffix, content, 0o644); err != nil {
		return err
	}
	return os.Rename(path+newSuffix, path)
}
