package api_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/internal/need"
	"gazetteer/registry/directory"
)

// TestQuickstarts runs the programs of docs/quickstart that search, against a server with an agent and
// a service that answers calls.
func TestQuickstarts(t *testing.T) {
	h := newTestServer(t, options{handlers: withMCP})
	h.publishSamples()
	h.publish(calledHost, document.AI, "application/json", calledText, seen)
	agent := registerAgent(t, h)
	body := `{"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "https://ristorante.example/inbox"}]}`
	if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, body, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	h.awaitFiled()
	environment := append(serveCalls(t), "BASE="+h.base)
	found := []string{"BOOK", "ristorante.example", "https://ristorante.example/inbox"}
	called := append(found, "call find_free_tables at "+calledHost, "answer", "Trattoria Bella in Rome")
	for _, test := range []struct {
		program string
		command []string
		prints  []string
	}{
		{"search.sh", []string{"sh", "search.sh"}, found},
		{"search.py", []string{"python3", "search.py"}, called},
		{"search.mjs", []string{"node", "search.mjs"}, called},
		{"search/main.go", []string{"go", "run", "./search"}, called},
		{"mcp/main.go", []string{"go", "run", "./mcp"}, found},
	} {
		t.Run(test.program, func(t *testing.T) {
			out := runProgram(t, environment, test.command...)
			for _, want := range test.prints {
				if !strings.Contains(out, want) {
					t.Errorf("%s does not print %q: %.2000s", test.program, want, out)
				}
			}
			if test.program == "search.sh" {
				callByLine(t, environment, out)
			}
		})
	}
}

// TestQuickstartsWithoutServer checks that a program which reaches no server, or an address that is not
// known there, ends with one line that names the address.
func TestQuickstartsWithoutServer(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, command := range [][]string{{"sh", "search.sh"}, {"python3", "search.py"}, {"node", "search.mjs"}, {"sh", "agent.sh"}, {"python3", "agent.py"}, {"node", "agent.mjs"}} {
		for base, reason := range map[string]string{closed.URL: strings.TrimPrefix(closed.URL, "http://127.0.0.1:"), other.URL: "404"} {
			c := exec.CommandContext(t.Context(), need.Program(t, command[0]), command[1])
			c.Dir, c.Env = "../docs/quickstart", append(os.Environ(), "BASE="+base)
			out, err := c.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err == nil || len(lines) > 2 || !strings.Contains(string(out), reason) {
				t.Errorf("%s at %s: %v, want one line with %q:\n%s", command, base, err, reason, out)
			}
			if command[0] != "sh" && c.ProcessState.ExitCode() != 1 {
				t.Errorf("%s: exit code %d, want 1", command, c.ProcessState.ExitCode())
			}
		}
	}
}

// TestQuickstartsOfUnknownHandle checks that a program which is to write to an unknown agent registers
// none.
func TestQuickstartsOfUnknownHandle(t *testing.T) {
	h := newTestServer(t, options{})
	for _, command := range [][]string{{"sh", "agent.sh"}, {"python3", "agent.py"}, {"node", "agent.mjs"}, {"go", "run", "./agent"}} {
		c := exec.CommandContext(t.Context(), need.Program(t, command[0]), append(command[1:], "nobody-has-it")...)
		c.Dir, c.Env = "../docs/quickstart", append(os.Environ(), "BASE="+h.base)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "nobody-has-it") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	// The directory answers once it has read the agent that is registered here.
	registerAgent(t, h)
	if _, total, err := h.answers.FindAgents(t.Context(), directory.Query{Limit: 1}, ""); err != nil || total != 1 {
		t.Errorf("%d agents are registered, want one; %v", total, err)
	}
}

// TestQuickstartOfMCP checks that the page for MCP shows the program.
func TestQuickstartOfMCP(t *testing.T) {
	program, err := os.ReadFile("../docs/quickstart/mcp/main.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/mcp.md")
	if _, body, _ := strings.Cut(string(program), "func main() {"); err != nil || !strings.Contains(string(page), body) {
		t.Errorf("docs/mcp.md does not show the program of docs/quickstart/mcp, %v", err)
	}
}

// runProgram runs a program of docs/quickstart and returns what it prints.
func runProgram(t *testing.T, environment []string, command ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), need.Program(t, command[0]), command[1:]...)
	c.Dir = "../docs/quickstart"
	c.Env = append(os.Environ(), environment...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %.2000s", command, err, out)
	}
	return string(out)
}

// callByLine runs the line of curl that search.sh prints, with a value for its parameter.
func callByLine(t *testing.T, environment []string, printed string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "curl ") {
			line = strings.ReplaceAll(strings.TrimSpace(line), "{location}", "Rome")
			if out := runProgram(t, environment, "sh", "-c", line); !strings.Contains(out, "Trattoria Bella in Rome") {
				t.Errorf("%s returns %s", line, out)
			}
			return
		}
	}
	t.Errorf("search.sh prints no line of curl: %s", printed)
}

// calledHost has a service that answers calls. httptest's certificate is for its name.
const (
	calledHost = "tables.example.com"
	calledText = `{"aiendpoint": "1.0",
 "service": {"name": "Tables", "description": "Free tables in restaurants."},
 "capabilities": [
  {"id": "find_free_tables", "description": "Find a free table in a restaurant", "endpoint": "/tables", "method": "GET",
   "params": {"location": "string, required"}}
 ]}`
)

// serveCalls serves calledHost on loopback. It returns the environment in which python3, curl, Go and
// node reach it by its name: a proxy and a certificate, and for node a module that leads connections
// there.
func serveCalls(t *testing.T) (environment []string) {
	t.Helper()
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode("Trattoria Bella in " + r.URL.Query().Get("location"))
	}))
	t.Cleanup(service.Close)
	address := service.Listener.Addr().(*net.TCPAddr)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != calledHost+":443" {
			http.Error(w, "only "+calledHost+" is here", http.StatusForbidden)
			return
		}
		tunnel(w, address.String())
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	certificate, module := filepath.Join(dir, "service.pem"), filepath.Join(dir, "lead.cjs")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw})
	lead := fmt.Sprintf(`const { Socket } = require("net"), { connect } = Socket.prototype;
Socket.prototype.connect = function (...arguments_) {
  const options = Array.isArray(arguments_[0]) ? arguments_[0][0] : arguments_[0];
  if (options?.host === %q) Object.assign(options, { host: "127.0.0.1", port: %d });
  return connect.apply(this, arguments_);
};
`, calledHost, address.Port)
	for file, text := range map[string][]byte{certificate: text, module: []byte(lead)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"https_proxy=" + proxy.URL, "HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + certificate, "CURL_CA_BUNDLE=" + certificate,
		"NODE_EXTRA_CA_CERTS=" + certificate, "NODE_OPTIONS=--require=" + module}
}

// tunnel connects the client of w with address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	go func() {
		io.Copy(there, buffered)
		there.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(here, there)
}
