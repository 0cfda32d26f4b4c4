package boltqueue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
)

var fileSubject = filetest.Subject{Name: QueueFile, Format: format, Open: openSubject, KeepsFile: true}

func TestMain(m *testing.M) { filetest.Main(m, fileSubject) }

// TestQueueFile has the queue pass what every user of package boltfile must pass. A key is an envelope's
// id, its value the text.
func TestQueueFile(t *testing.T) { filetest.Run(t, fileSubject) }

const testInbox = "did:wba:here:agents:AIR-1"

// subject is a queue as filetest sees it.
type subject struct {
	*Queue
	read *texts
}

// texts are the texts of all envelopes after one transaction, so that a test that looks up thousands of
// them reads the file once.
type texts struct {
	mu   sync.Mutex // guards the following
	tx   int
	byID map[string][]byte
}

func openSubject(ctx context.Context, dir string, o boltfile.Options) (filetest.Handle, error) {
	q, err := Open(ctx, dir, Options{File: o})
	if err != nil {
		return nil, err
	}
	q.mergeAfter = 50 // often enough for the tests to see it
	return subject{q, &texts{}}, nil
}

// Write pushes or deletes envelopes in one request.
func (s subject) Write(ctx context.Context, changes ...filetest.Change) error {
	r := boltfile.Request{Writes: len(changes), Frees: true}
	for _, c := range changes {
		r.Bytes += len(c.Key) + len(c.Value)
		r.Frees = r.Frees && c.Delete
	}
	r.Write = func(tx *boltfile.Tx) (refused, err error) {
		if err := s.reloadRecent(tx.Tx); err != nil {
			return nil, err
		}
		for _, c := range changes {
			if refused, err := s.writeChange(tx, c); refused != nil || err != nil {
				return refused, err
			}
		}
		return nil, nil
	}
	_, err := s.file.Write(ctx, r)
	return err
}

func (s subject) writeChange(tx *boltfile.Tx, c filetest.Change) (refused, err error) {
	for _, number := range s.numbersOf(tx.Tx, nameOf(testInbox, c.Key)) {
		if _, err := s.deleteMail(tx.Tx, testInbox, number); err != nil {
			return nil, err
		}
	}
	if c.Delete {
		_, err := s.nextNumber(tx)
		return nil, err
	}
	now := time.Now()
	in := relay.Incoming{
		Inbox: testInbox, Sender: fmt.Sprint("did:", tx.Sequence()), ID: c.Key, ThreadID: "t", Nonce: c.Key,
		Digest: sha256.Sum256(c.Value), Received: now, Expires: now.Add(time.Hour), Text: c.Value, MaxFirstContacts: 1000,
	}
	return s.putMail(tx, prepareMail(in))
}

// Get returns the text of an envelope.
func (s subject) Get(_ context.Context, key string) ([]byte, error) {
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	arrived := s.arrivals.numbersAfter(testInbox, 0)
	err := s.file.View("read", func(tx *bolt.Tx) error {
		if s.read.byID != nil && s.read.tx == tx.ID() {
			return nil
		}
		s.read.tx, s.read.byID = tx.ID(), nil
		byID := map[string][]byte{}
		err := eachMail(tx, testInbox, 0, arrived, func(number uint64, raw []byte) (more bool, err error) {
			m, err := decodeMail(number, raw)
			byID[m.ID] = m.Text
			return true, err
		})
		if err == nil {
			s.read.byID = byID
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	text, ok := s.read.byID[key]
	if !ok {
		return nil, store.ErrNotFound
	}
	return text, nil
}

// Verify compares the counts, the ids and the replay window with the mail itself.
func (s subject) Verify(t testing.TB) {
	t.Helper()
	_, err := s.file.Write(t.Context(), boltfile.Request{Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		if err := s.reloadRecent(tx.Tx); err != nil {
			return nil, err
		}
		return s.verify(tx.Tx), nil
	}})
	if err != nil {
		t.Error(err)
	}
}

func (s subject) verify(tx *bolt.Tx) (err error) {
	tallies := map[string]*tally{}
	mail, named := 0, 0
	report := func(problem string) { err = errors.Join(err, errors.New(problem)) }
	eachErr := eachRecord(tx, report, func(inbox string, number uint64, raw []byte) error {
		m, err := decodeMail(number, raw)
		if err != nil {
			return err
		}
		if tallies[inbox] == nil {
			tallies[inbox] = &tally{}
		}
		tallies[inbox].countMail(relay.Incoming{Received: m.Received, Expires: m.Expires, Text: m.Text})
		mail++
		if numbers := s.numbersOf(tx, nameOf(inbox, m.ID)); len(numbers) != 1 || numbers[0] != number {
			return fmt.Errorf("the id %s leads to %v, want %d", m.ID, numbers, number)
		}
		return nil
	})
	if err := errors.Join(err, eachErr); err != nil {
		return err
	}
	for _, e := range s.recent.entries {
		key := idKey(e.name, e.number)
		if merged, _ := tx.Bucket(idsBucket).Cursor().Seek(key); e.number&entryGone == 0 && !bytes.Equal(merged, key) {
			named++
		}
	}
	if named += tx.Bucket(idsBucket).Stats().KeyN; named != mail {
		return fmt.Errorf("%d ids for %d envelopes", named, mail)
	}
	return tx.Bucket(inboxBucket).ForEach(func(inbox, v []byte) error {
		have, want := decodeTally(v), tallies[string(inbox)]
		if want == nil || have.mail != want.mail || have.bytes != want.bytes || have.oldest != want.oldest || have.expires > want.expires {
			return fmt.Errorf("inbox %s counts %+v, its mail %+v", inbox, have, want)
		}
		return nil
	})
}

// Compact is not called: the pages of deleted mail are used again.
func (s subject) Compact(context.Context) error { return errors.ErrUnsupported }
