package boltfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// View runs read in a read transaction. read must not call anything that may block: writers and
// Close wait for it. doing describes the work in the error for a damaged file. The keys and values
// of the transaction are memory of the file: read must copy those that it keeps.
func (f *File) View(doing string, read func(tx *bolt.Tx) error) error {
	f.inUse.RLock()
	defer f.inUse.RUnlock()
	if f.isClosed() {
		return store.ErrClosed
	}
	if f.isBroken() {
		return f.Err()
	}
	began := false
	err := CatchDamage(doing, func() error {
		tx, err := f.beginTx(false)
		if err != nil {
			return err
		}
		began = true
		defer tx.Rollback()
		return read(tx)
	})
	if err != nil && !began {
		return f.failReads(err)
	}
	return err
}

// beginTx begins a transaction of bbolt, which reads a meta page there with its locks held: if that
// faulted, everyone else would wait without end. So beginTx first checks for the only cause, a file
// that was truncated under the running process.
func (f *File) beginTx(writable bool) (*bolt.Tx, error) {
	if err := checkMetaPages(f.handle, f.schema.Name); err != nil {
		return nil, err
	}
	return f.db.Begin(writable)
}

func checkMetaPages(file *os.File, name string) error {
	var info syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &info); err == nil && info.Size < 2*pageSize {
		return corruptError("%s was cut to %d bytes while it was open", name, info.Size)
	}
	return nil
}

// WaitDurable waits until the write with that sequence is on disk: a transaction may see a commit
// whose last sync is still running.
func (f *File) WaitDurable(ctx context.Context, seq uint64) error {
	for {
		durable, grown := f.Progress()
		if durable >= seq {
			return nil
		}
		select {
		case <-grown:
		case <-f.failed:
			return f.Err()
		case <-f.closing:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Find returns the value of key, nil for none. It detects a damaged branch page that leads the
// search past the key.
func Find(c *bolt.Cursor, key []byte) ([]byte, error) {
	next, value := c.Seek(key)
	if value != nil && bytes.Equal(next, key) {
		return value, nil
	}
	return nil, checkPosition(c, next, key)
}

// CheckSeek reports a damaged branch page that leads the search for key to a wrong place.
func CheckSeek(b *bolt.Bucket, key []byte) error {
	c := b.Cursor()
	next, _ := c.Seek(key)
	return checkPosition(c, next, key)
}

// checkPosition checks the position at which the search for key has ended, at next or after
// everything: the entries on either side must be on that side of key.
func checkPosition(c *bolt.Cursor, next, key []byte) error {
	var before []byte
	if next == nil {
		before, _ = c.Last()
	} else {
		before, _ = c.Prev()
	}
	if next != nil && bytes.Compare(next, key) < 0 || before != nil && bytes.Compare(before, key) >= 0 {
		return corruptError("the search for %q ends at a wrong place", key)
	}
	return nil
}

func corruptError(form string, args ...any) error {
	return fmt.Errorf("%w: "+form, append([]any{store.ErrCorrupt}, args...)...)
}
