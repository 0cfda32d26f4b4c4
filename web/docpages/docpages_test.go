package docpages

import (
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
)

// TestErrorsAreDescribedInTheirForm checks that only operations whose errors are problem documents
// promise them, and that a text that repeats the heading is not shown.
func TestErrorsAreDescribedInTheirForm(t *testing.T) {
	media := func(name, ref string) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{name: {Schema: &huma.Schema{Ref: ref}}}
	}
	p := &Pages{}
	for _, c := range []struct {
		what           string
		failure        *huma.Response
		problem, other string
	}{
		{"problems", &huma.Response{Description: "A problem.", Content: media("application/problem+json", "#/components/schemas/Problem")}, "application/problem+json", ""},
		{"problems as the reference sends them", &huma.Response{Description: "A problem.", Content: media("application/json", "#/components/schemas/Problem")}, "application/json", ""},
		{"refusals of the relay", &huma.Response{Description: "A refusal.", Content: media("application/json", "")}, "", "A refusal."},
	} {
		op := &huma.Operation{OperationID: "push", Summary: "Deliver an envelope", Description: "Deliver an envelope.", Tags: []string{"relay"}, Responses: map[string]*huma.Response{"default": c.failure}}
		o := p.newOperation(&huma.OpenAPI{}, http.MethodPost, "/inbox/{inbox}", op, route.Example{})
		if o.ProblemType != c.problem || o.Refusal != c.other {
			t.Errorf("%s: got %q and %q", c.what, o.ProblemType, o.Refusal)
		}
		if texts := o.Paragraphs(); texts != nil {
			t.Errorf("%s: the heading is repeated: %q", c.what, texts)
		}
	}
}
