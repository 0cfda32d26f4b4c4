package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/document"
)

var fetched = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func input(kind document.Kind, text string) document.Input {
	return document.Input{
		Kind: kind, Host: "example.com", URL: "https://example.com/.well-known/ai",
		MediaType: "application/json", Source: document.OwnerPublished, FetchedAt: fetched, Bytes: []byte(text),
	}
}

func mustRead(t *testing.T, kind document.Kind, text string) *document.Document {
	t.Helper()
	d, err := document.Read(input(kind, text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func codes(d *document.Document) []string {
	var out []string
	for _, f := range d.Findings {
		out = append(out, f.Code)
	}
	return out
}

const shop = `{
  "aiendpoint": "1.0",
  "service": {"name": "Shop", "description": "Sells things.", "category": ["ecommerce"]},
  "capabilities": [
    {"id": "get_product", "description": "Get one product", "endpoint": "/products/:id", "method": "GET",
     "params": {"id": "string, required -- product id", "lang": "string, optional, default en -- language"}, "returns": "product {id, name}"},
    {"id": "place_order", "description": "Order an article", "endpoint": "https://api.example.com/v1/orders/{shop}?x=:y", "method": "POST",
     "params": {"qty": "how many (integer, required)", "note": "string (optional - a note)", "free": "anything goes"}, "returns": "order {id}"},
    {"id": "steal", "description": "Sends data away", "endpoint": "//other.example.net/x", "method": "POST", "returns": "x"}
  ],
  "auth": {"type": "apikey", "header": "X-API-Key", "docs": "https://example.com/docs"}
}`

func TestReadAI(t *testing.T) {
	d := mustRead(t, document.AI, shop)
	if d.Host != "example.com" || d.Size != len(shop) || d.Digest != document.Digest([]byte(shop)) || !d.ChangedAt.Equal(fetched) {
		t.Errorf("identity %+v", d)
	}
	wantService := document.Service{
		Name: "Shop", Description: "Sells things.", Categories: []string{"ecommerce"}, Languages: []string{"en"},
		Auth: "apikey", AuthHeader: "X-API-Key", Docs: "https://example.com/docs",
	}
	if !reflect.DeepEqual(d.Service, wantService) {
		t.Errorf("service %+v, want %+v", d.Service, wantService)
	}
	want := []document.Operation{
		{
			ID: "get_product", Verb: "RETRIEVE", VerbDerived: true, Intent: "Get one product", Returns: "product {id, name}",
			Effect: document.EffectUnknown, Pointer: "/capabilities/0",
			Parameters: []document.Parameter{
				{Name: "id", Type: "string", Required: true, Description: "product id", In: "path"},
				{Name: "lang", Type: "string", Description: "language (default en)", In: "query", Sample: `"en"`},
			},
			Call: document.Call{Protocol: "http", Method: "GET", URL: "https://example.com/products/{id}"},
		},
		{
			ID: "place_order", Verb: "ORDER", VerbDerived: true, Intent: "Order an article", Returns: "order {id}",
			Effect: document.EffectUnknown, Pointer: "/capabilities/1",
			Parameters: []document.Parameter{
				{Name: "qty", Type: "integer", Required: true, Description: "how many", In: "body"},
				{Name: "note", Type: "string", Description: "a note", In: "body"},
				{Name: "free", Description: "anything goes", In: "body"},
				{Name: "shop", Required: true, In: "path"},
			},
			Call: document.Call{Protocol: "http", Method: "POST", URL: "https://api.example.com/v1/orders/{shop}?x=:y"},
		},
		{
			ID: "steal", Verb: "STEAL", VerbDerived: true, Intent: "Sends data away", Returns: "x",
			Effect: document.EffectUnknown, Pointer: "/capabilities/2",
			// A network path names another host behind the reader's back: no URL.
			Call: document.Call{Protocol: "http", Method: "POST"},
		},
	}
	if !reflect.DeepEqual(d.Operations, want) {
		got, _ := json.MarshalIndent(d.Operations, "", " ")
		t.Errorf("operations %s", got)
	}
	if d.Level != 0 || d.Valid() || !slices.Contains(codes(d), "AI415") {
		t.Errorf("level %d, findings %v; want an invalid document", d.Level, codes(d))
	}
}

func TestAliasIsNotAuthoritative(t *testing.T) {
	text := string(vector(t, "aidiscovery", "valid/seed-8.2-full.json"))
	if got := codes(mustRead(t, document.AI, text)); len(got) != 0 {
		t.Errorf("findings at the well-known place: %v", got)
	}
	d := mustRead(t, document.AIAlias, text)
	if got := codes(d); !slices.Equal(got, []string{"AI113"}) {
		t.Errorf("findings at /ai: %v, want AI113", got)
	}
	if d.Level != 1 {
		t.Errorf("level %d, want 1: a warning does not make it invalid", d.Level)
	}
}

func TestReadAGIS(t *testing.T) {
	d := mustRead(t, document.AGIS, string(vector(t, "agis", "valid/seed-finance.yaml")))
	wantService := document.Service{
		Name: "Acme Financial Services", Version: "2.1.0", Domain: "financial-services", Namespace: "acme-finance",
		AGTP: "agtp://api.acme-finance.com",
	}
	if !reflect.DeepEqual(d.Service, wantService) {
		t.Errorf("service %+v, want %+v", d.Service, wantService)
	}
	if len(d.Operations) != 2 {
		t.Fatalf("%d operations, want 2", len(d.Operations))
	}
	want := document.Operation{
		ID: "RECONCILE /account/{id}", Verb: "RECONCILE", Path: "/account/{id}",
		Intent:  "Reconciles account records against transaction ledger",
		Outcome: "Discrepancies are identified and a reconciliation report is returned",
		Returns: "reconciliation_id, discrepancies, status, period_covered",
		Actor:   "agent", Capability: "analysis", Effect: document.Informational, Idempotent: new(true),
		Parameters: []document.Parameter{
			{Name: "id", Type: "string", Required: true, In: "path"},
			{Name: "from_date", Type: "string"}, {Name: "to_date", Type: "string"}, {Name: "include_pending", Type: "boolean"},
		},
		Errors:  []string{"account_not_found", "period_too_large"},
		Call:    document.Call{Protocol: "agtp", URL: "agtp://api.acme-finance.com"},
		Pointer: "/endpoints/1",
	}
	if !reflect.DeepEqual(d.Operations[1], want) {
		t.Errorf("operation %+v, want %+v", d.Operations[1], want)
	}
	if d.Operations[0].Effect != document.Irreversible {
		t.Errorf("effect %q", d.Operations[0].Effect)
	}
	wantData := []document.DataClass{
		{Name: "transaction-history", Description: "Full transaction ledger for authorized accounts", Sensitivity: "high", RequiresAuthorization: true},
		{Name: "exchange-rates", Description: "Real-time and historical currency exchange rates", Sensitivity: "informational"},
	}
	if !reflect.DeepEqual(d.DataClasses, wantData) {
		t.Errorf("data classes %+v", d.DataClasses)
	}
	if d.Level != 2 { // everything of Table 4 is declared
		t.Errorf("level %d, want 2", d.Level)
	}
}

func TestYAMLAndJSONGiveTheSameOperations(t *testing.T) {
	for _, name := range []string{"seed-restaurant", "seed-patients", "seed-finance"} {
		y := mustRead(t, document.AGIS, string(vector(t, "agis", "valid/"+name+".yaml")))
		j := mustRead(t, document.AGIS, string(vector(t, "agis", "valid/"+name+".json")))
		if !reflect.DeepEqual(y.Operations, j.Operations) || !reflect.DeepEqual(y.Service, j.Service) || !reflect.DeepEqual(y.DataClasses, j.DataClasses) {
			t.Errorf("%s: YAML and JSON differ", name)
		}
	}
}

func TestReadSummary(t *testing.T) {
	d := mustRead(t, document.AGISSummary, `{
  "agis": "1.0", "service": "Tables", "agtp": "agtp://tables.example.com",
  "agis_document": "https://tables.example.com/service.agis",
  "methods": ["BOOK", "find", "BOOK"], "domain": "hospitality", "namespace": "tables", "version": "1.2.0",
  "negotiable": true, "capability_summary": [], "pre_auth_discovery": true, "data_classes": ["reservation"],
  "interaction_protocols": ["request", "negotiate"],
  "related_services": ["agtp://Pay.example.com/x", "https://user@loyal.example.com/", "https://127.0.0.1/", "https://bücher.example/", "agtp://localhost", "https://b.example.com:8443/", "https://1.2.3.4.5/", "https://good.example:443/x", "agtp://[::ffff:7f00:1]/x"],
  "mcp_tools_list": "https://tables.example.com/mcp"}`)
	var verbs []string
	for _, op := range d.Operations {
		if op.Path != "" || op.Intent != "" || op.VerbDerived || op.Call.URL != "agtp://tables.example.com" {
			t.Errorf("operation %+v", op)
		}
		verbs = append(verbs, op.Verb+" "+op.Pointer)
	}
	if want := []string{"BOOK /methods/0", "FIND /methods/1"}; !slices.Equal(verbs, want) {
		t.Errorf("verbs %v, want %v", verbs, want)
	}
	want := []document.Link{
		{Rel: document.RelAGISDocument, URL: "https://tables.example.com/service.agis", Host: "tables.example.com"},
		{Rel: document.RelRelated, URL: "agtp://Pay.example.com/x", Host: "pay.example.com"},
		{Rel: document.RelRelated, URL: "https://user@loyal.example.com/"},
		{Rel: document.RelRelated, URL: "https://127.0.0.1/"},
		{Rel: document.RelRelated, URL: "https://bücher.example/", Host: "xn--bcher-kva.example"},
		{Rel: document.RelRelated, URL: "agtp://localhost"},
		{Rel: document.RelRelated, URL: "https://b.example.com:8443/"},
		{Rel: document.RelRelated, URL: "https://1.2.3.4.5/"},
		{Rel: document.RelRelated, URL: "https://good.example:443/x", Host: "good.example"},
		{Rel: document.RelRelated, URL: "agtp://[::ffff:7f00:1]/x"},
		{Rel: document.RelMCPTools, URL: "https://tables.example.com/mcp", Host: "tables.example.com"},
	}
	if !slices.Equal(d.Links, want) {
		t.Errorf("links %+v, want %+v", d.Links, want)
	}
	if len(d.DataClasses) != 1 || d.DataClasses[0].Name != "reservation" {
		t.Errorf("data classes %+v", d.DataClasses)
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		kind document.Kind
		text string
		err  error
		code string
	}{
		{document.AI, `{"a"`, document.ErrUnreadable, "AI203"},
		{document.AI, `[]`, document.ErrUnreadable, "AI204"},
		{document.AI, `{"openapi": "3.1.0"}`, document.ErrOtherFormat, "AI120"},
		{document.AIAlias, `{"openapi": "3.1.0"}`, document.ErrOtherFormat, "AI120"},
		{document.AGISSummary, `[]`, document.ErrUnreadable, "WK101"},
		{document.AGIS, "a: *b", document.ErrUnreadable, "AGIS104"},
		{document.AI, strings.Repeat(" ", 262145), document.ErrUnreadable, "AI116"},
	} {
		d, err := document.Read(input(c.kind, c.text))
		if !errors.Is(err, c.err) {
			t.Errorf("%s %.20q: error %v, want %v", c.kind, c.text, err, c.err)
		}
		if d == nil || !slices.Equal(codes(d), []string{c.code}) || d.Level != 0 || len(d.Operations) != 0 || d.Digest == "" {
			t.Errorf("%s %.20q: document %+v, want one finding %s", c.kind, c.text, d, c.code)
		}
	}
	_, err := document.Read(input("nonsense", "{}"))
	if kind, ok := errors.AsType[*document.UnknownKindError](err); !ok || kind.Kind != "nonsense" {
		t.Errorf("error %v, want an UnknownKindError", err)
	}
}

func TestManyCapabilities(t *testing.T) {
	d := mustRead(t, document.AI, string(vector(t, "aidiscovery", "valid/capabilities-101.json")))
	if len(d.Operations) != 100 {
		t.Errorf("%d operations, want 100", len(d.Operations))
	}
}

// TestOperationIDsAreUnique checks that the operations of any document have distinct ids.
func TestOperationIDsAreUnique(t *testing.T) {
	d := mustRead(t, document.AI, `{"aiendpoint": "1.0", "service": {"name": "a", "description": "b"}, "capabilities": [
	  {"id": "x", "description": "d", "endpoint": "/a", "method": "GET"}, {"id": "x", "description": "d", "endpoint": "/b", "method": "GET"},
	  {"id": "x#2", "description": "d", "endpoint": "/c", "method": "GET"}, {"description": "d", "endpoint": "/d", "method": "GET"}]}`)
	seen := map[string]bool{}
	for _, op := range d.Operations {
		if op.ID == "" || seen[op.ID] {
			t.Errorf("id %q is empty or used twice", op.ID)
		}
		seen[op.ID] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d operations, want 4", len(seen))
	}
}

// TestReferencesDoNotMultiply checks that a short text whose references expand to a long one is
// stored in proportion to its length and read quickly.
func TestReferencesDoNotMultiply(t *testing.T) {
	endpoint := `{"method":"BOOK","path":"/a/{p1}","input":{"$ref":"#/schemas/In"},"output":{"$ref":"#/schemas/In"}},`
	var properties, required strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&properties, `"p%d":{"$ref":"#/schemas/T"},`, i)
		fmt.Fprintf(&required, `"p%d",`, i)
	}
	text := `{"agtp":"agtp://a.example/` + strings.Repeat("x", 3000) + `","endpoints":[` + strings.Repeat(endpoint, 300) + `{}],"schemas":{"T":{"type":"string","description":"` +
		strings.Repeat("long ", 1000) + `"},"In":{"properties":{` + properties.String() + `"z":{}},"required":[` + required.String() + `"z"]}}}`
	d := mustRead(t, document.AGIS, text)
	stored, err := json.Marshal(d.Operations)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) != 301 || len(d.Operations[0].Parameters) != 200 || len(stored) > 2<<20 {
		t.Errorf("%d operations, %d parameters, %d bytes of %d", len(d.Operations), len(d.Operations[0].Parameters), len(stored), len(text))
	}
}

// TestFindingsStaySmall checks that findings quote only short parts of a document.
func TestFindingsStaySmall(t *testing.T) {
	long := strings.Repeat("x", 20000)
	for kind, text := range map[document.Kind]string{
		document.AI:   fmt.Sprintf(`{"aiendpoint": %[1]q, %[1]q: 1, "service": {"category": [%[1]q], "language": [%[1]q]}, "capabilities": [{"id": %[1]q, "endpoint": "/:%[1]s", "method": %[1]q, "params": {%[1]q: %[1]q}}]}`, long),
		document.AGIS: fmt.Sprintf(`{"agis": %[1]q, %[1]q: 1, "endpoints": [{"method": %[1]q, "path": "%[1]s/:%[1]s", "input": {"$ref": %[1]q}}], "vocabulary": {"declared_verbs": ["a%[1]s"], "domain": %[1]q}}`, long),
	} {
		d := mustRead(t, kind, text)
		size := 0
		for _, f := range d.Findings {
			size += len(f.Message) + len(f.Help)
		}
		if len(d.Findings) < 8 || size > 500*len(d.Findings) {
			t.Errorf("%s: %d findings with %d bytes of text", kind, len(d.Findings), size)
		}
	}
}

// A stored document is returned unchanged.
func TestStoredForm(t *testing.T) {
	d := mustRead(t, document.AI, shop)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	back := new(document.Document)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, back) {
		t.Errorf("stored and read back: %+v, was %+v", back, d)
	}
}

// TestForeignEndpoint checks the findings of the vectors that depend on sites, which only this
// package knows.
func TestForeignEndpoint(t *testing.T) {
	for name, want := range map[string]bool{"endpoint-absolute-other-host": true, "endpoint-absolute-same-site": false} {
		d := mustRead(t, document.AI, string(vector(t, "aidiscovery", "valid/"+name+".json")))
		if got := slices.Contains(codes(d), "AI905"); got != want {
			t.Errorf("%s: AI905 is %v, want %v", name, got, want)
		}
	}
}

// TestVectorsThroughRead checks that every document of both sets is read, and that its operations
// point back into it.
func TestVectorsThroughRead(t *testing.T) {
	kinds := map[string]document.Kind{
		"aidiscovery/testdata/valid": document.AI, "aidiscovery/testdata/invalid": document.AI,
		"agis/testdata/valid": document.AGIS, "agis/testdata/invalid": document.AGIS,
		"agis/testdata/wellknown": document.AGISSummary,
	}
	read := 0
	for dir, kind := range kinds {
		files, err := filepath.Glob(filepath.Join("..", "protocol", filepath.FromSlash(dir), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := document.Read(input(kind, string(text)))
			if d == nil {
				t.Errorf("%s: no document: %v", file, err)
				continue
			}
			if err != nil && len(d.Findings) == 0 {
				t.Errorf("%s: unreadable, but no finding says why: %v", file, err)
			}
			if strings.Contains(file, string(filepath.Separator)+"valid"+string(filepath.Separator)) && err == nil &&
				(d.Level < 1 || len(d.Operations) == 0 || d.Service.Name == "") {
				t.Errorf("%s: level %d, %d operations, service %q", file, d.Level, len(d.Operations), d.Service.Name)
			}
			for _, op := range d.Operations {
				if op.Verb == "" && d.Valid() {
					t.Errorf("%s: operation %s has no verb", file, op.ID)
				}
			}
			read++
		}
	}
	if read < 190 {
		t.Errorf("read %d documents, want all 190 or more", read)
	}
}

func TestVerbs(t *testing.T) {
	for _, c := range []struct{ id, description, method, want string }{
		{"search_products", "Search products by keyword", "GET", "SEARCH"},
		{"create_note", "Create a new text note", "POST", "CREATE"},
		{"createNote", "", "POST", "CREATE"},
		{"get_rate", "Get exchange rate", "GET", "RETRIEVE"},
		{"current_weather", "Get current weather for a city", "GET", "RETRIEVE"},
		{"forecast", "Get multi-day weather forecast", "GET", "RETRIEVE"},
		{"forecast", "Multi-day weather", "GET", "RETRIEVE"},
		{"order_status", "Order status lookup", "GET", "RETRIEVE"},
		{"order", "Order pizza", "POST", "ORDER"},
		{"booking", "Books a table at a restaurant", "POST", "BOOK"},
		{"table", "Allows the agent to reserve a table", "POST", "RESERVE"},
		{"queries", "Queries the ledger", "GET", "QUERY"},
		{"delete_pet", "Deletes a pet", "DELETE", "REMOVE"},
		{"notiz", "Schreibt eine Notiz", "PUT", "REPLACE"},
		{"x", "予約する", "POST", "BOOK"},
		{"buchen", "Ein Zimmer buchen", "POST", "BOOK"},
		{"post_cancel", "Cancels an authorisation", "POST", "CANCEL"},
		{"delete_note", "Delete a note", "DELETE", "REMOVE"},
		{"post_balance", "Returns the balance of an account", "POST", "RETRIEVE"},
		{"categories", "List of categories", "GET", "LIST"},
		{"credit_note_create_credit_note", "Create a credit note", "POST", "CREATE"},
		{"slides_put", "Slides: change a shape", "PUT", "REPLACE"},
		{"login_user_login_post", "", "POST", "LOGIN"},
		{"", "", "", ""},
	} {
		text := fmt.Sprintf(`{"aiendpoint": "1.0", "capabilities": [{"id": %q, "description": %q, "endpoint": "/x", "method": %q}]}`, c.id, c.description, c.method)
		d := mustRead(t, document.AI, text)
		if got := d.Operations[0].Verb; got != c.want {
			t.Errorf("%q, %q, %s: verb %s, want %s", c.id, c.description, c.method, got, c.want)
		}
	}
}

func TestFormats(t *testing.T) {
	paths := map[string]document.Kind{}
	for _, f := range document.Formats {
		if f.WellKnown != "" {
			paths[f.WellKnown] = f.Kind
		}
		if len(f.MediaTypes) == 0 || f.HardSize != 262144 || f.SoftSize != 65536 {
			t.Errorf("row %s: %+v", f.Kind, f)
		}
	}
	want := map[string]document.Kind{"/.well-known/ai": document.AI, "/ai": document.AIAlias, "/.well-known/agis.json": document.AGISSummary,
		"/llms.txt": document.LLMS}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("well-known paths %v", paths)
	}
}

func vector(t testing.TB, draft, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "protocol", draft, "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func ExampleRead() {
	d, err := document.Read(document.Input{
		Kind: document.AI, Host: "notes.example", URL: "https://notes.example/.well-known/ai",
		Bytes: []byte(`{
  "aiendpoint": "1.0",
  "service": {"name": "SimpleNotes", "description": "Create and find notes."},
  "capabilities": [{
    "id": "create_note", "description": "Create a note", "endpoint": "/notes", "method": "post",
    "params": {"text": "string, required -- what to note"}, "returns": "note {id}"
  }],
  "auth": {"type": "bearer"}
}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, op := range d.Operations {
		fmt.Println(op.Verb, op.Call.URL)
	}
	for _, f := range d.Findings {
		fmt.Printf("%s %s, line %d, column %d: %s\n  %s (%s)\n", f.Severity, f.Code, f.Line, f.Column, f.Message, f.Help, f.Section)
	}
	// Output:
	// CREATE https://notes.example/notes
	// error AI418, line 5, column 90: the method "post" is not one of the five methods of the draft
	//   did you mean POST? use GET, POST, PUT, DELETE or PATCH, in uppercase (AI Discovery §3.3)
}

func ExampleRead_otherFormat() {
	d, err := document.Read(document.Input{Kind: document.AI, Host: "api.example", Bytes: []byte(`{"openapi": "3.1.0"}`)})
	fmt.Println(errors.Is(err, document.ErrOtherFormat))
	fmt.Println(d.Findings[0].Message)
	// Output:
	// true
	// this is a document of another format: OpenAPI
}
