package api

import (
	"context"
	"fmt"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/api/badge"
	"gazetteer/api/route"
	"gazetteer/conformance"
)

func (a *API) explainService(ctx context.Context, in *hostInput) (*route.Output[answer.Explanation], error) {
	a.awaitProofs(ctx)
	e, err := a.Answers.Explain(ctx, in.Host)
	if err != nil {
		return nil, err
	}
	e.Page = strings.TrimSuffix(a.publicURL, "/") + "/services/" + e.Host
	return route.JSON(e), nil
}

type serviceBadgeInput struct {
	Host  string `path:"host" doc:"the name of a host, such as www.example.com"`
	Style string `query:"style" enum:"flat,for-the-badge" default:"flat" doc:"the form of the badge"`
}

// awaitProofs lets the directory follow the last write, so that an owner who has just proved a domain
// sees it. Without a directory the answer knows no such proof.
func (a *API) awaitProofs(ctx context.Context) { _, _ = a.CurrentDirectory(ctx) }

// getServiceBadge answers with a picture for any host, because badges are shown on pages that
// cannot display an error.
func (a *API) getServiceBadge(ctx context.Context, in *serviceBadgeInput) (*route.RawOutput, error) {
	a.awaitProofs(ctx)
	s, err := a.Answers.Seal(ctx, in.Host)
	if err != nil {
		return nil, err
	}
	b := badge.Badge{Left: "agent service", Style: badge.Style(in.Style)}
	b.Right, b.Color = describeSeal(s)
	if s.Proof != "" {
		b.Detail = "origin proved by " + s.Proof
	}
	out := route.Badge(b)
	out.CacheControl = "public, no-cache" // the page of the host shows it beside the same state
	return out, nil
}

// describeSeal returns the text and the color of a host's badge.
func describeSeal(s answer.Seal) (text string, color badge.Color) {
	switch {
	case !s.Known:
		return "not found", badge.Grey
	case s.Withdrawn:
		return "not shown", badge.Grey
	case s.Visited.IsZero():
		return "not visited yet", badge.Grey
	}
	var parts []string
	if s.Proof == "" {
		parts = append(parts, "unverified")
	}
	standing := s.Standing
	switch standing.Conformant {
	case conformance.Yes:
		parts = append(parts, fmt.Sprintf("conformant, level %d", standing.Level))
	case conformance.No:
		parts = append(parts, "not conformant")
	}
	color = badge.Green
	if s.Proof == "" {
		color = badge.Blue
	}
	if standing.Conformant != conformance.Yes {
		color = badge.Amber
	}
	state := "answers"
	switch {
	case standing.Class == conformance.Withheld:
		state, color = "withheld by robots.txt", badge.Grey
	case standing.Reachable == conformance.No:
		state, color = "unreachable", badge.Red
	case standing.Answers == conformance.No:
		state, color = "does not answer", badge.Red
	case standing.WellFormed == conformance.No:
		state, color = "unreadable", badge.Red
	case standing.Consistent == conformance.No:
		state, color = "contradicts itself", badge.Amber
	case standing.Class != conformance.Publishes && standing.Class != conformance.OtherDialect:
		state, color = "publishes nothing", badge.Grey
	}
	if s.Old {
		color = badge.Grey
	}
	// The day and not "3 hours ago", because caches store the pictures.
	return strings.Join(append(parts, state, "seen "+s.Visited.UTC().Format("2 Jan 2006")), " · "), color
}
