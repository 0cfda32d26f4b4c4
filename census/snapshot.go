package census

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"gazetteer/conformance"
	"gazetteer/document/diff"
	"gazetteer/registry"
	"gazetteer/store"
)

// snapshotFormat is the number of the layout of a snapshot, and of the rule by which operations of two
// documents are the same. A snapshot with another number is not read.
const snapshotFormat = 6

// snapshotHead begins a snapshot; the hosts follow.
type snapshotHead struct {
	Format int
	Cursor store.Cursor
	// Rules is the diff.RulesVersion that the severities of the versions are by.
	Rules     int
	Features  []Feature
	Standings []conformance.Standing
	Agents    map[string]registry.Agent
	Blocks    map[string]blockSnapshot
	Hosts     int
}

type blockSnapshot struct{ By string }

// errNoUse says that a snapshot belongs to another store or program.
var errNoUse = errors.New("it belongs to another store or version")

// readSnapshot reads the file of an earlier process. That there is none is no error.
func (l *Live) readSnapshot() error {
	if l.o.Snapshot == "" {
		return nil
	}
	file, err := os.Open(l.o.Snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() // only read
	unpacked, err := zstd.NewReader(bufio.NewReader(file))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	decoder := gob.NewDecoder(unpacked)
	var head snapshotHead
	if err := decoder.Decode(&head); err != nil {
		return err
	}
	now := l.o.Store.Head()
	if head.Format != snapshotFormat || head.Cursor.Store != now.Store || head.Cursor.Incarnation != now.Incarnation || head.Cursor.Seq > now.Seq {
		return errNoUse
	}
	l.featureNumbers(head.Features)
	if len(l.names) != len(head.Features) {
		return fmt.Errorf("%w: a feature is there twice", errNoUse)
	}
	for _, s := range head.Standings {
		l.standingNumber(s)
	}
	if head.Agents != nil {
		l.agents = head.Agents
	}
	for host, b := range head.Blocks {
		l.blocks[host] = blockRecord{By: b.By}
	}
	for range head.Hosts {
		h := new(liveHost)
		if err := decoder.Decode(h); err != nil {
			return err
		}
		if err := l.checkNumbers(h); err != nil {
			return err
		}
		if head.Rules != diff.RulesVersion {
			for i := range h.Versions {
				h.Versions[i].Severity = ""
			}
		}
		id := l.idOf(h.Host)
		l.rows[id] = h
		if len(h.Versions) > 1 {
			l.uncompared[id] = true
		}
		l.updateFeatures(id)
	}
	l.position.MoveTo(head.Cursor)
	return nil
}

// checkNumbers compares a host of a snapshot with the lists of the snapshot.
func (l *Live) checkNumbers(h *liveHost) error {
	for _, d := range h.Documents {
		if len(d.Verbs) != len(d.VerbCounts) {
			return errNoUse
		}
	}
	for n := range h.listedFeatures {
		if int(n) >= len(l.names) {
			return errNoUse
		}
	}
	for _, t := range h.Turns {
		if int(t.Standing) >= len(l.turnsOf) {
			return errNoUse
		}
	}
	return nil
}

// listedFeatures yields the numbers of the features that a snapshot lists for a host, some more than once.
func (h *liveHost) listedFeatures(yield func(uint32) bool) {
	lists := [][]uint32{h.Visit}
	for _, d := range h.Documents {
		lists = append(lists, d.Features, d.Verbs)
	}
	for _, list := range lists {
		for _, n := range list {
			if !yield(n) {
				return
			}
		}
	}
}

// renumber returns a copy of a host with other numbers of features.
func (h *liveHost) renumber(numbers []uint32) *liveHost {
	change := func(list []uint32) []uint32 {
		list = slices.Clone(list)
		for i, n := range list {
			list[i] = numbers[n]
		}
		return list
	}
	c := *h
	c.Visit, c.Documents = change(h.Visit), slices.Clone(h.Documents)
	for i := range c.Documents {
		d := &c.Documents[i]
		d.Features, d.Verbs = change(d.Features), change(d.Verbs)
	}
	return &c
}

// usedFeatures returns the features that hosts have, and their new numbers by the old ones. Features
// that no host has any more may be words of erased documents. l.mu is held for reading.
func (l *Live) usedFeatures(hosts []*liveHost) (features []Feature, numbers []uint32) {
	used := make([]bool, len(l.names))
	for _, h := range hosts {
		for n := range h.listedFeatures {
			used[n] = true
		}
	}
	numbers = make([]uint32, len(l.names))
	for n, f := range l.names {
		if used[n] {
			numbers[n] = uint32(len(features))
			features = append(features, f)
		}
	}
	return features, numbers
}

// Compact writes the snapshot now, so that it contains nothing that was deleted from the store before the
// position of [Live.Follower]. If the store is being read again, Compact deletes the snapshot instead.
func (l *Live) Compact(context.Context) error {
	err := l.writeSnapshot()
	if errors.Is(err, errNotRead) {
		if err = os.Remove(l.o.Snapshot); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// keepSnapshot writes a snapshot. That it cannot be written costs a reading of the store at the next
// start, and nothing else.
func (l *Live) keepSnapshot(context.Context) error {
	if err := l.writeSnapshot(); err != nil && !errors.Is(err, errNotRead) {
		l.o.Log.Warn("the figures could not be saved", "error", err)
	}
	return nil
}

// writeSnapshot replaces the file.
func (l *Live) writeSnapshot() error {
	if l.o.Snapshot == "" {
		return nil
	}
	l.saving.Lock()
	defer l.saving.Unlock()
	temporary := l.o.Snapshot + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the snapshot of the figures: %w", err)
	}
	err = l.encodeSnapshot(file)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, l.o.Snapshot)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the snapshot of the figures: %w", err), os.Remove(temporary))
	}
	return nil
}

// encodeSnapshot writes a snapshot while others read.
func (l *Live) encodeSnapshot(file *os.File) error {
	packed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.position.Cursor() == (store.Cursor{}) {
		return errors.Join(packed.Close(), errNotRead)
	}
	encoder := gob.NewEncoder(packed)
	hosts := slices.DeleteFunc(slices.Clone(l.rows), (*liveHost).isEmpty)
	features, numbers := l.usedFeatures(hosts)
	head := snapshotHead{Format: snapshotFormat, Cursor: l.position.Cursor(), Rules: diff.RulesVersion, Features: features, Standings: l.turnsOf, Agents: l.agents, Blocks: map[string]blockSnapshot{}}
	for host, b := range l.blocks {
		head.Blocks[host] = blockSnapshot{b.By}
	}
	head.Hosts = len(hosts)
	if err := encoder.Encode(head); err != nil {
		return errors.Join(err, packed.Close())
	}
	for _, h := range hosts {
		if err := encoder.Encode(h.renumber(numbers)); err != nil {
			return errors.Join(err, packed.Close())
		}
	}
	return packed.Close()
}

// errNotRead says that the store was not read to its end yet.
var errNotRead = errors.New("the store has not been read yet")

// isEmpty reports whether nothing is known about a host.
func (h *liveHost) isEmpty() bool {
	return !h.Known && len(h.Documents) == 0 && len(h.Versions) == 0 && len(h.Turns) == 0
}
