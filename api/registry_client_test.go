package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/need"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// A clientCall is one call of the npm package, with what came of it.
type clientCall struct {
	Name   string
	Answer map[string]any
	Error  *struct {
		Class   string
		Status  int
		Message string
	}
}

// clientErrors are the calls that must fail, with the class that the package
// makes of the answer.
var clientErrors = map[string]string{
	"400": "ValidationError", "401": "AuthenticationError", "403": "AuthenticationError", "404": "AgentNotFoundError", "409": "ConflictError",
}

// TestReferenceClient drives the npm package agent-identity-registry 0.1.0,
// unchanged, against our server. It needs node, and the package in
// testdata/air/node_modules, where .ci/install puts it.
func TestReferenceClient(t *testing.T) {
	node := need.Program(t, "node")
	if _, err := os.Stat("testdata/air/node_modules/agent-identity-registry"); err != nil {
		need.Missing(t, "the npm package is not here: run npm ci in api/testdata/air")
	}
	h := newTestServer(t, options{log: true, registry: registrar.Options{Resolver: attesterDocuments()}})
	command := exec.CommandContext(t.Context(), node, "client.mjs", h.base, h.admin)
	command.Dir = "testdata/air"
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	calls := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c clientCall
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		calls++
		if want := clientErrors[c.Name]; want != "" {
			if c.Error == nil || c.Error.Class != want || fmt.Sprint(c.Error.Status) != c.Name {
				t.Errorf("%s: %s", c.Name, lines.Text())
			}
		} else if c.Error != nil {
			t.Errorf("%s: %s", c.Name, lines.Text())
		}
		checkCall(t, c)
		if c.Name == "register, external DID" {
			id, _ := c.Answer["air_id"].(string)
			makeOlder(t, h, id, time.Now().AddDate(0, 0, -180))
			if _, err := io.WriteString(in, "older\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if calls != 21 {
		t.Errorf("%d calls were made, want 21", calls)
	}
}

// checkCall looks at what the package hands to its caller.
func checkCall(t *testing.T, c clientCall) {
	t.Helper()
	want := map[string]string{
		"health": `"registry":"AIR"`, "register, DID minted": `"air_minted_did":true`, "register, external DID": `"did_wba_resolved":true`,
		"get": `"name":"Alice"`, "DID document": `#key-1`, "check name": `"exists":true`, "list": `"total":2`, "update": `"updated_fields":2`,
		"attest": `"attestation_id":1`, "list attestations": `grüß – <Gott>`, "recent attestations": `"limit":3`, "revoke": `"revoked":true`,
		"admin stats": `"total_agents":2`, "admin recent": `"count":1`, "delete": `"status":"deleted"`,
	}[c.Name]
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c.Answer); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), want) {
		t.Errorf("%s: no %s in %s", c.Name, want, text.String())
	}
}

// makeOlder lets an agent have been registered at another time.
func makeOlder(t testing.TB, h *testServer, airID string, created time.Time) {
	t.Helper()
	record, err := h.store.Get(t.Context(), store.AgentKey(airID))
	if err != nil {
		t.Fatal(err)
	}
	var agent map[string]any
	if err := json.Unmarshal(record.Value, &agent); err != nil {
		t.Fatal(err)
	}
	agent["created"] = created
	delete(agent, "key_since")
	h.applyWrites(store.Put(store.AgentKey(airID), encodeJSON(t, agent)))
}
