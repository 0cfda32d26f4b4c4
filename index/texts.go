package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/document"
	"gazetteer/store"
)

// maxTextsCache bounds the memory of decoded documents, in bytes.
const maxTextsCache = 64 << 20

// texts reads the documents whose text is shown, from the store, and keeps the
// ones used last.
type texts struct {
	store     store.Store
	analyzer  analysis.Analyzer
	log       *slog.Logger
	kept      *sizedCache[source, *text]
	forgotten atomic.Uint64 // counts the calls of forget
}

// A text is a stored document and the entries the index makes of it.
type text struct {
	document.Document
	entries []entry
	print   string
	service []term // of what its entries share in field ctx
}

func newTexts(s store.Store, a analysis.Analyzer, log *slog.Logger) *texts {
	return &texts{store: s, analyzer: a, log: log, kept: newSizedCache[source, *text](maxTextsCache)}
}

// find returns the stored document, or nil when there is none to show: it is
// gone, or damaged.
func (t *texts) find(ctx context.Context, src source) (*text, error) {
	if kept, ok := t.kept.find(src); ok {
		return kept, nil
	}
	before := t.forgotten.Load()
	r, err := t.store.Get(ctx, store.DocumentKey(src.host, string(src.kind)))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if errors.Is(err, store.ErrCorrupt) {
		t.log.Error("a document of the index is damaged in the store and left out of answers", "host", src.host, "kind", src.kind, "error", err)
		t.kept.keep(src, nil, 100) // so that it is said once
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read document of a hit: %w", err)
	}
	var read text
	if err := json.Unmarshal(r.Value, &read.Document); err != nil {
		return nil, nil // logged by the follower, which left it out
	}
	read.entries = entriesOf(&read.Document)
	read.print = printOf(read.entries)
	if len(read.entries) > 0 {
		read.service = termsOf(t.analyzer, read.entries[0].service)
	}
	if t.forgotten.Load() == before {
		// Nothing was replaced while we read, so this is what stands. The decoded
		// form and its entries take some twice the bytes of the stored one.
		t.kept.keep(src, &read, 2*len(r.Value))
	}
	return &read, nil
}

// forget drops a document that was replaced.
func (t *texts) forget(src source) {
	t.forgotten.Add(1)
	t.kept.drop(src)
}
