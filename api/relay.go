package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"gazetteer/api/route"
	"gazetteer/protocol/a2a/a2ahttp"
)

// relayRoutes declares the routes of the relay, if there is one. The relay's handler serves them,
// because they have two dialects of errors and keep the bytes of envelopes as received.
func (a *API) relayRoutes(h huma.API) {
	if a.relay == nil {
		return
	}
	route.Handle(a.Mux, h, route.Op("relay-health"), a.getRelayHealth)
	for _, row := range route.Table {
		if !row.Relay {
			continue
		}
		path := strings.NewReplacer("{", ":", "}", "").Replace(row.Path)
		a.Public.Handle(row.Method, path, func(c *gin.Context) { a.relay.ServeHTTP(c.Writer, c.Request) })
		op := route.Op(row.ID)
		describeRelay(&op, row)
		h.OpenAPI().AddOperation(&op)
	}
}

// describeRelay describes an operation of the relay.
func describeRelay(op *huma.Operation, row route.Route) {
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	object := func() map[string]*huma.MediaType {
		return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}
	}
	op.Parameters = append(op.Parameters, &huma.Param{Name: "inbox", In: "path", Required: true, Description: "the DID or the AIR ID of the recipient", Schema: text()})
	if row.Stream != "" {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "since", In: "query", Description: "the cursor of the previous page: only later mail is returned", Schema: text()})
	}
	if strings.HasSuffix(row.ID, "-mail") {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Last-Event-ID", In: "header", Description: "the id of the last event that was read, to go on after it; it takes precedence over since", Schema: text()})
	} else if row.Stream != "" {
		op.Parameters = append(op.Parameters,
			&huma.Param{Name: "limit", In: "query", Description: "how many envelopes on a page, 1 to 200; 50 by default", Schema: &huma.Schema{Type: huma.TypeInteger}},
			&huma.Param{Name: "wait", In: "query", Description: "seconds to wait while there is no mail, at most 25", Schema: text()})
	}
	if row.Method != http.MethodGet {
		op.RequestBody = &huma.RequestBody{Required: true, Description: fmt.Sprintf("at most %d bytes", row.Body), Content: object()}
	}
	status, description, content := "200", "OK", object()
	if row.Method == http.MethodPost && strings.HasPrefix(row.ID, "push") {
		status, description = "202", "The envelope is stored; receipt is the relay's signed receipt."
	}
	if strings.HasSuffix(row.ID, "-mail") {
		description, content = "An event named envelope for each envelope; resume with its id after an interruption.", map[string]*huma.MediaType{"text/event-stream": {Schema: text()}}
	}
	op.Responses = map[string]*huma.Response{
		status:    {Description: description, Content: content},
		"default": {Description: "A refusal in the dialect of the request: error and detail (A2A draft-1 §9.3), or error and message as the deployed reference has them.", Content: object()},
	}
}

// RelayHealth reports that the relay works, in the reference's shape without the sizes of its
// queue.
type RelayHealth struct {
	Status  string `json:"status" doc:"ok"`
	Service string `json:"service" doc:"air-relay"`
	Version string `json:"version"`
	Draft   string `json:"draft" doc:"the edition of the draft whose published vectors this build passes"`
	Docs    string `json:"docs" doc:"the text of the draft"`
}

func (a *API) getRelayHealth(context.Context, *struct{}) (*route.Output[RelayHealth], error) {
	return route.JSON(RelayHealth{
		Status: "ok", Service: "air-relay", Version: a.Version, Draft: a2ahttp.Version,
		Docs: "https://agentidentityregistry.org/specs/air/draft-1/v1.md",
	}), nil
}
