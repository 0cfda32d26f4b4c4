package crawler

import (
	"context"
	"slices"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/store"
)

// crossCheck compares the documents of a host if this visit requested one of them and they may differ now:
// the AI Discovery document with the AGIS document, and the AGIS summary with it. Differences are stored
// with the first of each pair, or with the fetch of the summary if that was refused.
func (s *session) crossCheck(ctx context.Context) error {
	if err := s.compareOperations(ctx); err != nil {
		return err
	}
	v := s.visit
	summary, full := v.docs[document.AGISSummary], v.docs[document.AGIS]
	read := s.bodies[document.AGISSummary] != nil || s.bodies[document.AGIS] != nil
	refused := v.fetchOf(document.AGISSummary).Outcome == fetch.Forbidden && full != nil
	if !refused && (summary == nil || !read && !v.drop[document.AGIS]) {
		return nil
	}
	var other []byte
	if full != nil {
		var err error
		if other, err = s.bytesOf(ctx, full); other == nil {
			return err
		}
	}
	if refused {
		s.checkAccess(other)
	}
	if summary == nil {
		return nil
	}
	one, err := s.bytesOf(ctx, summary)
	if one == nil {
		return err
	}
	s.compareWithFull(summary, one, other)
	s.inheritProtocols(full, one, other)
	return nil
}

// compareOperations adds findings to the AI Discovery document where it contradicts the AGIS document, and
// removes those of an earlier comparison.
func (s *session) compareOperations(ctx context.Context) error {
	v := s.visit
	ai, agis := v.docs[document.AI], v.docs[document.AGIS]
	if ai == nil || !v.put[document.AI] && !v.put[document.AGIS] && !v.drop[document.AGIS] {
		return nil
	}
	checked := *ai
	checked.Findings = slices.DeleteFunc(slices.Clone(ai.Findings), func(f protocol.Finding) bool { return f.Code == document.CodeContradicts })
	if agis != nil {
		found := document.Contradictions(ai, agis, nil)
		if len(found) > 0 {
			text, err := s.bytesOf(ctx, ai)
			if err != nil {
				return err
			}
			found = document.Contradictions(ai, agis, text)
		}
		checked.Findings = append(checked.Findings, found...)
	}
	if !slices.Equal(checked.Findings, ai.Findings) {
		s.setCurrent(document.AI, &checked)
	}
	return nil
}

// inheritProtocols copies the interaction protocols that only the summary can declare to the full
// document, which may be nil, so that search finds its operations by them.
func (s *session) inheritProtocols(full *document.Document, one, other []byte) {
	if other == nil {
		return
	}
	protocols, err := document.Protocols(one, other)
	if err != nil || slices.Equal(protocols, full.Service.Protocols) {
		return // compare has logged the error
	}
	with := *full
	with.Service.Protocols = protocols
	s.setCurrent(document.AGIS, &with)
}

// compareWithFull adds findings to the summary where it contradicts the full document, and removes
// those of an earlier comparison. The document may be nil.
func (s *session) compareWithFull(summary *document.Document, one, other []byte) {
	checked := *summary
	checked.Findings = slices.DeleteFunc(slices.Clone(summary.Findings), func(f protocol.Finding) bool { return f.Code == document.CodeDiffers })
	if other != nil {
		differs, err := document.CrossCheck(one, other)
		if err != nil { // stored by an older, more lenient reader
			s.c.log.Warn("a summary cannot be compared with its document", "host", summary.Host, "error", err)
			return
		}
		checked.Findings = append(checked.Findings, differs...)
	}
	if !slices.Equal(checked.Findings, summary.Findings) {
		s.setCurrent(document.AGISSummary, &checked)
	}
}

// checkAccess adds a finding to the refused fetch of the summary if the full document promises
// public access.
func (s *session) checkAccess(full []byte) {
	f := s.visit.fetchOf(document.AGISSummary)
	found, err := document.CheckAccess(f.Status, full)
	if err != nil {
		s.c.log.Warn("a document cannot be read again", "host", s.visit.host.Name, "error", err)
		return
	}
	f.Findings = limitFindings(append(slices.Clone(f.Findings), found...))
	s.visit.host.Fetches[f.Kind] = *f
}

// fetchOf returns this visit's fetch of a kind, or an empty one.
func (v *visit) fetchOf(kind document.Kind) *fetch.Fetch {
	for i := range v.result.Fetches {
		if f := &v.result.Fetches[i]; f.Kind == string(kind) {
			return f
		}
	}
	return &fetch.Fetch{}
}

// bytesOf returns the bytes of a current document, or nil when they are lost. The error concerns
// the store as a whole.
func (s *session) bytesOf(ctx context.Context, d *document.Document) ([]byte, error) {
	if body := s.bodies[d.Kind]; body != nil {
		return body, nil
	}
	r, err := s.c.store.Get(ctx, store.BlobKey(d.Digest))
	switch {
	case err == nil:
		return r.Value, nil
	case isFatal(err):
		return nil, err
	}
	s.c.log.Warn("the bytes of a document cannot be read", "host", d.Host, "kind", d.Kind, "error", err)
	return nil, nil
}
