package crawler

import (
	"cmp"
	"slices"

	"gazetteer/document"
	"gazetteer/fetch"
)

// settleAsk ends a request: it judges the bytes if there are any, records the fetch, and adds the
// requests that follow from it.
func (s *session) settleAsk(a *fetch.Ask, end fetch.AskResult) {
	s.dropAsk(a)
	f := &a.Fetch
	f.Outcome, f.Detail, f.NamesFailed = end.Outcome, end.Detail, end.NamesFailed
	if a.Kind == fetch.KindRobots {
		s.settleRobots(a)
		return
	}
	if a.Kind == kindCanary {
		s.settleCanary(a)
		return
	}
	if isAbsence(*f) {
		s.visit.host.Distinct = true
	}
	kind := document.Kind(a.Kind)
	f.Repeats = countRepeats(a.Prev, *f)
	found := a.Findings(end, s.c.now())
	switch {
	case f.Outcome == fetch.OK:
		s.readBody(a, found)
	case f.Outcome == fetch.Unchanged:
		s.keepDocument(a)
	case end.Definite:
		s.removeDocument(kind)
	case s.visit.docs[kind] != nil: // it stays what is known of the host
		carryOver(f, a.Prev)
	}
	if f.Outcome != fetch.OK && isWorthKeeping(f.Outcome) {
		f.Findings = limitFindings(append(found, f.Findings...))
	}
	f.Body = nil
	s.noteFetch(a)
	switch kind {
	case document.AI:
		s.followAI(f)
	case document.AGISSummary:
		s.followSummary()
	}
}

func (s *session) dropAsk(a *fetch.Ask) {
	s.todo = slices.DeleteFunc(s.todo, func(other *fetch.Ask) bool { return other == a })
}

// noteFetch records the settled fetch of a document.
func (s *session) noteFetch(a *fetch.Ask) {
	h := &s.visit.host
	h.Fetches[a.Kind] = a.Fetch
	rate := h.Rates[a.Kind]
	if prev := a.Prev; prev.Digest != "" && a.Fetch.Digest != "" && classOf(prev.Outcome) == classGood && classOf(a.Fetch.Outcome) == classGood {
		rate.countCheck(a.Fetch.Digest == prev.Digest, a.Fetch.At.Sub(prev.At))
		if h.Rates == nil {
			h.Rates = map[string]Rate{}
		}
		h.Rates[a.Kind] = rate
	}
	h.NotBefore[a.Kind] = s.c.now().Add(waitAfter(h.Name, a.Fetch, rate))
	// A host that refuses or is silent as a whole is asked again when its robots.txt is.
	if at := h.NotBefore[fetch.KindRobots]; classOf(a.Fetch.Outcome) == classRefused && a.Host == h.Name && !at.IsZero() {
		h.NotBefore[a.Kind] = at
	}
	s.visit.result.Fetches = append(s.visit.result.Fetches, a.Fetch)
}

// carryOver copies from the previous fetch what describes the document that is still current.
func carryOver(f *fetch.Fetch, prev fetch.Fetch) {
	f.Digest, f.Bytes, f.ETag, f.LastModified = prev.Digest, prev.Bytes, prev.ETag, prev.LastModified
	f.MediaType = cmp.Or(f.MediaType, prev.MediaType)
	f.Final = cmp.Or(f.Final, prev.Final)
}

// settleRobots turns a fetch of robots.txt into a policy.
func (s *session) settleRobots(a *fetch.Ask) {
	now := s.c.now()
	f := &a.Fetch
	h := &s.visit.host
	if a.Of == h.Name {
		f.Repeats = countRepeats(h.Fetches[fetch.KindRobots], *f)
	}
	v := fetch.JudgeRobots(*f, now, s.c.maxCrawlDelay)
	if a.Of == h.Name && (isAbsence(*f) || isRobots(f.Body)) {
		h.Distinct = true
	}
	f.Body = nil
	down := classOf(f.Outcome) == classDown || isBlocked(*f)
	wait := fetch.RobotsAge
	if v.Closed() && classOf(f.Outcome) != classGood {
		// It could not be fetched: a busy host is asked again soon, or when it said, a silent one
		// when its documents are.
		if wait = waitAfter(a.Of, *f, Rate{}); !down {
			wait = min(wait, max(fetch.RobotsAge, f.RetryAfter))
		}
	}
	v.Until = now.Add(wait)
	s.policies[a.Of] = v
	if !down {
		s.c.robots.storePolicy(a.Of, v)
	}
	if a.Of == h.Name {
		h.Fetches[fetch.KindRobots], h.NotBefore[fetch.KindRobots], h.Robots = *f, v.Until, &v.Robots
		s.visit.result.Fetches = append(s.visit.result.Fetches, *f)
	} else if down && f.Status == 0 {
		s.settleHost(a.Of, fetch.AskResult{Outcome: f.Outcome, Detail: f.Detail, NamesFailed: f.NamesFailed})
	}
}

// isBlocked reports that a host was not asked because its address is forbidden: this is then the
// outcome of every request to it, and says nothing about its robots.txt.
func isBlocked(robots fetch.Fetch) bool {
	return robots.Outcome == fetch.BlockedAddress && robots.Status == 0
}

// settleHost settles all requests to another host that cannot be reached.
func (s *session) settleHost(host string, end fetch.AskResult) {
	for _, a := range slices.Clone(s.todo) {
		if a.Host == host {
			s.settleAsk(a, end)
		}
	}
}
