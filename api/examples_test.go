package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/altarkit"
	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/fakestore"
	"gazetteer/internal/wait"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
	"gazetteer/toolhost"
)

var updateExamples = flag.Bool("update-examples", false, "write route/examples.json anew")

// examplesFile has the examples of the API description, by operation ID.
const examplesFile = "route/examples.json"

// TestEveryOperationHasAnExample checks that each operation of the description has a recorded request
// and answer, and shows the answer unless it is a WebSocket.
func TestEveryOperationHasAnExample(t *testing.T) {
	h := newTestServer(t, options{log: true, relay: withRelay})
	examples, err := route.Examples()
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Paths map[string]map[string]struct {
			ID        string `json:"operationId"`
			Responses map[string]struct {
				Content map[string]struct{ Example any }
			}
			Samples []struct{ Source string } `json:"x-codeSamples"`
		}
	}
	decodeInto(t, h.get("/openapi.json", 200), &description)
	operations := 0
	for path, methods := range description.Paths {
		for method, op := range methods {
			operations++
			e := examples[op.ID]
			if len(e.Answer) == 0 || len(op.Samples) == 0 {
				t.Errorf("%s %s (%s) has no recorded request and answer", method, path, op.ID)
			}
			shown := e.Status == http.StatusSwitchingProtocols && len(op.Samples) == 2
			for _, r := range op.Responses {
				for _, c := range r.Content {
					shown = shown || c.Example != nil
				}
			}
			if !shown {
				t.Errorf("the description of %s %s (%s) shows no answer", method, path, op.ID)
			}
		}
	}
	if operations < 100 {
		t.Errorf("the description has only %d operations", operations)
	}
}

// TestExamplesAreCurrent sends a request to every operation and compares the answer with the example
// of the API description: its status, its media type, and the members of its JSON with their types.
// With -update-examples it writes the examples.
func TestExamplesAreCurrent(t *testing.T) {
	current := makeExamples(t)
	text, err := os.ReadFile(examplesFile)
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]route.Example
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if *updateExamples {
		// An example that is current stays as it is, so that times, keys and hashes do not change
		// the file with each run.
		for id, now := range current {
			if then, ok := recorded[id]; ok && describeChange(t, then, now) == "" {
				current[id] = then
			}
		}
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
	const remedy = "; go test ./api -run TestExamplesAreCurrent -update-examples writes the examples anew"
	for id, now := range current {
		if then, ok := recorded[id]; !ok {
			t.Errorf("%s has no example%s", id, remedy)
		} else if change := describeChange(t, then, now); change != "" {
			t.Errorf("%s: %s%s", id, change, remedy)
		}
	}
	for id := range recorded {
		if _, ok := current[id]; !ok {
			t.Errorf("the example of %s belongs to no operation%s", id, remedy)
		}
	}
}

// agentID is an AIR ID in the target of an example; it is a new one in each run.
var agentID = regexp.MustCompile(`AIR(-[0-9A-Z]{4}){3}|[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9a-f]{8}`)

// definition matches what an answer says of a figure, which is the same in each run.
var definition = regexp.MustCompile(`"definition":\s*"([^"]*)"`)

func definitionsOf(text []byte) []string {
	var list []string
	for _, m := range definition.FindAllSubmatch(text, -1) {
		list = append(list, string(m[1]))
	}
	return list
}

// describeChange says how an answer differs from its example in what does not change with each run: the
// request, the status, the media type, the members with their types, and the definitions of figures. ""
// means not at all.
func describeChange(t *testing.T, then, now route.Example) string {
	t.Helper()
	if was, is := agentID.ReplaceAllString(then.Target, "ID"), agentID.ReplaceAllString(now.Target, "ID"); was != is {
		return fmt.Sprintf("the example requests %s, now it is %s", was, is)
	}
	if then.Status != now.Status || then.MediaType != now.MediaType {
		return fmt.Sprintf("the example is answered with %d %s, now it is %d %s", then.Status, then.MediaType, now.Status, now.MediaType)
	}
	if was, is := membersOf(t, then.Answer), membersOf(t, now.Answer); !slices.Equal(was, is) {
		return fmt.Sprintf("the answer has other members: %q, now %q", was, is)
	}
	if was, is := definitionsOf(then.Answer), definitionsOf(now.Answer); !slices.Equal(was, is) {
		return fmt.Sprintf("the answer has other definitions: %q, now %q", was, is)
	}
	return ""
}

// endings are the operations that others need to be done before or after; they come last, in this
// order.
var endings = []string{"list-attestations", "agent-graph", "recent-attestations", "graph-stats", "revoke-attestation",
	"acknowledge", "acknowledge-deployed", "set-inbox-rules", "inbox-rules", "destroy-session", "opt-out", "opt-in", "merge-agent",
	"rotate-key", "recover-agent", "deactivate-agent", "erase-agent", "stream-changes"}

// exampleHost is the service of the demo that the examples are about.
const exampleHost = "reservations.acme.test"

// publishDemo stores what some hosts of the demo publish, and returns the digest of the AGIS
// document of exampleHost.
func (h *testServer) publishDemo(internet *fakenet.Net) (digest string) {
	h.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: internet.Dial(nil), TLSClientConfig: &tls.Config{RootCAs: internet.Roots()}}}
	defer client.CloseIdleConnections()
	for _, d := range []struct {
		host, path, mediaType string
		kind                  document.Kind
	}{
		{exampleHost, "/.well-known/agis.json", jsonType, document.AGISSummary},
		{exampleHost, "/reservations.agis", "application/agis", document.AGIS},
		{"taxi.test", "/service.agis", "application/agis", document.AGIS},
		{"sms.nexmo.test", "/.well-known/ai", jsonType, document.AI},
		{"stripe.test", "/.well-known/ai", jsonType, document.AI},
	} {
		response, err := client.Get("https://" + d.host + d.path)
		if err != nil {
			h.t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			h.t.Fatalf("%s%s: %s %v", d.host, d.path, response.Status, err)
		}
		stored := h.publish(d.host, d.kind, d.mediaType, string(text), time.Now().Add(-time.Hour))
		if d.host == exampleHost && d.kind == document.AGIS {
			digest = stored.Digest
		}
	}
	return digest
}

// makeExamples asks every public operation once, of a server that has services of the demo and its
// concierge.
func makeExamples(t *testing.T) map[string]route.Example {
	t.Helper()
	internet, err := fakenet.Open(fakenet.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	names := zone{}
	var anchor *air.Anchor
	h := newTestServer(t, options{log: true, relay: withRelay, registry: registrar.Options{DNS: names}, api: func(o *api.Options) {
		o.Anchored = func() *air.Anchor { return anchor }
	}})
	c, err := crawler.New(crawler.Options{Store: h.store, UserAgent: "Gazetteer/test"})
	if err != nil {
		t.Fatal(err)
	}
	h.answers.Submitter = answer.NewSubmitter(answer.SubmitterOptions{Add: c.Add})
	digest := h.publishDemo(internet)
	if err := c.Record(t.Context(), "somebody asked for a check", fetch.Made{
		At: time.Now().Add(-time.Hour), URL: "https://" + exampleHost + "/reservations.agis", Status: http.StatusOK, Took: 41, WireBytes: 2130,
	}); err != nil {
		t.Fatal(err)
	}
	a := registerProved(t, h, 90, "")
	names["_gazetteer."+exampleHost] = []string{"gazetteer-agent=" + a.CreatorDID + "; key=" + encodeMultikey(a.key)}
	for path, body := range map[string]string{
		"": `{"name": "Demo concierge", "username": "concierge", "description": "Books tables. Answers an offer with a counter-offer that names a deposit.", "capabilities": ["BOOK", "CANCEL"],
			"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "https://registry.example/inbox/` + a.AirID + `"}]}`,
		"/domains": `{"domain": "` + exampleHost + `"}`,
	} {
		method := map[bool]string{true: "PUT", false: "POST"}[path == ""]
		if r := a.send(method, path, body); r.StatusCode >= 300 {
			t.Fatalf("%s: %s %s", path, r.Status, r.body)
		}
	}
	leaving, guest, merging := registerProved(t, h, 95, ""), registerProved(t, h, 96, ""), registerProved(t, h, 97, "")
	makeOlder(t, h, guest.AirID, time.Now().Add(-60*24*time.Hour)) // attesters have to be 30 days old, with a domain
	names["_gazetteer.guest.example"] = []string{"gazetteer-agent=" + guest.CreatorDID + "; key=" + encodeMultikey(guest.key)}
	if r := guest.send("POST", "/domains", `{"domain": "guest.example"}`); r.StatusCode >= 300 {
		t.Fatalf("prove the domain of the attester: %s %s", r.Status, r.body)
	}
	h.waitForChanges()
	paths := goodPaths(t, h)
	h.awaitFiled()
	_, other, _ := strings.Cut(paths["/api/v1/agents/{air_id}"], "/api/v1/agents/")
	toDemo := strings.NewReplacer(
		"ristorante.example/documents/ai", exampleHost+"/documents/agis", "ristorante.example", exampleHost, "namespaces/ristorante", "namespaces/acme-reservations",
		"data-classes/Reservation", "data-classes/reservation", document.Digest([]byte(aiText("Ristorante"))), digest,
		other, a.AirID, "Alice_1", "concierge", "q=alice", "q=concierge", "name=alice", "name=concierge", "&require=&join=claimed", "", "/recent?limit=1000", "/recent?limit=3", "/atom?limit=3", "/atom?limit=1", "/history?limit=1000", "/history")
	for route, path := range paths {
		paths[route] = toDemo.Replace(path)
	}
	site := withOwners(t, 100)
	site.publishDemo(internet)
	figures := serveHistory(t)
	bodies := exampleBodies(t, a, guest, merging)
	var mail [2]string // the ids of two envelopes that wait
	for i := range mail {
		e := signEnvelope(t, guest, a)
		if r := h.request("POST", "/inbox/"+a.AirID, string(e.Text)); r.StatusCode != http.StatusAccepted {
			t.Fatalf("push: %s %s", r.Status, r.body)
		}
		mail[i] = e.ID
	}
	bodies["acknowledge"], bodies["acknowledge-deployed"] = `{"envelope_ids": ["`+mail[0]+`"]}`, `{"envelope_ids": ["`+mail[1]+`"]}`
	bodies["push"] = string(signEnvelope(t, guest, a).Text)
	signed := string(h.get("/witness/checkpoint?origin=registry.example/log", 200).body)
	cosigned, _, _ := strings.Cut(signed, "— registry.example/witness ")
	anchor = exampleAnchor(t, signed)
	bodies["add-checkpoint"] = "old " + strings.Split(cosigned, "\n")[1] + "\n\n" + cosigned
	h.openExampleTool()
	fill := strings.NewReplacer("{session_id}", exampleSession, "{air_id}", a.AirID, "{id}", a.AirID, "{host}", exampleHost, "{domain}", exampleHost, "{n}", "1", "{inbox}", a.AirID, "{did}", a.CreatorDID)

	rows := append(slices.DeleteFunc(slices.Clone(route.Table), func(r route.Route) bool { return r.Operator }),
		route.Route{ID: "openapi", Method: http.MethodGet, Path: "/openapi.json"})
	slices.SortStableFunc(rows, func(x, y route.Route) int { return slices.Index(endings, x.ID) - slices.Index(endings, y.ID) })
	examples := map[string]route.Example{}
	for _, r := range rows {
		e := route.Example{Target: paths[r.Path]}
		if e.Target == "" || r.Method != http.MethodGet {
			e.Target = fill.Replace(strings.ReplaceAll(r.Path, "*path", "0/000.p/1"))
		}
		if body, ok := bodies[r.ID]; ok {
			e.Body, e.BodyType = body, jsonType
		}
		e.Token, e.WebSocket, e.Base64 = r.Altar, r.ID == "connect-runtime", r.ID == "log-tile"
		switch r.ID {
		case "altar-mcp":
			e.Accept = "application/json, text/event-stream"
			examples[r.ID] = recordExample(t, h, a, r, e)
		case "add-checkpoint":
			e.BodyType = "text/plain"
			examples[r.ID] = recordExample(t, h, a, r, e)
		case "stats-series": // of a store with a history
			examples[r.ID] = recordExample(t, figures, a, r, e)
		case "attest", "revoke-attestation":
			examples[r.ID] = recordExample(t, h, guest, r, e)
		case "merge-agent":
			e.Target = strings.Replace(e.Target, a.AirID, merging.AirID, 1)
			examples[r.ID] = recordExample(t, h, merging, r, e)
		case "deactivate-agent", "erase-agent":
			e.Target = strings.Replace(e.Target, a.AirID, leaving.AirID, 1)
			examples[r.ID] = recordExample(t, h, leaving, r, e)
		case "opt-in", "opt-out", "recrawl":
			site.zone.Publish("_gazetteer."+exampleHost, "gazetteer-"+r.ID+"="+exampleHost)
			examples[r.ID] = recordExample(t, site.testServer, a, r, e)
		default:
			examples[r.ID] = recordExample(t, h, a, r, e)
		}
		if e := examples[r.ID]; e.Status >= 400 {
			t.Errorf("the example of %s is a refusal: %d %s", r.ID, e.Status, e.Answer)
		}
	}
	return examples
}

// serveHistory returns a server with figures over time.
func serveHistory(t *testing.T) *testServer {
	t.Helper()
	h := newTestServer(t, options{})
	if err := fakestore.Fill(t.Context(), h.store, fakestore.Options{Root: "..", Services: 40, At: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := h.answers.Census.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	return h
}

// exampleAnchor returns the anchor of a checkpoint that a witness cosigned.
func exampleAnchor(t *testing.T, signed string) *air.Anchor {
	t.Helper()
	lines := strings.Split(signed, "\n")
	size, err := checkpoint.ParseNumber(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	root, err := checkpoint.ParseHash(lines[2])
	if err != nil {
		t.Fatal(err)
	}
	matches := true
	return &air.Anchor{
		AnchoredAt: time.Now().UTC().Format(time.RFC3339), TipHash: fmt.Sprintf("%x", root[:]), EntryCount: size, Matches: &matches, Witness: "registry.example/witness", Checkpoint: signed,
	}
}

// exampleSession and exampleToken are a client's session with the tool host, and its token.
const exampleSession, exampleToken = "booking-7", "example-token"

// openExampleTool gives the tool host a client with a session, and a tool with the runtime that
// executes it.
func (h *testServer) openExampleTool() {
	h.t.Helper()
	must := func(err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	ctx := context.Background()
	contracts, err := toolhost.ReadContracts([]byte(`[{"name": "book_table", "description": "Books a table",
		"parameters": [{"name": "guests", "type": "integer", "required": true}]}]`))
	must(err)
	must(h.tools.AddContracts(ctx, contracts))
	for id, kind := range map[string]string{"booker": "client", "tables": "runtime"} {
		token := map[string]string{"client": exampleToken, "runtime": "runtime-token"}[kind]
		must(h.tools.AddIdentity(ctx, toolhost.Identity{ID: id, Kind: kind, Token: toolhost.HashToken(token)}))
	}
	runtime := altarkit.Runtime{URL: "ws" + strings.TrimPrefix(h.base, "http") + "/altar/v1/runtimes", ID: "tables", Token: "runtime-token"}
	runtime.Handle("book_table", func(context.Context, *altarkit.Call) (any, error) {
		return map[string]string{"reservation": "R-1", "state": "confirmed"}, nil
	})
	h.runUntilEnd("execute tools", func(ctx context.Context) error {
		if err := runtime.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
	if r := h.request("POST", "/altar/v1/sessions", `{"session_id": "`+exampleSession+`"}`, "Content-Type", jsonType, "Authorization", "Bearer "+exampleToken); r.StatusCode != 201 {
		h.t.Fatalf("create a session: %s %s", r.Status, r.body)
	}
	deadline := time.Now().Add(patience)
	for len(h.tools.Runtimes()) == 0 || len(h.tools.Runtimes()[0].Tools) == 0 {
		if time.Now().After(deadline) {
			h.t.Fatal("the runtime does not connect")
		}
		must(wait.For(ctx, 2*time.Millisecond))
	}
}

// signEnvelope signs an offer of one agent to another.
func signEnvelope(t *testing.T, from, to owner) *a2a.Envelope {
	t.Helper()
	e, err := a2a.Sign(a2a.Message{From: from.CreatorDID, To: to.CreatorDID, Body: a2a.Withdraw{}}, a2a.Wire, from.key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// exampleBodies returns the bodies of writes by operation ID.
func exampleBodies(t *testing.T, a, attester, merging owner) map[string]string {
	t.Helper()
	next, recovery := keyFromSeed(91), keyFromSeed(92)
	rotation := registry.NewRotation(a.CreatorDID, a.key, next, registry.RecoveryCommitment(recovery.Public().(ed25519.PublicKey)), time.Now())
	q := attestation.Request{Attester: attester.AirID, Type: "operator_confirmation", SignedAt: time.Now().UTC().Format(time.RFC3339), Statement: "Kept every reservation."}
	payload, err := q.Payload(a.AirID)
	if err != nil {
		t.Fatal(err)
	}
	merge := transfer.NewMerge(merging.CreatorDID, a.CreatorDID, merging.key, a.key, time.Now())
	x := registry.NewRecovery(a.CreatorDID, encodeMultikey(next), recovery, keyFromSeed(93), "", time.Now())
	return map[string]string{
		"search-by-body":    `{"q": "book a table", "effect": ["reversible", "unknown"], "limit": 2}`,
		"explore":           `{"q": "book a table", "fields": ["verb", "domain"]}`,
		"export-operations": `{"operations": ["` + exampleHost + `/agis/BOOK /reservation"], "as": "mcp"}`,
		"validate":          `{"aiendpoint": "1.0", "service": {"name": "Corner Shop", "description": "Sells bread and cake."}, "capabilities": []}`,
		"submit":            `{"hosts": ["www.example.com"]}`,
		"register-agent":    `{"name": "Table booker", "description": "Books tables for its user.", "public_key": "` + publicKey(keyFromSeed(94)) + `"}`,
		"update-agent":      `{"description": "Books tables, day and night."}`,
		"report-agent":      `{"reason": "spam", "text": "It writes to everybody."}`,
		"prove-domain":      `{"domain": "` + exampleHost + `"}`,
		"merge-agent": string(encodeJSON(t, air.MergeBody{From: merge.From, FromKey: merge.FromKey, Into: merge.Into, IntoKey: merge.IntoKey,
			Created: merge.Created.Format(time.RFC3339), Nonce: merge.Nonce, FromSignature: merge.FromSignature, IntoSignature: merge.IntoSignature})),
		"attest": string(encodeJSON(t, map[string]string{"attester_air_id": q.Attester, "attestation_type": q.Type, "signed_at": q.SignedAt, "statement": q.Statement,
			"signature_multibase": did.FormatSignature(ed25519.Sign(attester.key, payload))})),
		"set-inbox-rules": `{"allow": ["` + attester.CreatorDID + `"], "block": [], "wake_url": ""}`,
		"create-session":  `{"session_id": "booking-8", "ttl_seconds": 600}`,
		"call-tool":       `{"invocation_id": "call-1", "tool_name": "book_table", "parameters": {"guests": 2}}`,
		"altar-mcp":       `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`,
		"rotate-key":      rotationBody(t, rotation),
		"recover-agent": string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
			"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature})),
	}
}

// shortenLists keeps the first two items of every list but parameters.
func shortenLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if name != "parameters" { // a call needs all of them
				v[name] = shortenLists(v[name])
			}
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
