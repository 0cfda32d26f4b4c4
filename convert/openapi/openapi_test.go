package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/cputime"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
)

// descriptions are the files of testdata and some that are made.
func descriptions(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"300 operations": operations(300, 20), "2,500 operations": operations(2500, 3)}
	for _, f := range files {
		if strings.HasSuffix(f, ".md") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = text
	}
	if len(out) < 15 {
		t.Fatalf("only %d descriptions", len(out))
	}
	return out
}

// operations makes a description of so many operations, each with its own
// schemas of so many properties.
func operations(n, properties int) []byte {
	var paths, schemas []string
	for i := range n {
		var list []string
		for p := range properties {
			list = append(list, fmt.Sprintf(`"field%d": {"type": "string", "description": "The field number %d of the thing number %d, as it is kept"}`, p, p, i))
		}
		schemas = append(schemas, fmt.Sprintf(`"Thing%d": {"type": "object", "properties": {%s}}`, i, strings.Join(list, ",")))
		paths = append(paths, fmt.Sprintf(`"/things%d/{id}": {"post": {"operationId": "updateThing%d", "summary": "Update the thing number %d", "deprecated": %v,
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing%d"}}}},
			"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing%d"}}}}}}}`, i, i, i, i%2 == 0, i, i))
	}
	return fmt.Appendf(nil, `{"openapi": "3.0.0", "info": {"title": "Large", "version": "1"}, "paths": {%s}, "components": {"schemas": {%s}}}`,
		strings.Join(paths, ","), strings.Join(schemas, ","))
}

var sampleOptions = conversion.Options{URL: "https://www.sample.example/openapi.json", Today: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}

// openAPIConversions are the conversions from OpenAPI.
var openAPIConversions = []struct {
	To string
	Do func(text []byte, o conversion.Options) (conversion.Output, error)
}{{"agis", ToAGIS}, {"ai", ToAIDiscovery}}

// readAGIS reads a document that must have no error.
func readAGIS(t testing.TB, text []byte) *agis.Document {
	t.Helper()
	d, findings, err := agis.Parse(text, agis.Options{})
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			t.Fatalf("%s at %s: %s\n%.2000s", f.Code, f.Pointer, f.Message, text)
		}
	}
	return d
}

// convertible checks what every conversion of a description promises: the reader
// of the format finds no error, the same input gives the same bytes, and each
// review is about something in the output. It returns what the conversions give.
func convertible(t testing.TB, text []byte, o conversion.Options) (outputs []conversion.Output) {
	t.Helper()
	for _, c := range openAPIConversions {
		out, err := c.Do(text, o)
		if err != nil {
			t.Fatalf("to %s: %v", c.To, err)
		}
		var findings []protocol.Finding
		limit := protocol.DefaultLimits.Bytes
		if c.To == "agis" {
			_, findings, err = agis.Parse(out.Text, agis.Options{})
		} else {
			_, findings, err = aidiscovery.Parse(out.Text, aidiscovery.Options{Host: "www.sample.example", Now: sampleOptions.Today})
			limit = aidiscovery.SoftSize
		}
		if err != nil {
			t.Fatalf("to %s: %v\n%.2000s", c.To, err, out.Text)
		}
		for _, f := range findings {
			if f.Severity == protocol.Error {
				t.Errorf("to %s: %s at %s: %s", c.To, f.Code, f.Pointer, f.Message)
			}
		}
		if len(out.Text) > limit {
			t.Errorf("to %s: %d bytes", c.To, len(out.Text))
		}
		again, _ := c.Do(text, o)
		if !bytes.Equal(out.Text, again.Text) || !reflect.DeepEqual(out.Reviews, again.Reviews) {
			t.Errorf("to %s: a second run gives other bytes", c.To)
		}
		reviewed(t, out)
		outputs = append(outputs, out)
	}
	return outputs
}

// reviewed checks that reviews lead to places, and that comments in YAML change
// nothing.
func reviewed(t testing.TB, out conversion.Output) {
	t.Helper()
	root, err := conversion.ReadText(out.Text)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	var walk func(n *protocol.Node)
	walk = func(n *protocol.Node) {
		places[n.Pointer] = true
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	for _, r := range out.Reviews {
		if !places[r.Pointer] {
			t.Errorf("a review is about %q, which is not in the output: %s", r.Pointer, r.Message)
		}
	}
	if marks := bytes.Count(out.Text, []byte(conversion.ReviewMark)); out.Text[0] != '{' && marks < len(out.Reviews) {
		t.Errorf("%d comments for %d reviews", marks, len(out.Reviews))
	}
}

func TestOpenAPIDescriptions(t *testing.T) {
	for name, text := range descriptions(t) {
		t.Run(name, func(t *testing.T) {
			outputs := convertible(t, text, sampleOptions)
			if name == "2,500 operations" {
				for _, out := range outputs {
					if !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool {
						return r.Pointer == "" && strings.Contains(r.Message, "operations are omitted") && strings.Contains(r.Message, "deprecated")
					}) {
						t.Errorf("no review says what is left out: %v", out.Reviews[:min(3, len(out.Reviews))])
					}
				}
			}
			if len(text) >= 100000 {
				return // the options change no more of it, and it may need less detail as YAML or as JSON
			}
			convertible(t, text, conversion.Options{})
			yaml, _ := ToAGIS(text, conversion.Options{})
			js, err := ToAGIS(text, conversion.Options{Format: "json"})
			if err != nil {
				t.Fatal(err)
			}
			a, err := conversion.ReadText(yaml.Text)
			if err != nil {
				t.Fatal(err)
			}
			b, err := conversion.ReadText(js.Text)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(protocol.WriteJSON(a, ""), protocol.WriteJSON(b, "")) {
				t.Error("YAML and JSON say different things")
			}
		})
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEndpointsOfDescriptions checks the endpoints of descriptions, in the order of the
// description.
func TestEndpointsOfDescriptions(t *testing.T) {
	for name, want := range map[string][]string{
		"restaurant.yaml": {
			"LIST /restaurants: Lists restaurants near a place",
			"RETRIEVE /restaurants/{restaurant_id}: Retrieves one restaurant",
			"CREATE /bookings: Books a table",
			"CANCEL /bookings/{booking_id}: Cancels a booking",
			"SEARCH /restaurants: Searches restaurants by text",
		},
		"library.json": {
			"LIST /books: Lists books: The catalogue",
			"ADD /books: Adds a book to the catalogue",
			"RETRIEVE /books/{isbn}: Retrieves one book",
			"REMOVE /books/{isbn}",
			"UPDATE /books/{isbn}",
			"BORROW /loans: Borrows a book for a member",
			"RENEW /loans/{loan_id}: Renews a loan",
		},
		"inventory.yaml": {
			"FIND /stock: Retrieves all the stock items, see the docs",
			"REMOVE /stock/{sku}: Removes a stock",
			"REPLACE /stock/{sku}",
			"ADJUST /stock/{sku}: Adjusts the count of an item by a number (e.g. +5 or -3)",
		},
		"swagger.yaml": {
			"LIST /dogs: Lists dogs",
			"RETRIEVE /dogs/{dog_id}: Retrieves one dog",
			"UPDATE /dogs/{dog_id}: Updates a dog",
			"UPLOAD /dogs/{dog_id}/photo: Uploads a photo of a dog",
		},
		"japanese.json": {"SHOW /予報/{parameter}: 地域の天気予報を取得する", "SEND /alerts: 警報を通知する"},
	} {
		out, err := ToAGIS(read(t, name), conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range readAGIS(t, out.Text).Endpoints {
			got = append(got, e.Method+" "+e.Path+": "+e.Semantic.Intent)
		}
		for _, w := range want {
			found := false
			for _, g := range got {
				found = found || g == w || !strings.Contains(w, ": ") && strings.HasPrefix(g, w+": ")
			}
			if !found {
				t.Errorf("%s: no endpoint %q among\n%s", name, w, strings.Join(got, "\n"))
			}
		}
		if len(got) != len(want) && name != "inventory.yaml" {
			t.Errorf("%s: %d endpoints, want %d", name, len(got), len(want))
		}
	}
}

// TestEndpointContract checks that an endpoint requires the parameters of its operation, as JSON
// Schema.
func TestEndpointContract(t *testing.T) {
	out, err := ToAGIS(read(t, "restaurant.yaml"), conversion.Options{Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := root.Member("endpoints").Items[2]
	if got, want := string(protocol.WriteJSON(endpoint.Member("input"), "")), `{"type":"object","properties":{`+
		`"party_size":{"type":"integer","minimum":1,"maximum":20,"description":"How many guests come"},"name":{"type":"string"},`+
		`"restaurant_id":{"type":"integer"},"datetime":{"type":"string","format":"date-time"}},"required":["party_size","restaurant_id","datetime"]}`; got != want {
		t.Errorf("input %s\nwant %s", got, want)
	}
	if got, want := string(protocol.WriteJSON(root.Member("schemas").Member("Restaurant"), "")), `{"type":"object","required":["id","name"],"properties":{`+
		`"id":{"type":"integer","format":"int64"},"name":{"type":"string"},"rating":{"type":["number","null"],"maximum":5,"exclusiveMinimum":0},`+
		`"cuisine":{"type":["string","null"],"enum":["italian","thai","other",null]}}}`; got != want {
		t.Errorf("schema %s\nwant %s", got, want)
	}
	if got, want := string(protocol.WriteJSON(endpoint.Member("errors"), "")),
		`[{"name":"booking_conflict","description":"The table is taken"},{"name":"booking_not_processable","description":"The party is too large"}]`; got != want {
		t.Errorf("errors %s\nwant %s", got, want)
	}
	suggested := false
	for _, r := range out.Reviews {
		suggested = suggested || r.Pointer == "/endpoints/2/method" && strings.Contains(r.Message, "BOOK")
	}
	if !suggested {
		t.Errorf("nothing suggests BOOK for CREATE /bookings: %v", out.Reviews)
	}
}

func TestCapabilitiesOfADescription(t *testing.T) {
	o := conversion.Options{URL: "https://api.tables.example/", Today: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	out, err := ToAIDiscovery(read(t, "restaurant.yaml"), o)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Capabilities[0]
	if c.ID != "list_restaurants" || c.Endpoint != "/v2/restaurants" || c.Method != "GET" || c.Returns != "[] {id, name, rating, cuisine}" {
		t.Errorf("capability %+v", c)
	}
	for _, p := range c.Params {
		if p.Dialect != aidiscovery.Draft {
			t.Errorf("the parameter %s is not in the dialect of the draft: %s", p.Name, p.Text)
		}
	}
	if p := c.Params[0]; p.Name != "nearTo" || !p.Required || p.Type != "string" || p.Description != "Place name or coordinates" {
		t.Errorf("parameter %+v", p)
	}
	if d.Auth.Type != "oauth2" || d.Meta.LastUpdated != "2026-03-01" || !reflect.DeepEqual(d.Service.Category, []string{"travel", "food"}) {
		t.Errorf("auth %+v, meta %+v, category %v", d.Auth, d.Meta, d.Service.Category)
	}
	out, err = ToAIDiscovery(read(t, "security.yaml"), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, _ = aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if d.Auth.Type != "apikey" || d.Auth.Header != "X-API-Key" || d.Auth.Docs != "https://docs.bank.example/auth" {
		t.Errorf("auth %+v", d.Auth)
	}
	if len(d.Capabilities[0].Params) != 0 {
		t.Errorf("the header of the key and the cookie are no parameters: %+v", d.Capabilities[0].Params)
	}
	if d.Capabilities[0].Endpoint != "https://eu.bank.example:443/v1/accounts" {
		t.Errorf("endpoint %s", d.Capabilities[0].Endpoint)
	}
	if !bytes.Contains(out.Text, []byte("other ways to authenticate")) {
		t.Error("meta.review does not say that there are other ways to authenticate")
	}
}

// TestHostileDescription checks that a hostile description leaves no instruction to a model, key or
// private address in the output.
func TestHostileDescription(t *testing.T) {
	for _, c := range []func([]byte, conversion.Options) (conversion.Output, error){ToAIDiscovery, ToAGIS} {
		out, err := c(read(t, "hostile.json"), conversion.Options{Format: "json"})
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"gnore all", "gnore previous", "You are now", "\u202e", "\u200b", "secret@", "u:p@", "<script>alert", "javascript:"} {
			if i := bytes.Index(out.Text, []byte(bad)); i >= 0 {
				t.Errorf("the output holds %q: %s", bad, out.Text[max(0, i-80):i+len(bad)])
			}
		}
	}
	_, findings, _ := aidiscovery.Parse(must(ToAIDiscovery(read(t, "hostile.json"), conversion.Options{})).Text, aidiscovery.Options{})
	for _, f := range findings {
		if f.Code == "AI901" || f.Code == "AI904" || f.Code == "AI906" {
			t.Errorf("%s: %s", f.Code, f.Message)
		}
	}
}

// TestContractOfOpenAPI2 checks the same contract for OpenAPI 2, which describes it in other
// places.
func TestContractOfOpenAPI2(t *testing.T) {
	out, err := ToAGIS(read(t, "swagger.yaml"), conversion.Options{Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"agtp":                 `"agtp://kennel.example"`,
		"endpoints/0/input":    `{"type":"object","properties":{"breed":{"type":"array","items":{"type":"string"},"description":"Breeds to list"}}}`,
		"endpoints/0/output":   `{"type":"array","items":{"$ref":"#/schemas/Dog"}}`,
		"endpoints/1/output":   `{"$ref":"#/schemas/Dog"}`,
		"endpoints/1/errors":   `[{"name":"dog_not_found","description":"There is no such dog"}]`,
		"endpoints/2/input":    `{"type":"object","properties":{"dog_id":{"type":"string","description":"Its number or name"},"name":{"type":"string","maxLength":40},"mother":{"$ref":"#/schemas/Dog"}},"required":["dog_id","name"]}`,
		"endpoints/3/input":    `{"type":"object","properties":{"dog_id":{"type":"integer","description":"Number of the dog"},"file":{"type":"string","description":"The photo"},"note":{"type":"string"}},"required":["dog_id","file"]}`,
		"endpoints/3/errors/0": `{"name":"request_too_large","description":"Too large: 10 MB # at most"}`,
		"schemas":              `{"Dog":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":40},"mother":{"$ref":"#/schemas/Dog"}}}}`,
	} {
		n := root
		for token := range strings.SplitSeq(pointer, "/") {
			if i, err := strconv.Atoi(token); err == nil && i < len(n.Elements()) {
				n = n.Items[i]
			} else {
				n = n.Member(token)
			}
		}
		if n == nil {
			t.Errorf("%s is missing", pointer)
			continue
		}
		if got := string(protocol.WriteJSON(n, "")); got != want {
			t.Errorf("%s: %s\nwant %s", pointer, got, want)
		}
	}
	out, err = ToAIDiscovery(read(t, "swagger.yaml"), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, _ := aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if c := d.Capabilities[0]; c.Endpoint != "https://kennel.example/v1/dogs" || d.Auth.Type != "apikey" || d.Auth.Header != "X-Key" {
		t.Errorf("endpoint %s, auth %+v", c.Endpoint, d.Auth)
	}
}

// TestLimitsOfConversion checks that of too many operations the most important ones are kept.
func TestLimitsOfConversion(t *testing.T) {
	var paths []string
	for i := range 70 {
		paths = append(paths, fmt.Sprintf(`"/a%[1]d/{x}/deep/{y}/deeper": {"get": {"summary": "Deep %[1]d"}}, "/b%[1]d": {"get": {"summary": "Flat %[1]d", "tags": ["flat"]}, "post": {}, "delete": {"deprecated": true, "summary": "Old"}}`, i))
	}
	text := fmt.Appendf(nil, `{"openapi": "3.0.0", "info": {"title": "Many", "version": "1"}, "paths": {%s}}`, strings.Join(paths, ","))
	out, err := ToAIDiscovery(text, conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if err != nil || len(d.Capabilities) != maxCapabilities {
		t.Fatalf("%d capabilities, error %v", len(d.Capabilities), err)
	}
	flat, deep := 0, 0
	for _, c := range d.Capabilities {
		flat += strings.Count(c.Description, "Flat")
		deep += strings.Count(c.Description, "Deep")
	}
	if flat != 70 || deep != 30 {
		t.Errorf("%d flat ones and %d deep ones are kept, want 70 and 30", flat, deep)
	}
	if want := "180 of 280 operations are omitted"; !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool {
		return strings.HasPrefix(r.Message, want) && strings.Contains(r.Message, "/b0 (2)")
	}) {
		t.Errorf("reviews %q, want one that begins %q", out.Reviews, want)
	}
}

// TestEndpointWords checks nouns and intents that earlier versions got wrong for real documents.
func TestEndpointWords(t *testing.T) {
	for _, c := range []struct{ method, path, id, summary, want string }{
		{"get", "/{format}/DepthCharts", "", "Depth charts", "LIST /format/{format}/depth-charts: Lists depth charts"},
		{"get", "/v1/{name}", "net.projects.spokes.get", "Gets details about a spoke", "RETRIEVE /spokes/{name}: Retrieves details about a spoke"},
		{"delete", "/v1/{name}", "net.projects.spokes.delete", "Deletes a spoke", "REMOVE /spokes/{name}: Deletes a spoke"},
		{"get", "/country", "", "getLatestCountryData", "RETRIEVE /country: Retrieves latest country data"},
		{"post", "/hsm", "createHsm", "This is documentation for the old service", "CREATE /hsm: Creates an hsm"},
		{"post", "/upload", "", "Upload a photo", "UPLOAD /photo: Uploads a photo"},
		{"post", "/rpc/balance", "getBalance", "", "RETRIEVE /rpc/balance: Retrieves a balance"},
		{"get", "/gamevariants", "", "Halo game variants", "RETRIEVE /gamevariants: Retrieves gamevariants: Halo game variants"},
	} {
		text := fmt.Sprintf(`{"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {%q: {%q: {"operationId": %q, "summary": %q}}}}`, c.path, c.method, c.id, c.summary)
		e := readAGIS(t, must(ToAGIS([]byte(text), conversion.Options{})).Text).Endpoints[0]
		if got := e.Method + " " + e.Path + ": " + e.Semantic.Intent; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestAuthenticationIsNotDropped checks that the output has no authentication only if the
// description says so.
func TestAuthenticationIsNotDropped(t *testing.T) {
	for security, want := range map[string]string{
		"":                                 "left out",
		`"security": [],`:                  "none",
		`"security": [{"undefined": []}],`: "left out",
	} {
		text := fmt.Sprintf(`{"openapi": "3.1.0", %s "info": {"title": "T", "version": "1"}, "paths": {"/a": {"get": {"summary": "Get an a"}}}}`, security)
		out, err := ToAIDiscovery([]byte(text), conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := "left out"
		if auth := root.Member("auth"); auth != nil {
			got = auth.Member("type").Str()
		}
		if got != want {
			t.Errorf("security %q: auth is %s, want %s", security, got, want)
		}
	}
}

// TestOpenOperationsAreReviewed checks that the review says that operations are open that the one way to
// authenticate seems to close.
func TestOpenOperationsAreReviewed(t *testing.T) {
	for security, want := range map[string]bool{
		`"security": [{"key": []}]`:     false,
		`"security": []`:                true,
		`"security": [{"key": []}, {}]`: true,
		`"deprecated": false`:           true,
	} {
		text := `{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
			"paths": {"/a": {"get": {"summary": "Get an a", ` + security + `}}, "/b": {"get": {"summary": "Get a b", "security": [{"key": []}]}}}}`
		out, err := ToAIDiscovery([]byte(text), conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool {
			return strings.Contains(r.Message, "no authentication at 1 of 2 operations")
		})
		if got != want {
			t.Errorf("%s: said %t, want %t", security, got, want)
		}
	}
}

// TestReturnsNameTheAnswer checks that "returns" says something about the answer, or is left out.
func TestReturnsNameTheAnswer(t *testing.T) {
	for responses, want := range map[string]string{
		`"200": {"description": "Successful operation"}`:                                                                    "",
		`"200": {"description": "The pet with id and name"}`:                                                                "The pet with id and name",
		`"204": {"description": "Deleted"}`:                                                                                 "nothing",
		`"200": {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}`:                           "string",
		`"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}`:                     "",
		`"200": {"description": "OK", "content": {"application/json": {"schema": {"properties": {"id": {}, "name": {}}}}}}`: "{id, name}",
	} {
		text := `{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/a": {"get": {"summary": "Get an a", "responses": {` + responses + `}}}}}`
		out, err := ToAIDiscovery([]byte(text), conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, findings, _ := aidiscovery.Parse(out.Text, aidiscovery.Options{})
		if got := d.Capabilities[0].Returns; got != want {
			t.Errorf("%s: returns %q, want %q", responses, got, want)
		}
		if want != "" && slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Code == "AI424" }) {
			t.Errorf("%s: AI424 is found in returns %q", responses, want)
		}
	}
}

// An operation that cannot be read is left out and named with its line; the others stay.
func TestUnreadableOperationIsNamed(t *testing.T) {
	text := "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get: {$ref: '#/nowhere'}\n    post: {summary: Create an a}\n"
	out, err := ToAGIS([]byte(text), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := readAGIS(t, out.Text); len(d.Endpoints) != 1 || d.Endpoints[0].Method != "CREATE" {
		t.Errorf("endpoints %+v", d.Endpoints)
	}
	want := `the operation GET "/a" on line 5 is left out: its reference leads nowhere in this document`
	if len(out.Reviews) == 0 || !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool { return r.Message == want }) {
		t.Errorf("no review says %q: %v", want, out.Reviews)
	}
}

// TestRemarks checks that both formats report the parts of a description that are not converted.
func TestRemarks(t *testing.T) {
	text := []byte(`{"openapi": "3.1.0", "info": {"title": "T", "version": "1"},
		"servers": [{"url": "https://{region}.x.example", "variables": {"region": {"default": "eu"}}}, {"url": "https://test.x.example"}],
		"components": {"securitySchemes": {"k": {"type": "apiKey", "in": "query", "name": "k"}}},
		"paths": {"/a": {"get": {"operationId": "same", "summary": "Get an a", "parameters": [{"$ref": "https://y.example/p.json"}]}, "head": {}},
			"/b": {"$ref": "./b.yaml"}, "/c": {"post": {"operationId": "same", "summary": "Create a c", "callbacks": {"done": {}}}}}}`)
	for _, c := range openAPIConversions {
		out, err := c.Do(text, conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, r := range out.Reviews {
			all.WriteString(r.Message + "\n")
		}
		want := []string{"2 servers", `"https://eu.x.example"`, `"https://y.example/p.json"`, `the path "/b" is left out`, "HEAD", "1 callbacks"}
		if c.To == "ai" {
			want = append(want, `several operations have the operationId "same"`, "in the query")
		} else {
			want = append(want, "how callers authenticate")
		}
		for _, w := range want {
			if !strings.Contains(all.String(), w) {
				t.Errorf("to %s: nothing says %q:\n%s", c.To, w, all.String())
			}
		}
		convertible(t, text, sampleOptions)
	}
}

func must(out conversion.Output, err error) conversion.Output {
	if err != nil {
		panic(err)
	}
	return out
}

func TestOpenAPIErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "no document",
		`{`:                                 "ends before",
		`[]`:                                "an array, not an object with the member openapi",
		`{"swagger": "2.0"}`:                "no paths",
		`swagger: '1.2'`:                    `the member swagger is "1.2"`,
		`{"asyncapi": "2.6.0"}`:             "AsyncAPI",
		`{"openapi": "4.0"}`:                `"4.0"`,
		`{"openapi": "3.0.0"}`:              "no paths",
		`{"openapi": "3.0.0", "paths": []}`: "paths is an array",
		`{"openapi": "3.1.0", "paths": {"/x": {"head": {}}}}`:                "no operation",
		`{"openapi": "3.1.0", "webhooks": {}}`:                               "webhooks",
		`{"info": {}, "item": []}`:                                           "Postman",
		`{"aiendpoint": "1.0"}`:                                              "AI Discovery",
		`{"one": 1, "two": 2}`:                                               `"one", "two"`,
		"openapi: 3.0.0\npaths: *a\n":                                        "anchor",
		"{\"openapi\": \"3.0.0\", \"paths\": " + strings.Repeat("[", 100000): "deep",
		"\xff":  "UTF-8",
		"hello": "a string",
	} {
		for _, c := range []func([]byte, conversion.Options) (conversion.Output, error){ToAIDiscovery, ToAGIS} {
			_, err := c([]byte(text), conversion.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q: error %v, want one that says %q", text, err, want)
				continue
			}
			if !errors.Is(err, protocol.ErrUnreadable) && !errors.Is(err, protocol.ErrOtherFormat) {
				t.Errorf("%.60q: error %v wraps neither", text, err)
			}
		}
	}
	if _, err := ToAGIS(read(t, "least.json"), conversion.Options{Format: "xml"}); err == nil {
		t.Error("the format xml is accepted")
	}
}

// TestCostlyDescriptions checks that descriptions made to be expensive end quickly, in an error or
// an output.
func TestCostlyDescriptions(t *testing.T) {
	laughs := func(keyword string) []byte {
		var schemas []string
		for i := range 60 {
			next := fmt.Sprintf(`{"$ref": "#/components/schemas/S%d"}`, i+1)
			body := fmt.Sprintf(`"type": "object", %q: [%s,%s,%s]`, keyword, next, next, next)
			if keyword == "properties" {
				body = fmt.Sprintf(`"type": "object", "properties": {"a": %s, "b": %s, "c": %s}`, next, next, next)
			}
			schemas = append(schemas, fmt.Sprintf(`"S%d": {%s}`, i, body))
		}
		return fmt.Appendf(nil, `{"openapi": "3.0.0", "paths": {"/x": {"post": {"parameters": [{"name": "p", "in": "query", "schema": {"$ref": "#/components/schemas/S0"}}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}},
			"responses": {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}}}}},
			"components": {"schemas": {%s, "S60": {"type": "string"}}}}`, strings.Join(schemas, ","))
	}
	var many, wide strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&many, `,"/p%d": {"get": {}}`, i)
	}
	for i := range 15000 {
		fmt.Fprintf(&wide, `,"/p%d/{a}/{b}": {"get": {"parameters": [{"$ref": "#/components/parameters/P%d"}], "responses": {"200": {"$ref": "#/components/responses/R%d"}}}}`, i, i, i)
	}
	deep := strings.Repeat(`{"type": "array", "items": `, 60) + "{}" + strings.Repeat("}", 60)
	// One schema of many properties, written out in the input of each operation.
	var shared, users strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&shared, `,"p%d": {"type": "string"}`, i)
		fmt.Fprintf(&users, `,"/p%d": {"post": {"requestBody": {"content": {"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/S"}, {"type": "object"}]}}}}}}`, i)
	}
	variables := `"servers": [{"url": "` + strings.Repeat("{a}", 600) + `", "variables": {"a": {"default": "` + strings.Repeat("{a}", 60) + `"}}}]`
	for name, text := range map[string][]byte{
		"laughs in properties":   laughs("properties"),
		"laughs in allOf":        laughs("allOf"),
		"laughs in oneOf":        laughs("oneOf"),
		"100,000 paths":          []byte(`{"openapi": "3.0.0", "paths": {"/": {}` + many.String() + `}}`),
		"15,000 paths":           []byte(`{"openapi": "3.0.0", "paths": {"/": {}` + wide.String() + `}}`),
		"deep schemas":           []byte(`{"openapi": "3.1.0", "paths": {"/x": {"get": {"responses": {"200": {"content": {"a/json": {"schema": ` + deep + `}}}}}}}}`),
		"one schema 2,000 times": []byte(`{"openapi": "3.0.0", "paths": {"/": {}` + users.String() + `}, "components": {"schemas": {"S": {"type": "object", "properties": {"a": {}` + shared.String() + `}}}}}`),
		"variables":              []byte(`{"openapi": "3.0.0", ` + variables + `, "paths": {"/x": {"get": {}}}}`),
		"a long text":            []byte(`{"openapi": "3.0.0", "info": {"title": "` + strings.Repeat("a b. ", 2<<20) + `"}, "paths": {"/x": {"get": {"summary": "` + strings.Repeat("[x](", 1<<20) + `"}}}}`),
		"too large":              bytes.Repeat([]byte(" "), 17<<20),
		"a long path":            []byte(`{"openapi": "3.0.0", "paths": {"` + strings.Repeat("/{a}", 1<<18) + `": {"get": {}}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []func([]byte, conversion.Options) (conversion.Output, error){ToAIDiscovery, ToAGIS} {
				begun := cputime.Used()
				out, err := c(text, conversion.Options{})
				took := cputime.Used() - begun
				t.Logf("%v, %d bytes, error %v", took.Round(time.Millisecond), len(out.Text), err)
				if took > time.Minute { // it is a second or two, ten with the race detector
					t.Errorf("took %v", took)
				}
				if err == nil {
					reviewed(t, out)
				}
			}
		})
	}
}

// TestNamesAndAddressesThatDraftsLack converts a body with names in camelCase, which AGIS writes in snake_case,
// and the addresses of OAuth, which no draft has a member for.
func TestNamesAndAddressesThatDraftsLack(t *testing.T) {
	const description = `openapi: 3.0.3
info: {title: Pool, version: "1"}
servers: [{url: https://pool.example}]
security: [{sign: []}]
paths:
  /lanes:
    post:
      summary: Rents a lane
      parameters: [{name: poolNumber, in: query, required: true, schema: {type: integer}}]
      requestBody:
        content: {application/json: {schema: {type: object, required: [laneId, lane_id], properties: {laneId: {type: string}, lane_id: {type: string}, guests: {type: integer}}}}}
      responses: {"201": {description: done}}
components: {securitySchemes: {sign: {type: oauth2, flows: {authorizationCode: {authorizationUrl: "https://id.example/authorize", tokenUrl: "https://id.example/token", scopes: {}}}}}}
`
	out, err := ToAGIS([]byte(description), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := agis.Parse(out.Text, agis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range d.Parameters(d.Endpoints[0]) {
		names = append(names, fmt.Sprint(p.Name, " ", p.Required))
	}
	slices.Sort(names)
	if want := []string{"guests false", "lane_id true", "lane_id_2 true", "pool_number true"}; !slices.Equal(names, want) {
		t.Errorf("AGIS has %q, want %q\n%s", names, want, out.Text)
	}
	ai, err := ToAIDiscovery([]byte(description), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for format, c := range map[string]struct {
		reviews []conversion.Review
		want    []string
	}{
		"AGIS":         {out.Reviews, []string{"authorization https://id.example/authorize, token https://id.example/token", "poolNumber is pool_number, laneId is lane_id_2"}},
		"AI Discovery": {ai.Reviews, []string{"authorization https://id.example/authorize, token https://id.example/token"}},
	} {
		for _, want := range c.want {
			if !slices.ContainsFunc(c.reviews, func(r conversion.Review) bool { return strings.Contains(r.Message, want) }) {
				t.Errorf("%s: no review says %q: %v", format, want, c.reviews)
			}
		}
	}
}
