package api

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// MaxDocument is the number of bytes of a text that are accepted for checking. The readers of the
// formats have lower limits, and report a longer text as a finding.
const MaxDocument = 1 << 20

// Validation is the result of checking a submission.
type Validation struct {
	// Valid is set if every document is valid.
	Valid   bool         `json:"valid" doc:"no document has an error"`
	Results []ResultView `json:"results" doc:"one for each document"`
}

// ResultView is the result for one document.
type ResultView struct {
	Input      string             `json:"input" doc:"what was judged: the address, or body"`
	Kind       document.Kind      `json:"kind" doc:"its format; empty if it cannot be determined"`
	Valid      bool               `json:"valid" doc:"it could be read and has no error"`
	Level      int                `json:"level" doc:"the conformance level reached, 0 to 2"`
	Findings   []protocol.Finding `json:"findings" doc:"in the order of the text"`
	Groups     []lint.Group       `json:"groups" doc:"the kinds of findings, each with its number, the most severe first"`
	Operations int                `json:"operations" doc:"the number of operations of the service"`
	Tokens     lint.Tokens        `json:"tokens" doc:"an estimate of its size in tokens of a language model"`
}

// documentTypes are the media types of accepted texts. Types of forms are missing, because a page
// of another site may send them without permission.
var documentTypes = []string{
	"application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml",
	"application/agis", "application/agis+json", "application/agis+yaml", "application/octet-stream",
}

type validateInput struct {
	As    judgedKind `query:"as" doc:"the kind of document; by default it is determined from the text"`
	URL   string     `query:"url" maxLength:"2048" doc:"the URL of the text, as you state it; relative endpoints belong to its host"`
	Level int        `query:"level" minimum:"1" maximum:"2" default:"1" doc:"the level to check against: 2 reports what AGIS Level 2 asks for and the document lacks as an error"`

	text   []byte
	client netip.Addr
	err    error
}

// Resolve reads the body (huma.Resolver). Its error waits until the handler
// returns it.
func (in *validateInput) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	in.client = route.ClientAddress(c)
	in.text, in.err = route.ReadBody(ctx, documentTypes...)
	return nil
}

// validateRoute declares the route: the body is a document, or its address.
func (a *API) validateRoute(h huma.API) {
	op := route.Complete(huma.Operation{OperationID: "validate", Description: `The body is the document itself, or the JSON object {"url": "…"} with an https address or the name of a host. ` +
		"A URL is fetched under the crawler's rules: robots.txt is obeyed, private addresses are refused, and the findings include errors in the way the document is served."})
	route.Handle(a.Mux, h, op, a.validateDocument)
	// Described afterwards: otherwise huma reads the body and checks it itself.
	body := &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
	for _, t := range documentTypes {
		body.Content[t] = &huma.MediaType{Schema: &huma.Schema{}}
	}
	h.OpenAPI().Paths[op.Path].Post.RequestBody = body
}

func (a *API) validateDocument(ctx context.Context, in *validateInput) (*route.Output[Validation], error) {
	if in.err != nil {
		return nil, in.err
	}
	if err := checkDocumentText(in.text); err != nil {
		return nil, err
	}
	s := answer.ValidationRequest{Name: "body", Text: in.text, As: document.Kind(in.As), URL: in.URL, Level: in.Level, Client: in.client}
	if address, ok := addressIn(in.text); ok {
		s.Text, s.Address = nil, address
	}
	judgments, err := a.Answers.Validate(ctx, s)
	if err != nil {
		return nil, err
	}
	out := route.JSON(Validation{Valid: true, Results: []ResultView{}})
	for _, j := range judgments {
		out.Body.Valid = out.Body.Valid && j.Valid
		out.Body.Results = append(out.Body.Results, viewResult(j))
	}
	return out, nil
}

func viewResult(j answer.ValidationResult) ResultView {
	j.Findings = slices.Clone(j.Findings) // others may hold them, too
	for i := range j.Findings {
		j.Findings[i].Help = helpWithoutCommand(j.Findings[i].Help)
	}
	return ResultView{
		Input: j.Input, Kind: j.Kind, Valid: j.Valid, Level: j.Level, Findings: answer.OrEmpty(j.Findings), Groups: lint.GroupFindings(j.Findings),
		Operations: j.Operations, Tokens: j.Tokens,
	}
}

// helpWithoutCommand returns the help of a finding, which is written for the command, for those who do
// not run it.
func helpWithoutCommand(help string) string {
	return strings.Replace(help, "name it with --as ", "name it with the parameter as: ", 1)
}

// addressIn reads a body that is only {"url": "…"}, which is not a document of any kind.
func addressIn(text []byte) (string, bool) {
	if len(text) > 4<<10 {
		return "", false
	}
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil || root.Kind != protocol.Object || len(root.Items) != 1 {
		return "", false
	}
	u := root.Member("url")
	return u.Str(), u != nil && u.Kind == protocol.String
}

// checkDocumentText refuses a text without content, for which a result would be useless.
func checkDocumentText(text []byte) error {
	if slices.ContainsFunc(text, func(b byte) bool { return b > ' ' }) {
		return nil
	}
	return route.NewProblem(route.BadBody, "the body is empty", fmt.Sprintf("send a document, at most %d bytes, or {\"url\": \"https://…\"}", MaxDocument))
}
