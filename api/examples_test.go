package api_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
)

var updateExamples = flag.Bool("update-examples", false, "write route/examples.json anew")

// examplesFile has the examples of the API description, by operation ID.
const examplesFile = "route/examples.json"

// TestExamplesAreCurrent sends a request to every operation and compares the answer with the example
// of the API description: its status, its media type, and the members of its JSON with their types.
// With -update-examples it writes the examples.
func TestExamplesAreCurrent(t *testing.T) {
	current := makeExamples(t)
	if *updateExamples {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(current); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(examplesFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(examplesFile)
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]route.Example
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	const remedy = "; go test ./api -run TestExamplesAreCurrent -update-examples writes the examples anew"
	for id, now := range current {
		then, ok := recorded[id]
		switch {
		case !ok:
			t.Errorf("%s has no example%s", id, remedy)
		case then.Status != now.Status || then.MediaType != now.MediaType:
			t.Errorf("%s: the example is answered with %d %s, now it is %d %s%s", id, then.Status, then.MediaType, now.Status, now.MediaType, remedy)
		default:
			if was, is := membersOf(t, then.Answer), membersOf(t, now.Answer); !slices.Equal(was, is) {
				t.Errorf("%s: the answer has other members: %q, now %q%s", id, was, is, remedy)
			}
		}
	}
	for id := range recorded {
		if _, ok := current[id]; !ok {
			t.Errorf("the example of %s belongs to no operation%s", id, remedy)
		}
	}
}

// endless are the operations whose answer has no end, so that none is recorded.
var endless = []string{"status-stream", "stream-changes", "stream-mail"}

// endings are the operations after which an agent can do no others; they come last, in this order.
var endings = []string{"rotate-key", "recover-agent", "deactivate-agent", "erase-agent"}

// makeExamples asks every public operation once. Operations that need more than one agent or a host of
// their own show the refusal of a request that lacks it.
func makeExamples(t *testing.T) map[string]route.Example {
	t.Helper()
	h := newTestServer(t, options{log: true, relay: withRelay, registry: registrar.Options{DNS: zone{}}})
	c, err := crawler.New(crawler.Options{Store: h.store, UserAgent: "Gazetteer/test"})
	if err != nil {
		t.Fatal(err)
	}
	h.answers.Submitter = answer.NewSubmitter(answer.SubmitterOptions{Add: c.Add})
	h.publishSamples()
	h.waitForChanges()
	paths := goodPaths(t, h)
	a := registerProved(t, h, 90, "")
	leaving := registerProved(t, h, 95, "")
	site := withOwners(t, 100)
	site.publishSamples()
	bodies := exampleBodies(t, a)
	fill := strings.NewReplacer("{air_id}", a.AirID, "{id}", a.AirID, "{host}", "ristorante.example", "{domain}", "ristorante.example", "{n}", "1", "{inbox}", a.AirID, "{did}", a.CreatorDID)

	rows := slices.DeleteFunc(slices.Clone(route.Table), func(r route.Route) bool {
		return r.Operator || slices.Contains(endless, r.ID)
	})
	slices.SortStableFunc(rows, func(x, y route.Route) int { return slices.Index(endings, x.ID) - slices.Index(endings, y.ID) })
	examples := map[string]route.Example{}
	for _, r := range rows {
		e := route.Example{Target: paths[r.Path]}
		if e.Target == "" || r.Method != http.MethodGet {
			e.Target = fill.Replace(strings.ReplaceAll(r.Path, "*path", "0/000"))
		}
		if body, ok := bodies[r.ID]; ok {
			e.Body, e.BodyType = body, jsonType
		}
		switch r.ID {
		case "deactivate-agent", "erase-agent":
			e.Target = strings.Replace(e.Target, a.AirID, leaving.AirID, 1)
			examples[r.ID] = recordExample(t, h, leaving, r, e)
		case "opt-in", "opt-out", "recrawl":
			examples[r.ID] = recordExample(t, site.testServer, a, r, e)
		default:
			examples[r.ID] = recordExample(t, h, a, r, e)
		}
	}
	return examples
}

// exampleBodies returns the bodies of writes by operation ID.
func exampleBodies(t *testing.T, a owner) map[string]string {
	t.Helper()
	next, recovery := keyFromSeed(91), keyFromSeed(92)
	rotation := registry.NewRotation(a.CreatorDID, a.key, next, registry.RecoveryCommitment(recovery.Public().(ed25519.PublicKey)), time.Now())
	x := registry.NewRecovery(a.CreatorDID, encodeMultikey(next), recovery, keyFromSeed(93), "", time.Now())
	return map[string]string{
		"search-by-body":    `{"q": "book a table", "effect": ["reversible", "unknown"], "limit": 2}`,
		"explore":           `{"q": "book a table", "fields": ["verb", "domain"]}`,
		"export-operations": `{"operations": ["ristorante.example/ai/book_table"], "as": "mcp"}`,
		"validate":          `{"aiendpoint": "1.0", "service": {"name": "Ristorante", "description": "Reserves tables."}, "capabilities": []}`,
		"submit":            `{"hosts": ["www.example.com"]}`,
		"register-agent":    `{"name": "Ristorante booking agent", "description": "Books tables at Ristorante.", "public_key": "` + publicKey(keyFromSeed(94)) + `"}`,
		"update-agent":      `{"description": "Books tables at Ristorante, day and night."}`,
		"report-agent":      `{"reason": "spam", "text": "It writes to everybody."}`,
		"prove-domain":      `{"domain": "ristorante.example"}`,
		"merge-agent":       `{"created": "2026-01-31T12:00:00Z"}`,
		"attest":            `{"claim": {"type": "reliable"}}`,
		"rotate-key":        rotationBody(t, rotation),
		"recover-agent": string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
			"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature})),
	}
}

// recordExample sends the request of an example and records the answer.
func recordExample(t *testing.T, h *testServer, a owner, r route.Route, e route.Example) route.Example {
	t.Helper()
	var response bufferedResponse
	if r.AIR && r.Method != http.MethodGet && strings.Contains(r.Path, "{air_id}") && r.ID != "rotate-key" && r.ID != "recover-agent" && r.ID != "report-agent" || r.ID == "export-agent" {
		e.Signed = true
		response = h.requestSigned(a.key, a.CreatorDID+did.KeyFragment, r.Method, e.Target, e.Body, httpsig.SignOptions{})
	} else if e.Body != "" {
		response = h.request(r.Method, e.Target, e.Body, "Content-Type", e.BodyType)
	} else {
		response = h.request(r.Method, e.Target, "")
	}
	if response.StatusCode >= 500 {
		t.Errorf("%s: %s %s", r.ID, response.Status, response.body)
	}
	e.Status = response.StatusCode
	e.MediaType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
	var v any
	decoder := json.NewDecoder(bytes.NewReader(response.body))
	decoder.UseNumber()
	if strings.HasSuffix(e.MediaType, "json") && decoder.Decode(&v) == nil {
		e.Answer = encodeJSON(t, shortenLists(v))
	} else if text := string(response.body); len(text) < 2000 && strings.HasPrefix(e.MediaType, "text/") || strings.HasPrefix(e.MediaType, "application/yaml") {
		e.Answer = encodeJSON(t, text[:min(len(text), 1200)])
	}
	return e
}

// shortenLists keeps the first two items of every list.
func shortenLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = shortenLists(v[name])
		}
	case []any:
		v = v[:min(len(v), 2)]
		for i := range v {
			v[i] = shortenLists(v[i])
		}
		return v
	}
	return v
}

// volatile are members that an answer has at times, or whose members are data.
var volatile = []string{"behind", "paths", "components", "x-problems", "$defs", "properties", "retry_after_seconds", "moved"}

// membersOf returns the places of a JSON text with the types of their values, in order.
func membersOf(t *testing.T, text []byte) []string {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if !slices.Contains(volatile, name) {
					walk(at+"/"+name, inner)
				}
			}
		case []any:
			for _, inner := range v {
				walk(at+"[]", inner)
			}
		default:
			places[fmt.Sprintf("%s %T", at, v)] = true
		}
	}
	walk("", v)
	list := make([]string, 0, len(places))
	for place := range places {
		list = append(list, place)
	}
	slices.Sort(list)
	return list
}
