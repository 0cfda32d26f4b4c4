package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func newTexts(s store.Store, a analysis.Analyzer) *texts {
	return &texts{store: s, analyzer: a, kept: newSizedCache[source, *text](maxTextsCache)}
}

// find returns the stored document, or nil when there is none any more.
func (t *texts) find(ctx context.Context, src source) (*text, error) {
	if kept, ok := t.kept.find(src); ok {
		return kept, nil
	}
	before := t.forgotten.Load()
	r, err := t.store.Get(ctx, store.DocumentKey(src.host, string(src.kind)))
	if errors.Is(err, store.ErrNotFound) {
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
		e := read.entries[0]
		read.service = termsOf(t.analyzer, e.text[ctxField][:e.service])
	}
	if t.forgotten.Load() == before {
		// Nothing was replaced while we read, so this is what stands. The decoded
		// form and its entries take some three times the stored one.
		t.kept.keep(src, &read, 3*len(r.Value))
	}
	return &read, nil
}

// forget drops a document that was replaced.
func (t *texts) forget(src source) {
	t.forgotten.Add(1)
	t.kept.drop(src)
}
