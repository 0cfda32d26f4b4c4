package registrar_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/api/airjson"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
)

// An exchange is one recorded request and the reference's response.
type exchange struct {
	Name    string `json:"name"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"request"`
	Response struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	} `json:"response"`
}

// answeredDifferently names the exchanges whose answer differs from the reference's, with our
// answer.
var answeredDifferently = map[string]string{
	// Published under the agent's name and followed by machines.
	"put: endpoint with foreign id, odd scheme and reserved type is accepted": `{"error":"Invalid service_endpoints: service_endpoints[0].type begins with AIR, which is reserved (A2A draft-1 §12.2)"}`,
	// The rest of the reference's sentence is help, which routes show beside it.
	"register: no anchor": `{"error":"Either 'creator_did' or 'public_key' is required."}`,
	// Lower case is no "unknown path": the error says how to write the id.
	"get lower-case": `{"error":"\"air-jn59-77bz-hvg7\" is not an AIR ID"}`,
	// One sentence for every way of asking for an agent.
	"by-username unknown": `{"error":"Agent not found"}`,
	"by-username invalid": `{"error":"Invalid username: username must be 3-30 characters of a-z, 0-9, or underscore"}`,
	// The search for other agents of the same name is a separate search.
	"register: duplicate name gives warning": `without "warnings"`,
}

// unlike are members whose values differ by nature: of each only the type is
// compared.
var unlike = []string{
	"message", "agent_secret_note", "agent_secret", "created", "updated", "calculated_at",
	"basis", "criteria_url", "did_wba_resolved", "did_wba_last_checked_at",
}

func TestRecordedReferenceExchanges(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Steps []exchange }
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Steps) != 49 {
		t.Fatalf("%d exchanges, want 49", len(recorded.Steps))
	}
	p := player{t: t, registry: open(t, registrar.Options{DIDHost: "agentidentityregistry.org"}), known: map[string]string{}}
	met := 0
	for _, step := range recorded.Steps {
		if _, ok := answeredDifferently[step.Name]; ok {
			met++
		}
		p.play(step)
	}
	if met != len(answeredDifferently) {
		t.Errorf("%d of %d names in answeredDifferently were met", met, len(answeredDifferently))
	}
}

type player struct {
	t        *testing.T
	registry *registrar.Registrar
	known    map[string]string // "{{alice.air_id}}" to the value it has here
}

func (p *player) play(step exchange) {
	body := []byte(p.fill(string(step.Request.Body)))
	var raw struct{ Raw *string }
	if json.Unmarshal(body, &raw) == nil && raw.Raw != nil {
		body = []byte(*raw.Raw) // the recording's way to hold a body that is no JSON
	}
	path := strings.TrimPrefix(p.fill(step.Request.Path), "/api/v1/agents")
	answer, err := p.answer(step.Request.Method, path, p.fill(step.Request.Headers["X-Agent-Secret"]), body)
	want := string(step.Response.Body)
	if other, ok := answeredDifferently[step.Name]; ok {
		if strings.HasPrefix(other, "without ") {
			var members map[string]any
			if err := json.Unmarshal([]byte(want), &members); err != nil {
				p.t.Fatal(err)
			}
			delete(members, strings.Trim(other[len("without "):], `"`))
			text, _ := json.Marshal(members)
			want = string(text)
		} else {
			want = other
		}
	} else if ok := step.Response.Status < 300; ok != (err == nil) {
		p.t.Errorf("%s: recorded status %d, here %v", step.Name, step.Response.Status, err)
	}
	if err != nil {
		airID, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if strings.HasPrefix(path, "/by-username/") || path == "/register" {
			airID = ""
		}
		view, ok := airjson.NewErrorView(err, airID)
		if !ok {
			p.t.Errorf("%s: no words for %v", step.Name, err)
			return
		}
		answer = view
	}
	got, err := json.Marshal(answer)
	if err != nil {
		p.t.Fatal(err)
	}
	p.learn(want, got)
	var expected, have any
	if err := json.Unmarshal([]byte(p.fill(want)), &expected); err != nil {
		p.t.Fatalf("%s: %v", step.Name, err)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		p.t.Fatal(err)
	}
	// The recorded list is sorted by score and holds one that attestations raised.
	onlyTypes := step.Name == "list"
	for _, problem := range differences("", expected, have, onlyTypes) {
		p.t.Errorf("%s: %s", step.Name, problem)
	}
}

// answer does what a route does, without HTTP.
func (p *player) answer(method, path, secret string, body []byte) (any, error) {
	ctx, r := p.t.Context(), p.registry
	id, what, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case method == "POST" && path == "/register":
		reg, err := airjson.ReadRegistration(body)
		if err != nil {
			return nil, err
		}
		agent, secret, err := r.Register(ctx, reg)
		return airjson.NewRegistrationView(r, agent, secret), err
	case method == "PUT":
		u, err := airjson.ReadUpdate(body)
		if err != nil {
			return nil, err
		}
		agent, fields, err := r.Update(ctx, id, registry.Credentials{Secret: secret}, u)
		return airjson.NewUpdateView(agent, fields), err
	case path == "?limit=3":
		rows := []airjson.RowView{}
		agents, _, err := r.List(ctx, registry.Filter{}, "", 3)
		for _, a := range agents {
			rows = append(rows, airjson.NewRowView(a))
		}
		return map[string]any{"agents": rows, "total": len(rows), "limit": 3, "offset": 0}, err
	case id == "by-username":
		agent, _, err := r.ByHandle(ctx, what)
		return airjson.NewRecordView(r, agent), err
	}
	agent, _, err := r.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	switch what {
	case "":
		return airjson.NewRecordView(r, agent), nil
	case "trust-score":
		return airjson.NewTrustScoreView(r, agent), nil
	case "did-document":
		if len(agent.PublicKey) == 0 {
			return nil, registry.ErrNoKey
		}
		return r.DIDDocument(agent), nil
	}
	return nil, fmt.Errorf("the test knows no answer to %s %s", method, path)
}

func (p *player) fill(text string) string {
	for name, value := range p.known {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// learn keeps the values that a recording names and this run made.
func (p *player) learn(recorded string, got []byte) {
	var names, values map[string]any
	if json.Unmarshal([]byte(recorded), &names) != nil || json.Unmarshal(got, &values) != nil {
		return
	}
	for member, name := range names {
		text, _ := name.(string)
		value, ok := values[member].(string)
		if ok && strings.HasPrefix(text, "{{") && p.known[text] == "" && text != "{{ts}}" {
			p.known[text] = value
		}
	}
}

// differences compares members, types, and values where they can be alike.
func differences(at string, want, got any, onlyTypes bool) []string {
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return []string{fmt.Sprintf("%s is %T %v, recorded %T %v", at, got, got, want, want)}
	}
	var out []string
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any)
		for name := range want {
			if _, ok := got[name]; !ok {
				out = append(out, at+"/"+name+" is missing")
				continue
			}
			if slices.Contains(unlike, name) {
				if reflect.TypeOf(want[name]) != reflect.TypeOf(got[name]) {
					out = append(out, fmt.Sprintf("%s/%s is %T, recorded %T", at, name, got[name], want[name]))
				}
				continue
			}
			out = append(out, differences(at+"/"+name, want[name], got[name], onlyTypes)...)
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				out = append(out, at+"/"+name+" was not recorded")
			}
		}
	case []any:
		got := got.([]any)
		if len(want) != len(got) {
			return []string{fmt.Sprintf("%s has %d entries, recorded %d", at, len(got), len(want))}
		}
		for i := range want {
			out = append(out, differences(fmt.Sprintf("%s/%d", at, i), want[i], got[i], onlyTypes)...)
		}
	default:
		if want != got && !onlyTypes {
			out = append(out, fmt.Sprintf("%s is %v, recorded %v", at, got, want))
		}
	}
	return out
}
