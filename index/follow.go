package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/view"
	"gazetteer/internal/wait"
	"gazetteer/store"
	"gazetteer/store/follow"

	"github.com/blevesearch/bleve/v2"
	bleveDocument "github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

const (
	// batchEntries is the number of entries in one batch: a batch of one entry costs thirty times
	// as much per entry; a batch of many thousands gains little and needs memory.
	batchEntries = 4000
	// batchRecords is the maximum distance of the cursor from the one on disk while only records of
	// other keys arrive. Reading them again is cheap.
	batchRecords = 10000
	// retryFirst and retryMost are the pauses after a batch that could not be
	// written, for example because the disk was full.
	retryFirst = time.Second
	retryMost  = time.Minute
)

// A writeError means that a batch could not be written. The index in memory is then unreliable: it
// may contain the batch and its cursor.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write to the index: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// Run follows the log until ctx ends, and then returns nil. If the log is a different one, or the
// index is damaged, it rebuilds the index from the beginning of the log. If a batch cannot be
// written, it pauses and continues from the state on disk. It returns the first error that a retry
// cannot repair: an error of the store.
//
// It prepares the index for searches first, so that the first search does not wait for that.
func (x *Index) Run(ctx context.Context) error {
	x.prepareFirstView()
	return x.Follow(ctx)
}

// Follow is [Index.Run] without the preparation: the first search reads the table of words, which
// takes longer than most commands that have an index of their own and do not search.
func (x *Index) Follow(ctx context.Context) error {
	pause := x.firstRetry
	for {
		before := x.Cursor()
		err := x.followLog(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if x.Cursor() != before {
			pause = x.firstRetry
		}
		var damage *damage.Error
		var write *writeError
		switch {
		case errors.Is(err, store.ErrCursorGone):
			err = x.rebuildDirectory(err.Error())
		case errors.As(err, &damage):
			err = x.rebuildDirectory(damage.What)
		case errors.As(err, &write):
			x.failure.Store(&write.err)
			x.log.Error("the index could not be written, trying again", "error", write.err, "pause", pause)
		default:
			return fmt.Errorf("follow the log: %w", err)
		}
		if err == nil && before != (store.Cursor{}) {
			continue // there was something to read before; there will be again
		}
		if wait.For(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, retryMost)
		if err := x.reopenDirectory(); err != nil {
			x.log.Error("the index could not be opened again", "error", err)
		}
	}
}

// prepareFirstView prepares the data of a newly opened index for searches, so that the first search
// does not wait for it. A search that arrives meanwhile waits, and gets the same answer as later
// ones.
func (x *Index) prepareFirstView() {
	err := x.withSnapshot(func(*view.View, uint64) error { return nil })
	if err != nil {
		x.log.Warn("the index could not be made ready for searching", "error", err) // Run repairs damage
	}
}

// followLog applies the log to the index until ctx ends, the log fails, the index
// cannot be written, or a search has met damage.
func (x *Index) followLog(ctx context.Context) error {
	if x.currentDirectory() == nil {
		return &writeError{ErrUnavailable} // reopening failed; Run tries again
	}
	following, stop := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() {
		var met error
		select {
		case met = <-x.damages:
			stop()
		case <-following.Done():
		}
		watched <- met
	}()
	f := &follower{x: x, durableCursor: x.Cursor()}
	err := follow.ReadBatches(following, x.store, x.Cursor(), follow.BatchOptions{Linger: x.linger, Damaged: x.damagedRecord}, func(batch []store.Record, upTo store.Cursor) error {
		return damage.Recover(func() error { return f.applyRecords(batch, upTo) })
	})
	stop()
	if met := <-watched; err == nil && met != nil {
		return met
	}
	if err == nil {
		err = f.writeCursor()
	}
	if err == nil && ctx.Err() == nil {
		err = store.ErrClosed // the log ended by itself
	}
	return err
}

// damagedRecord reports that the index omits a record.
func (x *Index) damagedRecord(r store.Record, err error) {
	x.log.Error("a damaged record is left out of the index", "key", r.Key, "error", err)
}

func (x *Index) currentDirectory() *view.Directory {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.directory
}

// rebuildDirectory replaces the index by an empty one.
func (x *Index) rebuildDirectory(why string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.directory.Bleve.Close() // its content is not needed
	x.directory = nil
	x.position.MoveTo(store.Cursor{})
	x.log.Warn("rebuilding the index", "dir", x.path, "why", why)
	l, err := x.createDirectory(x.path)
	if err != nil {
		return &writeError{err}
	}
	x.directory = l
	return nil
}

// reopenDirectory returns to the state on disk.
func (x *Index) reopenDirectory() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.directory != nil {
		x.directory.Bleve.Close() // its state in memory is unreliable
		x.directory = nil
	}
	l, at, err := x.openDir(x.path)
	if err != nil {
		return err
	}
	x.directory = l
	x.position.MoveTo(at)
	return nil
}

// A follower converts records of documents to batches of the index. It belongs to one call of
// followLog.
type follower struct {
	x             *Index
	durableCursor store.Cursor // the cursor on disk

	pending map[entry.Source]documentChange
	order   []entry.Source // of pending, as they came
	entries int            // of pending

	// While a batch is written the next one is built.
	writing *batchWrite
}

// A batchWrite is a batch that is being written.
type batchWrite struct {
	at      store.Cursor
	sources []entry.Source
	done    chan error // gets one value
}

// A documentChange is the new state of one document: nil if it was deleted.
type documentChange struct {
	text *storedDocument
	made []*bleveDocument.Document // its entries, nil until they are built
}

// countEntries returns the number of entries of a change.
func (c documentChange) countEntries() int {
	if c.text == nil {
		return 0
	}
	return len(c.text.operations) + 1 + min(len(c.text.DataClasses), entry.MaxClassEntries)
}

// applyRecords applies a batch of the log. Each batch of the index that results carries the cursor
// of its own last record, so every state that survives a crash is one from which the index can
// continue.
func (f *follower) applyRecords(batch []store.Record, upTo store.Cursor) error {
	defer f.awaitBatch() // after an error, which says more than a second one
	at := upTo
	for _, r := range batch {
		at.Seq = r.Seq
		if !strings.HasPrefix(r.Key, store.DocumentPrefix) {
			continue
		}
		f.addRecord(r)
		if f.entries >= batchEntries {
			if err := f.writePending(at); err != nil {
				return err
			}
		}
	}
	if len(f.pending) > 0 || upTo.Seq-f.durableCursor.Seq >= batchRecords {
		if err := f.writePending(upTo); err != nil {
			return err
		}
		return f.awaitBatch()
	}
	if err := f.awaitBatch(); err != nil {
		return err
	}
	f.x.position.MoveTo(upTo)
	return nil
}

// addRecord reads one record of a document.
func (f *follower) addRecord(r store.Record) {
	parts := store.SplitKey(r.Key)
	if len(parts) != 3 {
		f.x.log.Error("no key of a document", "key", r.Key)
		return
	}
	src := entry.Source{Host: parts[1], Kind: document.Kind(parts[2])}
	if !entry.HasKind(src.Kind) {
		f.x.log.Error("a document of an unknown kind is left out of the index", "key", r.Key)
		return
	}
	var c documentChange
	if !r.Deleted {
		t, err := decodeDocument(r.Value)
		if err != nil {
			// The store checks its records, so this is a fault of this program. The index omits the
			// document so that search continues for all others.
			f.x.log.Error("a stored document is unreadable and left out of the index", "key", r.Key, "error", err)
		}
		c.text = t
	}
	if f.pending == nil {
		f.pending = make(map[entry.Source]documentChange)
	}
	if _, again := f.pending[src]; !again {
		f.order = append(f.order, src)
	}
	f.entries += c.countEntries() - f.pending[src].countEntries()
	f.pending[src] = c
}

// writePending begins to write the pending changes with the cursor; [follower.awaitBatch] waits for
// the end. It finds entries of an earlier version in the index itself: a count of them for each
// document among bleve's internal values would cost more and more, because bleve writes all of
// those again with every batch.
func (f *follower) writePending(at store.Cursor) error {
	l := f.x.currentDirectory()
	if err := f.makeEntries(l.LatestView()); err != nil {
		return err
	}
	if err := f.awaitBatch(); err != nil {
		return err
	}
	snapshot, v, err := l.OpenSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close() // only releases
	batch := l.Bleve.NewBatch()
	live := v.Entries
	for _, src := range f.order {
		old, c := v.StoredIDs(src), f.pending[src]
		if c.text != nil && old.Fingerprint == c.text.fingerprint && len(old.Ids) == c.countEntries() {
			continue // fetched again, nothing new for the index
		}
		for _, id := range old.Ids {
			batch.Delete(id)
		}
		if c.made == nil {
			c.made = f.entriesOf(src, c.text)
		}
		for _, entry := range c.made {
			if err := batch.IndexAdvanced(entry); err != nil {
				return &writeError{err}
			}
		}
		live += c.countEntries() - len(old.Ids)
	}
	f.startBatch(l, batch, indexState{Version: f.x.version, Cursor: at, Entries: live})
	f.pending, f.order, f.entries = nil, nil, 0
	return nil
}

// makeEntries makes the entries of the pending changes, except for documents that are the same in
// the last view of the index, which may be nil: those are probably not written.
func (f *follower) makeEntries(last *view.View) error {
	made := make([][]*bleveDocument.Document, len(f.order))
	err := damage.RecoverParallel(len(f.order), func(i int) error {
		src := f.order[i]
		c := f.pending[src]
		if last != nil && c.text != nil && last.StoredIDs(src).Fingerprint == c.text.fingerprint {
			return nil
		}
		made[i] = f.entriesOf(src, c.text)
		return nil
	})
	for i, src := range f.order {
		c := f.pending[src]
		c.made = made[i]
		f.pending[src] = c
	}
	return err
}

// entriesOf returns the entries of a document, none for a deleted one.
func (f *follower) entriesOf(src entry.Source, t *storedDocument) (made []*bleveDocument.Document) {
	if t == nil {
		return nil
	}
	add := func(e entry.Entry, of entry.Kind, ordinal int) {
		made = append(made, entry.BleveEntry(entry.ID(src, t.fingerprint, of, ordinal), e, f.x.analyzer))
	}
	add(entry.ServiceEntry(&t.Document), entry.KindService, 0)
	for i := range t.DataClasses[:min(len(t.DataClasses), entry.MaxClassEntries)] {
		add(entry.ClassEntry(&t.DataClasses[i]), entry.KindClass, i)
	}
	for i := range t.operations {
		o, err := t.decodeOperation(i)
		if err != nil {
			f.x.log.Error("a stored operation is unreadable and found by nothing", "host", src.Host, "kind", src.Kind, "operation", i, "error", err)
		}
		add(entry.OperationEntry(&o), entry.KindOperation, i)
	}
	return made
}

// writeCursor writes the cursor if only that has moved since the last batch.
func (f *follower) writeCursor() error {
	at := f.x.Cursor()
	if at == f.durableCursor {
		return nil
	}
	return damage.Recover(func() error {
		defer f.awaitBatch() // after an error
		if err := f.writePending(at); err != nil {
			return err
		}
		return f.awaitBatch()
	})
}

// startBatch begins to apply a batch of the index with its state.
func (f *follower) startBatch(l *view.Directory, batch *bleve.Batch, s indexState) {
	batch.SetInternal([]byte(stateKey), s.encodeState())
	w := &batchWrite{at: s.Cursor, sources: f.order, done: make(chan error, 1)}
	f.writing = w
	go func() {
		w.done <- damage.Recover(func() error {
			f.x.batches.Lock()
			defer f.x.batches.Unlock()
			if err := l.Bleve.Batch(batch); err != nil {
				return &writeError{err}
			}
			return nil
		})
	}()
}

// awaitBatch waits for the batch that is being written, if there is one, and moves the cursor to
// its end.
func (f *follower) awaitBatch() error {
	w := f.writing
	if w == nil {
		return nil
	}
	f.writing = nil
	if err := <-w.done; err != nil {
		return err
	}
	f.durableCursor = w.at
	f.x.failure.Store(nil)
	for _, src := range w.sources {
		f.x.documents.invalidate(src)
	}
	f.x.position.MoveTo(w.at)
	return nil
}

// Compact writes the segments again if they contain deleted entries, and waits until the files with
// them are gone: deleted text stays in a file until its segment is merged. It writes nothing if no
// entry is deleted.
func (x *Index) Compact(ctx context.Context) error {
	l := x.currentDirectory()
	if l == nil {
		return ErrUnavailable
	}
	err := damage.Recover(func() error {
		snapshot, v, err := l.OpenSnapshot()
		if err != nil {
			return err
		}
		size, entries, segments := v.Size, v.Entries, len(v.Segments)
		if err := snapshot.Close(); err != nil {
			return err
		}
		if size == entries {
			return x.awaitRemoval(ctx, l) // a merge may just have ended
		}
		if segments == 1 {
			if entries == 0 {
				return damage.Errorf("all entries are deleted") // an empty index is made in its place
			}
			if err := x.rewriteDocument(ctx, l); err != nil {
				return err
			}
		}
		merger, ok := l.Advanced.(*scorch.Scorch)
		if !ok {
			return fmt.Errorf("the index is no scorch index but %T", l.Advanced)
		}
		if err := merger.ForceMerge(ctx, nil); err != nil {
			return err
		}
		return x.awaitRemoval(ctx, l)
	})
	if damage, ok := errors.AsType[*damage.Error](err); ok {
		select {
		case x.damages <- damage: // Run makes the index again
		default:
		}
		for err = nil; err == nil && x.currentDirectory() == l; {
			err = wait.For(ctx, removalPause)
		}
	}
	if err != nil {
		return fmt.Errorf("compact the index: %w", err)
	}
	return nil
}

// rewriteDocument writes the entries of one document again, so that there is a second segment: a
// single one is never merged.
func (x *Index) rewriteDocument(ctx context.Context, l *view.Directory) error {
	x.batches.Lock() // no batch deletes the document in the meantime
	defer x.batches.Unlock()
	snapshot, v, err := l.OpenSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close() // only releases
	for i := range v.Segments {
		for _, run := range v.Segments[i].Runs {
			old := v.StoredIDs(run.Source)
			if len(old.Ids) == 0 {
				continue
			}
			r, err := x.store.Get(ctx, store.DocumentKey(run.Host, string(run.Kind)))
			if err != nil {
				continue // deleted since, or damaged
			}
			t, err := decodeDocument(r.Value)
			if err != nil || t.fingerprint != old.Fingerprint {
				continue
			}
			batch := l.Bleve.NewBatch()
			for _, e := range (&follower{x: x}).entriesOf(run.Source, t) {
				if err := batch.IndexAdvanced(e); err != nil {
					return err
				}
			}
			return l.Bleve.Batch(batch)
		}
	}
	return nil // every document changes now: their batches make segments
}

const (
	// removalPause is the time between two looks for files that are to be removed.
	removalPause = 20 * time.Millisecond
	// maxRemoval is how long Compact waits for the removal of files.
	maxRemoval = 30 * time.Second
)

// awaitRemoval waits until the directory has only the files of current segments.
func (x *Index) awaitRemoval(ctx context.Context, l *view.Directory) error {
	for end := time.Now().Add(maxRemoval); ; {
		snapshot, _, err := l.OpenSnapshot()
		if err != nil {
			return err
		}
		var names []string
		for _, s := range snapshot.Segments() {
			names = append(names, fmt.Sprintf("%012x.zap", s.Id()))
		}
		if err := snapshot.Close(); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(x.path, "store", "*.zap"))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(files, func(f string) bool { return !slices.Contains(names, filepath.Base(f)) }) {
			l.RemoveFormerEmbeddings()
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("files of former segments are still in %s after %v", x.path, maxRemoval)
		}
		if err := x.persistState(l); err != nil {
			return err
		}
		if err := wait.For(ctx, removalPause); err != nil {
			return err
		}
	}
}

// persistState writes the state of the index again. The persister of scorch removes the files that
// nothing reads only after it has written something.
func (x *Index) persistState(l *view.Directory) error {
	x.batches.Lock() // no batch writes a newer state in the meantime
	defer x.batches.Unlock()
	state, err := l.Bleve.GetInternal([]byte(stateKey))
	if err != nil {
		return err
	}
	return l.Bleve.SetInternal([]byte(stateKey), state)
}
