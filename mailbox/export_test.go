package mailbox

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
)

// Schema is that of the file, for tests.
var Schema = schema

// MakeFirstLayout turns the mailbox into one of the first layout, with plain text and no key.
func (m *Mailbox) MakeFirstLayout(ctx context.Context) error {
	return m.update(ctx, func(tx writing) error {
		for _, name := range [][]byte{mailBucket, statesBucket} {
			plain := map[string][]byte{}
			if err := tx.Bucket(name).ForEach(func(key, sealed []byte) error {
				raw, err := tx.cipher.decrypt(nil, sealed, name, key)
				if bytes.Equal(name, mailBucket) {
					raw = append(binary.BigEndian.AppendUint32(nil, crc32.Checksum(raw, castagnoli)), raw...)
				}
				plain[string(key)] = raw
				return err
			}); err != nil {
				return err
			}
			for key, raw := range plain {
				if err := tx.Bucket(name).Put([]byte(key), raw); err != nil {
					return err
				}
			}
		}
		tx.MarkChanged()
		return tx.Bucket(stateBucket).Delete(keyKey)
	})
}

// FileSubject is the mailbox for the tests that every user of package boltfile must pass. A key is the
// id of a message, its value the content.
var FileSubject = filetest.Subject{Name: FileName, Format: format, Open: openSubject, KeepsFile: true}

// TestMailboxFile has the mailbox pass them.
func TestMailboxFile(t *testing.T) { filetest.Run(t, FileSubject) }

// subject is a mailbox whose file stays open.
type subject struct {
	*Mailbox
	file *boltfile.File
}

func openSubject(ctx context.Context, dir string, o boltfile.Options) (filetest.Handle, error) {
	f, err := boltfile.Open(ctx, dir, schema(), o)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m := &Mailbox{dir: dir, owner: "did:wba:here:agents:AIR-AAAA-AAAA-AAAA", options: Options{Keys: []ed25519.PrivateKey{key}, Now: time.Now}}
	if err := m.claim(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return subject{m, f}, nil
}

func (s subject) File() *boltfile.File { return s.file }

func (s subject) Close() error { return s.file.Close() }

// Write stores or deletes messages in one transaction.
func (s subject) Write(ctx context.Context, changes ...filetest.Change) error {
	r := boltfile.Request{Writes: len(changes), Frees: true}
	for _, c := range changes {
		r.Bytes += len(c.Key) + len(c.Value)
		r.Frees = r.Frees && c.Delete
	}
	r.Write = func(bare *boltfile.Tx) (refused, err error) {
		tx := writing{bare, s.cipher}
		for _, c := range changes {
			for _, n := range findNumbers(tx.reading(), c.Key) {
				if err := errors.Join(tx.Bucket(mailBucket).Delete(numberKey(n)), tx.Bucket(idsBucket).Delete(indexKey(c.Key, n)), tx.Bucket(threadsBucket).Delete(indexKey("t", n))); err != nil {
					return nil, err
				}
			}
			if c.Delete {
				if err := skipNumber(tx); err != nil {
					return nil, err
				}
				continue
			}
			if err := putMessage(tx, &Message{ID: c.Key, ThreadID: "t", Content: c.Value}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	_, err := s.file.Write(ctx, r)
	return err
}

// Get returns the content of a message.
func (s subject) Get(_ context.Context, key string) (content []byte, err error) {
	err = s.viewFile(s.file, func(tx reading) error {
		numbers := findNumbers(tx, key)
		if len(numbers) == 0 {
			return store.ErrNotFound
		}
		m, err := readMessage(tx, numbers[len(numbers)-1])
		content = m.Content
		return err
	})
	return content, err
}

// Verify compares the indexes with the messages.
func (s subject) Verify(t testing.TB) {
	t.Helper()
	if err := s.viewFile(s.file, func(tx reading) error {
		messages := 0
		if err := tx.Bucket(mailBucket).ForEach(func(key, _ []byte) error {
			n := binary.BigEndian.Uint64(key)
			m, err := readMessage(tx, n)
			if err != nil {
				return err
			}
			messages++
			if tx.Bucket(idsBucket).Get(indexKey(m.ID, n)) == nil || tx.Bucket(threadsBucket).Get(indexKey(m.ThreadID, n)) == nil {
				return fmt.Errorf("message %d is in no index", n)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, name := range [][]byte{idsBucket, threadsBucket} {
			if n := countKeys(tx.Bucket(name)); n != messages {
				return fmt.Errorf("%d entries in %s for %d messages", n, name, messages)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func countKeys(b *bolt.Bucket) int { return b.Stats().KeyN }

// Compact is not called.
func (s subject) Compact(context.Context) error { return errors.ErrUnsupported }
