package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"slices"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A StoreComparison contains the counts of [CompareStore].
type StoreComparison struct {
	Records int64 `json:"records"` // of the store that are leaves
	Waiting int64 `json:"waiting"` // records that the log has yet to read
	Lost    int64 `json:"lost"`    // leaves of records whose loss the operator has accepted
	// Undeclared are erased leaves whose record the store has deleted, or whose loss the operator has
	// accepted, and that no leaf declares yet.
	Undeclared int64 `json:"undeclared"`
}

// CompareStore compares a store with the directory of its log, which no process may use: every leaf
// with its record, and every record that belongs in the log with the leaves. known contains signed
// checkpoints from other places, which the tree must contain. CompareStore calls progress at
// intervals with the number of leaves read, and report for each problem. It returns an error if it
// cannot complete the comparison.
func CompareStore(ctx context.Context, dir string, s store.Store, verifier note.Verifier, known [][]byte,
	progress func(done, total int64), report func(problem string)) (StoreComparison, error) {
	c := comparison{ctx: ctx, store: s, report: report, seed: maphash.MakeSeed(), logged: map[uint64]struct{}{}, erased: map[int64]string{}}
	var err error
	if c.state, err = readState(dir); err != nil {
		return c.result, err
	}
	if head := s.Head(); c.state.Store != head.Store {
		report(fmt.Sprintf("the log follows the store %s, and this is the store %s: log and store do not belong together", c.state.Store, head.Store))
		return c.result, nil
	}
	if c.hashes, err = openHashes(dir, os.O_RDONLY, c.state.Size); err != nil {
		return c.result, err
	}
	defer c.hashes.file.Close() // only read
	if c.leaves, err = openLeaves(dir, os.O_RDONLY, c.state.Size, c.state.Bytes); err != nil {
		return c.result, err
	}
	defer c.leaves.closeFiles() // only read
	for _, text := range known {
		if err := c.checkKnown(text, verifier); err != nil {
			return c.result, err
		}
	}
	if err := c.readNewKeys(); err != nil {
		return c.result, err
	}
	if err := c.compareLeaves(progress); err != nil {
		return c.result, err
	}
	return c.result, c.compareRecords()
}

// comparison is one call of CompareStore.
type comparison struct {
	ctx    context.Context // of the one call
	store  store.Store
	report func(string)
	state  state
	hashes *hashes
	leaves *leaves
	result StoreComparison

	seed   maphash.Seed
	logged map[uint64]struct{} // hashes of the keys of leaves that are not erased
	// changed contains the keys that were written or deleted after the log's cursor; the value is
	// whether they are deleted.
	changed map[string]bool
	// erased are the keys of erased leaves that no later leaf declares, by their numbers.
	erased map[int64]string
}

// checkKnown checks that the tree contains a signed checkpoint.
func (c *comparison) checkKnown(text []byte, verifier note.Verifier) error {
	head, _, err := checkpoint.Open(text, verifier)
	switch {
	case err != nil:
		c.report("the store's checkpoint of the log is damaged: " + err.Error())
		return nil
	case head.N > c.state.Size:
		c.report(fmt.Sprintf("the store knows a checkpoint of %d leaves, and the log has %d: an older copy of the log was put back", head.N, c.state.Size))
		return nil
	}
	root, err := tlog.TreeHash(head.N, c.hashes)
	if err != nil {
		return err
	}
	if root != head.Hash {
		c.report(fmt.Sprintf("the first %d leaves have another root than the store's checkpoint: it is another log, or a damaged one", head.N))
	}
	return nil
}

// readNewKeys collects the keys that were written since the log last read the store. If the store has
// forgotten deletions since then, the log reads it from the beginning, too.
func (c *comparison) readNewKeys() error {
	err := c.readKeysAfter(c.state.storeCursor())
	if errors.Is(err, store.ErrCursorGone) {
		err = c.readKeysAfter(store.Cursor{})
	}
	return err
}

func (c *comparison) readKeysAfter(after store.Cursor) error {
	c.changed = map[string]bool{}
	head := c.store.Head()
	if after.Incarnation != head.Incarnation || after.Seq > head.Seq {
		after = store.Cursor{}
	}
	if after.Seq >= head.Seq {
		return nil
	}
	for r, err := range c.store.Changes(c.ctx, after) {
		if err != nil && !store.Damaged(r, err) {
			return fmt.Errorf("read the changes of the store: %w", err)
		}
		c.changed[r.Key] = r.Deleted
		if r.Seq >= head.Seq {
			break
		}
	}
	return c.ctx.Err()
}

// progressStep is the number of leaves between two calls of progress.
const progressStep = 4096

// compareLeaves compares each leaf with its record.
func (c *comparison) compareLeaves(progress func(done, total int64)) error {
	salter := leafform.Salter(c.state.Salt)
	for index := range c.state.Size {
		if index%progressStep == 0 {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			progress(index, c.state.Size)
		}
		e, _, err := c.leaves.readEntry(index, c.hashes)
		if errors.Is(err, tiles.ErrDamaged) {
			c.report(err.Error())
			continue
		}
		if err != nil {
			return err
		}
		if e.Erased {
			c.erased[index] = e.Key
			continue
		}
		if e.Deleted {
			declared, err := tiles.ErasedBy(e.Leaf)
			if err != nil {
				c.report(fmt.Sprintf("leaf %d: %v", index, err))
			}
			for _, erased := range declared {
				delete(c.erased, erased)
			}
			continue
		}
		c.logged[maphash.String(c.seed, e.Key)] = struct{}{}
		r, err := c.store.Get(c.ctx, e.Key)
		switch {
		case index < c.state.Lost:
			c.result.Lost++
		case errors.Is(err, store.ErrCorrupt): // reported with the records of the store
		case errors.Is(err, store.ErrNotFound):
			if !c.isChanged(e.Key) { // otherwise its erasure follows later
				c.report(fmt.Sprintf("leaf %d is the record %s, and the store does not have it: an older copy of the store was put back", index, e.Key))
			}
		case err != nil:
			return err
		case tlog.RecordHash(salter.RecordLeaf(r)) != e.Hash && !c.isChanged(e.Key):
			c.report(fmt.Sprintf("leaf %d is the record %s, and the store has another record under that key", index, e.Key))
		}
	}
	progress(c.state.Size, c.state.Size)
	return c.compareErased()
}

// compareErased compares the erased leaves that no leaf declares with the deletions of the store
// that the log has yet to read. It will declare only those, and the ones whose loss the operator has
// accepted.
func (c *comparison) compareErased() error {
	valid := c.state.isValidIn(c.store)
	for _, index := range slices.Sorted(maps.Keys(c.erased)) {
		key := c.erased[index]
		if c.changed[key] || index < c.state.Lost {
			c.result.Undeclared++
			continue
		}
		switch r, err := c.store.Get(c.ctx, key); {
		case err == nil && valid && r.Seq > c.state.Seq: // deleted, and written again
			c.result.Undeclared++
		case err == nil:
			c.logged[maphash.String(c.seed, key)] = struct{}{} // so that it is reported once
			c.report(fmt.Sprintf("leaf %d is erased, and the store still has its record %s: an older copy of the store was put back", index, key))
		case errors.Is(err, store.ErrCorrupt): // reported with the records of the store
		case errors.Is(err, store.ErrNotFound):
			c.report(fmt.Sprintf("leaf %d is erased and no leaf will declare it: the store knows of no deletion of its record %s", index, key))
		default:
			return err
		}
	}
	return nil
}

// isChanged reports whether a record was written or deleted after the log's cursor.
func (c *comparison) isChanged(key string) bool {
	_, changed := c.changed[key]
	return changed
}

// compareRecords checks that the log contains each record that belongs in it.
func (c *comparison) compareRecords() error {
	for _, prefix := range []string{store.AgentPrefix, store.VersionPrefix} {
		for r, err := range c.store.List(c.ctx, prefix, "") {
			if err != nil && !store.Damaged(r, err) {
				return fmt.Errorf("read the store: %w", err)
			}
			if err != nil || !leafform.HistoryKey(r.Key) {
				continue
			}
			_, logged := c.logged[maphash.String(c.seed, r.Key)]
			switch {
			case logged:
				c.result.Records++
			case c.isChanged(r.Key):
				c.result.Waiting++
			default:
				c.report(fmt.Sprintf("the record %s has no leaf in the log, which has read the store up to write %d", r.Key, c.state.Seq))
			}
		}
	}
	return nil
}
