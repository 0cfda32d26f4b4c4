package crawler

import (
	"maps"
	"slices"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
)

// A Preview describes the visit to a host that a request would cause now.
type Preview struct {
	// NotBefore is the earliest time of the request, zero for at once.
	NotBefore time.Time `json:"not_before,omitzero" doc:"the time of the earliest request; absent: at once"`
	// Steps lists the requests of the visit, in their order.
	Steps []PreviewStep `json:"steps"`
}

// A PreviewStep is one request of a visit that was not made yet.
type PreviewStep struct {
	Kind string `json:"kind" doc:"the document, or robots"`
	URL  string `json:"url,omitempty"`
	// Asked is set if the request would be made; Why is the reason in both cases.
	Asked bool   `json:"asked" doc:"the request would be made"`
	Why   string `json:"why"`
	// NotBefore is the earliest time of a request that would not be made now.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// PreviewRecrawl returns the effect of [Crawler.Recrawl]. It changes nothing.
func (h *Host) PreviewRecrawl(now time.Time, by Requester) Preview {
	after := *h
	after.NotBefore = maps.Clone(h.NotBefore)
	if after.NotBefore == nil {
		after.NotBefore = map[string]time.Time{}
	}
	var p Preview
	if wait := h.pauseUntil(by); wait.After(now) {
		p.NotBefore = wait
	}
	after.grantRevisit(now, by)
	if after.Due.After(now) && after.Due.After(p.NotBefore) {
		p.NotBefore = after.Due
	}
	p.Steps = append(p.Steps, after.previewRobots(now, by))
	for _, f := range document.Formats {
		if step, ok := after.previewDocument(f, now); ok {
			p.Steps = append(p.Steps, step)
		}
	}
	return p
}

func (h *Host) previewRobots(now time.Time, by Requester) PreviewStep {
	s := PreviewStep{Kind: fetch.KindRobots, URL: "https://" + h.Name + "/robots.txt", Asked: true, Why: "it is read first"}
	at := h.NotBefore[fetch.KindRobots]
	if h.Robots != nil && by == Anybody && at.After(now) {
		s.Asked, s.NotBefore, s.Why = false, at, "its last answer is still valid"
	}
	return s
}

// previewDocument returns the step for a format; false for a format that is not requested from this
// host.
func (h *Host) previewDocument(f document.Format, now time.Time) (PreviewStep, bool) {
	kind := string(f.Kind)
	last, known := h.Fetches[kind]
	if f.Request != document.Always && !known {
		return PreviewStep{}, false
	}
	s := PreviewStep{Kind: kind, URL: last.URL, Asked: true}
	if s.URL == "" && f.WellKnown != "" {
		s.URL = "https://" + h.Name + f.WellKnown
	}
	switch at := h.NotBefore[kind]; {
	case h.Robots != nil && slices.Contains(h.Robots.Disallowed.Paths(), "*"), last.Outcome == fetch.RefusedByRobots:
		s.Why = "only if robots.txt allows it by then"
	case at.After(now) && h.isAbsent(kind):
		s.Asked, s.NotBefore, s.Why = false, at, "nothing was found there; it is requested again after 24 hours, or at once if the owner signs the request"
	case at.After(now):
		s.Asked, s.NotBefore, s.Why = false, at, "the host sent Retry-After"
	case f.Request == document.AfterAbsence:
		s.Why = "only if the " + f.AliasOf.Describe() + " is absent at its first address"
	case last.ETag != "" || last.LastModified != "":
		s.Why = "conditional: the host sends it again only if it has changed"
	case h.isAbsent(kind):
		s.Why = "it is requested again, although nothing was found there"
	default:
		s.Why = "it is requested at each visit"
	}
	return s, true
}
