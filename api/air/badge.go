package air

import (
	"context"
	"errors"
	"strconv"

	"gazetteer/api/airjson"
	"gazetteer/api/badge"
	"gazetteer/api/route"
	"gazetteer/registry"
)

type badgeInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Format string `query:"format" enum:"label,score" default:"label" doc:"label or score"`
	Style  string `query:"style" enum:"flat,for-the-badge" default:"flat" doc:"the form of the badge"`
}

// getBadge answers with a small picture, even for an unknown agent: pages that embed it cannot show
// an error.
func (a *Routes) getBadge(ctx context.Context, in *badgeInput) (*route.RawOutput, error) {
	agent, _, err := a.Answers.Registry.Agent(ctx, in.AirID)
	if _, mistyped := errors.AsType[*registry.Error](err); mistyped || errors.Is(err, registry.ErrNoAgent) {
		return badgeOutput(in.Style, "AIR", "not found", badge.Grey, ""), nil
	}
	if err != nil {
		return nil, err
	}
	score := airjson.NewTrustScoreView(a.Answers.Registry, agent)
	switch {
	case agent.Status != registry.Active:
		return badgeOutput(in.Style, "AIR", agent.Status, badge.Grey, ""), nil
	case in.Format == "score":
		return badgeOutput(in.Style, "AIR Trust", strconv.Itoa(score.TotalScore), badge.Blue, score.Evidence.Basis), nil
	case score.Evidence.Label == "Verified":
		return badgeOutput(in.Style, "AIR", "Verified ✓", badge.Green, score.Evidence.Basis), nil
	default:
		return badgeOutput(in.Style, "AIR", score.Evidence.Label, badge.Blue, score.Evidence.Basis), nil
	}
}

func badgeOutput(style, left, right string, color badge.Color, detail string) *route.RawOutput {
	return route.Badge(badge.Badge{Left: left, Right: right, Color: color, Style: badge.Style(style), Detail: detail})
}
