package backup

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// progressStep is the number of records between two calls of progress.
const progressStep = 2000

// records compares the records of the store with each other. They come in the order of their keys:
// an agent before its entries, raw documents before the versions that name them.
type records struct {
	*checker
	agents map[string]bool       // by AIR ID
	agent  *registry.Agent       // whose entries come now
	last   registry.HistoryEntry // of its entries, the one before
	blobs  map[string]bool       // by digest: whether a record names it
	// damaged has the digests of raw bytes that cannot be read, or have another digest.
	damaged map[string]bool
	// claims are the keys of handles whose agent was not seen, by AIR ID: it may wait for approval.
	claims map[string]string
}

// checkRecords reads every record, and compares those that belong together.
func (c *checker) checkRecords(ctx context.Context, s *boltstore.Store) error {
	r := records{checker: c, agents: map[string]bool{}, blobs: map[string]bool{}, damaged: map[string]bool{}, claims: map[string]string{}}
	total := int64(s.Head().Seq) // there are no more records than writes
	for record, err := range s.List(ctx, "", "") {
		if store.Damaged(record, err) {
			c.addProblem(remedyOf(record.Key), "%v", err) // which names the record
			r.skipDamaged(record.Key)
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.addProblem(remedyBackup, "the store cannot be read to its end: %v", err)
			return nil
		}
		if c.report.Records%progressStep == 0 {
			c.progress("the records of the store", int64(c.report.Records), total)
		}
		c.report.Records++
		r.checkRecord(record)
	}
	r.endAgent()
	for id, key := range r.claims {
		c.addProblem(remedyBackup, "%s belongs to %q, which is not an agent", key, id)
	}
	for _, named := range r.blobs {
		if !named {
			c.report.Unused++
		}
	}
	return c.checkOrder(ctx, s)
}

// checkOrder reads the store's log, which has the order of its records: the index and the others
// that follow the store read it.
func (c *checker) checkOrder(ctx context.Context, s *boltstore.Store) error {
	head, logged := s.Head().Seq, 0
	if head == 0 {
		return nil // nothing was written, and Changes would wait for the first write
	}
	c.progress("the log of the store", 0, 0)
	for record, err := range s.Changes(ctx, store.Cursor{}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case store.Damaged(record, err): // it is named already
		case err != nil:
			c.addProblem(remedyBackup, "the log of the store cannot be read to its end: %v", err)
			return nil
		case !record.Deleted:
			logged++
		}
		if record.Seq >= head {
			break
		}
	}
	if logged != c.report.Records {
		c.addProblem(remedyBackup, "the log of the store names %d records, and the store has %d", logged, c.report.Records)
	}
	return nil
}

// remedyOf says what to do about a damaged record.
func remedyOf(key string) string {
	for _, prefix := range []string{store.BlobPrefix, store.DocumentPrefix} {
		if strings.HasPrefix(key, prefix) {
			return remedyHost
		}
	}
	return remedyBackup
}

// skipDamaged keeps a damaged record, which is named already, from being named as missing too.
func (r *records) skipDamaged(key string) {
	if digest, ok := strings.CutPrefix(key, store.BlobPrefix); ok {
		r.blobs[digest], r.damaged[digest] = true, true
	}
	if id, ok := strings.CutPrefix(key, store.AgentPrefix); ok {
		id, _, _ = strings.Cut(id, "/")
		r.agents[id] = true
		r.agent = nil
	}
}

func (r *records) checkRecord(record store.Record) {
	prefix, rest, _ := strings.Cut(record.Key, "/")
	switch prefix + "/" {
	case store.AgentPrefix:
		if id, number, ok := strings.Cut(rest, "/"); ok {
			r.checkEntry(record, id, number)
			return
		}
		r.endAgent()
		r.beginAgent(record, rest)
	case store.BlobPrefix:
		r.report.Blobs++
		r.blobs[rest] = false
		if document.Digest(record.Value) != rest {
			r.addProblem(remedyHost, "the bytes under %s have another digest", record.Key)
			r.damaged[rest] = true
		}
	case store.DocumentPrefix:
		var d document.Document
		if err := json.Unmarshal(record.Value, &d); err != nil {
			r.addProblem(remedyHost, "the document %s cannot be read: %v", record.Key, err)
			return
		}
		r.nameBlob(record.Key, d.URL, d.Digest)
	case store.VersionPrefix:
		var v crawler.Version
		if err := json.Unmarshal(record.Value, &v); err != nil {
			r.addProblem(remedyBackup, "the version %s cannot be read: %v", record.Key, err)
			return
		}
		if !strings.HasSuffix(record.Key, "-"+v.Digest) {
			r.addProblem(remedyBackup, "the version %s says that its digest is %s", record.Key, v.Digest)
		}
		r.nameBlob(record.Key, v.URL, v.Digest)
	case store.HandlePrefix, store.KeyPrefix:
		if id, _, _ := strings.Cut(string(record.Value), " "); !r.agents[id] {
			r.claims[id] = record.Key
		}
	case store.PendingPrefix:
		delete(r.claims, rest)
	}
}

// nameBlob counts a record that names raw bytes, which must be there and intact; url is where they
// came from.
func (r *records) nameBlob(key, url, digest string) {
	r.report.Versions++
	if _, ok := r.blobs[digest]; !ok {
		r.addProblem(remedyHost, "%s (%s) names the bytes %s, and the store does not have them", key, url, digest)
		return
	}
	r.blobs[digest] = true
	if r.damaged[digest] {
		r.addProblem(remedyHost, "%s (%s) names the bytes %s, which are damaged", key, url, digest)
	}
}

// beginAgent reads an agent, whose entries follow.
func (r *records) beginAgent(record store.Record, id string) {
	r.agents[id] = true
	var a registry.Agent
	if err := json.Unmarshal(record.Value, &a); err != nil || a.AirID != id {
		r.addProblem(remedyBackup, "the agent %s cannot be read: %v", record.Key, err)
		return
	}
	r.report.Agents++
	r.agent, r.last = &a, registry.HistoryEntry{}
}

// checkEntry compares an entry with the one before it.
func (r *records) checkEntry(record store.Record, id, number string) {
	if r.agent == nil || r.agent.AirID != id {
		if !r.agents[id] {
			r.addProblem(remedyBackup, "%s is an entry of an agent that is not there", record.Key)
		}
		return
	}
	var e registry.HistoryEntry
	if err := json.Unmarshal(record.Value, &e); err != nil {
		r.addProblem(remedyBackup, "the entry %s cannot be read: %v", record.Key, err)
		r.agent = nil
		return
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || e.N != n || e.AirID != id:
		r.addProblem(remedyBackup, "the entry %s says that it is entry %d of %s", record.Key, e.N, e.AirID)
	case e.Hash != e.ComputeHash():
		r.addProblem(remedyBackup, "the entry %s does not have the hash of its content", record.Key)
	case r.agent.Status == registry.Erased: // the entries before the last are gone
	case e.N != r.last.N+1:
		r.addProblem(remedyBackup, "the history of %s lacks entry %d", id, r.last.N+1)
	case r.last.N > 0 && e.PrevHash != r.last.Hash:
		r.addProblem(remedyBackup, "the entry %s does not follow from the one before it", record.Key)
	}
	r.last = e
}

// endAgent compares the agent with its last entry.
func (r *records) endAgent() {
	if a := r.agent; a != nil && (a.Entries != r.last.N || a.LastHash != r.last.Hash) {
		r.addProblem(remedyBackup, "the agent %s counts %d entries, and its history ends with entry %d", a.AirID, a.Entries, r.last.N)
	}
	r.agent = nil
}
