package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gazetteer/store"
)

// TestDamagedLastEntryIsReportedWhileRunning flips a bit in the sequence of the log's last entry
// while the store is open, and then writes. The followers must get an error: the damaged sequence
// looks like that of a commit that is still being written, for which they would wait without end.
func TestDamagedLastEntryIsReportedWhileRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := openStore(t, dir)
	defer s.Close()
	key := ""
	for i := range 20 {
		key = fmt.Sprintf("host/com.example%03d", i)
		if _, err := s.Apply(t.Context(), store.Put(key, []byte("value"))); err != nil {
			t.Fatal(err)
		}
	}
	head := s.Head()
	path := filepath.Join(dir, BoltFile)
	text := mustRead(t, path)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entry, flipped := append(binary.BigEndian.AppendUint64(nil, head.Seq), key...), 0
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], entry)
		if i < 0 {
			break
		}
		at += i
		if _, err := file.WriteAt([]byte{text[at+3] ^ 1}, int64(at+3)); err != nil {
			t.Fatal(err)
		}
		flipped++
	}
	if flipped == 0 {
		t.Fatal("the entry is not in the file")
	}
	if _, err := s.Apply(t.Context(), store.Put("host/com.later", nil)); err != nil {
		t.Fatal(err)
	}
	for r, err := range s.Changes(t.Context(), head) {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("record %+v, error %v", r, err)
		}
		break
	}
}
