package boltfile_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
)

// list is a small user of a File: bucket "items" has the values by key, bucket "log" the key of
// each write by its sequence, deletions included. A compaction empties the log but for its end.
type list struct{ file *boltfile.File }

var itemsBucket, listLog = []byte("items"), []byte("log")

func openList(ctx context.Context, dir string, o boltfile.Options) (filetest.Handle, error) {
	file, err := boltfile.Open(ctx, dir, boltfile.Schema{
		Name: "list.bolt", Noun: "list", Format: 3, Buckets: [][]byte{itemsBucket, listLog},
		ReopenPages: 60, LastSequence: func(tx *bolt.Tx) (uint64, error) {
			last, _ := tx.Bucket(listLog).Cursor().Last()
			if last == nil {
				return 0, nil
			}
			return binary.BigEndian.Uint64(last), nil
		},
	}, o)
	return list{file}, err
}

var subject = filetest.Subject{Name: "list.bolt", Format: 3, Open: openList}

func TestMain(m *testing.M) { filetest.Main(m, subject) }

func TestFile(t *testing.T) { filetest.Run(t, subject) }

func (l list) File() *boltfile.File { return l.file }
func (l list) Close() error         { return l.file.Close() }

func (l list) Write(ctx context.Context, changes ...filetest.Change) error {
	r := boltfile.Request{Writes: len(changes), Frees: true}
	for _, c := range changes {
		r.Bytes += len(c.Key) + len(c.Value)
		r.Frees = r.Frees && c.Delete
	}
	r.Write = func(tx *boltfile.Tx) (refused, err error) {
		for _, c := range changes {
			if err := writeItem(tx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	_, err := l.file.Write(ctx, r)
	return err
}

func writeItem(tx *boltfile.Tx, c filetest.Change) error {
	items, key := tx.Bucket(itemsBucket), []byte(c.Key)
	if err := tx.Bucket(listLog).Put(binary.BigEndian.AppendUint64(nil, tx.NextSequence()), key); err != nil {
		return err
	}
	if c.Delete {
		return items.Delete(key)
	}
	return items.Put(key, append([]byte{'='}, c.Value...))
}

func (l list) Get(ctx context.Context, key string) (value []byte, err error) {
	err = l.file.View("read", func(tx *bolt.Tx) error {
		found, err := boltfile.Find(tx.Bucket(itemsBucket).Cursor(), []byte(key))
		if err != nil {
			return err
		}
		if found == nil {
			return store.ErrNotFound
		}
		value = bytes.Clone(found[1:])
		return nil
	})
	return value, err
}

// Verify checks that every item was written by an entry of the log, or before it begins.
func (l list) Verify(t testing.TB) {
	t.Helper()
	err := l.file.View("verify", func(tx *bolt.Tx) error {
		previous := []byte{}
		return tx.Bucket(itemsBucket).ForEach(func(key, value []byte) error {
			if bytes.Compare(key, previous) <= 0 || len(value) == 0 || value[0] != '=' {
				return fmt.Errorf("item %q after %q with the value %q", key, previous, value)
			}
			previous = key
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

func (l list) Compact(ctx context.Context) error {
	_, err := l.file.Rebuild(ctx, &listCopier{})
	return err
}

// listCopier copies the items page by page, and then the writes of the meantime from the log.
type listCopier struct{ place uint64 }

func (c *listCopier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	c.place, _ = to.File().Progress()
	for from := []byte{}; from != nil; {
		var keys, values [][]byte
		var next []byte
		size := int64(0)
		err := to.File().View("copy", func(tx *bolt.Tx) error {
			cursor := tx.Bucket(itemsBucket).Cursor()
			for key, value := cursor.Seek(from); key != nil; key, value = cursor.Next() {
				if len(keys) == 100 {
					next = bytes.Clone(key)
					return nil
				}
				keys, values = append(keys, bytes.Clone(key)), append(values, bytes.Clone(value))
				size += int64(len(key) + len(value))
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = to.Update(ctx, size, func(tx *bolt.Tx) error {
			items := tx.Bucket(itemsBucket)
			items.FillPercent = 1
			for i := range keys {
				if err := items.Put(keys[i], values[i]); err != nil {
					return err
				}
			}
			return tx.Bucket(listLog).Put(binary.BigEndian.AppendUint64(nil, c.place), nil)
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

func (c *listCopier) CatchUp(from, to *bolt.Tx, limit int) (copied int, err error) {
	cursor := from.Bucket(listLog).Cursor()
	for seq, key := cursor.Seek(binary.BigEndian.AppendUint64(nil, c.place+1)); seq != nil && copied < limit; seq, key = cursor.Next() {
		c.place = binary.BigEndian.Uint64(seq)
		copied++
		if err := to.Bucket(listLog).Put(seq, key); err != nil {
			return copied, err
		}
		if value := from.Bucket(itemsBucket).Get(key); value != nil {
			err = to.Bucket(itemsBucket).Put(key, value)
		} else {
			err = to.Bucket(itemsBucket).Delete(key)
		}
		if err != nil {
			return copied, err
		}
	}
	return copied, nil
}

func (c *listCopier) Verify(_, to *bolt.Tx) error {
	last, _ := to.Bucket(listLog).Cursor().Last()
	if last != nil && binary.BigEndian.Uint64(last) != c.place {
		return fmt.Errorf("the copy ends at %x, not at %d", last, c.place)
	}
	return nil
}
