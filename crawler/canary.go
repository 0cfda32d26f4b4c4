package crawler

import (
	"bytes"
	"fmt"
	"hash/fnv"

	"gazetteer/document"
	"gazetteer/fetch"
)

// A host that answers every path alike may answer the well-known ones with what
// looks like a document, below as many names as one likes. Most hosts show at the
// first visit that they tell one path from another: something is absent, or
// robots.txt is one, or two documents differ. One that does not is asked for a
// path that nobody has, the canary, before its document is believed.

// kindCanary is the kind of a fetch of a path that nobody has.
const kindCanary = "canary"

// canaryPath is the path that a host is asked for. It lies where the documents
// lie, is always the same for a host, and says what it is.
func canaryPath(host string) string {
	h := fnv.New64a()
	h.Write([]byte(host))
	return fmt.Sprintf("/.well-known/nothing-here-%x", h.Sum64())
}

// needsCanary reports that a document was found and that the host has not shown that
// it tells one path from another.
func (s *session) needsCanary() bool {
	v := s.visit
	ai, summary := v.docs[document.AI], v.docs[document.AGISSummary]
	if ai != nil && summary != nil && !s.readsAs(document.AI, s.bodies[document.AGISSummary]) {
		v.host.Distinct = true
	}
	return !v.host.Distinct && s.down == nil && (v.fresh[document.AI] != nil || v.fresh[document.AGISSummary] != nil)
}

// isRobots reports that a body is a robots.txt file, and not what the host
// answers to everything.
func isRobots(body []byte) bool {
	text := bytes.ToLower(body)
	return bytes.Contains(text, []byte("user-agent")) || bytes.Contains(text, []byte("sitemap:"))
}

// askCanary adds the ask for a path that nobody has.
func (s *session) askCanary() {
	s.addAsk(fetch.NewAsk(kindCanary, s.visit.host.Name, canaryPath(s.visit.host.Name), s.c.now()))
}

// isAbsence reports that an answer is a plain no.
func isAbsence(f fetch.Fetch) bool {
	return f.Status >= 400 && f.Status < 500 && f.Outcome != fetch.Throttled
}

// settleCanary judges by the answer to the canary whether the documents are such.
// A host that refuses to answer at all, or robots.txt that forbids to ask, proves
// nothing, and the documents stay.
func (s *session) settleCanary(a *fetch.Ask) {
	f := &a.Fetch
	s.visit.result.Fetches = append(s.visit.result.Fetches, *f)
	if f.Outcome != fetch.OK && f.Outcome != fetch.BadMediaType {
		s.visit.host.Distinct = isAbsence(*f)
		return
	}
	if !s.matchesCanary(f.Body) {
		s.visit.host.Distinct = true
		return
	}
	for _, format := range document.Formats {
		s.dropCatchAll(format.Kind)
	}
}

// matchesCanary reports that the answer to the canary is what a document came as, or
// would pass for one.
func (s *session) matchesCanary(body []byte) bool {
	for _, d := range s.visit.docs {
		if document.Digest(body) == d.Digest {
			return true
		}
	}
	for _, kind := range []document.Kind{document.AI, document.AGISSummary} {
		if s.visit.docs[kind] == nil {
			continue
		}
		if s.readsAs(kind, body) {
			return true
		}
	}
	return false
}

// readsAs reports that a body would pass for a document.
func (s *session) readsAs(kind document.Kind, body []byte) bool {
	_, err := document.Read(document.Input{Kind: kind, Host: s.visit.host.Name, URL: "https://" + s.visit.host.Name + "/", Bytes: body})
	return err == nil
}

// dropCatchAll takes a document back.
func (s *session) dropCatchAll(kind document.Kind) {
	h := &s.visit.host
	f, fetched := h.Fetches[string(kind)]
	if s.visit.docs[kind] == nil || !fetched {
		return
	}
	s.removeDocument(kind)
	f.Outcome, f.Digest, f.ETag, f.LastModified, f.Fresh = fetch.CatchAll, "", "", "", 0
	f.Detail = "the host answers " + canaryPath(h.Name) + " as it answers this, so neither is a document"
	f.Repeats = countRepeats(s.before[string(kind)], f)
	h.Fetches[string(kind)] = f
	h.NotBefore[string(kind)] = s.c.now().Add(waitAfter(h.Name, f, Rate{}))
	for i := range s.visit.result.Fetches {
		if s.visit.result.Fetches[i].Kind == string(kind) {
			s.visit.result.Fetches[i] = f
		}
	}
}
