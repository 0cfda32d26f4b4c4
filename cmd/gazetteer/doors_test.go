package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gazetteer/internal/exit"
	"gazetteer/protocol/did"
	"gazetteer/registry/proofofwork"
)

// address returns the host and port of the server.
func (p *program) address() string { return strings.TrimPrefix(p.base, "http://") }

// exchange sends bytes on a new connection and returns all bytes that it receives until the end.
func (p *program) exchange(text string) string {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		p.t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn) // up to a reset
	return string(answer)
}

// TestMalformedAddresses checks that an address that can be no agent's and no host's is not found,
// with help, and is not repeated in the log.
func TestMalformedAddresses(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	long := strings.Repeat("a", 12_000)
	names := []string{"x", "AIR-XXXX", "%00", "a%2Fb", "%ff", "..%2f", "xn--", "a..b", "%20", "%e2%80%ae", "did:wba:x", long}
	for _, name := range names {
		for _, path := range []string{"/agents/" + name, "/agents/" + name + "/report", "/services/" + name, "/services/" + name + "/crawl-log", "/services/" + name + "/documents/ai",
			"/api/v1/agents/" + name, "/api/v1/agents/" + name + "/history", "/api/v1/services/" + name, "/api/v1/services/" + name + "/crawl-log"} {
			status, body := p.ask("GET", path, "")
			if status != http.StatusNotFound {
				t.Errorf("GET %.60s: %d, want 404", path, status)
			}
			helped := strings.Contains(body, `"help":`) || strings.Contains(body, "</a>")
			if !helped {
				t.Errorf("GET %.60s: no help: %.300s", path, body)
			}
		}
	}
	p.end(os.Interrupt)
	for line := range strings.Lines(p.log.String()) {
		if len(line) > 4096 {
			t.Errorf("a log line of %d bytes: %.200s", len(line), line)
		}
		if strings.Contains(line, "AIR-XXXX") && strings.Contains(line, `"path"`) || strings.Contains(line, strings.Repeat("a", 2000)) {
			t.Errorf("the log repeats an address: %.300s", line)
		}
	}
}

// TestCommandsOnPagesContainPublicURL checks that the Host of a request is on no page.
func TestCommandsOnPagesContainPublicURL(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "public_url=https://registry.example")
	for _, path := range []string{"/", "/log", "/agents", "/docs", "/bot", "/status"} {
		answer := p.exchange("GET " + path + " HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("%s: %.200s", path, answer)
		}
		if strings.Contains(answer, "evil.example") {
			t.Errorf("%s shows the Host of the request", path)
		}
	}
	if _, page := p.ask("GET", "/log", "", "Accept", "text/html"); !strings.Contains(page, "gazetteer log verify https://registry.example/log") {
		t.Error("/log does not name the public URL")
	}
}

// TestAddressesWithoutPublicURL checks that a server without public_url writes the address that it
// listens on, which is not the default one, into DID documents and inbox addresses.
func TestAddressesWithoutPublicURL(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "registry.allow_loopback=true", "public_url=")
	out, code := p.cli("agent", "new", "Booker", "--inbox", "here")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	status, text := p.ask("GET", "/api/v1/agents/"+airIDs.FindString(out)+"/did-document", "")
	var document did.Document
	if err := json.Unmarshal([]byte(text), &document); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, text)
	}
	if len(document.Service) < 2 {
		t.Errorf("the document has no inbox: %s", text)
	}
	for _, s := range document.Service {
		if !strings.HasPrefix(s.ServiceEndpoint, p.base+"/") {
			t.Errorf("%s is at %s, and the server at %s", s.Type, s.ServiceEndpoint, p.base)
		}
	}
}

// A losingProxy passes requests on, and closes the connection in the place of the first answer to a
// registration.
type losingProxy struct {
	*httptest.Server
	lost atomic.Int32
}

// startBehindLosingProxy starts a server whose public URL is that of the proxy.
func startBehindLosingProxy(t *testing.T, settings ...string) (*program, *losingProxy) {
	t.Helper()
	l := &losingProxy{}
	l.Server = httptest.NewUnstartedServer(nil)
	address := "http://" + l.Listener.Addr().String()
	p := startProgram(t, append(settings, "crawler.enabled=false", "public_url="+address)...)
	target, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	l.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.Config.Handler = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path == "/api/v1/agents/register" && l.lost.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	l.Start()
	t.Cleanup(l.Close)
	return p, l
}

// TestLostRegistrationResponse checks that agent new, run again after its answer was lost,
// continues with the agent that the first run registered, also if that agent waits for approval.
// With other content it names the agent that has the key.
func TestLostRegistrationResponse(t *testing.T) {
	t.Parallel()
	for _, admission := range []string{"open", "approval"} {
		t.Run(admission, func(t *testing.T) {
			p, proxy := startBehindLosingProxy(t, "registry.admission="+admission)
			register := func(words ...string) (string, int) {
				return p.cli(append([]string{"--server", proxy.URL, "agent", "new", "Table booker"}, words...)...)
			}
			if out, code := register("--capability", "BOOK"); code != 3 {
				t.Fatalf("the answer was not lost: %d %s", code, out)
			}
			first := airIDs.FindString(p.log.String())
			out, code := register("--capability", "BOOK")
			if code != 0 || first == "" || !strings.Contains(out, first) {
				t.Fatalf("%s was registered; run again it says %d %s", first, code, out)
			}
			p.end(os.Interrupt)
			if n := strings.Count(p.log.String(), `"agent registered"`); n != 1 {
				t.Errorf("%d agents were registered", n)
			}
		})
	}
	t.Run("other content", func(t *testing.T) {
		p, proxy := startBehindLosingProxy(t)
		p.cli("--server", proxy.URL, "agent", "new", "Table booker")
		first := airIDs.FindString(p.log.String())
		out, code := p.cli("--server", proxy.URL, "agent", "new", "Another name")
		if code != 2 || !strings.Contains(out, "your key is that of "+first) {
			t.Errorf("%d %s", code, out)
		}
		if out, code := p.cli("--server", proxy.URL, "agent", "show"); code != 0 || !strings.Contains(out, first) {
			t.Errorf("the key file is not that of the agent: %d %s", code, out)
		}
	})
}

// freshKey is an unused public key, in the form that a registration expects.
func freshKey() string {
	key, _ := newKey()
	return did.FormatPublicKey(key.Public().(ed25519.PublicKey))
}

var airIDs = regexp.MustCompile(`AIR-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}`)

// TestStrictHeaderLinesAfterPaddedLength checks that spaces before the length of a body do not end
// the checks of lines.
func TestStrictHeaderLinesAfterPaddedLength(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	const body = `{"hosts": []}`
	for _, c := range []struct{ name, padding string }{{"plain", " "}, {"padded", strings.Repeat(" ", 80)}, {"tabs", strings.Repeat("\t", 5000)}} {
		first := fmt.Sprintf("POST /api/v1/validate HTTP/1.1\r\nHost: x.example\r\nContent-Type: application/json\r\nContent-Length:%s%d\r\n\r\n%s", c.padding, len(body), body)
		answer := p.exchange(first + "GET /healthz HTTP/1.1\r\nHost: x.example\r\nA: b\r\n folded\r\nConnection: close\r\n\r\n")
		if strings.Count(answer, "200 OK") > 1 {
			t.Errorf("%s: a folded line behind it was taken: %.300s", c.name, answer)
		}
		if !strings.Contains(answer, "400 Bad Request") {
			t.Errorf("%s: %.300s", c.name, answer)
		}
	}
}

// TestStrictHeaderLinesOverTLS sends the address of the tool host requests with header lines that
// proxies read differently: each is refused as on the public address, and a plain request is told
// that it should be encrypted. A certificate of a client still counts.
func TestStrictHeaderLinesOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, err := freeAddress()
	if err == nil {
		err = errors.Join(writeCertificate(filepath.Join(dir, "server"), address), writeCertificate(filepath.Join(dir, "planner"), address), writeCertificate(filepath.Join(dir, "billing"), address))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, dir: dir}
	if out, code := p.cli("altar", "identity", "add", "--client", "planner", "--cert", "planner.pem"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	if out, code := p.cli("altar", "identity", "add", "--runtime", "billing", "--cert", "billing.pem"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	p = startProgramIn(t, dir, "crawler.enabled=false", "altar.tls_listen="+address, "altar.tls_certificate="+filepath.Join(dir, "server.pem"), "altar.tls_key="+filepath.Join(dir, "server.key"))
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "planner.pem"), filepath.Join(dir, "planner.key"))
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(text string) string {
		t.Helper()
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // up to a reset
		return string(answer)
	}
	const post, body, last = "POST /altar/v1/sessions HTTP/1.1\r\nHost: x.example\r\nContent-Type: application/json\r\n", "{}", "GET /altar/v1/x HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\n\r\n"
	if answer := exchange(post + "Content-Length: 2\r\n\r\n" + body + last); strings.Count(answer, "HTTP/1.1 ") != 2 || !strings.HasPrefix(answer, "HTTP/1.1 201 ") || !strings.Contains(answer, "404 Not Found") {
		t.Errorf("two good requests: %.500s", answer)
	}
	for name, text := range map[string]string{
		"a folded line after a length": post + "Content-Length: 2\r\n\r\n" + body + "GET /altar/v1/x HTTP/1.1\r\nHost: x.example\r\nA: b\r\n folded\r\nConnection: close\r\n\r\n",
		"a padded length":              post + "Content-Length:" + strings.Repeat(" ", 80) + "2\r\n\r\n" + body + last,
		"a length of 5,000 tabs":       post + "Content-Length:" + strings.Repeat("\t", 5000) + "2\r\n\r\n" + body + last,
		"a length and a coding":        post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + last,
		"a coding and a length":        post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n" + last,
		"a line without CR":            "GET /altar/v1/x HTTP/1.1\r\nHost: x.example\nConnection: close\r\n\r\n",
		"a folded line":                "GET /altar/v1/x HTTP/1.1\r\nHost: x.example\r\nA: b\r\n\tfolded\r\nConnection: close\r\n\r\n",
	} {
		answer := exchange(text)
		refused := strings.Index(answer, "HTTP/1.1 400 Bad Request")
		if refused < 0 || strings.Contains(answer[refused+1:], "HTTP/1.1 ") || strings.Contains(answer, "404 Not Found") {
			t.Errorf("%s: %.500s", name, answer)
		}
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x.example\r\n\r\n")
	if answer, _ := io.ReadAll(conn); !strings.Contains(string(answer), "speaks HTTPS") {
		t.Errorf("a plain request: %.300q", answer)
	}
	// A WebSocket takes a connection over: its frames are no header lines.
	client, err := newTLSClient(filepath.Join(dir, "server.pem"), filepath.Join(dir, "billing.pem"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "wss://"+address+"/altar/v1/runtimes", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	printable := make([]byte, 1000) // masked, some of them become a line feed
	for i := range printable {
		printable[i] = byte(' ' + i*7%95)
	}
	for range 10 {
		err := ws.Write(ctx, websocket.MessageText, printable)
		var answer []byte
		if err == nil {
			_, answer, err = ws.Read(ctx)
		}
		if err != nil || !strings.Contains(string(answer), "ProtocolError") {
			t.Fatalf("a message of a WebSocket: %.300s, %v", answer, err)
		}
	}
	ws.CloseNow()
	stopped(t, p)
}

// TestFilesArePrivateWithAnyUmask runs the program with umask 0: everything that it makes is for its
// user alone, the socket of the operator included.
func TestFilesArePrivateWithAnyUmask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, data := filepath.Join(dir, "gazetteer"), filepath.Join(dir, "data")
	if err := os.Symlink(os.Args[0], program); err != nil { // testscript.Main picks the program by its name
		t.Fatal(err)
	}
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("sh", "-c", `umask 0; exec "$0" "$@"`, program, "serve", "--data-dir", data, "--listen", address, "--set", "crawler.enabled=false")
	server.Dir = dir
	log := &spool{}
	server.Stderr = log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	register := func() int {
		answer, err := http.Post("http://"+address+"/api/v1/agents/register", "application/json", strings.NewReader(fmt.Sprintf(`{"name":"A","public_key":%q}`, newPublicKey(t))))
		if err != nil {
			return 0
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for deadline := time.Now().Add(time.Minute); register() != http.StatusCreated; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no agent is registered: %s", log)
		}
	}
	files := 0
	err = filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %o, want %o", path, info.Mode().Perm(), want)
		}
		files++
		return nil
	})
	if info, statErr := os.Stat(filepath.Join(data, "gazetteer.sock")); err != nil || statErr != nil || info.Mode()&fs.ModeSocket == 0 || files < 20 {
		t.Errorf("%d files, %v, %v", files, err, statErr)
	}
}

// TestClientSuppliedRealIPIsIgnored checks that behind a trusted proxy X-Forwarded-For counts and
// X-Real-IP, which proxies pass on unchanged, does not.
func TestClientSuppliedRealIPIsIgnored(t *testing.T) {
	t.Parallel()
	metrics := metricsAddress(t)
	p := startProgram(t, "crawler.enabled=false", "api.trusted_proxies=127.0.0.1", "api.registrations_per_hour=20", "metrics_listen="+metrics)
	statuses := map[int]int{}
	for i := range 25 {
		body := fmt.Sprintf(`{"name": "A", "public_key": "%s"}`, freshKey())
		status, _ := p.ask("POST", "/api/v1/agents/register", body, "X-Real-IP", fmt.Sprintf("198.51.%d.7", i), "X-Forwarded-For", "unknown")
		statuses[status]++
	}
	if statuses[201] != 20 || statuses[429] != 5 {
		t.Errorf("with an address of X-Real-IP for each: %v, want 20 registered and 5 refused", statuses)
	}
	wantMetrics(t, metrics, `gazetteer_limit_refused_total\{limit="registrations",scope="client"\} 5$`)
	body := fmt.Sprintf(`{"name": "A", "public_key": "%s"}`, freshKey())
	if status, text := p.ask("POST", "/api/v1/agents/register", body, "X-Forwarded-For", "203.0.113.9"); status != 201 {
		t.Errorf("another client of the proxy: %d %s", status, text)
	}
}

// TestUntrustedProxyIsLogged checks that a proxy that nobody has configured is in the log once, and a
// configured one never.
func TestUntrustedProxyIsLogged(t *testing.T) {
	t.Parallel()
	for trusted, want := range map[string]int{"": 1, "127.0.0.0/8": 0} {
		p := startProgram(t, "crawler.enabled=false", "api.trusted_proxies="+trusted)
		p.ask("GET", "/healthz", "")
		for range 3 {
			p.ask("GET", "/api/v1/services", "", "X-Forwarded-For", "unknown")
		}
		p.end(os.Interrupt)
		if n := strings.Count(p.log.String(), "not in api.trusted_proxies"); n != want {
			t.Errorf("trusted %q: %d lines, want %d:\n%s", trusted, n, want, p.log)
		}
	}
}

// TestCommandsTimeOutOnSilentServer checks that a server that takes a connection and says nothing,
// or stops in the middle of its answer, is given up.
func TestCommandsTimeOutOnSilentServer(t *testing.T) {
	t.Parallel()
	p := &program{t: t, dir: t.TempDir()}
	for _, begun := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close() // when the test ends
				http.ReadRequest(bufio.NewReader(conn))
				io.WriteString(conn, begun)
			}
		}()
		for _, verb := range [][]string{{"search", "book"}, {"agent", "new", "A"}, {"agent", "show", "AIR-0000-0000-0000"}, {"resolve", "a"}} {
			out, code := p.cli(append([]string{"--server", "http://" + l.Addr().String(), "--timeout", "300ms"}, verb...)...)
			if code != 3 || !strings.Contains(out, "--timeout") {
				t.Errorf("%v: exit code %d: %s", verb, code, out)
			}
		}
	}
}

// TestCommandsDoNotRedirectWrites checks that a foreign server cannot send a command's write to an
// address that only this machine reaches.
func TestCommandsDoNotRedirectWrites(t *testing.T) {
	t.Parallel()
	operator := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the operator's listener is sent %s %s", r.Method, r.URL)
	}))
	defer operator.Close()
	redirected := make(chan string, 10)
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		redirected <- r.URL.Path
		http.Redirect(w, r, operator.URL+"/admin/compact", http.StatusTemporaryRedirect)
	}))
	defer foreign.Close()
	p := &program{t: t, dir: t.TempDir()}
	if out, code := p.cli("--server", foreign.URL, "crawler", "recrawl", "shop.example"); code != exit.Network || !strings.Contains(out, "follows no redirect") || len(redirected) != 1 {
		t.Errorf("exit code %d, %d writes: %s", code, len(redirected), out)
	}
}

// TestCrawlAtServerThatDoesNotCrawl checks that crawl does not wait for visits that never begin.
func TestCrawlAtServerThatDoesNotCrawl(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	out, code := p.cli("crawl", "shop.example")
	if code != exit.Network || !strings.Contains(out, "does not crawl") || !strings.Contains(out, "crawler.enabled = true") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestRelayThatDoesNotWait checks that inbox --wait asks a relay that answers at once, because the draft has
// no parameter wait, a few times and not without end (A2A §7.5).
func TestRelayThatDoesNotWait(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/pull") {
			http.NotFound(w, r) // no key for receipts
			return
		}
		pulls.Add(1)
		io.WriteString(w, `{"envelopes":[],"cursor":"0","has_more":false}`)
	}))
	defer relay.Close()
	p := startProgram(t, "registry.allow_loopback=true")
	if out, code := p.cli("agent", "new", "Reader", "--inbox", relay.URL+"/inbox/reader"); code != exit.OK {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if out, code := p.cli("inbox", "--wait", "2s"); code != exit.OK || !strings.Contains(out, "no new mail") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// At once, after that with a wait, and once more at the end.
	if n := pulls.Load(); n < 1 || n > 3 {
		t.Errorf("the relay was asked %d times", n)
	}
}

// TestForeignDataDirectories checks that a directory that others can write to is refused, and so is
// one with a symbolic link in it; what the link leads to stays as it is.
func TestForeignDataDirectories(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	p.end(os.Interrupt)
	refused := func(says string) {
		t.Helper()
		out, code := p.cli("search", "book")
		if code != 4 || !strings.Contains(out, says) || strings.Count(strings.TrimSpace(out), "\n") > 1 {
			t.Errorf("want a refusal with %q: exit code %d: %s", says, code, out)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		check(os.Chmod(p.data(), mode))
		refused("chmod go-w")
	}
	check(os.Chmod(p.data(), 0o755)) // others may look at it; the files are 0600
	if out, code := p.cli("search", "book"); code > 1 {
		t.Errorf("%d %s", code, out)
	}
	const warning = "other users of this machine can read 1 file"
	if out, _ := p.cli("serve", "--check"); strings.Contains(out, "other users") {
		t.Errorf("with private files: %s", out)
	}
	check(os.Chmod(filepath.Join(p.data(), "HEAD"), 0o644))
	if out, code := p.cli("serve", "--check"); code != exit.OK || !strings.Contains(out, warning) {
		t.Errorf("with a readable file: exit code %d: %s", code, out)
	}
	check(os.Chmod(filepath.Join(p.data(), "HEAD"), 0o622))
	refused("chmod go-w")
	check(os.Chmod(filepath.Join(p.data(), "HEAD"), 0o600))
	check(os.Chmod(p.data(), 0o700))
	check(os.Chmod(filepath.Join(p.data(), "log"), 0o777))
	refused("chmod go-w")
	check(os.Chmod(filepath.Join(p.data(), "log"), 0o700))
	check(os.Chmod(filepath.Join(p.data(), "log.key"), 0o666))
	refused("chmod go-w")
	check(os.Chmod(filepath.Join(p.data(), "log.key"), 0o600))
	pipe := filepath.Join(p.data(), "standing.new")
	check(syscall.Mkfifo(pipe, 0o600))
	refused("a pipe or a device")
	check(os.Remove(pipe))
	victim := filepath.Join(p.dir, "victim")
	check(os.WriteFile(victim, []byte("mine"), 0o644))
	for _, name := range []string{"HEAD", "cursor.key", "LOCK", "log/checkpoint.new", "store.bolt.rebuilt"} {
		path := filepath.Join(p.data(), name)
		kept, err := os.ReadFile(path)
		existed := err == nil
		os.Remove(path)
		check(os.Symlink(victim, path))
		refused("symbolic link")
		check(os.Remove(path))
		if existed {
			check(os.WriteFile(path, kept, 0o600))
		}
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
		t.Errorf("what the links led to is now %q, %v", text, err)
	}
	if out, code := p.cli("search", "book"); code > 1 {
		t.Errorf("the directory as it was: %d %s", code, out)
	}
}

// TestCrossSiteRequestsChangeNothing checks that a browser that a page of another site makes send a
// request has it refused; a page of this site, the public URL and programs are answered.
func TestCrossSiteRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "public_url=https://registry.example")
	const form = "application/x-www-form-urlencoded"
	for _, path := range []string{
		"/bot", "/submit", "/validate", "/agents/AIR-0000-0000-0000/report", "/api/v1/challenges", "/api/v1/submissions", "/api/v1/agents/register",
		"/api/v1/services/shop.example/opt-out", "/api/v1/services/shop.example/recrawl", "/api/v1/agents/AIR-0000-0000-0000/reports",
	} {
		send := func(headers ...string) int {
			status, _ := p.ask("POST", path, "host=shop.example", append([]string{"Content-Type", form}, headers...)...)
			return status
		}
		for _, foreign := range [][]string{
			{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		} {
			want := 403
			if !strings.HasPrefix(path, "/api/") {
				want = 400 // a page, which says what to do
			}
			if status := send(foreign...); status != want {
				t.Errorf("%s %v: %d, want %d", path, foreign, status, want)
			}
		}
		plain := send()
		if plain == 403 {
			t.Errorf("%s without an origin is refused", path)
		}
		for _, own := range [][]string{{"Origin", p.base}, {"Origin", "https://registry.example", "Sec-Fetch-Site", "same-origin"}} {
			if status := send(own...); status != plain {
				t.Errorf("%s %v: %d, without an origin %d", path, own, status, plain)
			}
		}
	}
	if status, _ := p.ask("POST", "/api/v1/search", `{"q": "book"}`, "Origin", "https://other.example"); status != 200 {
		t.Errorf("a search from another page: %d", status)
	}
}

// TestStolenKeyDuringRecovery checks that until a recovery is completed the current key cannot read
// the inbox and cannot change handle and endpoints.
func TestStolenKeyDuringRecovery(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "registry.allow_loopback=true")
	must := func(want int, says string, words ...string) {
		t.Helper()
		if out, code := p.cli(words...); code != want || !strings.Contains(out, says) {
			t.Errorf("%v: exit code %d, want %d with %q: %s", words, code, want, says, out)
		}
	}
	must(0, "", "agent", "new", "Booker", "--inbox", "here")
	stolen, err := os.ReadFile(filepath.Join(p.dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	must(0, "", "inbox")
	must(0, "under way", "agent", "recover", "--yes")
	if err := os.WriteFile(filepath.Join(p.dir, "thief.key"), stolen, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"agent", "update", "--handle", "booker"}, {"agent", "update", "--inbox", "https://thief.example/inbox"}, {"agent", "update", "--endpoint", "AgentCard=https://thief.example/card.json"},
		{"agent", "rotate"}, {"agent", "deactivate", "--yes"}, {"inbox"},
		{"agent", "prove", "thief.example"}, {"agent", "prove", "owner.example", "--remove"},
	} {
		if out, code := p.cli(append(words, "--key", "thief.key")...); code == 0 || !strings.Contains(out, "recovery") {
			t.Errorf("%v: exit code %d: %s", words, code, out)
		}
	}
	must(1, "To cancel it: gazetteer agent recover --withdraw --key thief.key", "inbox", "--key", "thief.key")
	must(0, "", "agent", "update", "--description", "harmless", "--key", "thief.key")
	must(0, "", "agent", "recover", "--withdraw")
	must(0, "", "inbox", "--key", "thief.key")
}

// TestServiceDuringFlood checks that after a quarter of the hour's registrations is used,
// registrations from unknown networks need a proof of work, which the command computes by itself. A
// solution counts once, and for its key alone.
func TestServiceDuringFlood(t *testing.T) {
	t.Parallel()
	p, front := startBehindLosingProxy(t, "api.registrations_global_per_hour=100", "api.registration_work=8", "api.trusted_proxies=127.0.0.1")
	network := 0
	register := func(public, work string) (int, registrationRefusal) {
		network++
		status, text := p.ask(http.MethodPost, "/api/v1/agents/register", `{"name":"crowd","public_key":"`+public+`"}`, "X-Forwarded-For", fmt.Sprintf("44.%d.0.1", network), "Registration-Work", work)
		var refusal registrationRefusal
		if err := json.Unmarshal([]byte(text), &refusal); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return status, refusal
	}
	for i := 0; ; i++ {
		status, refusal := register(newPublicKey(t), "")
		if status == 429 && refusal.Rule == "work-required" && refusal.Work.Bits == 8 {
			break
		}
		if status != 201 || i > 30 {
			t.Fatalf("registration %d: %d %+v", i, status, refusal)
		}
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, refusal := register(did.FormatPublicKey(public), "")
	solution, err := proofofwork.Solve(t.Context(), refusal.Work, public)
	if err != nil {
		t.Fatal(err)
	}
	foreign := solveForAnotherKey(t, refusal.Work, public)
	for _, c := range []struct {
		name, work, rule string
		status           int
	}{
		{"of another challenge", "AAAA.1", "challenge-unknown", 401},
		{"no number", refusal.Work.Challenge + ".x", "work-wrong", 401},
		{"of another key", foreign, "work-wrong", 401},
		{"right", solution, "", 201},
		{"again", solution, "challenge-used", 401},
	} {
		if status, got := register(did.FormatPublicKey(public), c.work); status != c.status || got.Rule != c.rule {
			t.Errorf("a solution %s: %d %q, want %d %q", c.name, status, got.Rule, c.status, c.rule)
		}
	}
	p.cli("--server", front.URL, "agent", "new", "Honest") // its answer is lost
	if out, code := p.cli("--server", front.URL, "agent", "new", "Honest"); code != 0 || !strings.Contains(out, "8 bits of work") || !strings.Contains(out, "AIR-") {
		t.Errorf("agent new: %d\n%s", code, out)
	}
	stopped(t, p)
}

// solveForAnotherKey returns a solution of eight bits that is right for another key and wrong for
// key: one in 256 is right for both by chance.
func solveForAnotherKey(t *testing.T, work proofofwork.Task, key ed25519.PublicKey) string {
	t.Helper()
	for {
		other, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		solution, err := proofofwork.Solve(t.Context(), work, other)
		if err != nil {
			t.Fatal(err)
		}
		challenge, number, _ := strings.Cut(solution, ".")
		if sha256.Sum256([]byte(challenge + "." + did.FormatMultikey(key) + "." + number))[0] != 0 {
			return solution
		}
	}
}

// registrationRefusal is what the refusal of a registration says.
type registrationRefusal struct {
	Rule string           `json:"rule"`
	Work proofofwork.Task `json:"work"`
}

// TestKnownNetworkRegistersDuringFlood uses up the hour's registrations from new networks: a network
// from which an agent that is older than a day has written can still register, and one from which
// a younger agent has written cannot.
func TestKnownNetworkRegistersDuringFlood(t *testing.T) {
	dir := t.TempDir()
	clock := filepath.Join(dir, "clock")
	t.Setenv(clockFile, clock)
	settings := []string{"crawler.enabled=false", "api.registrations_global_per_hour=40", "api.trusted_proxies=127.0.0.1"}
	p := startProgramIn(t, dir, settings...)
	ask := func(client, method, path, body string, headers ...string) (int, string) {
		t.Helper()
		return p.ask(method, path, body, append(headers, "X-Forwarded-For", client)...)
	}
	type agent struct {
		AirID  string `json:"air_id"`
		Secret string `json:"agent_secret"`
	}
	register := func(client string) (made agent, status int) {
		t.Helper()
		status, body := ask(client, http.MethodPost, "/api/v1/agents/register", fmt.Sprintf(`{"name":"A","public_key":%q}`, newPublicKey(t)))
		if err := json.Unmarshal([]byte(body), &made); err != nil || status != 201 && status != 429 {
			t.Fatalf("%d %s", status, body)
		}
		return made, status
	}
	write := func(client string, by agent) {
		t.Helper()
		if status, body := ask(client, http.MethodPut, "/api/v1/agents/"+by.AirID, `{"description":"written"}`, "X-Agent-Secret", by.Secret); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	const known, young = "44.1.0.1", "45.1.0.1"
	old, _ := register(known)
	stopped(t, p)
	if err := os.WriteFile(clock, []byte("25h"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = startProgramIn(t, dir, settings...)
	write(known, old)
	other, _ := register("46.1.0.1")
	write(young, other)
	refused := 0
	for n := 1; refused < 5; n++ { // five networks, one after the other
		if n > 200 {
			t.Fatal("nobody is refused")
		}
		if _, status := register(fmt.Sprintf("%d.%d.0.1", 50+n%100, n)); status == 429 {
			refused++
		} else {
			refused = 0
		}
	}
	if _, status := register(young); status != 429 {
		t.Errorf("the network of a young agent: %d", status)
	}
	if _, status := register(known); status != 201 {
		t.Errorf("the known network: %d", status)
	}
	stopped(t, p)
}

// TestRemovedSocketIsCreatedAgain removes the socket of a running server: it creates another one and logs
// that, so that commands find it.
func TestRemovedSocketIsCreatedAgain(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	for range 2 {
		if err := os.Remove(filepath.Join(p.data(), "gazetteer.sock")); err != nil {
			t.Fatal(err)
		}
		if out, code := p.cli("registry"); code != exit.OK || !strings.Contains(out, "admission open") {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	stopped(t, p)
	if n := strings.Count(p.log.String(), "the socket of the data directory was removed, and is there again"); n != 2 {
		t.Errorf("%d lines: %s", n, p.log)
	}
	if _, err := os.Lstat(filepath.Join(p.data(), "gazetteer.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket after the stop: %v", err)
	}
}
