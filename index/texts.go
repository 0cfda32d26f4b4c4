package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"gazetteer/document"
	"gazetteer/store"
)

// maxTextsCache bounds the memory of the documents that are kept, in bytes.
const maxTextsCache = 128 << 20

// texts reads the documents whose text is shown, from the store, and keeps the
// ones used last.
type texts struct {
	store     store.Store
	log       *slog.Logger
	kept      *sizedCache[source, *text]
	forgotten atomic.Uint64 // counts the calls of forget
}

// A text is a stored document of which each operation is read when it is asked
// for: a hit shows one of hundreds.
type text struct {
	document.Document                   // without its operations
	operations        []json.RawMessage // as stored
	print             string

	once    sync.Once
	service []term // of what its entries share; set by once

	mu    sync.Mutex // guards following
	shown map[int]*shown
}

// shown is an operation that was asked for, and its terms by field.
type shown struct {
	document.Operation
	terms [numFields][]term
	// vectors are those of the terms of its name and its intent, for explain.
	vectors [ctxField][]heavy
}

// maxShown is how many operations of a document are kept ready.
const maxShown = 50

func newTexts(s store.Store, log *slog.Logger) *texts {
	return &texts{store: s, log: log, kept: newSizedCache[source, *text](maxTextsCache)}
}

// readText reads the stored form of a document.
func readText(value []byte) (*text, error) {
	var stored struct {
		document.Document
		Operations json.RawMessage `json:"operations"` // hides those of Document
	}
	if err := jsonv1.Unmarshal(value, &stored); err != nil {
		return nil, err
	}
	t := &text{Document: stored.Document}
	if err := t.split(stored.Operations); err != nil {
		return nil, err
	}
	print, err := printOf(&t.Document, stored.Operations)
	t.print = print
	return t, err
}

// split cuts the list of operations.
func (t *text) split(list []byte) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for len(t.operations) < maxOperations && d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		end := d.InputOffset()
		t.operations = append(t.operations, list[end-int64(len(value)):end:end])
	}
	return nil
}

// operation reads the n-th operation. The package reads as encoding/json does, in
// half the time, which is a tenth of that of indexing.
func (t *text) operation(n int) (document.Operation, error) {
	var o document.Operation
	err := jsonv1.Unmarshal(t.operations[n], &o)
	return o, err
}

// show returns the n-th operation with its terms.
func (t *text) show(a analysis.Analyzer, l *lexicon, n int) (*shown, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.shown[n]; ok {
		return s, nil
	}
	o, err := t.operation(n)
	if err != nil {
		return nil, err
	}
	s := &shown{Operation: o}
	for f, prepared := range operationEntry(&o).text {
		s.terms[f] = termsOf(a, prepared)
	}
	for f := range s.vectors {
		for _, term := range s.terms[f] {
			s.vectors[f] = append(s.vectors[f], l.heavy(term.form))
		}
	}
	if t.shown == nil {
		t.shown = make(map[int]*shown)
	}
	if len(t.shown) >= maxShown {
		clear(t.shown)
	}
	t.shown[n] = s
	return s, nil
}

// serviceTerms are the terms of what is said of the service.
func (t *text) serviceTerms(a analysis.Analyzer) []term {
	t.once.Do(func() { t.service = termsOf(a, serviceText(&t.Document)) })
	return t.service
}

// printOf returns a short digest of everything the index takes from a document,
// whose operations are given as stored. Two documents with one print have the
// same entries in the same places, so a fetch that brought no news for the index
// changes nothing in it.
func printOf(d *document.Document, operations []byte) (string, error) {
	head, err := json.Marshal(struct {
		Service document.Service
		Classes []document.DataClass
		Level   int
		State   string
		Source  document.Source
	}{d.Service, d.DataClasses, d.Level, stateOf(d), d.Source})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(head)       // never fails; JSON ends where it ends, so that no two
	h.Write(operations) // pairs read alike
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:printBytes]), nil
}

// printBytes is the length of a print: 48 bits tell two versions of one document
// apart, which is all they are for.
const printBytes = 6

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
	read, err := readText(r.Value)
	if err != nil {
		return nil, nil // logged by the follower, which left it out
	}
	if t.forgotten.Load() == before {
		// Nothing was replaced while we read, so this is what stands. The
		// operations are kept as stored; of those that were shown each takes some
		// 5 kB more, all else less than twice its bytes.
		t.kept.keep(src, read, 2*len(r.Value)+5000*min(maxShown, len(read.operations))/5)
	}
	return read, nil
}

// forget drops a document that was replaced.
func (t *texts) forget(src source) {
	t.forgotten.Add(1)
	t.kept.drop(src)
}
