package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/siblings"
	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/index/view"
	"gazetteer/internal/cache"
	"gazetteer/protocol"
	"gazetteer/protocol/effect"
	"gazetteer/store"
)

// These bound the memory of cached documents and operations, in bytes.
const (
	maxDocumentCache  = 128 << 20
	maxOperationCache = 64 << 20
)

// documentReader reads the documents with the shown texts from the store, and caches the most
// recently used ones.
type documentReader struct {
	store         store.Store
	log           *slog.Logger
	cache         *cache.Sized[entry.Source, *storedDocument]
	operations    *cache.Sized[operationKey, *preparedOperation]
	invalidations atomic.Uint64 // counts the calls of invalidate
}

// A storedDocument is a stored document that decodes each operation on demand: a hit shows one of
// hundreds.
type storedDocument struct {
	document.Document                   // without its operations
	operations        []json.RawMessage // as stored
	fingerprint       string
	worst             string // severity of its findings; "" without any

	once    sync.Once
	service termList // of the texts that its entries share; set by once

	keysOnce sync.Once
	keys     []entry.TwinKeys // of the operations; set by keysOnce

	mu      sync.Mutex
	twinsOf string      // fingerprint of the document that twins is about
	twins   map[int]int // the place of the twin of each operation of twinsOf that has one
}

// operationKey names one operation of one version of a document. Nobody requests a replaced
// version, so the cache drops its operations first.
type operationKey struct {
	source      entry.Source
	fingerprint string
	ordinal     int
}

// preparedOperation is a requested operation with its terms by field.
type preparedOperation struct {
	document.Operation
	verb    tokens.Token // see [siblings.VerbToken]
	effect  Effect
	class   effect.Class // of its effects, inferred
	changes bool         // see [entry.Changes]
	caution string       // see [call.Caution]
	encoded encodedOnce
	terms   [entry.NumFields]termList
	// vectors contains the vectors of the terms of its name and its intent, without unknown and
	// repeated words, for explanations.
	vectors []termVector
}

// A termVector is the vector of a term of an operation.
type termVector struct {
	semantic.WordVector
	field entry.Field
	term  int // its index among the terms of field
}

// preparedSize is the approximate memory of a prepared operation in bytes, in addition to twice its
// text: its terms, pointers to their vectors, and an encoded form.
const preparedSize = 5000

func newDocumentReader(s store.Store, log *slog.Logger) *documentReader {
	return &documentReader{
		store: s, log: log,
		cache:      cache.New[entry.Source, *storedDocument](maxDocumentCache),
		operations: cache.New[operationKey, *preparedOperation](maxOperationCache),
	}
}

// decodeDocument reads the stored form of a document.
func decodeDocument(value []byte) (*storedDocument, error) {
	var stored struct {
		document.Document
		Operations json.RawMessage `json:"operations"` // hides those of Document
	}
	if err := jsonv1.Unmarshal(value, &stored); err != nil {
		return nil, err
	}
	t := &storedDocument{Document: stored.Document}
	if worst, any := protocol.Worst(t.Findings); any {
		t.worst = worst.String()
	}
	if err := t.splitOperations(stored.Operations); err != nil {
		return nil, err
	}
	print, err := fingerprintOf(&t.Document, stored.Operations)
	t.fingerprint = print
	return t, err
}

// splitOperations cuts the list of operations.
func (t *storedDocument) splitOperations(list []byte) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for len(t.operations) < entry.MaxOperations && d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		end := d.InputOffset()
		t.operations = append(t.operations, list[end-int64(len(value)):end:end])
	}
	return nil
}

// decodeOperation reads the n-th operation. The package decodes like encoding/json in half the
// time; decoding is a tenth of the time of indexing.
func (t *storedDocument) decodeOperation(n int) (document.Operation, error) {
	var o document.Operation
	err := jsonv1.Unmarshal(t.operations[n], &o)
	return o, err
}

// prepareOperation returns the n-th operation of a document with its terms.
func (r *documentReader) prepareOperation(src entry.Source, t *storedDocument, n int, a analysis.Analyzer, l *semantic.Lexicon) (*preparedOperation, error) {
	key := operationKey{src, t.fingerprint, n}
	if kept, ok := r.operations.Lookup(key); ok {
		return kept, nil
	}
	o, err := t.decodeOperation(n)
	if err != nil {
		return nil, err
	}
	class, from := entry.ClassOf(&o)
	p := &preparedOperation{Operation: o, verb: siblings.VerbToken(o.Verb), effect: effectOf(&o, class, from), class: class, changes: entry.Changes(&o, class), caution: call.Caution(o, t.Service)}
	translated := [entry.NumFields][]translate.Translation{entry.WhatField: entry.TranslationsOf(&o)}
	for f, text := range entry.OperationTexts(&o) {
		p.terms[f] = hashTranslated(a, text, translated[f])
	}
	known := make(map[uint32]bool)
	for f := range entry.CtxField {
		for i, term := range p.terms[f].terms {
			v := l.WordVector(term.Form)
			if v.Length > 0 && !known[v.Number] { // a repeated vector explains no more than the first one
				known[v.Number] = true
				p.vectors = append(p.vectors, termVector{v, f, i})
			}
		}
	}
	r.operations.Put(key, p, preparedSize+2*len(t.operations[n]))
	return p, nil
}

// twinKeys returns the keys by which the operations are paired with those of another document.
func (t *storedDocument) twinKeys() []entry.TwinKeys {
	t.keysOnce.Do(func() {
		t.keys = make([]entry.TwinKeys, len(t.operations))
		for n := range t.operations {
			if o, err := t.decodeOperation(n); err == nil { // an error is logged by the follower
				t.keys[n] = entry.TwinKeysOf(&o)
			}
		}
	})
	return t.keys
}

// findTwin returns the twin of the n-th operation of another document, which remains where this one
// yields; ok is false if there is none.
func (t *storedDocument) findTwin(of *storedDocument, n int) (o document.Operation, ok bool) {
	place, ok := t.twinPlaces(of)[n]
	if !ok {
		return document.Operation{}, false
	}
	o, err := t.decodeOperation(place)
	return o, err == nil
}

// twinPlaces returns the places of the twins of the operations of another document.
func (t *storedDocument) twinPlaces(of *storedDocument) map[int]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.twins == nil || t.twinsOf != of.fingerprint {
		t.twinsOf, t.twins = of.fingerprint, make(map[int]int)
		for yields, remains := range entry.PairTwins(t.twinKeys(), of.twinKeys()) {
			t.twins[remains] = yields
		}
	}
	return t.twins
}

// serviceTerms returns the terms of the description of the service.
func (t *storedDocument) serviceTerms(a analysis.Analyzer) *termList {
	t.once.Do(func() {
		t.service = hashTranslated(a, entry.ServiceText(&t.Document), entry.ServiceTranslationsOf(&t.Document))
	})
	return &t.service
}

// fingerprintOf returns a short digest, in bytes, of all content that the index uses of a document, with its
// operations in stored form. Two documents with the same fingerprint have the same entries in the
// same places, so a fetch without relevant changes does not change the index.
func fingerprintOf(d *document.Document, operations []byte) (string, error) {
	head, err := json.Marshal(struct {
		Service document.Service
		Classes []document.DataClass
		Level   int
		State   string
		Source  document.Source
	}{d.Service, d.DataClasses, d.Level, entry.StateOf(d), d.Source})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(head)       // never fails; JSON marks its own end, so that no two
	h.Write(operations) // pairs have the same bytes
	return string(h.Sum(nil)[:entry.PrintBytes]), nil
}

// readDocument returns the stored document, or nil if it was deleted or is damaged.
func (t *documentReader) readDocument(ctx context.Context, src entry.Source) (*storedDocument, error) {
	if kept, ok := t.cache.Lookup(src); ok {
		return kept, nil
	}
	before := t.invalidations.Load()
	r, err := t.store.Get(ctx, store.DocumentKey(src.Host, string(src.Kind)))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if errors.Is(err, store.ErrCorrupt) {
		t.log.Error("a document of the index is damaged in the store and left out of answers", "host", src.Host, "kind", src.Kind, "error", err)
		t.cache.Put(src, nil, 100) // so that it is reported once
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read document of a hit: %w", err)
	}
	read, err := decodeDocument(r.Value)
	if err != nil {
		return nil, nil // logged by the follower, which left it out
	}
	if t.invalidations.Load() == before {
		// Nothing was replaced during the read, so this is the current document. The operations are
		// kept as stored, the rest takes less than twice its bytes.
		t.cache.Put(src, read, 2*len(r.Value))
	}
	return read, nil
}

// serviceOf returns the service of a document with the name that it has in all answers: that of the
// first document of the host that has one, in the order of [document.Kind.Rank].
func (r *documentReader) serviceOf(ctx context.Context, v *view.View, t *storedDocument) (document.Service, error) {
	service := t.Service
	for _, src := range v.DocumentsOf(t.Host) {
		d, err := r.readDocument(ctx, src)
		if err != nil {
			return service, err
		}
		if d != nil && d.Service.Name != "" {
			service.Name = d.Service.Name
			break
		}
	}
	return service, nil
}

// invalidate drops a document that was replaced.
func (t *documentReader) invalidate(src entry.Source) {
	t.invalidations.Add(1)
	t.cache.Delete(src)
}
