// Package docpages has the pages for people who write programs against this server: the API reference,
// rendered from the OpenAPI description that the API serves, and how to add the MCP server to a
// client. Begin with [New].
package docpages

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/protocol/english"
	"gazetteer/registry/directory"
	"gazetteer/web/frame"
)

//go:embed templates/*.html
var templateFiles embed.FS

// Pages are the pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	base    string
	answers *answer.Answers
	groups  []group
	byID    map[string]operation
}

// A group is the operations of a tag.
type group struct {
	Title      string // of the tag, for people
	Name, Text string
	Link       frame.Link // outside, for more
	Operations []operation
}

// An operation is one operation of the API, ready to be shown.
type operation struct {
	Codes                           []route.ProblemKind // usual problems
	ID, Method, Path, Summary, Text string
	Group                           string
	Parameters                      []parameter
	BodyText                        string
	Body                            []parameter
	BodyTypes                       []string
	Answer                          []parameter
	AnswerTypes                     []string
	Security                        []string
	Request, Reply                  string
	Status                          string
	// ProblemType is the media type of the problems that are its errors. Refusal describes errors of
	// another form, "" for problems.
	ProblemType, Refusal string
	Cut                  bool // the reply is shortened
	// isRead reports whether anybody may send the request, and it changes nothing.
	isRead bool
}

// Paragraphs returns the paragraphs of the text, and none if it only repeats the summary.
func (o operation) Paragraphs() (out []template.HTML) {
	if strings.TrimSuffix(o.Text, ".") == o.Summary {
		return nil
	}
	for paragraph := range strings.SplitSeq(o.Text, "\n\n") {
		out = append(out, markCode(paragraph))
	}
	return out
}

// markCode returns a text of ours as HTML, with what stands between backticks as code.
func markCode(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(template.HTMLEscapeString(text), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// A parameter is a parameter, or a member of a body.
type parameter struct {
	Name, In, Type, Text string
	Required             bool
	Values               []string
	Default, Range       string
}

// New prepares the pages in a frame, from the description of the API. The requests of the examples name
// an agent of answers. base is the public address of the server.
func New(f *frame.Frame, api *huma.OpenAPI, answers *answer.Answers, base string) (*Pages, error) {
	examples, err := route.Examples()
	if err != nil {
		return nil, err
	}
	p := &Pages{Frame: f, base: strings.TrimSuffix(base, "/"), answers: answers, byID: map[string]operation{}}
	for _, tag := range api.Tags {
		g := group{Name: tag.Name, Title: frame.TitleOf(tag.Name), Text: tag.Description}
		if tag.ExternalDocs != nil {
			g.Link = frame.Link{Text: tag.ExternalDocs.Description, Address: tag.ExternalDocs.URL}
		}
		for path, item := range api.Paths {
			for method, op := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete} {
				if op != nil && slices.Contains(op.Tags, tag.Name) {
					g.Operations = append(g.Operations, p.newOperation(api, method, path, op, examples[op.OperationID]))
				}
			}
		}
		slices.SortFunc(g.Operations, func(a, b operation) int {
			return cmp.Or(cmp.Compare(route.PathRank(a.Path), route.PathRank(b.Path)), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
		})
		if len(g.Operations) > 0 {
			p.groups = append(p.groups, g)
		}
		for _, o := range g.Operations {
			p.byID[o.ID] = o
		}
	}
	f.AddTemplates(templateFiles)
	return p, nil
}

// maxReply is the number of bytes of an answer that a page shows.
const maxReply = 6000

// newOperation prepares one operation.
func (p *Pages) newOperation(api *huma.OpenAPI, method, path string, op *huma.Operation, e route.Example) operation {
	o := operation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Text: op.Description, Group: op.Tags[0]}
	for _, q := range op.Parameters {
		v := newParameter(api, q.Name, q.Schema, q.Required)
		v.In, v.Text = q.In, cmp.Or(q.Description, v.Text)
		o.Parameters = append(o.Parameters, v)
	}
	slices.SortStableFunc(o.Parameters, func(a, b parameter) int {
		order := []string{"path", "query", "header"}
		return cmp.Or(slices.Index(order, a.In)-slices.Index(order, b.In), rankName(a.Name)-rankName(b.Name))
	})
	if op.RequestBody != nil {
		o.BodyText = op.RequestBody.Description
		o.BodyTypes, o.Body = describeContent(api, op.RequestBody.Content)
	}
	for _, status := range []string{"200", "201", "202", "204"} {
		if r := op.Responses[status]; r != nil {
			o.AnswerTypes, o.Answer = describeContent(api, r.Content)
			break
		}
	}
	if r := op.Responses["default"]; r != nil {
		o.ProblemType, o.Refusal = describeErrors(r)
		o.Codes = route.KindsOf(op)
	}
	for _, s := range op.Security {
		for name := range s {
			o.Security = append(o.Security, api.Components.SecuritySchemes[name].Description)
		}
	}
	o.Status = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	o.Reply, o.Cut = formatAnswer(e.Answer)
	o.Request, o.isRead = e.Curl(p.base, method), method == http.MethodGet && !e.Signed && !e.Token
	return o
}

// describeErrors returns the media type of errors that are problems, or the description of others.
func describeErrors(r *huma.Response) (problemType, other string) {
	for name, c := range r.Content {
		if c.Schema != nil && strings.HasSuffix(c.Schema.Ref, "/Problem") {
			return name, ""
		}
	}
	return "", r.Description
}

// rankName puts the words of a search before its filters.
func rankName(name string) int {
	if name == "q" {
		return 0
	}
	return 1
}

// formatAnswer returns an answer with indentation, cut to the length that a page shows.
func formatAnswer(answer json.RawMessage) (text string, cut bool) {
	var plain string
	if json.Unmarshal(answer, &plain) == nil {
		text = plain
	} else {
		var b bytes.Buffer
		if json.Indent(&b, answer, "", "  ") != nil {
			return "", false
		}
		text = b.String()
	}
	if len(text) > maxReply {
		end := strings.LastIndexByte(text[:maxReply], '\n')
		return text[:max(end, 0)], true
	}
	return text, false
}

// describeContent returns the media types of a body and the members of its JSON object.
func describeContent(api *huma.OpenAPI, content map[string]*huma.MediaType) (types []string, members []parameter) {
	for name, c := range content {
		types = append(types, name)
		if members == nil && c.Schema != nil {
			members = describeMembers(api, c.Schema)
		}
	}
	slices.Sort(types)
	return types, members
}

// describeMembers returns the members of an object; of the first one where there are alternatives.
func describeMembers(api *huma.OpenAPI, s *huma.Schema) []parameter {
	s = resolveSchema(api, s)
	if len(s.AnyOf) > 0 {
		return describeMembers(api, s.AnyOf[0])
	}
	var members []parameter
	for name, member := range s.Properties {
		members = append(members, newParameter(api, name, member, slices.Contains(s.Required, name)))
	}
	slices.SortFunc(members, func(a, b parameter) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// resolveSchema follows a reference into the components.
func resolveSchema(api *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	if s.Ref == "" {
		return s
	}
	if found := api.Components.Schemas.SchemaFromRef(s.Ref); found != nil {
		return found
	}
	return s
}

// newParameter describes a schema by a name.
func newParameter(api *huma.OpenAPI, name string, s *huma.Schema, required bool) parameter {
	v := parameter{Name: name, Required: required}
	if s == nil {
		return v
	}
	v.Text, v.Type = s.Description, typeName(api, s)
	inner := resolveSchema(api, s)
	if inner.Items != nil {
		inner = resolveSchema(api, inner.Items)
	}
	for _, value := range inner.Enum {
		v.Values = append(v.Values, fmt.Sprint(value))
	}
	if s.Default != nil {
		v.Default = fmt.Sprint(s.Default)
	}
	if s.Minimum != nil && s.Maximum != nil && !strings.Contains(v.Text, frame.FormatNumber(int(*s.Maximum))) { // not said twice
		v.Range = fmt.Sprintf("%g to %g", *s.Minimum, *s.Maximum)
	}
	return v
}

// listOf names the type of a list.
func listOf(item string) string {
	switch {
	case item == "any":
		return "list"
	case strings.HasPrefix(item, "list"):
		return "list of lists" + strings.TrimPrefix(item, "list")
	default:
		return "list of " + item + "s"
	}
}

// typeName names the type of a schema.
func typeName(api *huma.OpenAPI, s *huma.Schema) string {
	s = resolveSchema(api, s)
	switch {
	case s.Type == huma.TypeArray && s.Items != nil:
		return listOf(typeName(api, s.Items))
	case len(s.OneOf) > 0:
		return typeName(api, s.OneOf[0]) + " or " + typeName(api, s.OneOf[1])
	default:
		return cmp.Or(s.Type, "any")
	}
}

// Mount adds the pages to e, which is the API's ([api.API.Engine]).
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/docs":     p.Handle(p.referencePage),
		"/docs/:id": p.Handle(p.operationPage),
		"/mcp":      p.mcpPage(),
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
}

// referenceView is the list of operations.
type referenceView struct {
	Base     string
	Groups   []group
	Problems []route.ProblemKind
}

func (p *Pages) referencePage(*gin.Context) (frame.WebPage, error) {
	return frame.WebPage{Name: "docs", Title: "API reference", Description: "Every operation of the API with its parameters, a recorded request and its answer.", Body: referenceView{p.base, p.groups, route.ProblemKinds()}}, nil
}

func (p *Pages) operationPage(c *gin.Context) (frame.WebPage, error) {
	id := c.Param("id")
	o, ok := p.byID[id]
	if !ok {
		return frame.WebPage{}, newUnknownOperation(id, p.nearOperations(id))
	}
	if o.isRead {
		o.Request = p.nameOwnAgent(c.Request.Context(), o.Request)
	}
	return frame.WebPage{Name: "docsoperation", Title: o.Summary, Description: o.Summary + ": parameters, errors, and a recorded request with its answer.", Body: o}, nil
}

// maxNearOperations bounds the operations that are named instead of an unknown one.
const maxNearOperations = 5

// nearOperations returns the ids that an unknown one may mean: the one that it misspells, and those that have
// it among their words, such as service-badge for badge.
func (p *Pages) nearOperations(id string) []string {
	ids := slices.Sorted(maps.Keys(p.byID))
	var near []string
	if name := english.NearName(id, ids); name != "" {
		near = append(near, name)
	}
	for _, other := range ids {
		if len(near) < maxNearOperations && slices.Contains(strings.Split(other, "-"), strings.ToLower(id)) && !slices.Contains(near, other) {
			near = append(near, other)
		}
	}
	return near
}

// newUnknownOperation returns the problem of an id that no operation of the API has.
func newUnknownOperation(id string, near []string) *frame.Problem {
	v := frame.NewNotFound("operation", fmt.Sprintf("No operation of the API has the id %q.", frame.ClipPlain(60, id)), "")
	for _, other := range near {
		v.Links = append(v.Links, frame.Link{Text: other, Address: "/docs/" + other})
	}
	v.Links = append(v.Links, frame.Link{Text: "API reference", Address: "/docs"})
	return v
}

// exampleAgent matches the AIR ID and the DID of an agent in a recorded request.
var exampleAgent = regexp.MustCompile(`(?:did:wba:[A-Za-z0-9.%:-]+:agents:)?AIR(?:-[0-9A-Z]{4}){3}`)

// nameOwnAgent replaces the agent of a request, which belongs to the registry where the examples were
// recorded, by one of this registry. Without any it returns the request as it is.
func (p *Pages) nameOwnAgent(ctx context.Context, request string) string {
	if !exampleAgent.MatchString(request) {
		return request
	}
	agents, _, err := p.answers.FindAgents(ctx, directory.Query{Limit: 1}, "")
	if err != nil || len(agents) == 0 {
		return request
	}
	return exampleAgent.ReplaceAllStringFunc(request, func(found string) string {
		if strings.HasPrefix(found, "did:") {
			return p.answers.Registry.DID(agents[0].AirID)
		}
		return agents[0].AirID
	})
}

// mcpView is how to add the MCP server to a client.
type mcpView struct {
	Base    string
	Clients []mcpClient
	Tools   []mcpTool
}

// An mcpClient is a client with its configuration.
type mcpClient struct {
	Name, Where, Text string
	Note              string // another way, "" for none
}

// An mcpTool is a tool with its purpose.
type mcpTool struct{ Name, Text string }

// mcpTools are the tools, as package mcpserver declares them; a test compares them.
var mcpTools = []mcpTool{
	{"search_operations", "find operations of services by intent"},
	{"find_agents", "find who can do something and the inbox to write to"},
	{"show_service", "show what a host offers, and when it was last read"},
	{"resolve_name", "resolve an AIR ID, a handle, a DID or NAMESPACE.VERB"},
	{"validate_document", "check an AI Discovery or AGIS document"},
	{"export_tools", "write operations as MCP tools, functions or curl lines"},
	{"list_changes", "list new and removed documents, and changes to agents"},
}

// mcpPage returns the page for people. An MCP client that opens an event stream at the same address
// gets 405, as the protocol requires.
func (p *Pages) mcpPage() gin.HandlerFunc {
	page := p.Handle(func(*gin.Context) (frame.WebPage, error) {
		address := p.base + "/mcp"
		return frame.WebPage{Name: "mcp", Title: "MCP server", Description: "How to add this search to clients of the Model Context Protocol, and the tools that they get.", Body: mcpView{p.base, []mcpClient{
			{Name: "Claude Code", Where: "in a terminal", Text: "claude mcp add --transport http gazetteer " + address},
			{Name: "Claude Desktop", Where: "claude_desktop_config.json", Note: "It starts the program gazetteer, which must be installed. Without it, choose Settings, Connectors, Add custom connector, and enter the address above.", Text: `{
  "mcpServers": {
    "gazetteer": {
      "command": "gazetteer",
      "args": ["mcp", "--server", "` + p.base + `"]
    }
  }
}`},
			{Name: "VS Code", Where: ".vscode/mcp.json", Text: `{"servers": {"gazetteer": {"type": "http", "url": "` + address + `"}}}`},
			{Name: "Cursor", Where: ".cursor/mcp.json", Text: `{"mcpServers": {"gazetteer": {"url": "` + address + `"}}}`},
			{Name: "Codex", Where: "~/.codex/config.toml", Text: "[mcp_servers.gazetteer]\nurl = \"" + address + "\""},
			{Name: "curl", Where: "in a terminal", Text: "curl " + address + " \\\n  -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' \\\n  -d '" + `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_operations", "arguments": {"query": "book a table"}}}` + "'"},
		}, mcpTools}}, nil
	})
	return func(c *gin.Context) {
		if accept := c.GetHeader("Accept"); strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "text/html") {
			c.Header("Allow", "GET, HEAD, OPTIONS, POST")
			c.Data(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("this server is stateless and opens no event stream: send a POST\n"))
			return
		}
		page(c)
	}
}
