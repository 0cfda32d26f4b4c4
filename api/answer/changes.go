package answer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gazetteer/registry"
	"gazetteer/store"
)

// The kinds of a [Change].
const (
	DocumentPublished = "document-published" // a version of a document was seen for the first time
	DocumentRemoved   = "document-removed"   // a host no longer publishes a document, or it was withdrawn
	AgentChanged      = "agent-changed"      // something happened to an agent; Event says what
)

// A Change is one event of the public feed: what became known, changed or disappeared.
type Change struct {
	Seq  uint64    `json:"seq" doc:"the sequence of the change; changes are listed in this order"`
	Kind string    `json:"kind" enum:"document-published,document-removed,agent-changed" doc:"what happened"`
	At   time.Time `json:"at,omitzero" doc:"when it was seen; absent for removals"`
	// Host, Document and Digest describe a document.
	Host     string `json:"host,omitempty" doc:"the host of the document"`
	Document string `json:"document,omitempty" doc:"the format of the document"`
	Digest   string `json:"digest,omitempty" doc:"the digest of the new version"`
	// AirID and Event describe an agent.
	AirID string `json:"air_id,omitempty" doc:"the agent"`
	Event string `json:"event,omitempty" doc:"what happened to the agent, as in its history"`
}

// maxChangeRecords bounds the records that one page of changes reads.
const maxChangeRecords = 5000

// Changes returns up to limit changes after a cursor, oldest first, and the cursor to continue from.
// A page can be empty although more follows: it reads at most 5,000 records of the store, most of
// which are no changes; more reports whether the page ended before the newest record. A zero cursor
// begins 5,000 records before the newest. The error is [store.ErrCursorGone] for a cursor of another
// store, or one behind the horizon.
func (a *Answers) Changes(ctx context.Context, after store.Cursor, limit int) (changes []Change, next store.Cursor, more bool, err error) {
	head := a.Store.Head()
	if after == (store.Cursor{}) {
		after = head
		after.Seq -= min(after.Seq, maxChangeRecords)
		after.Seq = max(after.Seq, a.Store.Horizon().Seq)
	}
	if after.Store != head.Store || after.Incarnation != head.Incarnation || after.Seq > head.Seq {
		return nil, after, false, store.ErrCursorGone
	}
	next = after
	if after.Seq == head.Seq {
		return nil, next, false, nil
	}
	read := 0
	for record, err := range a.Store.Changes(ctx, after) {
		if err != nil && !store.Damaged(record, err) {
			return nil, after, false, fmt.Errorf("read the changes: %w", err)
		}
		next.Seq = record.Seq
		if err == nil {
			change, ok, err := readChange(record)
			if err != nil {
				return nil, after, false, err
			}
			if ok {
				changes = append(changes, change)
			}
		}
		if read++; record.Seq >= head.Seq {
			return changes, next, false, nil
		}
		if read == maxChangeRecords || len(changes) == limit {
			return changes, next, true, nil
		}
	}
	// The sequence waits for new records, so it ends only with the context.
	return nil, after, false, ctx.Err()
}

// readChange returns the change that a record stands for; false for a record that is none.
func readChange(record store.Record) (Change, bool, error) {
	parts := store.SplitKey(record.Key)
	switch {
	case parts[0] == "ver" && len(parts) == 4 && !record.Deleted:
		seen, digest, _ := strings.Cut(parts[3], "-")
		at, err := time.Parse("20060102T150405.000Z", seen)
		if err != nil {
			return Change{}, false, fmt.Errorf("read the time in the key %s: %w", record.Key, err)
		}
		return Change{Seq: record.Seq, Kind: DocumentPublished, At: at, Host: parts[1], Document: parts[2], Digest: digest}, true, nil
	case parts[0] == "doc" && len(parts) == 3 && record.Deleted:
		return Change{Seq: record.Seq, Kind: DocumentRemoved, Host: parts[1], Document: parts[2]}, true, nil
	case parts[0] == "agent" && len(parts) == 3 && !record.Deleted:
		entry, err := decodeRecord[registry.Entry](record)
		if err != nil {
			return Change{}, false, err
		}
		return Change{Seq: record.Seq, Kind: AgentChanged, At: entry.At, AirID: parts[1], Event: entry.Event}, true, nil
	}
	return Change{}, false, nil
}
