package air

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/registry"
)

type badgeInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Format string `query:"format" enum:"label,score" default:"label" doc:"label or score"`
}

// getBadge answers with a small picture, also for an agent that is not known: it
// stands in pages that cannot show an error.
func (a *Routes) getBadge(ctx context.Context, in *badgeInput) (*route.RawOutput, error) {
	agent, _, err := a.Answers.Registry.Agent(ctx, in.AirID)
	if _, mistyped := errors.AsType[*registry.Error](err); mistyped || errors.Is(err, registry.ErrNoAgent) {
		return badgeOutput("AIR", "not found", badgeGrey, ""), nil
	}
	if err != nil {
		return nil, err
	}
	score := airjson.NewTrustScoreView(a.Answers.Registry, agent)
	switch {
	case agent.Status != registry.Active:
		return badgeOutput("AIR", agent.Status, badgeGrey, ""), nil
	case in.Format == "score":
		return badgeOutput("AIR Trust", strconv.Itoa(score.TotalScore), badgeBlue, score.Evidence.Basis), nil
	case score.Evidence.Label == "Verified":
		return badgeOutput("AIR", "Verified ✓", badgeGreen, score.Evidence.Basis), nil
	default:
		return badgeOutput("AIR", score.Evidence.Label, badgeBlue, score.Evidence.Basis), nil
	}
}

const (
	badgeGreen = "#2e7d32"
	badgeBlue  = "#0b65a8"
	badgeGrey  = "#6b6b6b"
)

func badgeOutput(left, right, colour, title string) *route.RawOutput {
	return &route.RawOutput{ContentType: "image/svg+xml; charset=utf-8", CacheControl: "public, max-age=60", Body: []byte(badgeSVG(left, right, colour, title))}
}

// badgeSVG draws two words side by side. Whatever stands in them is escaped.
func badgeSVG(left, right, colour, title string) string {
	label := left + ": " + right
	if title != "" {
		title = label + " — " + title
	} else {
		title = label
	}
	w1, w2 := badgeWidth(left), badgeWidth(right)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s">`, w1+w2, html.EscapeString(label))
	fmt.Fprintf(&b, `<title>%s</title>`, html.EscapeString(title))
	fmt.Fprintf(&b, `<clipPath id="r"><rect width="%d" height="20" rx="3"/></clipPath>`, w1+w2)
	fmt.Fprintf(&b, `<g clip-path="url(#r)"><rect width="%d" height="20" fill="#444"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`, w1, w1, w2, colour)
	b.WriteString(`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`)
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text>`, w1/2, w1-12, html.EscapeString(left))
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text></g></svg>`, w1+w2/2, w2-12, html.EscapeString(right))
	return b.String() + "\n"
}

// badgeWidth is room enough for a text of that length.
func badgeWidth(text string) int { return 12 + 7*utf8.RuneCountInString(text) }
