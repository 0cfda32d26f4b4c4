package openapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gazetteer/internal/fakenet/corpus"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/effect"
)

// every is which of the real services a test run converts: one in so many.
var every = flag.Int("every", 24, "convert one in so many real services")

func realServices(t *testing.T) []corpus.Service {
	t.Helper()
	var out []corpus.Service
	i := 0
	for s, err := range corpus.Services(corpus.Directory("../..")) {
		if err != nil {
			t.Fatal(err)
		}
		if i%*every == 0 {
			out = append(out, s)
		}
		i++
	}
	if len(out) < 10 {
		t.Fatalf("%d services", len(out))
	}
	return out
}

// descriptionOf makes an OpenAPI description of what the directory says.
func descriptionOf(s corpus.Service) []byte {
	paths := map[string]map[string]any{}
	for i, op := range s.Operations {
		method := strings.ToLower(op.Method)
		if paths[op.Endpoint] == nil {
			paths[op.Endpoint] = map[string]any{}
		}
		var parameters []any
		for _, a := range op.Parameters {
			in := "query"
			if strings.Contains(op.Endpoint, "{"+a+"}") {
				in = "path"
			}
			parameters = append(parameters, map[string]any{"name": a, "in": in, "schema": map[string]any{"type": "string"}})
		}
		o := map[string]any{"summary": op.Intent, "tags": []string{op.Tag}, "parameters": parameters, "responses": map[string]any{"200": map[string]any{"description": "ok"}}}
		if i%3 > 0 { // a third without operationId
			o["operationId"] = op.ID
		}
		paths[op.Endpoint][method] = o
	}
	text, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": s.Name, "description": s.Description, "version": "1"},
		"servers": []any{map[string]any{"url": s.URL}}, "paths": paths,
	})
	if err != nil {
		panic(err)
	}
	return text
}

// roomy is how many endpoints a document has room for in any case.
const roomy = 150

var leftOutNumber = regexp.MustCompile(`\A([0-9]+) (?:of [0-9]+ )?operations are omitted`)

// saidToBeLeftOut adds up the operations that reviews say are left out.
func saidToBeLeftOut(t *testing.T, out conversion.Output) int {
	t.Helper()
	sum := 0
	for _, r := range out.Reviews {
		if m := leftOutNumber.FindStringSubmatch(r.Message); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// TestRealServices checks that each real service becomes documents that our readers accept, and
// that every operation becomes an endpoint if there is room, or is reported as left out. Run with
// -v for the figures, with -every 1 for all.
func TestRealServices(t *testing.T) {
	operations, endpoints, capabilities, named, intents := 0, 0, 0, 0, 0
	verbs := map[string]int{}
	for _, s := range realServices(t) {
		text := descriptionOf(s)
		a, err := readOpenAPI(text)
		if err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
		operations += len(a.operations)
		out, err := ToAGIS(text, conversion.Options{})
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		d := readAGIS(t, out.Text)
		if want := min(len(a.operations), roomy); len(d.Endpoints) < want {
			t.Errorf("%s: %d endpoints for %d operations, want at least %d", s.ID, len(d.Endpoints), len(a.operations), want)
		}
		if n := len(d.Endpoints) + saidToBeLeftOut(t, out); n != len(a.operations) {
			t.Errorf("%s: %d endpoints, and with those said to be left out %d, of %d operations", s.ID, len(d.Endpoints), n, len(a.operations))
		}
		endpoints += len(d.Endpoints)
		for _, e := range d.Endpoints {
			verbs[e.Method]++
			if !slices.Contains([]string{"RETRIEVE", "LIST", "CREATE", "REPLACE", "REMOVE", "MODIFY"}, e.Method) {
				named++
			}
			if effect.Compare(e.Method, e.Semantic.Intent).Verdict == effect.Consistent {
				intents++
			}
		}
		out, err = ToAIDiscovery(text, sampleOptions)
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		doc, _, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		if n := len(doc.Capabilities) + saidToBeLeftOut(t, out); n != len(a.operations) {
			t.Errorf("%s: %d capabilities, and with those said to be left out %d, of %d operations", s.ID, len(doc.Capabilities), n, len(a.operations))
		}
		capabilities += len(doc.Capabilities)
	}
	var most []string
	for v := range verbs {
		most = append(most, v)
	}
	slices.SortFunc(most, func(x, y string) int { return verbs[y] - verbs[x] })
	for i, v := range most {
		most[i] = fmt.Sprint(v, " ", verbs[v])
	}
	t.Logf("%d operations: %d endpoints, %d capabilities; %d endpoints have a verb of their own, %d an intent that is consistent with it",
		operations, endpoints, capabilities, named, intents)
	if intents*100 < endpoints*97 {
		t.Errorf("only %d of %d intents are consistent with their verbs", intents, endpoints)
	}
	t.Logf("%d verbs: %s", len(most), strings.Join(most, ", "))
}
