package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gazetteer/document"
	"gazetteer/store"
)

// A naming is a place where a document of a host names an agent.
type naming struct {
	document.Mention
	kind document.Kind
	url  string
	at   time.Time // when the document was fetched
}

// namings are the namings in all documents of a host, for records with these sequences. The records
// had them when the store was at head.
type namings struct {
	list []naming
	seqs []uint64 // by kind, in the order of [document.ServiceKinds]; 0 for no document
	head uint64
}

// documentNamings returns the agents that the documents of a host name. A cached result is compared
// with the store only if something was written since, and computed again only if one of the
// documents changed.
func (j *Joiner) documentNamings(ctx context.Context, host string) ([]naming, error) {
	head := j.o.Store.Head().Seq
	kept, ok := j.namings.Lookup(host)
	if ok && kept.head == head {
		return kept.list, nil
	}
	records, seqs, err := j.loadDocuments(ctx, host)
	if err != nil {
		return nil, err
	}
	n := namings{list: kept.list, seqs: seqs, head: head}
	if !ok || !slices.Equal(kept.seqs, seqs) {
		if n.list, err = j.readNamings(ctx, records); err != nil {
			return nil, err
		}
	}
	j.namings.Put(host, n, 1)
	return n.list, nil
}

// loadDocuments returns the records of a host's documents. It treats a damaged record as absent:
// the host's own page reports it.
func (j *Joiner) loadDocuments(ctx context.Context, host string) (records []store.Record, seqs []uint64, err error) {
	for _, kind := range document.ServiceKinds() {
		record, err := j.o.Store.Get(ctx, store.DocumentKey(host, string(kind)))
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
			record = store.Record{}
		case err != nil:
			return nil, nil, fmt.Errorf("read %s of %s: %w", kind, host, err)
		}
		records, seqs = append(records, record), append(seqs, record.Seq)
	}
	return records, seqs, nil
}

func (j *Joiner) readNamings(ctx context.Context, records []store.Record) ([]naming, error) {
	var all []naming
	for i, record := range records {
		if record.Seq == 0 {
			continue
		}
		var d struct {
			URL       string    `json:"url"`
			Digest    string    `json:"digest"`
			FetchedAt time.Time `json:"fetched_at"`
		}
		if json.Unmarshal(record.Value, &d) != nil {
			continue
		}
		blob, err := j.o.Store.Get(ctx, store.BlobKey(d.Digest))
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
			continue
		case err != nil:
			return nil, fmt.Errorf("read the bytes %s: %w", d.Digest, err)
		}
		for _, m := range document.Mentions(blob.Value) {
			all = append(all, naming{m, document.ServiceKinds()[i], d.URL, d.FetchedAt})
		}
	}
	return all, nil
}
