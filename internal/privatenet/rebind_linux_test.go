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
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
)

// TestNamesThatChange asks a server for hosts whose name server first tells a public address and then a
// forbidden one, in the ways in which a stranger can make it connect to a host. Each host is asked for twice:
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
		"wakeup": func(host string, _ int) { // another inbox each time: one has a wake-up in 30 seconds
			recipient := s.register("")
			s.setWakeURL(recipient, "https://"+host+"/")
			s.sendMail(agents[0], recipient)
		},
		"tool": func(host string, _ int) { s.run("tool", "call", toolOf(host)) },
	}
	forbidden := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")}
	hostOf := func(way string, i int) string { return fmt.Sprintf("%s-%d.test", way, i) }
	var tools []string
	for i := range forbidden {
		tools = append(tools, hostOf("tool", i))
	}
	w.approveTools(s, tools)
	for way, connect := range ways {
		handler := closing(http.NotFound)
		if way == "wakeup" || way == "tool" {
			handler = closing(text("application/json", "{}")) // a wake-up with another answer is a failure
		}
		for i, bad := range forbidden {
			host := hostOf(way, i)
			w.net.Serve(host, fakenet.Site{Handler: handler, HTTP1: true})
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
	w.await("the end of each wake-up", func() bool {
		counts := s.metrics()
		return strings.Contains(counts, "gazetteer_relay_wakeups_total 3\n") && strings.Contains(counts, "gazetteer_relay_wakeup_failures_total 3\n")
	})
	for place, n := range w.watch.to() {
		if !isHosts(place.Addr()) && place != netip.MustParseAddrPort("127.0.0.1:53") && place != netip.MustParseAddrPort("127.0.0.1:"+metricsPort) {
			t.Errorf("%d connections were begun to %s", n, place)
		}
	}
	for _, place := range w.doors.trapped() {
		t.Errorf("the server connected to %s", place)
	}
}

// toolOf returns the name of the tool that is a call of a host.
func toolOf(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return "call_" + strings.ReplaceAll(name, "-", "_")
}

// approveTools makes a contract of a call of each host. Their document is at another host.
func (w *world) approveTools(s *server, hosts []string) {
	w.t.Helper()
	var capabilities []string
	for _, host := range hosts {
		capabilities = append(capabilities, fmt.Sprintf(`{"id":%q,"description":"Read the tables","endpoint":"https://%s/tables","method":"GET","returns":"tables {object}"}`, toolOf(host), host))
	}
	document := fmt.Sprintf(`{"aiendpoint":"1.0","service":{"name":"Tables","description":"Tables in restaurants."},"capabilities":[%s],"auth":{"type":"none"}}`, strings.Join(capabilities, ","))
	w.serve("documents.test", pages{aiPath: text("application/json", document)})
	w.names.set("documents.test", at(w.address()))
	s.run("crawl", "documents.test")
	s.run("contracts", "propose", "documents.test")
	for _, host := range hosts {
		s.run("contracts", "approve", toolOf(host))
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
	t       *testing.T
	base    string
	data    string // its data directory
	environ []string
}

// metricsPort is where a server has its metrics.
const metricsPort = "9464"

// A registered agent.
type registered struct {
	AirID  string `json:"air_id"`
	Secret string `json:"agent_secret"`
	key    ed25519.PrivateKey
}

func (a registered) id() string { return "did:wba:localhost:agents:" + a.AirID }

// serveRegistry starts a server that believes the certificates of the hosts. The end of the test ends it.
func (w *world) serveRegistry() *server {
	w.t.Helper()
	dir := w.t.TempDir()
	root := filepath.Join(dir, "root.pem")
	if err := os.WriteFile(root, w.net.RootPEM(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := &server{w.t, "http://" + besieged.String(), filepath.Join(dir, "data"),
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + root, "SSL_CERT_DIR=" + filepath.Join(dir, "none")}}
	command := s.command("serve", "--listen", besieged.String(), "--set", "metrics_listen=127.0.0.1:"+metricsPort,
		"--set", "api.fetches_per_hour=-1", "--set", "altar.http_runtime=true")
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
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if response, err := http.Get(s.base + "/healthz"); err == nil {
			response.Body.Close()
			return s
		}
	}
	w.t.Fatal("the server does not answer")
	return nil
}

// command returns a command of the program with the data directory of the server.
func (s *server) command(args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(os.Getenv(insideDir), "gazetteer"), append(args, "--data-dir", s.data)...)
	command.Env = s.environ
	return command
}

// run runs a command, which may fail.
func (s *server) run(args ...string) {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	s.t.Logf("%v: %v\n%s", args, err, out)
}

// metrics returns the figures of the server.
func (s *server) metrics() string {
	s.t.Helper()
	response, err := http.Get("http://127.0.0.1:" + metricsPort + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(all)
}

// setWakeURL sets the wake-up address of an agent's inbox.
func (s *server) setWakeURL(a registered, address string) {
	s.t.Helper()
	body, path := fmt.Appendf(nil, `{"wake_url":%q}`, address), "/inbox/"+a.id()+"/rules"
	r, err := http.NewRequest(http.MethodPut, "http://localhost"+path, nil)
	if err == nil {
		err = httpsig.Sign(r, body, a.key, httpsig.SignOptions{KeyID: a.id() + did.KeyFragment})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	headers := []string{"Host", "localhost"}
	for name := range r.Header {
		headers = append(headers, name, r.Header.Get(name))
	}
	if answer := s.ask(http.MethodPut, path, string(body), headers...); !strings.Contains(answer, address) {
		s.t.Errorf("rules: %s", answer)
	}
}

// sendMail sends an envelope from an agent to another one.
func (s *server) sendMail(from, to registered) {
	s.t.Helper()
	e, err := a2a.Sign(a2a.Message{From: from.id(), To: to.id(), Body: a2a.Withdraw{}}, a2a.Wire, from.key)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer := s.post("/inbox/"+to.id(), string(e.Text)); !strings.Contains(answer, "receipt") {
		s.t.Errorf("mail: %s", answer)
	}
}

// register registers an agent, with the DID of its creator if there is one.
func (s *server) register(creator string) (a registered) {
	s.t.Helper()
	key, private, err := ed25519.GenerateKey(nil)
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
	a.key = private
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
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
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
