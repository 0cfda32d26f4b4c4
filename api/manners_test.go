package api_test

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"gazetteer/api/air"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
)

// visitOperations calls visit with every operation of the public description, with
// something in the place of its parameters.
func visitOperations(t *testing.T, h *testServer, visit func(method, path string, item, operation map[string]any)) {
	t.Helper()
	agent := registerAgent(t, h)
	fill := strings.NewReplacer("{air_id}", agent.AirID, "{id}", agent.AirID, "{host}", "ristorante.example", "{kind}", "ai", "{digest}", "sha256:"+strings.Repeat("0", 64),
		"{verb}", "book", "{code}", "AI303", "{name}", "ai", "{username}", "alice", "{did}", "did:wba:a.example", "{path}", "0/000", "{domain}", "a.example", "{n}", "1", "{inbox}", agent.AirID)
	for route, item := range readSpec(t, h.get("/openapi.json", 200).body).paths() {
		for method, operation := range item {
			visit(strings.ToUpper(method), fill.Replace(route), item, operation.(map[string]any))
		}
	}
}

// TestEveryBodyIsLimited checks that a body that is too large is refused before it is read, with
// and without a Content-Length, and that a compressed one is never accepted.
func TestEveryBodyIsLimited(t *testing.T) {
	h := newTestServer(t, options{relay: withRelay})
	asked := 0
	visitOperations(t, h, func(method, path string, _, operation map[string]any) {
		_, takes := operation["requestBody"]
		// The tool host asks for an identity first; its own tests send bodies that are too large.
		if method == "GET" || strings.HasPrefix(path, "/altar/") {
			return
		}
		asked++
		t.Run(method+" "+path, func(t *testing.T) {
			h := h.forTest(t)
			head := method + " " + path + " HTTP/1.1\r\nHost: registry.example\r\nContent-Type: application/json\r\n"
			want := http.StatusRequestEntityTooLarge
			if !takes {
				want = http.StatusBadRequest // "this request has no body"
			}
			if takes {
				if statuses, closed := describeRawBytes(t, h, head+"Content-Length: 1073741824\r\n\r\n"); len(statuses) != 1 || statuses[0] != want || !closed {
					t.Errorf("a body of 1 GiB that never came: %v, closed %v, want %d", statuses, closed, want)
				}
			}
			status, sent := sendEndlessBody(t, h, head+"Transfer-Encoding: chunked\r\n\r\n")
			if status != want || sent > 32<<20 {
				t.Errorf("an endless body: %d after %d bytes, want %d", status, sent, want)
			}
			if !takes {
				return
			}
			if r := h.request(method, path, "{}", "Content-Type", jsonType, "Content-Encoding", "gzip"); r.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("a compressed body: %s %s", r.Status, r.body)
			}
			oneByteTooMuch(t, h, method, path)
		})
	})
	if asked < 10 {
		t.Errorf("only %d routes were asked", asked)
	}
}

// oneByteTooMuch asks a route for its limit, and sends a body that is one byte
// larger: with its length said and without.
func oneByteTooMuch(t *testing.T, h *testServer, method, path string) {
	t.Helper()
	const tooLarge = "the body is larger than %d bytes"
	over := h.requestAt(h.base, method, path, io.LimitReader(blanks{}, 64<<20), "Content-Type", jsonType)
	var limit int64
	var relays struct {
		Most int64 `json:"max_bytes"`
	}
	if json.Unmarshal(over.body, &relays) == nil && relays.Most > 0 {
		limit = relays.Most
	} else if _, rest, found := strings.Cut(string(over.body), " exceeds "); found {
		fmt.Sscanf(rest, "%d bytes", &limit)
	} else if _, err := fmt.Sscanf(over.problem(t).Detail, tooLarge, &limit); err != nil || limit < 1<<10 {
		t.Fatalf("the limit is not told: %s", over.body)
	}
	for name, body := range map[string]io.Reader{
		"by length": strings.NewReader(strings.Repeat(" ", int(limit)+1)), "chunked": io.LimitReader(blanks{}, limit+1),
	} {
		if r := h.requestAt(h.base, method, path, body, "Content-Type", jsonType); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%d bytes, %s: %s", limit+1, name, r.Status)
		}
	}
	if limit < 1<<10 {
		t.Fatalf("the limit is not told: %s", over.body)
	}
	if r := h.requestAt(h.base, method, path, io.LimitReader(blanks{}, limit), "Content-Type", jsonType); r.StatusCode == http.StatusRequestEntityTooLarge {
		t.Errorf("%d bytes are within the limit: %s", limit, r.Status)
	}
}

// blanks is white space without end.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// sendEndlessBody sends an endless body in chunks until the server stops reading it. It returns the
// answer and the number of bytes that the server read.
func sendEndlessBody(t *testing.T, h *testServer, head string) (status, sent int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	answered := make(chan int, 1)
	go func() {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			answered <- 0
			return
		}
		answered <- response.StatusCode
	}()
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 16<<10, strings.Repeat(" ", 16<<10))
	for sent < 64<<20 {
		select {
		case status := <-answered:
			return status, sent
		default:
		}
		if _, err := io.WriteString(conn, chunk); err != nil {
			break // closed: the answer came before
		}
		sent += len(chunk)
	}
	return <-answered, sent
}

// TestEveryOtherMethodOfRoutes checks for every route that a method it does not support is refused
// with the list of supported methods.
func TestEveryOtherMethodOfRoutes(t *testing.T) {
	h := newTestServer(t, options{relay: withRelay})
	asked := map[string]bool{}
	visitOperations(t, h, func(_, path string, item, _ map[string]any) {
		if asked[path] {
			return
		}
		asked[path] = true
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE"} {
			if _, served := item[strings.ToLower(method)]; served {
				continue
			}
			r := h.request(method, path, "")
			operators := method == "DELETE" && strings.HasPrefix(path, "/api/v1/agents/AIR-") && strings.Count(path, "/") == 4
			if r.StatusCode != 405 && !operators || r.StatusCode == 405 && slices.Contains(strings.Split(r.Header.Get("Allow"), ", "), method) {
				t.Errorf("%s %s: %s, Allow %q", method, path, r.Status, r.Header.Get("Allow"))
			}
		}
	})
}

// TestSecretsAreNotLogged searches all answers, exports and log lines for secrets.
func TestSecretsAreNotLogged(t *testing.T) {
	h := newTestServer(t, options{log: true})
	h.publishSamples()
	paths := goodPaths(t, h)
	a := registerAgent(t, h)
	h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret)
	const guess = "0123456789abcdef0123456789abcdee"
	h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", guess)
	h.request("DELETE", "/api/v1/agents/"+a.AirID, "", "X-Admin-Key", guess, "Authorization", "Bearer "+guess)
	b := registerProved(t, h, 1, "")
	h.awaitLog()
	secrets := map[string]string{"secret": a.Secret, "guess": guess, "private key": base64.StdEncoding.EncodeToString(b.key.Seed()), "private key in hex": hex.EncodeToString(b.key.Seed())}
	look := func(what, text string) {
		t.Helper()
		for name, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the %s", what, name)
			}
		}
		if strings.Contains(text, "secret_hash") || strings.Contains(text, "nonces") {
			t.Errorf("%s holds what only the registry needs: %.300s", what, text)
		}
	}
	for route, path := range paths {
		path = strings.NewReplacer(firstAirID(path), a.AirID).Replace(path)
		if !strings.Contains(route, "{air_id}") {
			path = paths[route]
		}
		look(path, string(h.request("GET", path, "").body))
	}
	for _, path := range []string{"/admin/registry", "/admin/registry/reports", "/admin/agents/" + a.AirID + "/export", "/admin/agents/" + b.AirID + "/export", "/admin/status"} {
		look(path, string(h.requestAt(h.admin, "GET", path, nil).body))
	}
	look("the export of the owner", string(b.send("GET", "/export", "").body))
	look("the log of the server", h.log.all())
}

// firstAirID is the AIR ID in a path, or what no path holds.
func firstAirID(path string) string {
	for part := range strings.SplitSeq(strings.NewReplacer("?", "/", "=", "/", ":", "/").Replace(path), "/") {
		if did.CheckAirID(part) == nil {
			return part
		}
	}
	return "\x00"
}

// TestRefusedIdempotencyKeysOverHTTP checks that keys under which anybody can sign, or that are
// none, or another's.
func TestRefusedIdempotencyKeysOverHTTP(t *testing.T) {
	h := newTestServer(t, options{})
	taken := registerProved(t, h, 1, "")
	text := func(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }
	small := make([]byte, 32)
	neutral := append([]byte{1}, make([]byte, 31)...)
	unreduced := append([]byte{0xf0}, slices.Repeat([]byte{0xff}, 31)...)
	unreduced[31] = 0x7f
	good := []byte(keyFromSeed(9).Public().(ed25519.PublicKey))
	for name, key := range map[string][]byte{
		"the neutral point": neutral, "a point of order 4": small, "y not reduced": unreduced, "the neutral point, not reduced": append([]byte{0xee}, unreduced[1:]...),
		"31 bytes": good[:31], "33 bytes": append(slices.Clone(good), 0), "no bytes": nil,
	} {
		rotation := registry.NewRotation(taken.CreatorDID, taken.key, keyFromSeed(9), "", time.Now())
		rotation.To = "z" + base58.Encode(append([]byte{0xed, 0x01}, key...))
		rotation.OldSignature = did.FormatSignature(ed25519.Sign(taken.key, rotation.Statement()))
		rotation.NewSignature = did.FormatSignature(ed25519.Sign(keyFromSeed(9), rotation.Statement()))
		for path, body := range map[string]string{
			"/api/v1/agents/register": `{"name": "A", "public_key": "` + text(key) + `"}`,
			taken.path + "/keys":      rotationBody(t, rotation),
		} {
			r := h.request("POST", path, body, "Content-Type", jsonType)
			if p := r.problem(t); r.StatusCode != 400 || p.Where == nil || p.Where.Pointer != "/public_key" || p.Help == "" {
				t.Errorf("%s: %s: %s %s", path, name, r.Status, r.body)
			}
		}
	}
	if r := h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+text(good)[:42]+`B"}`, "Content-Type", jsonType); r.StatusCode != 400 {
		t.Errorf("bits left over: %s %s", r.Status, r.body)
	}
	body := `{"name": "Mallory", "public_key": "` + publicKey(taken.key) + `", "no_secret": true}`
	if r := h.requestSigned(keyFromSeed(2), encodeMultikey(taken.key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{}); r.StatusCode != 401 {
		t.Errorf("another's key, signed with one's own: %s %s", r.Status, r.body)
	}
	if r := h.requestSigned(taken.key, encodeMultikey(taken.key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{}); r.StatusCode != 409 {
		t.Errorf("one key for two agents: %s %s", r.Status, r.body)
	}
}

// TestSecretGuessesAreLimited checks that clients that guess secrets or signatures have to wait,
// and that an unreadable body does not count as a guess.
func TestSecretGuessesAreLimited(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{Limits: admission.Limits{Failures: 6}}})
	a, b := registerAgent(t, h), registerProved(t, h, 1, "")
	guess := func(i int) bufferedResponse {
		if i%2 == 0 {
			return h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", fmt.Sprintf("%032x", i))
		}
		x := registry.NewRotation(b.CreatorDID, b.key, keyFromSeed(9), "", time.Now())
		x.OldSignature = did.FormatSignature(ed25519.Sign(keyFromSeed(8), x.Statement()))
		return h.request("POST", b.path+"/keys", rotationBody(t, x), "Content-Type", jsonType)
	}
	for i := range 10 {
		h.request("PUT", "/api/v1/agents/"+a.AirID, `{`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret)
		r := guess(i)
		if want := map[bool]int{true: 401, false: 429}[i < 6]; r.StatusCode != want || want == 429 && (r.Header.Get("Retry-After") == "" || r.problem(t).Rule != "too-many-failures") {
			t.Errorf("guess %d: %s %s", i, r.Status, r.body)
		}
	}
	var v air.RegistrationAnswer
	decodeInto(t, h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType), &v)
	if v.AirID == "" {
		t.Error("guesses keep a network from registering")
	}
}
