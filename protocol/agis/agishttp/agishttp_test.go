package agishttp_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol/agis"
	"gazetteer/protocol/agis/agishttp"
)

const bank = `
agis: "1.0"
service: Acme Bank
agtp: agtp://bank.acme.com
endpoints:
  - {method: RECONCILE, path: "/account/{id}", semantic: {intent: Reconciles an account, actor: agent, outcome: It is reconciled}, input: {type: object}, output: {type: object}, errors: [account_not_found]}
  - {method: find, path: /account, semantic: {intent: Finds accounts, actor: agent, outcome: A list}, input: {type: object}, output: {type: object}, errors: [no_results]}
  - {method: SUMMARIZE, path: /account/archive, semantic: {intent: Summarizes the archive, actor: agent, outcome: A summary}, input: {type: object}, output: {type: object}, errors: [no_results]}
  - {method: TRANSFER, path: "/account/{from}/funds/{to}", semantic: {intent: Transfers funds, actor: agent, outcome: Moved}, input: {type: object}, output: {type: object}, errors: [insufficient_funds]}
vocabulary: {declared_verbs: [RECONCILE, FIND, SUMMARIZE, TRANSFER], domain: finance, namespace: acme-bank}
`

func document(t *testing.T) *agis.Document {
	t.Helper()
	d, _, err := agis.Parse([]byte(bank), agis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// serve starts a server that answers with the binding it was handed.
func serve(t *testing.T, o agishttp.Options) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(agishttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := agishttp.FromContext(r.Context())
		answer := map[string]any{"bound": ok, "http": r.Method, "method": b.Method, "namespace": b.Namespace, "parameters": b.Parameters}
		if b.Endpoint != nil {
			answer["path"] = b.Endpoint.Path
		}
		for _, f := range b.Warnings {
			answer["warning"] = f.Code
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}), o))
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, address string, headers ...string) (*http.Response, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return response, answer
}

func TestBinding(t *testing.T) {
	s := serve(t, agishttp.Options{})
	for _, c := range []struct {
		name    string
		headers []string
		want    map[string]any // members of the answer
	}{
		{"the draft's example", []string{"X-AGIS-Method", "BOOK", "X-AGIS-Grammar", "AGIS/1.0", "X-AGIS-Namespace", "acme-reservations"},
			map[string]any{"bound": true, "method": "BOOK", "namespace": "acme-reservations", "http": "POST"}},
		{"the method alone", []string{"x-agis-method", "BOOK"}, map[string]any{"bound": true, "method": "BOOK", "namespace": ""}},
		{"letter case of the method", []string{"X-AGIS-Method", " book "}, map[string]any{"method": "BOOK", "warning": "AGIS205"}},
		{"no headers", nil, map[string]any{"bound": false}},
	} {
		response, answer := ask(t, s.URL, c.headers...)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", c.name, response.Status, answer)
		}
		for name, want := range c.want {
			if answer[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.name, name, answer[name], want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	lax, strict := serve(t, agishttp.Options{}), serve(t, agishttp.Options{Required: true})
	for _, c := range []struct {
		name    string
		server  *httptest.Server
		headers []string
		code    string
		pass    float64
		header  string
	}{
		{"an HTTP method", lax, []string{"X-AGIS-Method", "GET"}, "AGIS301", 3, "X-AGIS-Method"},
		{"a state", lax, []string{"X-AGIS-Method", "AVAILABLE"}, "AGIS302", 3, "X-AGIS-Method"},
		{"two words", lax, []string{"X-AGIS-Method", "BOOK TABLE"}, "AGIS202", 2, "X-AGIS-Method"},
		{"a digit", lax, []string{"X-AGIS-Method", "BOOK2"}, "AGIS203", 2, "X-AGIS-Method"},
		{"inner capital", lax, []string{"X-AGIS-Method", "bookTable"}, "AGIS204", 2, "X-AGIS-Method"},
		{"empty", lax, []string{"X-AGIS-Method", ""}, "AGIS201", 2, "X-AGIS-Method"},
		{"twice", lax, []string{"X-AGIS-Method", "BOOK", "X-AGIS-Method", "FIND"}, "repeated-header", 0, "X-AGIS-Method"},
		{"endless", lax, []string{"X-AGIS-Method", strings.Repeat("A", 129)}, "long-header", 0, "X-AGIS-Method"},
		{"another grammar", lax, []string{"X-AGIS-Method", "BOOK", "X-AGIS-Grammar", "AGIS/2.0"}, "unknown-grammar", 0, "X-AGIS-Grammar"},
		{"a grammar and no method", lax, []string{"X-AGIS-Grammar", "AGIS/1.0"}, "method-header-missing", 0, "X-AGIS-Method"},
		{"a namespace in capitals", lax, []string{"X-AGIS-Method", "BOOK", "X-AGIS-Namespace", "Acme.Bank"}, "AGIS706", 0, "X-AGIS-Namespace"},
		{"an empty namespace", lax, []string{"X-AGIS-Method", "BOOK", "X-AGIS-Namespace", ""}, "AGIS706", 0, "X-AGIS-Namespace"},
		{"nothing where it is required", strict, nil, "method-header-missing", 0, "X-AGIS-Method"},
	} {
		response, answer := ask(t, c.server.URL, c.headers...)
		if response.StatusCode != http.StatusBadRequest || response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s, %s", c.name, response.Status, response.Header.Get("Content-Type"))
		}
		pass, _ := answer["pass"].(float64)
		if answer["code"] != c.code || pass != c.pass || answer["header"] != c.header {
			t.Errorf("%s: code %v, pass %v, header %v; want %s, %v, %s", c.name, answer["code"], pass, answer["header"], c.code, c.pass, c.header)
		}
		for _, member := range []string{"type", "title", "detail", "help", "section", "error", "errorCode", "message"} {
			if text, _ := answer[member].(string); text == "" {
				t.Errorf("%s: the problem has no %s", c.name, member)
			}
		}
		if answer["status"] != 400.0 {
			t.Errorf("%s: status %v in the body", c.name, answer["status"])
		}
	}
}

func TestRoutes(t *testing.T) {
	s := serve(t, agishttp.Options{Document: document(t)})
	for _, c := range []struct {
		name, method, path, namespace string
		status                        int
		endpoint                      string // or the code of the problem
		parameters                    map[string]any
		declared                      []any
	}{
		{name: "a parameter", method: "RECONCILE", path: "/account/17", status: 200, endpoint: "/account/{id}", parameters: map[string]any{"id": "17"}},
		{name: "a slash in a parameter", method: "RECONCILE", path: "/account/a%2Fb", status: 200, endpoint: "/account/{id}", parameters: map[string]any{"id": "a/b"}},
		{name: "two parameters", method: "TRANSFER", path: "/account/1/funds/2", status: 200, endpoint: "/account/{from}/funds/{to}", parameters: map[string]any{"from": "1", "to": "2"}},
		{name: "a name before a parameter", method: "SUMMARIZE", path: "/account/archive", status: 200, endpoint: "/account/archive"},
		{name: "a parameter that reads like a name", method: "RECONCILE", path: "/account/archive", status: 200, endpoint: "/account/{id}", parameters: map[string]any{"id": "archive"}},
		{name: "letter case of the document's method", method: "Find", path: "/account", status: 200, endpoint: "/account"},
		{name: "query", method: "FIND", path: "/account?limit=2", status: 200, endpoint: "/account"},
		{name: "own namespace", method: "FIND", path: "/account", namespace: "acme-bank", status: 200, endpoint: "/account"},
		{name: "other namespace", method: "FIND", path: "/account", namespace: "other-bank", status: 404, endpoint: "other-namespace"},
		{name: "unknown path", method: "FIND", path: "/loans", status: 404, endpoint: "unknown-path", declared: []any{"FIND", "RECONCILE", "SUMMARIZE", "TRANSFER"}},
		{name: "empty parameter", method: "RECONCILE", path: "/account/", status: 404, endpoint: "unknown-path", declared: []any{"FIND", "RECONCILE", "SUMMARIZE", "TRANSFER"}},
		{name: "root", method: "FIND", path: "/", status: 404, endpoint: "unknown-path", declared: []any{"FIND", "RECONCILE", "SUMMARIZE", "TRANSFER"}},
		{name: "undeclared verb", method: "CANCEL", path: "/account/archive", status: 404, endpoint: "undeclared-verb", declared: []any{"RECONCILE", "SUMMARIZE"}},
	} {
		headers := []string{"X-AGIS-Method", c.method}
		if c.namespace != "" {
			headers = append(headers, "X-AGIS-Namespace", c.namespace)
		}
		response, answer := ask(t, s.URL+c.path, headers...)
		if response.StatusCode != c.status {
			t.Errorf("%s: %s, %v", c.name, response.Status, answer)
			continue
		}
		if c.status != http.StatusOK {
			declared, _ := answer["declared"].([]any)
			if answer["code"] != c.endpoint || !slices.Equal(declared, c.declared) {
				t.Errorf("%s: code %v, declared %v; want %s, %v", c.name, answer["code"], declared, c.endpoint, c.declared)
			}
			continue
		}
		parameters, _ := answer["parameters"].(map[string]any)
		if answer["path"] != c.endpoint || !maps.Equal(parameters, c.parameters) {
			t.Errorf("%s: path %v, parameters %v; want %s, %v", c.name, answer["path"], parameters, c.endpoint, c.parameters)
		}
	}
}

// TestRoutesDeep checks that the cost of one path is bounded by the size of the document, even if
// many endpoints share parameters in every place.
func TestRoutesDeep(t *testing.T) {
	d := &agis.Document{}
	for i := range 10 {
		for j := range 1 << i {
			path := ""
			for bit := range i {
				path += []string{"/a", "/{x}"}[j>>bit&1]
			}
			d.Endpoints = append(d.Endpoints, agis.Endpoint{Method: "BOOK", Path: path})
		}
	}
	s := serve(t, agishttp.Options{Document: d})
	response, answer := ask(t, s.URL+strings.Repeat("/a", 9), "X-AGIS-Method", "BOOK")
	if response.StatusCode != http.StatusOK || answer["path"] != strings.Repeat("/a", 9) {
		t.Errorf("%s, %v", response.Status, answer)
	}
	response, answer = ask(t, s.URL+strings.Repeat("/a", 5000), "X-AGIS-Method", "BOOK")
	if response.StatusCode != http.StatusNotFound || answer["code"] != "unknown-path" {
		t.Errorf("%s, %v", response.Status, answer)
	}
}

func TestNoBinding(t *testing.T) {
	if b, ok := agishttp.FromContext(t.Context()); ok {
		t.Errorf("a context without a request has the binding %v", b)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("BOOK", "AGIS/1.0", "acme-reservations")
	f.Add("bo\u00a0ok", "AGIS/2", "ACME")
	f.Fuzz(func(t *testing.T, method, grammar, namespace string) {
		h := http.Header{"X-Agis-Method": {method}, "X-Agis-Grammar": {grammar}, "X-Agis-Namespace": {namespace}}
		b, problem := agishttp.Read(h)
		if (b == nil) == (problem == nil) {
			t.Fatalf("binding %v and problem %v", b, problem)
		}
		if problem != nil {
			if problem.Status != http.StatusBadRequest || problem.Detail == "" || problem.Help == "" {
				t.Errorf("the problem says too little: %+v", problem)
			}
			return
		}
		if b.Method == "" || strings.Trim(b.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Errorf("the method %q was let through", b.Method)
		}
	})
}
