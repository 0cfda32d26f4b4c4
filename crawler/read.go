package crawler

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

// readBody reads fetched bytes as the current document, or finds that they are not one. The
// findings of the fetch are stored with the document.
func (s *session) readBody(a *fetch.Ask, found []protocol.Finding) {
	f := &a.Fetch
	h := &s.visit.host
	kind := document.Kind(a.Kind)
	source, from := document.OwnerPublished, f.Final
	if kind == document.AGIS {
		source = document.Linked
	}
	from = cmp.Or(from, f.URL)
	d, err := document.Read(document.Input{
		Kind: kind, Host: h.Name, URL: from, MediaType: f.MediaType,
		Source: source, FetchedAt: f.At, Bytes: f.Body,
	})
	if err != nil {
		f.Outcome = fetch.Unreadable
		if errors.Is(err, document.ErrOtherFormat) {
			f.Outcome = fetch.OtherFormat
		}
		f.Detail = protocol.ClipBytes(whyUnreadable(d, err), 300)
		if d != nil {
			f.Findings = d.Findings
		}
		f.Repeats = countRepeats(a.Prev, *f)
		s.removeDocument(kind)
		return
	}
	f.Digest = d.Digest
	s.bodies[kind] = f.Body
	addFindings(d, found)
	before := s.visit.docs[kind]
	d.ChangedAt = f.At
	if before != nil && before.Digest == d.Digest {
		d.ChangedAt = before.ChangedAt
	} else {
		s.visit.fresh[kind] = f.Body
	}
	s.setCurrent(kind, d)
}

// whyUnreadable names the rule that the bytes break, the place, and the repair.
func whyUnreadable(d *document.Document, err error) string {
	if d == nil || len(d.Findings) == 0 {
		return err.Error()
	}
	f := d.Findings[0]
	text := f.Code
	if f.Line > 0 {
		text += fmt.Sprintf(" at line %d, column %d", f.Line, f.Column)
	}
	text += ": " + f.Message
	if f.Help != "" {
		text += "; " + f.Help
	}
	return text
}

// addFindings puts the findings of the fetch before those of the reader, each once. A document that
// breaks its draft in transport does not conform to it.
func addFindings(d *document.Document, found []protocol.Finding) {
	for _, f := range d.Findings {
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	d.Findings = found
	if !d.Valid() {
		d.Level = 0
	}
}

// isWorthKeeping reports whether the findings of an outcome without a document should be stored.
// For a host that publishes nothing, or does not exist, the outcome is sufficient.
func isWorthKeeping(o fetch.Outcome) bool {
	return !slices.Contains([]fetch.Outcome{fetch.Unchanged, fetch.Absent, fetch.DNSFailed, fetch.Unreachable, fetch.BlockedAddress}, o)
}

// maxFindings is the number of findings that are stored with a fetch.
const maxFindings = 50

// limitFindings shortens a list of findings as the readers do.
func limitFindings(findings []protocol.Finding) []protocol.Finding {
	if len(findings) <= maxFindings {
		return findings
	}
	rest := findings[maxFindings-1:]
	worst, _ := protocol.Worst(rest)
	return append(findings[:maxFindings-1:maxFindings-1], protocol.Finding{
		Code: protocol.CodeMore, Severity: worst,
		Message: fmt.Sprintf("%d more findings are not stored", len(rest)), Help: "fix the ones above first",
	})
}

// keepDocument records that the stored document is current: the host has answered that it has not
// changed.
func (s *session) keepDocument(a *fetch.Ask) {
	carryOver(&a.Fetch, a.Prev)
	a.Fetch.Fresh = cmp.Or(a.Fetch.Fresh, a.Prev.Fresh) // RFC 9111 §4.3.4
	d := *s.visit.docs[document.Kind(a.Kind)]
	d.FetchedAt = a.Fetch.At
	s.setCurrent(d.Kind, &d)
}

func (s *session) setCurrent(kind document.Kind, d *document.Document) {
	s.visit.docs[kind], s.visit.put[kind] = d, true
	delete(s.visit.drop, kind)
}

// removeDocument drops a document that is no longer current. Its versions stay.
func (s *session) removeDocument(kind document.Kind) {
	delete(s.visit.put, kind)
	delete(s.visit.fresh, kind)
	if s.visit.docs[kind] != nil {
		delete(s.visit.docs, kind)
		s.visit.drop[kind] = true
	}
}

// forgetDocument drops a document and everything known about fetching it.
func (s *session) forgetDocument(kind document.Kind) {
	s.removeDocument(kind)
	delete(s.visit.host.Fetches, string(kind))
	delete(s.visit.host.Rates, string(kind))
	delete(s.visit.host.NotBefore, string(kind))
}

// followAI requests the alias after a 404, and drops the alias's document as soon as the
// authoritative path gives another answer (AI Discovery §4.1). A permanently removed document (410)
// has no other address.
func (s *session) followAI(f *fetch.Fetch) {
	switch {
	case f.Outcome == fetch.Absent && f.Status != http.StatusGone:
		s.addWellKnown(document.AIAlias)
	case s.visit.docs[document.AI] != nil || classOf(f.Outcome) == classGone: // permanently gone, too
		s.forgetDocument(document.AIAlias)
	}
}

// followSummary requests the full document that the summary names, or drops it if no summary names
// it any more.
func (s *session) followSummary() {
	if s.agisAddress() == "" {
		s.forgetDocument(document.AGIS)
		return
	}
	s.addLinked()
}
