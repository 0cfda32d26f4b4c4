package crawler

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/store"
)

// The frontier follows the store as the index does, with a cursor of its own: it is written to a
// file from time to time, and a start reads that file and the changes since. A file that is
// missing, damaged or from another store is rebuilt from all host records.
//
//	magic, length of the cursor, cursor (JSON), number of hosts,
//	for each host: due (seconds), length of its name, name;
//	CRC-64 of all that
//
// Numbers are little-endian and 4 bytes long unless stated otherwise.
const snapshotMagic = "gazetteer frontier 1\n"

// snapshots decides when a snapshot is written.
type snapshots struct {
	next   time.Time
	cursor store.Cursor // every record up to there is in the frontier by now
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
	now := c.now()
	if c.dir != "" {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
	}
	least := max(c.politeness.host.Interval, c.politeness.domain.Interval, 0)
	cut, flown, recent, err := c.journal.openFile(c.dir, now, least)
	if err != nil {
		return err
	}
	if err := c.recordCut(ctx, flown); err != nil {
		return fmt.Errorf("write down what was cut off: %w", err)
	}
	if err := c.loadBlocks(ctx); err != nil {
		return err
	}
	if err := o.restoreFrontier(ctx, now); err != nil {
		return err
	}
	for host, a := range cut {
		if o.frontier.isDue(host, now) {
			o.frontier.setDueTime(host, now, a.until)
		}
	}
	for _, contact := range recent {
		o.frontier.holdDomain(contact.host, now, now.Add(c.politeness.domain.Interval))
		c.politeness.countVisit(contact.host, contact.addr)
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
	o.frontier = c.emptyFrontier(0)
	for r, err := range c.store.List(ctx, store.HostPrefix, "") {
		if err := o.takeRecord(r, err, now); err != nil {
			return err
		}
	}
	return nil
}

func (c *Crawler) emptyFrontier(hosts int) *frontier {
	return newFrontier(c.politeness.domain.Interval, c.politeness.domain.AtOnce, hosts)
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
		o.frontier.removeHost(store.SplitKey(r.Key)[1])
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
	o.frontier.setDueTime(h.Name, now, h.Due)
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

// saveSnapshot writes a snapshot when it is time. The cursor is the head of the store one pause
// ago: everything written until then has arrived here in the meantime.
func (o *frontierLoop) saveSnapshot() {
	s := &o.snapshot
	if o.c.dir == "" || time.Now().Before(s.next) {
		return
	}
	begun := time.Now()
	if s.valid {
		if err := o.frontier.writeSnapshot(o.snapshotPath(), s.cursor); err != nil {
			o.c.log.Warn("the frontier cannot be kept", "error", err)
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
	err := o.c.journal.closeFile()
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
	return errors.Join(err, o.frontier.writeSnapshot(o.snapshotPath(), o.snapshot.cursor))
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// writeSnapshot writes the hosts that are known.
func (f *frontier) writeSnapshot(path string, cursor store.Cursor) error {
	at, err := json.Marshal(cursor)
	if err != nil {
		return err
	}
	err = replaceFile(path, func(w *bufio.Writer) error {
		sum := crc64.New(crcTable)
		out := io.MultiWriter(w, sum)
		text := append([]byte(snapshotMagic), binary.LittleEndian.AppendUint32(nil, uint32(len(at)))...)
		text = binary.LittleEndian.AppendUint32(append(text, at...), uint32(f.known))
		for n := range uint32(f.hosts.len()) {
			if *f.hosts.place.at(n) != placeNone {
				text = f.hosts.appendHost(text, n)
			}
			if len(text) > 1<<15 {
				if _, err := out.Write(text); err != nil {
					return err
				}
				text = text[:0]
			}
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		return binary.Write(w, binary.LittleEndian, sum.Sum64())
	})
	if err != nil {
		return fmt.Errorf("write the snapshot of the frontier: %w", err)
	}
	return nil
}

const (
	maxSnapshotCursor = 1 << 10 // bytes of the text of a cursor
	minHostBytes      = 6       // bytes of a host
)

var errSnapshot = errors.New("the file is damaged")

// readSnapshot reads a frontier from a file.
func (c *Crawler) readSnapshot(path string, now time.Time) (*frontier, store.Cursor, error) {
	var cursor store.Cursor
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cursor, err
	}
	rest, ok := strings.CutPrefix(string(text), snapshotMagic)
	end := len(text) - 8
	if !ok || end < len(snapshotMagic) || crc64.Checksum(text[:end], crcTable) != binary.LittleEndian.Uint64(text[end:]) {
		return nil, cursor, errSnapshot
	}
	r := &snapshotReader{text: rest[:len(rest)-8]}
	at := r.readBytes(r.readNumber(maxSnapshotCursor))
	hosts := r.readNumber(1 << 31)
	if err := json.Unmarshal([]byte(at), &cursor); err != nil || r.short {
		return nil, cursor, errSnapshot
	}
	f := c.emptyFrontier(min(hosts, len(r.text)/minHostBytes))
	for range hosts {
		due := r.readNumber(1<<32 - 1)
		name := r.readBytes(int(r.readByte()))
		if r.short || name == "" {
			return nil, cursor, errSnapshot
		}
		f.addHost(name, now, time.Unix(int64(due), 0))
	}
	return f, cursor, nil
}

// A snapshotReader parses a text.
type snapshotReader struct {
	text  string
	short bool // there was less than wanted
}

func (r *snapshotReader) readBytes(n int) string {
	if n > len(r.text) {
		r.short = true
		return ""
	}
	part := r.text[:n]
	r.text = r.text[n:]
	return part
}

func (r *snapshotReader) readNumber(most int) int {
	b := r.readBytes(4)
	if r.short {
		return 0
	}
	n := int(binary.LittleEndian.Uint32([]byte(b)))
	if n > most {
		r.short = true
		return 0
	}
	return n
}

func (r *snapshotReader) readByte() byte {
	b := r.readBytes(1)
	if r.short {
		return 0
	}
	return b[0]
}
