package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// File reads one file of the layout up to the newest checkpoint. Only an erased leaf has length 0
// in its bundle.
func (l *Log) File(ctx context.Context, name string) (_ []byte, err error) {
	defer l.haltIfDamaged(&err)
	switch name {
	case tiles.CheckpointFile:
		return l.Checkpoint()
	case tiles.KeyFile:
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
	if tile, _ := tiles.ParseName(name); tile.L != tiles.EntriesLevel {
		if err := l.hashes.authenticateTile(head.Tree, tile); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// readTile reads a tile of a tree of the given size. A partial tile can be requested after the tile
// has become wider: its first hashes are the same.
func readTile(name string, size int64, hashes *hashes, leaves *leaves) ([]byte, error) {
	tile, ok := tiles.ParseName(name)
	if !ok || tile.N*tiles.Width+int64(tile.W) > tiles.LevelSize(tile.L, size) {
		return nil, tiles.UnknownFile(name)
	}
	if tile.L != tiles.EntriesLevel {
		return tlog.ReadTileData(tile, hashes)
	}
	var bundle []byte
	for i := range int64(tile.W) {
		e, _, err := leaves.readEntry(tile.N*tiles.Width+i, hashes)
		if err != nil {
			return nil, err
		}
		bundle = tiles.AppendLeaf(bundle, e.Leaf)
	}
	return bundle, nil
}

// FilesIn reads the files of a log below a directory: a mirror of it, or the log's own
// directory, even while it is in use.
func FilesIn(dir string) tiles.Files {
	read := tiles.Dir(dir)
	return func(ctx context.Context, name string) ([]byte, error) {
		if _, tile := tiles.ParseName(name); tile && ctx.Err() == nil && isOwn(dir) {
			return tileOfLog(dir, name)
		}
		return read(ctx, name)
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
		err = &tiles.DamagedError{File: filepath.Join(dir, stateFile), Problem: "is missing", Remedy: remedyRestore}
	}
	if err != nil {
		return nil, err
	}
	signed, err := os.ReadFile(filepath.Join(dir, tiles.CheckpointFile))
	if err != nil {
		return nil, err
	}
	head, _, err := checkpoint.Open(signed) // the verification has checked the signature
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

// VerifyDir is [tiles.Verify] for a directory. It reads the own directory of a log more thoroughly,
// even while the log is in use: it also checks the hashes that no tile has, and knows the leaves
// that the log has erased and will declare with its next signature, which it counts. progress, if
// not nil, is called with the number of leaves that were read.
func VerifyDir(ctx context.Context, dir string, progress func(leaves int64), verifier note.Verifier,
	older ...[]byte) (tiles.Report, error) {
	read, leaves := FilesIn(dir), int64(0)
	files := func(ctx context.Context, name string) ([]byte, error) {
		if tile, ok := tiles.ParseName(name); ok && tile.L == tiles.EntriesLevel && progress != nil {
			leaves += int64(tile.W)
			progress(leaves)
		}
		return read(ctx, name)
	}
	if !isOwn(dir) {
		return tiles.Verify(ctx, files, verifier, older...)
	}
	r, err := tiles.VerifyOwn(ctx, files, verifier, older...)
	if err == nil {
		err = checkHashes(dir)
	}
	return r, err
}
