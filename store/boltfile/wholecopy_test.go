package boltfile_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
)

// TestCopyWhole replaces a file of several batches while it is written: the copy has what the file
// had in the end, buckets in buckets included, and nothing that was deleted before.
func TestCopyWhole(t *testing.T) {
	dir := t.TempDir()
	h, err := openList(t.Context(), dir, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := h.(list)
	want := make(map[string]string)
	write := func(changes ...filetest.Change) {
		t.Helper()
		if err := l.Write(t.Context(), changes...); err != nil {
			t.Error(err)
		}
		for _, c := range changes {
			if want[c.Key] = string(c.Value); c.Delete {
				delete(want, c.Key)
			}
		}
	}
	for i := range 30 {
		var changes []filetest.Change
		for k := range 100 {
			text := strings.Repeat(fmt.Sprintf("text %d %d ", i, k), 400)
			changes = append(changes, filetest.Change{Key: fmt.Sprintf("key-%02d-%02d", i, k), Value: []byte(text)},
				filetest.Change{Key: fmt.Sprintf("secret-%02d-%02d", i, k), Value: []byte("erased-content")})
		}
		write(changes...)
		for k := range 100 {
			changes[k] = filetest.Change{Key: fmt.Sprintf("secret-%02d-%02d", i, k), Delete: true}
		}
		write(changes[:100]...)
	}
	if err := nest(t, l, "outer", "inner", 40); err != nil {
		t.Fatal(err)
	}

	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			write(filetest.Change{Key: fmt.Sprintf("key-%02d-%02d", i%30, i%97), Value: fmt.Append(nil, "new ", i)},
				filetest.Change{Key: fmt.Sprintf("key-%02d-%02d", (i+7)%30, i%89), Delete: true}, filetest.Change{Key: fmt.Sprint("added-", i), Value: []byte{}})
		}
	})
	err = l.file.CopyWhole(t.Context(), "list", itemsBucket, listLog)
	close(stop)
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}

	got := make(map[string]string)
	err = l.file.View("read all", func(tx *bolt.Tx) error {
		outer := tx.Bucket(itemsBucket).Bucket([]byte("outer"))
		if outer == nil {
			t.Fatal("no bucket in a bucket")
		}
		if inner := outer.Bucket([]byte("inner")); inner == nil || inner.Stats().KeyN != 40 || outer.Sequence() != 7 {
			t.Errorf("the buckets in buckets are %+v", outer.Stats())
		}
		return tx.Bucket(itemsBucket).ForEach(func(key, value []byte) error {
			if value != nil {
				got[string(key)] = string(value[1:]) // after its mark
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d entries instead of %d, or others", len(got), len(want))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "list.bolt"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("erased-content")) {
		t.Error("the file still has what was deleted before")
	}
}

// nest puts a bucket into a bucket of the items.
func nest(t *testing.T, l list, outer, inner string, entries int) error {
	_, err := l.file.Write(t.Context(), boltfile.Request{Writes: 1, Bytes: 1000, Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		o, err := tx.Bucket(itemsBucket).CreateBucket([]byte(outer))
		if err != nil {
			return nil, err
		}
		if err := o.SetSequence(7); err != nil {
			return nil, err
		}
		i, err := o.CreateBucket([]byte(inner))
		for n := 0; err == nil && n < entries; n++ {
			err = i.Put(fmt.Append(nil, n), []byte("nested"))
		}
		return nil, err
	}})
	return err
}
