package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/wordvec"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// An indexedStore is a store and the index that follows it, in a directory that goes
// with them.
type indexedStore struct {
	dir     string
	store   *boltstore.Store
	vectors *wordvec.Table // nil for those of the program
	index   *index.Index
	stop    context.CancelFunc
	done    chan error
}

// applied is how many documents are written at once.
const applied = 500

// openIndexedStore opens an empty store and its index in a temporary directory.
func openIndexedStore(ctx context.Context, vectors *wordvec.Table) (_ *indexedStore, err error) {
	h := &indexedStore{vectors: vectors}
	if h.dir, err = os.MkdirTemp("", "gazetteer-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.store, err = boltstore.Open(ctx, filepath.Join(h.dir, "store"), boltstore.Options{}); err != nil {
		return nil, err
	}
	return h, h.openIndex(ctx)
}

// indexDir is where the index lies.
func (h *indexedStore) indexDir() string { return filepath.Join(h.dir, "index") }

// openIndex opens the index and lets it follow the store.
func (h *indexedStore) openIndex(ctx context.Context) (err error) {
	if h.index, err = index.Open(ctx, index.Options{Dir: h.indexDir(), Store: h.store, Vectors: h.vectors}); err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	h.stop, h.done = stop, make(chan error, 1)
	go func() { h.done <- h.index.Run(following) }()
	return nil
}

// closeIndex stops and closes the index.
func (h *indexedStore) closeIndex() error {
	if h.index == nil {
		return nil
	}
	var err error
	if h.stop != nil {
		h.stop()
		err = <-h.done
	}
	err = errors.Join(err, h.index.Close())
	h.index, h.stop = nil, nil
	return err
}

// put stores documents. They are searchable after catchUp.
func (h *indexedStore) put(ctx context.Context, docs []*document.Document) error {
	for some := range slices.Chunk(docs, applied) {
		var writes []store.Write
		for _, d := range some {
			value, err := json.Marshal(d)
			if err != nil {
				return fmt.Errorf("document of %s: %w", d.Host, err)
			}
			writes = append(writes, store.Put(store.DocumentKey(d.Host, string(d.Kind)), value))
		}
		if _, err := h.store.Apply(ctx, writes...); err != nil {
			return err
		}
	}
	return nil
}

// readVectors reads a table of word vectors; without a file it is nil.
func readVectors(path string) (*wordvec.Table, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return wordvec.Read(f)
}

// catchUp waits until all that was put is searchable.
func (h *indexedStore) catchUp(ctx context.Context) error {
	return h.index.WaitFor(ctx, h.store.Head().Seq)
}

func (h *indexedStore) close() error {
	err := h.closeIndex()
	if h.store != nil {
		err = errors.Join(err, h.store.Close())
	}
	return errors.Join(err, os.RemoveAll(h.dir))
}
