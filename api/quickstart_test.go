package api_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gazetteer/internal/need"
)

// TestQuickstarts runs the programs of docs/quickstart, which go from words to a call and to an
// inbox, against a server with an agent.
func TestQuickstarts(t *testing.T) {
	h := newTestServer(t, options{handlers: withMCP})
	h.publishSamples()
	agent := registerAgent(t, h)
	body := `{"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "https://ristorante.example/inbox"}]}`
	if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, body, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	h.awaitFiled()
	program, err := os.ReadFile("../docs/quickstart/mcp/main.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/mcp.md")
	if _, body, _ := strings.Cut(string(program), "func main() {"); err != nil || !strings.Contains(string(page), body) {
		t.Errorf("docs/mcp.md does not show the program of docs/quickstart/mcp, %v", err)
	}
	for file, command := range map[string][]string{
		"search.sh": {"sh", "search.sh"}, "search.py": {"python3", "search.py"}, "search.mjs": {"node", "search.mjs"}, "search/main.go": {"go", "run", "./search"}, "mcp/main.go": {"go", "run", "./mcp"},
	} {
		t.Run(file, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), need.Program(t, command[0]), command[1:]...)
			c.Dir = "../docs/quickstart"
			c.Env = append(os.Environ(), "BASE="+h.base)
			out, err := c.CombinedOutput()
			for _, want := range []string{"BOOK", "ristorante.example", "https://ristorante.example/inbox"} {
				if err != nil || !strings.Contains(string(out), want) {
					t.Fatalf("%s does not print %q, %v: %.2000s", file, want, err, out)
				}
			}
		})
	}
}
