package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gazetteer/document"
	"gazetteer/index/blevefiles"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/store"

	"github.com/blevesearch/bleve/v2"
)

// A Comparison contains the counts of [Compare].
type Comparison struct {
	Documents int    `json:"documents"` // of the store, each compared with its entries by a digest and their number
	Entries   int    `json:"entries"`   // of the index
	Behind    uint64 `json:"behind"`    // writes of the store that the index has not read yet
}

// Compare compares an index directory that no process uses with the store: the checksum of every
// segment, and for every document the number of its entries and the digest of its content. The
// error matches fs.ErrNotExist when there is no index, and is a [*damage.Error] when the index
// is damaged or differs from the store; the next start then rebuilds it. Compare writes nothing.
func Compare(ctx context.Context, dir string, s store.Store, progress func(done int)) (c Comparison, err error) {
	if err := blevefiles.Inspect(dir); err != nil {
		return c, err
	}
	version, err := entry.CurrentVersion()
	if err != nil {
		return c, err
	}
	err = damage.Recover(func() error {
		b, err := bleve.OpenUsing(dir, map[string]any{"bolt_timeout": blevefiles.LockTimeout.String(), "read_only": true})
		if err != nil {
			return damage.Errorf("it does not open: %v", err)
		}
		err = func() error {
			l, err := view.NewDirectory(dir, b, semantic.EmbeddedLexicon(), nil)
			if err != nil {
				return err
			}
			x := &Index{store: s, version: version}
			at, err := x.readState(l)
			if err != nil {
				return err
			}
			return c.compareDocuments(ctx, l, s, at, progress)
		}()
		return errors.Join(err, b.Close())
	})
	return c, err
}

// IsMissing reports whether an error of [Compare] means that no index exists.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// compareDocuments compares every document with its entries, except those that the index has not
// read yet.
func (c *Comparison) compareDocuments(ctx context.Context, l *view.Directory, s store.Store, at store.Cursor, progress func(done int)) error {
	changed, err := documentsSince(ctx, s, at)
	if err != nil {
		return err
	}
	snapshot, v, err := l.OpenSnapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close() // only releases
	c.Entries, c.Behind = v.Entries, s.Head().Seq-at.Seq
	sum := 0
	for r, err := range s.List(ctx, store.DocumentPrefix, "") {
		if err != nil && !store.Damaged(r, err) {
			return err
		}
		src, ok := sourceOf(r.Key)
		if !ok || changed[src] {
			continue
		}
		stored := v.StoredIDs(src)
		sum += len(stored.Ids)
		if err != nil {
			continue // its record is reported as damaged; the index may or may not contain the document
		}
		t, err := decodeDocument(r.Value)
		if err != nil {
			return fmt.Errorf("read %s: %w: %w", r.Key, store.ErrCorrupt, err)
		}
		want := documentChange{text: t}.countEntries()
		switch {
		case len(stored.Ids) != want:
			return damage.Errorf("it has %d entries of %s of %s and should have %d", len(stored.Ids), src.Kind, src.Host, want)
		case stored.Fingerprint != t.fingerprint:
			return damage.Errorf("it has another version of %s of %s than the store", src.Kind, src.Host)
		}
		if c.Documents++; c.Documents%1000 == 0 {
			progress(c.Documents)
		}
	}
	for src := range changed {
		sum += len(v.StoredIDs(src).Ids)
	}
	if sum != v.Entries {
		return damage.Errorf("it has %d entries of documents that the store does not have", v.Entries-sum)
	}
	return nil
}

// documentsSince returns the documents that were written or deleted after a cursor.
func documentsSince(ctx context.Context, s store.Store, at store.Cursor) (map[entry.Source]bool, error) {
	changed := map[entry.Source]bool{}
	head := s.Head()
	if at.Seq >= head.Seq {
		return changed, nil
	}
	for r, err := range s.Changes(ctx, at) {
		if err != nil && !store.Damaged(r, err) {
			return nil, err
		}
		if src, ok := sourceOf(r.Key); ok {
			changed[src] = true
		}
		if r.Seq >= head.Seq {
			break
		}
	}
	return changed, ctx.Err()
}

// sourceOf reads the key of a document; ok is false if it is none of the index.
func sourceOf(key string) (entry.Source, bool) {
	parts := store.SplitKey(key)
	if len(parts) != 3 || parts[0]+"/" != store.DocumentPrefix {
		return entry.Source{}, false
	}
	src := entry.Source{Host: parts[1], Kind: document.Kind(parts[2])}
	return src, entry.HasKind(src.Kind)
}
