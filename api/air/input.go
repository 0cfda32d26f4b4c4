package air

import (
	"gazetteer/api/route"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

type agentInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
}

type updateInput struct {
	AirID   string   `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret  string   `header:"X-Agent-Secret" doc:"the secret that the registration answered; not needed by a signed request"`
	IfMatch string   `header:"If-Match" doc:"the ETag of the record that is to be changed; another one meanwhile is a 412"`
	ifMatch []string // all lines of it
	route.JSONBody
}

// Resolve reads the body (huma.Resolver).
func (in *updateInput) Resolve(ctx huma.Context) []error {
	in.ifMatch = humagin.Unwrap(ctx).Request.Header.Values("If-Match")
	return in.JSONBody.Resolve(ctx)
}

type operatorInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	route.JSONBody
}

type ownerInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret string `header:"X-Agent-Secret" doc:"the secret that the registration answered; not needed by a signed request"`
	route.EmptyBody
}
