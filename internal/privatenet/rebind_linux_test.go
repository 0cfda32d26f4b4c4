package privatenet

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/fakenet"
	"gazetteer/protocol/did"
)

// TestNamesThatChange asks a server for hosts whose name server first tells a public address and then a
// forbidden one, in the ways in which a stranger can make it fetch something. Each host is asked for twice:
// it is reached the first time, and nobody is the second time. Most ways look its address up again then.
func TestNamesThatChange(t *testing.T) {
	w := openWorld(t, false)
	s := w.serveRegistry()
	agents := [2]registered{s.register(""), s.register("")}
	ways := map[string]func(host string, time int){
		"validate": func(host string, time int) {
			s.post("/api/v1/validate", fmt.Sprintf(`{"url":"https://%s/document-%d"}`, host, time))
		},
		"mcp": func(host string, time int) {
			s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"validate_document","arguments":{"url":"https://%s/document-%d"}}}`, host, time))
		},
		"creator": func(host string, time int) { s.register(fmt.Sprintf("did:wba:%s:agent-%d", host, time)) },
		"resolve": func(host string, time int) {
			s.ask(http.MethodGet, fmt.Sprintf("/api/v1/resolve?name=did:wba:%s:agent-%d", host, time), "")
		},
		"domain": func(host string, time int) {
			s.post("/api/v1/agents/"+agents[time].AirID+"/domains", fmt.Sprintf(`{"domain":%q}`, host), "X-Agent-Secret", agents[time].Secret)
		},
		"owner": func(host string, time int) {
			s.post("/api/v1/services/"+host+[]string{"/opt-out", "/opt-in"}[time], "{}")
		},
		"submit": func(host string, _ int) { s.post("/api/v1/submissions", fmt.Sprintf(`{"hosts":[%q]}`, host)) },
	}
	forbidden := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")}
	for way, connect := range ways {
		for i, bad := range forbidden {
			host := fmt.Sprintf("%s-%d.test", way, i)
			w.net.Serve(host, fakenet.Site{Handler: closing(http.NotFound), HTTP1: true})
			w.names.set(host, rebound(w.address(), bad))
			connect(host, 0)
			w.awaitRequest(host)
			before := w.names.questions(host)
			connect(host, 1)
			if way != "creator" && way != "owner" && way != "submit" { // these visit a host once in a longer time
				w.await(host+": a second question for its address", func() bool { return w.names.questions(host) > before })
			}
		}
	}
	for place, n := range w.watch.to() {
		if !isHosts(place.Addr()) && place != netip.MustParseAddrPort("127.0.0.1:53") {
			t.Errorf("%d connections were begun to %s", n, place)
		}
	}
	for _, place := range w.doors.trapped() {
		t.Errorf("the server connected to %s", place)
	}
}

// awaitRequest waits until a host has had a request.
func (w *world) awaitRequest(host string) {
	w.t.Helper()
	w.await(host+": a request", func() bool {
		return slices.ContainsFunc(w.net.Requests(), func(q fakenet.Request) bool { return q.Host == host })
	})
}

// await waits until something has happened in another process.
func (w *world) await(what string, happened func() bool) {
	w.t.Helper()
	for begun := time.Now(); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			w.t.Errorf("%s did not come", what)
			return
		}
	}
}

// A server is a running "gazetteer serve".
type server struct {
	t    *testing.T
	base string
}

// A registered agent.
type registered struct {
	AirID  string `json:"air_id"`
	Secret string `json:"agent_secret"`
}

// serveRegistry starts a server that believes the certificates of the hosts. The end of the test ends it.
func (w *world) serveRegistry() *server {
	w.t.Helper()
	dir := w.t.TempDir()
	root := filepath.Join(dir, "root.pem")
	if err := os.WriteFile(root, w.net.RootPEM(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	command := exec.Command(filepath.Join(os.Getenv(insideDir), "gazetteer"), "serve", "--listen", besieged.String(), "--data-dir", filepath.Join(dir, "data"),
		"--set", "api.fetches_per_hour=-1")
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + root, "SSL_CERT_DIR=" + filepath.Join(dir, "none")}
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		if w.t.Failed() {
			w.t.Log(log.String())
		}
	})
	s := &server{w.t, "http://" + besieged.String()}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if response, err := http.Get(s.base + "/healthz"); err == nil {
			response.Body.Close()
			return s
		}
	}
	w.t.Fatal("the server does not answer")
	return nil
}

// register registers an agent, with the DID of its creator if there is one.
func (s *server) register(creator string) (a registered) {
	s.t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	body := map[string]string{"name": "agent", "public_key": did.FormatPublicKey(key)}
	if creator != "" {
		body["creator_did"] = creator
	}
	text, _ := json.Marshal(body) // a map of strings cannot fail
	answer := s.post("/api/v1/agents/register", string(text))
	if err := json.Unmarshal([]byte(answer), &a); err != nil || a.AirID == "" {
		s.t.Fatalf("register: %v: %s", err, answer)
	}
	return a
}

func (s *server) post(path, body string, headers ...string) string {
	s.t.Helper()
	return s.ask(http.MethodPost, path, body, headers...)
}

// ask sends a request and returns the body of the answer.
func (s *server) ask(method, path, body string, headers ...string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
