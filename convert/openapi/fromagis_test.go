package openapi_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi/datamodel"
	v3 "github.com/pb33f/libopenapi/datamodel/low/v3"

	"gazetteer/convert/openapi"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/wording"
)

// TestFromAGISAndBack converts every valid AGIS document of the test files to OpenAPI, has
// libopenapi read the whole result, and converts it back: methods, paths and the names of all
// parameters are the same.
func TestFromAGISAndBack(t *testing.T) {
	files, err := filepath.Glob("../../protocol/agis/testdata/valid/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := agis.Parse(text, agis.Options{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := openapi.FromAGIS(text, conversion.Options{Format: "json"})
			if err != nil {
				t.Fatal(err)
			}
			checkByLibrary(t, out.Text, len(want.Endpoints))
			back, err := openapi.ToAGIS(out.Text, conversion.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, out.Text)
			}
			got, _, err := agis.Parse(back.Text, agis.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) == "unknown-word-method.yaml" {
				return // ToAGIS writes no method that is in no dictionary
			}
			if filepath.Base(file) == "parameter-name-case.yaml" { // ToAGIS writes names in snake_case
				if !strings.Contains(string(back.Text), "- party_size") || strings.Contains(string(back.Text), "partySize:") {
					t.Errorf("partySize is not renamed:\n%s", back.Text)
				}
				return
			}
			words, _, _ := strings.Cut(filepath.Base(file), "-")
			if words == "intent" || words == "outcome" || words == "method" { // nor words in which a rule finds something
				for _, d := range []*agis.Document{got, want} {
					for i := range d.Endpoints {
						d.Endpoints[i].Semantic.Intent, d.Endpoints[i].Semantic.Outcome = "", ""
					}
				}
			}
			if a, b := describeEndpoints(got, want), describeEndpoints(want, want); !slices.Equal(a, b) {
				t.Errorf("there and back:\n%s\nwant\n%s\nOpenAPI:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"), out.Text)
			}
		})
	}
}

// An operation without parameters has no body, and none comes back.
func TestFromAGISWithoutInput(t *testing.T) {
	for _, input := range []string{"{type: object}", "{type: object, properties: {}}"} {
		out, err := openapi.FromAGIS([]byte(inputless("/jobs", input)), conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := openapi.ToAGIS(out.Text, conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := agis.Parse(back.Text, agis.Options{})
		if err != nil || len(d.Endpoints) != 1 || len(d.Parameters(d.Endpoints[0])) > 0 {
			t.Errorf("%s: %v\n%s\nOpenAPI:\n%s", input, err, back.Text, out.Text)
		}
	}
}

// Long paths are the keys of an OpenAPI description, above everything that it says of them.
func TestFromAGISWithLongPaths(t *testing.T) {
	path := strings.Repeat("/source-control-settings/{setting_id}", 12)
	if _, err := openapi.FromAGIS([]byte(inputless(path, "{type: object}")), conversion.Options{}); err != nil {
		t.Error(err)
	}
}

// inputless is a document with one endpoint.
func inputless(path, input string) string {
	return `{agis: "1.0", service: Jobs, agtp: "agtp://jobs.example", description: Starts jobs., version: "1",
vocabulary: {declared_verbs: [START], domain: work, namespace: jobs}, endpoints: [{method: START, path: "` + path + `", input: ` + input + `,
semantic: {intent: Starts a job, actor: agent, outcome: The job runs}, output: {type: object}, errors: [job_exists]}]}`
}

// checkByLibrary has libopenapi build the model of a whole description: the one that the converter
// uses, too. The package libopenapi itself would add a minute of compilation to each run.
func checkByLibrary(t *testing.T, text []byte, endpoints int) {
	t.Helper()
	info, err := datamodel.ExtractSpecInfo(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !slices.Contains([]string{datamodel.OAS3, datamodel.OAS31, datamodel.OAS32}, info.SpecFormat) {
		t.Fatalf("format %s\n%s", info.SpecFormat, text)
	}
	model, err := v3.CreateDocumentFromConfig(info, datamodel.NewDocumentConfiguration())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	operations, ids := 0, map[string]bool{}
	for path, item := range model.Paths.Value.PathItems.FromOldest() {
		for method, o := range operationsOf(item.Value) {
			operations++
			ids[o.OperationId.Value] = true
			if p := o.Parameters.Value; len(p) == 0 || p[0].Value.Name.Value != "X-AGIS-Method" {
				t.Errorf("%s %s has no header with its method", method, path.Value)
			}
			if method == "get" && o.RequestBody.Value != nil {
				t.Errorf("GET %s has a body", path.Value)
			}
			if o.Responses.Value == nil || o.Responses.Value.FindResponseByCode("200") == nil {
				t.Errorf("%s %s has no answer", method, path.Value)
			}
		}
	}
	if operations != endpoints || len(ids) != endpoints {
		t.Errorf("%d operations with %d ids, want %d", operations, len(ids), endpoints)
	}
}

// operationsOf returns the operations of a path by their methods.
func operationsOf(item *v3.PathItem) map[string]*v3.Operation {
	operations := map[string]*v3.Operation{"get": item.Get.Value, "put": item.Put.Value, "post": item.Post.Value,
		"delete": item.Delete.Value, "options": item.Options.Value, "head": item.Head.Value, "patch": item.Patch.Value,
		"trace": item.Trace.Value, "query": item.Query.Value}
	for method, o := range item.AdditionalOperations.Value.FromOldest() {
		operations[method.Value] = o.Value
	}
	maps.DeleteFunc(operations, func(_ string, o *v3.Operation) bool { return o == nil })
	return operations
}

// describeEndpoints lists method, path, the sorted parameters, the errors and the declared meaning of each
// endpoint, as far as the document like declares this meaning.
func describeEndpoints(d, like *agis.Document) []string {
	var lines []string
	for _, e := range d.Endpoints {
		var names []string
		for _, p := range d.Parameters(e) {
			names = append(names, p.Name)
		}
		for segment := range strings.SplitSeq(e.Path, "/") { // a variable of the path is a parameter, declared or not
			if name := strings.Trim(segment, "{}"); name != segment && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		lines = append(lines, strings.ToUpper(e.Method)+" "+e.Path+" "+strings.Join(names, ",")+" "+describeMeaning(e, like))
	}
	slices.Sort(lines)
	return lines
}

// describeMeaning lists what OpenAPI has no member for: the errors and the semantic block of an endpoint.
func describeMeaning(e agis.Endpoint, like *agis.Document) string {
	s := e.Semantic
	if i := slices.IndexFunc(like.Endpoints, func(o agis.Endpoint) bool { return strings.EqualFold(o.Method, e.Method) && o.Path == e.Path }); i >= 0 {
		o := like.Endpoints[i].Semantic
		if o.ImpactTier == "" {
			s.ImpactTier = ""
		}
		if o.Idempotent == nil {
			s.Idempotent = nil
		}
	}
	if wording.DropInstruction(s.Intent) == "" { // a text to a model is not kept
		s.Intent = "Books a table"
	}
	text := fmt.Sprintf("%s, %s, %s %s %s %v %v", s.Intent, s.Outcome, s.Actor, s.Capability, s.ImpactTier, s.Hints, s.MCPToolName)
	if s.Confidence != nil {
		text += fmt.Sprint(" ", *s.Confidence)
	}
	if s.Idempotent != nil {
		text += fmt.Sprint(" ", *s.Idempotent)
	}
	for _, failure := range slices.Compact(slices.Clone(e.Errors)) { // one that is named twice comes back once
		text += " " + failure.Name + ": " + failure.Description
	}
	return text
}

// TestFromAGISReferences checks that what references stand for becomes components, in a cycle too,
// and names of properties that are keywords elsewhere stay.
func TestFromAGISReferences(t *testing.T) {
	out, err := openapi.FromAGIS([]byte(`
agis: "1.0"
service: Acme Orders
agtp: agtp://orders.acme.test
endpoints:
  - method: ORDER
    path: /goods/{id}
    semantic: {intent: Orders goods, actor: agent, outcome: The order is placed, impact_tier: irreversible, is_idempotent: false, confidence_guidance: 0.90, parameter_hints: {part: [the piece]}, state_transition: {order: "none -> placed"}}
    input: {type: object, required: [id, definitions], properties: {id: {type: string}, definitions: {type: string}, part: {$ref: "#/schemas/part"}, lost: {$ref: "#/nowhere"}}}
    output: {$ref: "#/schemas/part"}
    errors: [out_of_stock]
  - method: CHECK
    path: /goods/{id}
    semantic: {intent: Checks an order, actor: agent, outcome: The state of the order is returned, impact_tier: informational}
    input: {type: object, properties: {id: {type: string}, day: {type: string}}}
    output: {type: object}
    errors: [no_such_order]
schemas:
  part: {type: object, properties: {name: {type: string}, parts: {type: array, items: {$ref: "#/schemas/part"}}}}
vocabulary: {declared_verbs: [ORDER, CHECK], domain: retail, namespace: acme}
data_manifest: {available_data: [{class: order, description: Orders, formats: [json], sensitivity: low, requires_authorization: false}]}
`), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkByLibrary(t, out.Text, 2)
	for _, want := range []string{"    post:", "    get:", "'#/components/schemas/part'", "definitions:", "out_of_stock", "url: https://orders.acme.test",
		"confidence_guidance: 0.90", "- the piece", "order: none -> placed"} {
		if !strings.Contains(strings.ReplaceAll(string(out.Text), `"`, "'"), want) {
			t.Errorf("the description lacks %q:\n%s", want, out.Text)
		}
	}
	reviews := ""
	for _, r := range out.Reviews {
		reviews += r.Message + "\n"
	}
	for _, want := range []string{"how callers authenticate", "from the agtp address", "leads nowhere", "data_manifest is left out"} {
		if !strings.Contains(reviews, want) {
			t.Errorf("no review says %q:\n%s", want, reviews)
		}
	}
	for _, bad := range []string{"", "agis: 1.0", "{}", "openapi: 3.1.0"} {
		if _, err := openapi.FromAGIS([]byte(bad), conversion.Options{}); err == nil {
			t.Errorf("%q is converted", bad)
		}
	}
}

// TestPathOfServerIsReported checks that a review names the path of the server, which the AGIS document has
// no place for.
func TestPathOfServerIsReported(t *testing.T) {
	out, err := openapi.ToAGIS([]byte(`
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://api.shop.example/v2"}]
paths: {/goods: {get: {operationId: list_goods, summary: Lists goods, responses: {"200": {description: OK}}}}}
`), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool {
		return r.Pointer == "/agtp" && strings.Contains(r.Message, `its path "/v2" is left out`)
	}) {
		t.Errorf("%+v", out.Reviews)
	}
}
