package teststore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FilesWith returns the files below a directory that contain a text, also if they are compressed with zstd, and
// how many files there are.
func FilesWith(t testing.TB, dir, text string) (found []string, files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		content, err := unpackFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, files
}

// unpackFile returns the content of a file, decompressed if that is compressed with zstd.
func unpackFile(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(content, []byte("\x28\xb5\x2f\xfd")) {
		return content, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(content, nil)
}
