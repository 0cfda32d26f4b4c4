package crawler

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/crawler/frontier"
	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// The frontier follows the store as the index does, with a cursor of its own: it is written to a
// file from time to time, and a start reads that file and the changes since. A file that is
// missing, damaged or from another store is rebuilt from all host records.

// snapshots decides when a snapshot is written.
type snapshots struct {
	next   time.Time
	cursor store.Cursor // every record up to there is in the frontier by now
	saved  store.Cursor // that of the last snapshot
	valid  bool
}

// snapshotPause is the minimum time between two snapshots; it is at least snapshotShare times what
// the last one took.
const (
	snapshotPause = time.Minute
	snapshotShare = 50
)

func (o *frontierLoop) snapshotPath() string { return filepath.Join(o.c.dir, "frontier") }

// openFrontier restores the frontier.
func (o *frontierLoop) openFrontier(ctx context.Context) error {
	c := o.c
	now, limits := c.now(), c.politeness.Limits()
	if c.dir != "" {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
	}
	least := max(limits.Host.Interval, limits.Domain.Interval, 0)
	cut, flown, recent, err := c.journal.Open(c.dir, now, least)
	if err != nil {
		return err
	}
	if err := c.recordInterrupted(ctx, flown); err != nil {
		return fmt.Errorf("write down what was cut off: %w", err)
	}
	if err := c.loadBlocks(ctx); err != nil {
		return err
	}
	if err := o.restoreFrontier(ctx, now); err != nil {
		return err
	}
	o.pullInHosts()
	for host, a := range cut {
		if o.frontier.IsDue(host, now) {
			o.frontier.SetDueTime(host, now, a.Until)
		}
	}
	for _, contact := range recent {
		o.frontier.HoldDomain(contact.Host, now, now.Add(limits.Domain.Interval))
		c.politeness.CountVisit(contact.Host, contact.Addr)
	}
	o.snapshot.next = time.Now().Add(snapshotPause)
	return nil
}

// restoreFrontier reads the snapshot and the changes since, or all records.
func (o *frontierLoop) restoreFrontier(ctx context.Context, now time.Time) error {
	c := o.c
	if c.dir != "" {
		f, cursor, err := c.readSnapshot(o.snapshotPath(), now)
		if err == nil {
			o.frontier = f
			err = o.catchUp(ctx, cursor, now)
		}
		switch {
		case err == nil:
			return nil
		case isFatal(err) || ctx.Err() != nil:
			return err
		case !errors.Is(err, os.ErrNotExist):
			c.log.Warn("the snapshot of the frontier is of no use; every host's record is read", "error", err)
		}
	}
	o.frontier = c.emptyFrontier()
	for r, err := range c.store.List(ctx, store.HostPrefix, "") {
		if err := o.takeRecord(r, err, now); err != nil {
			return err
		}
	}
	return nil
}

func (c *Crawler) emptyFrontier() *frontier.Frontier {
	domain := c.politeness.Limits().Domain
	return frontier.New(domain.Interval, domain.Concurrency, 0)
}

// takeRecord puts a host record into the frontier.
func (o *frontierLoop) takeRecord(r store.Record, err error, now time.Time) error {
	c := o.c
	if store.Damaged(r, err) {
		if strings.HasPrefix(r.Key, store.HostPrefix) {
			c.log.Error("the record of a host is damaged; it is not visited", "key", r.Key, "error", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.Key, store.HostPrefix) {
		return nil
	}
	if r.Deleted {
		o.frontier.RemoveHost(store.SplitKey(r.Key)[1])
		return nil
	}
	var h struct {
		Name string    `json:"name"`
		Due  time.Time `json:"due"`
	}
	if err := json.Unmarshal(r.Value, &h); err != nil || store.HostKey(h.Name) != r.Key {
		c.log.Error("the record of a host cannot be read; it is not visited", "key", r.Key, "error", err)
		return nil
	}
	o.frontier.SetDueTime(h.Name, now, h.Due)
	return nil
}

// catchUp applies the changes since the cursor.
func (o *frontierLoop) catchUp(ctx context.Context, cursor store.Cursor, now time.Time) error {
	head := o.c.store.Head()
	if cursor == head {
		return nil
	}
	for r, err := range o.c.store.Changes(ctx, cursor) {
		if err := o.takeRecord(r, err, now); err != nil {
			return err
		}
		if r.Seq >= head.Seq {
			return nil
		}
	}
	return ctx.Err()
}

// saveSnapshot writes a snapshot when it is time and the store has changed since the last. The
// cursor is the head of the store one pause ago: everything written until then has arrived here in
// the meantime.
func (o *frontierLoop) saveSnapshot() {
	s := &o.snapshot
	if o.c.dir == "" || time.Now().Before(s.next) {
		return
	}
	begun := time.Now()
	if s.valid && s.cursor != s.saved {
		if err := o.writeSnapshot(s.cursor); err != nil {
			o.c.log.Warn("the frontier could not be saved", "error", err)
		} else {
			s.saved = s.cursor
		}
	}
	s.cursor, s.valid = o.c.settledHead()
	s.next = time.Now().Add(max(snapshotPause, snapshotShare*time.Since(begun)))
}

// settledHead returns the head of the store, and false while a writer is about to tell the frontier
// what it has written.
func (c *Crawler) settledHead() (store.Cursor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.Head(), c.adding == 0
}

// closeSnapshot writes the last snapshot, when all visits are committed.
func (o *frontierLoop) closeSnapshot() error {
	err := o.c.journal.Close()
	if o.c.dir == "" {
		return err
	}
	if cursor, ok := o.c.settledHead(); ok {
		o.snapshot.cursor, o.snapshot.valid = cursor, true
		o.addPending()
	}
	if !o.snapshot.valid {
		return err
	}
	return errors.Join(err, o.writeSnapshot(o.snapshot.cursor))
}

// writeSnapshot replaces the file of the frontier.
func (o *frontierLoop) writeSnapshot(cursor store.Cursor) error {
	err := privatefile.ReplaceUnsynced(o.snapshotPath(), func(w *bufio.Writer) error { return o.frontier.WriteSnapshot(w, cursor) })
	if err != nil {
		return fmt.Errorf("write the snapshot of the frontier: %w", err)
	}
	return nil
}

// readSnapshot reads a frontier from a file.
func (c *Crawler) readSnapshot(path string, now time.Time) (*frontier.Frontier, store.Cursor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, store.Cursor{}, err
	}
	domain := c.politeness.Limits().Domain
	return frontier.ReadSnapshot(text, domain.Interval, domain.Concurrency, now)
}
