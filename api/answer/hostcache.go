package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gazetteer/crawler"
	"gazetteer/internal/cache"
	"gazetteer/store"
)

// maxHostCache bounds the memory of the crawl states that are kept, in bytes.
const maxHostCache = 32 << 20

// hostCache caches the crawl states that hits are completed with, by host: most searches show hosts
// that another search has just shown. The zero value is ready.
type hostCache struct {
	once   sync.Once
	states *cache.Sized[string, *hostState]
}

// A hostState is the crawl state of a host as of a sequence of the store. It is shared, so it is never
// changed, except for the head.
type hostState struct {
	seq  uint64
	host *crawler.Host
	head atomic.Uint64 // the sequence of the store at which the record was read last
}

// find returns the cached state of a host, nil if there is none.
func (c *hostCache) find(name string) *hostState {
	c.once.Do(func() { c.states = cache.New[string, *hostState](maxHostCache) })
	kept, _ := c.states.Lookup(name)
	return kept
}

// readHost reads the crawl state of a host, nil if there is none. The state is shared with other
// answers and must not be changed.
func (a *Answers) readHost(ctx context.Context, name string) (*crawler.Host, error) {
	kept, head := a.hosts.find(name), a.Store.Head().Seq // before the record: what has not changed until then is as it was
	if kept != nil && kept.head.Load() == head {
		return kept.host, nil
	}
	record, err := a.Store.Get(ctx, store.HostKey(name))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil // the host's own page says so
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", name, err)
	}
	if kept != nil && kept.seq == record.Seq {
		kept.head.Store(head)
		return kept.host, nil
	}
	host, err := decodeRecord[crawler.Host](record)
	if err != nil {
		return nil, err
	}
	state := &hostState{seq: record.Seq, host: &host}
	state.head.Store(head)
	a.hosts.states.Put(name, state, 3*len(record.Value))
	return &host, nil
}

// maxSummaryCache bounds the memory of the summaries that are kept, in bytes.
const maxSummaryCache = 16 << 20

// summaryCache caches the summaries of services that lists consist of, by host. The zero value is
// ready.
type summaryCache struct {
	once      sync.Once
	summaries *cache.Sized[string, *hostSummary]
}

// A hostSummary is the summary of a host's documents as of their sequences in the store. It is
// shared, so it is never changed, except for the head.
type hostSummary struct {
	seqs    []uint64 // of the documents
	summary ServiceSummary
	head    atomic.Uint64 // the sequence of the store at which the documents were read last
}

// readSummary reads the summary of a service. It decodes the documents only if one has changed. The
// slices of the summary are shared with other answers and must not be changed.
func (a *Answers) readSummary(ctx context.Context, host string) (ServiceSummary, error) {
	kept := a.cachedSummary(host)
	head := a.Store.Head().Seq // before the documents: what has not changed until then is as it was
	if kept != nil && kept.head.Load() == head {
		return kept.summary, nil
	}
	records, err := a.documentRecords(ctx, host)
	if err != nil {
		return ServiceSummary{}, err
	}
	return a.summarizeRecords(host, records, head)
}

// cachedSummary returns the cached summary of a service, which may be an old one, or nil.
func (a *Answers) cachedSummary(host string) *hostSummary {
	a.summaries.once.Do(func() { a.summaries.summaries = cache.New[string, *hostSummary](maxSummaryCache) })
	kept, _ := a.summaries.summaries.Lookup(host)
	return kept
}

// summarizeRecords returns the summary of a service whose documents are these records at that head of
// the store. It decodes them only if they have changed.
func (a *Answers) summarizeRecords(host string, records []store.Record, head uint64) (ServiceSummary, error) {
	seqs := make([]uint64, len(records))
	for i, r := range records {
		seqs[i] = r.Seq
	}
	if kept := a.cachedSummary(host); kept != nil && slices.Equal(kept.seqs, seqs) {
		kept.head.Store(head)
		return kept.summary, nil
	}
	documents, err := decodeDocuments(records)
	if err != nil {
		return ServiceSummary{}, err
	}
	read := &hostSummary{seqs: seqs, summary: summarizeService(host, documents)}
	read.head.Store(head)
	s := &read.summary
	size := 512 + len(s.Name) + len(s.Description) + len(s.Namespace) + 32*(len(s.Categories)+len(s.Kinds)+len(seqs))
	a.summaries.summaries.Put(host, read, size)
	return read.summary, nil
}
