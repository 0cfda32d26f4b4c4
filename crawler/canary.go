package crawler

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"

	"gazetteer/document"
	"gazetteer/fetch"
)

// A host that gives the same answer to every path may return apparent documents at the well-known
// paths, under any number of names. On the first visit most hosts show that they distinguish paths:
// a document is absent, robots.txt is a real one, or two documents differ. If a host shows none of
// these, the crawler requests a path that cannot exist, the canary, before it accepts the document.

// kindCanary is the kind of a fetch of the canary path.
const kindCanary = "canary"

// canaryPath returns the canary path of a host. It is near the documents, never changes for a host,
// and states its purpose.
func canaryPath(host string) string {
	h := fnv.New64a()
	h.Write([]byte(host))
	return fmt.Sprintf("/.well-known/nothing-here-%x", h.Sum64())
}

// needsCanary reports whether a document was found and the host has not yet shown that it
// distinguishes paths.
func (s *session) needsCanary() bool {
	v := s.visit
	ai, summary := v.docs[document.AI], v.docs[document.AGISSummary]
	if ai != nil && summary != nil && !s.readsAs(document.AI, s.bodies[document.AGISSummary]) {
		v.host.Distinct = true
	}
	return !v.host.Distinct && s.down == nil && slices.ContainsFunc(wellKnownKinds(), func(kind document.Kind) bool {
		return v.fresh[kind] != nil
	})
}

// wellKnownKinds returns the kinds that have an address of their own on each host.
func wellKnownKinds() []document.Kind {
	return slices.DeleteFunc(document.AuthoritativeKinds(), func(kind document.Kind) bool {
		f, _ := document.FormatOf(kind)
		return f.WellKnown == ""
	})
}

// isRobots reports whether a body is a robots.txt file and not the host's answer to every path.
func isRobots(body []byte) bool {
	text := bytes.ToLower(body)
	return bytes.Contains(text, []byte("user-agent")) || bytes.Contains(text, []byte("sitemap:"))
}

// askCanary adds the request for the canary path.
func (s *session) askCanary() {
	s.addAsk(fetch.NewAsk(kindCanary, s.visit.host.Name, canaryPath(s.visit.host.Name), s.c.now()))
}

// isAbsence reports whether an answer clearly says that the path has no content.
func isAbsence(f fetch.Fetch) bool {
	return f.Status >= 400 && f.Status < 500 && f.Outcome != fetch.Throttled
}

// settleCanary decides from the answer to the canary whether the documents are real. A host that
// refuses to answer at all, or whose robots.txt forbids the canary path, proves nothing, and its
// documents stay.
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

// matchesCanary reports whether the answer to the canary equals the bytes of a document, or would
// be read as one.
func (s *session) matchesCanary(body []byte) bool {
	for _, d := range s.visit.docs {
		if document.Digest(body) == d.Digest {
			return true
		}
	}
	return slices.ContainsFunc(wellKnownKinds(), func(kind document.Kind) bool {
		return s.visit.docs[kind] != nil && s.readsAs(kind, body)
	})
}

// readsAs reports whether a body would be read as a document of a kind.
func (s *session) readsAs(kind document.Kind, body []byte) bool {
	_, err := document.Read(document.Input{Kind: kind, Host: s.visit.host.Name, URL: "https://" + s.visit.host.Name + "/", Bytes: body})
	return err == nil
}

// dropCatchAll removes a document that turned out to be the host's answer to every path.
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
