package standing

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"os"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// A snapshot is the magic, a [savedState] as a gob, and the CRC-64 of both. A change of the format
// needs a new magic: the follower then ignores an older file and reads all records.
const snapshotMagic = "gazetteer standing 1\n"

// snapshotPause is the least time between two snapshots.
const snapshotPause = time.Minute

type savedState struct {
	Cursor store.Cursor
	Hosts  []savedHost
}

type savedHost struct {
	Name           string
	Track          conformance.Track
	Known, Visited bool
	Blocked        conformance.PublisherClass
	FirstTurn      time.Time
	Links          []savedLinks
}

type savedLinks struct {
	Kind   document.Kind
	Digest uint64
	To     []uint32 // places in the list of hosts
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// saveSnapshot replaces the snapshot; a failure costs only time at the next start.
func (f *Follower) saveSnapshot(context.Context) error {
	if err := f.writeSnapshot(); err != nil {
		f.o.Log.Warn("the states of hosts could not be saved for the next start", "error", err)
	}
	return nil
}

// Compact replaces the snapshot at once, so that it has nothing of deleted records. Call it when the
// follower has applied the deletions.
func (f *Follower) Compact(context.Context) error {
	if f.o.Path == "" {
		return nil
	}
	return f.writeSnapshot()
}

func (f *Follower) writeSnapshot() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	var text bytes.Buffer
	text.WriteString(snapshotMagic)
	if err := gob.NewEncoder(&text).Encode(f.copyState()); err != nil {
		return fmt.Errorf("write the snapshot %s: %w", f.o.Path, err)
	}
	sum := crc64.Checksum(text.Bytes(), crcTable)
	if err := privatefile.Replace(f.o.Path, binary.LittleEndian.AppendUint64(text.Bytes(), sum)); err != nil {
		return fmt.Errorf("write the snapshot %s: %w", f.o.Path, err)
	}
	return nil
}

// copyState returns a copy of the state for the snapshot. A host of which no record and no link is left
// is not in it: only a deleted document may have named it.
func (f *Follower) copyState() savedState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := savedState{Cursor: f.Cursor()}
	places := make([]uint32, len(f.hosts)) // in the snapshot, by number
	kept := uint32(0)
	for i := range f.hosts {
		places[i] = kept
		if !f.hosts[i].isForgotten() {
			kept++
		}
	}
	s.Hosts = make([]savedHost, 0, kept)
	for _, h := range f.hosts {
		if h.isForgotten() {
			continue
		}
		saved := savedHost{Name: h.name, Track: h.track, Known: h.known, Visited: h.visited, Blocked: h.blocked, FirstTurn: h.firstTurn}
		for _, l := range h.links {
			to := make([]uint32, len(l.to))
			for j, n := range l.to {
				to[j] = places[n]
			}
			saved.Links = append(saved.Links, savedLinks{l.kind, l.digest, to})
		}
		s.Hosts = append(s.Hosts, saved)
	}
	return s
}

// isForgotten reports whether nothing is known of a host but its number.
func (h *host) isForgotten() bool {
	return !h.known && h.blocked == "" && h.firstTurn.IsZero() && len(h.links) == 0 && len(h.linkedFrom) == 0
}

// readSnapshot takes over what a snapshot has. It is called before the follower is used.
func (f *Follower) readSnapshot() error {
	if f.o.Path == "" {
		return nil
	}
	text, err := os.ReadFile(f.o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	end := len(text) - 8
	if end < len(snapshotMagic) || !bytes.HasPrefix(text, []byte(snapshotMagic)) || crc64.Checksum(text[:end], crcTable) != binary.LittleEndian.Uint64(text[end:]) {
		return errors.New("the file is damaged, or of another version")
	}
	var s savedState
	if err := gob.NewDecoder(bytes.NewReader(text[len(snapshotMagic):end])).Decode(&s); err != nil {
		return fmt.Errorf("read the snapshot %s: %w", f.o.Path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, saved := range s.Hosts {
		f.numberOf(saved.Name)
	}
	if len(f.hosts) != len(s.Hosts) {
		return errors.New("the file names a host twice")
	}
	for i, saved := range s.Hosts {
		h := &f.hosts[i]
		h.track, h.known, h.visited, h.blocked, h.firstTurn = saved.Track, saved.Known, saved.Visited, saved.Blocked, saved.FirstTurn
		for _, l := range saved.Links {
			for _, to := range l.To {
				if int(to) >= len(f.hosts) {
					return errors.New("a link leads to no host")
				}
			}
			h.links = append(h.links, documentLinks{l.Kind, l.Digest, l.To})
		}
		f.labels[i] = h.packStates()
		f.figures.countHost(h, +1)
	}
	for n := range f.hosts {
		for _, to := range f.hosts[n].linkTargets() {
			f.hosts[to].linkedFrom = append(f.hosts[to].linkedFrom, uint32(n))
		}
	}
	f.sortHosts(0)
	f.position.MoveTo(s.Cursor)
	return nil
}
