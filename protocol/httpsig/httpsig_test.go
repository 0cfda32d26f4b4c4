package httpsig_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/httpsig"
)

// The key of RFC 9421 appendix B.1.4.
const rfcKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
`

func keyOfTheRFC(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	block, _ := pem.Decode([]byte(rfcKey))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(ed25519.PrivateKey)
}

// requestOfTheRFC is test-request of appendix B.2.
func requestOfTheRFC() (*http.Request, []byte) {
	body := []byte(`{"hello": "world"}`)
	r := httptest.NewRequest(http.MethodPost, "https://example.com/foo?param=Value&Pet=dog", bytes.NewReader(body))
	r.Header = http.Header{
		"Date":           {"Tue, 20 Apr 2021 02:07:55 GMT"},
		"Content-Type":   {"application/json"},
		"Content-Digest": {"sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"},
		"Content-Length": {"18"},
	}
	return r, body
}

var policy = httpsig.Requirements{Require: httpsig.WriteComponents(), MaxAge: 5 * time.Minute, MaxAhead: 30 * time.Second, Nonce: true}

func at(now time.Time) httpsig.Requirements {
	p := policy
	p.Now = now
	return p
}

// one reads the only signature of a message.
func one(t testing.TB, m httpsig.Message) httpsig.Signature {
	t.Helper()
	all, err := httpsig.Read(m)
	if err != nil || len(all) != 1 {
		t.Fatalf("read %d signatures, %v", len(all), err)
	}
	return all[0]
}

// code returns the code of an error, "" for nil.
func code(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *httpsig.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *httpsig.Error", err)
	}
	if e.Message == "" {
		t.Errorf("an error without a message: %#v", e)
	}
	return e.Code
}

func TestRFCSignature(t *testing.T) {
	r, body := requestOfTheRFC()
	r.Header.Set("Signature-Input", `sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`)
	r.Header.Set("Signature", `sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:`)
	m := httpsig.FromRequest(r, body)
	s := one(t, m)
	if s.Label != "sig-b26" || s.KeyID != "test-key-ed25519" || s.Created.Unix() != 1618884473 || !slices.Equal(s.Components, []string{"date", "@method", "@path", "@authority", "content-type", "content-length"}) {
		t.Errorf("read %+v", s)
	}
	public := keyOfTheRFC(t).Public().(ed25519.PublicKey)
	p := httpsig.Requirements{Require: []string{"@method", "@path", "@authority"}, Now: s.Created, MaxAge: time.Minute}
	if err := s.Verify(m, public, p); err != nil {
		t.Error(err)
	}
	// Every line of the base that appendix B.2.6 prints must be there.
	err := s.Verify(m, make([]byte, 32), p)
	var e *httpsig.Error
	if !errors.As(err, &e) || e.Base != strings.Join([]string{
		`"date": Tue, 20 Apr 2021 02:07:55 GMT`, `"@method": POST`, `"@path": /foo`, `"@authority": example.com`,
		`"content-type": application/json`, `"content-length": 18`,
		`"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`,
	}, "\n") {
		t.Errorf("base %v", err)
	}
}

// The values are those of the examples in RFC 9421 §2.
func TestRFCComponents(t *testing.T) {
	key := keyOfTheRFC(t)
	get := func(target, host string, header http.Header) httpsig.Message {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		if host != "" {
			r.Host = host
		}
		r.Header = header
		return httpsig.FromRequest(r, nil)
	}
	for _, c := range []struct {
		name    string
		message httpsig.Message
		id      string
		want    string
	}{
		{"authority in lower case without the default port", get("https://www.EXAMPLE.com:443/path", "", http.Header{}), `"@authority"`, "www.example.com"},
		{"authority with another port", get("https://www.example.com:8443/path", "", http.Header{}), `"@authority"`, "www.example.com:8443"},
		{"port 80 belongs to http", get("http://www.example.com:80/path", "", http.Header{}), `"@authority"`, "www.example.com"},
		{"target uri", get("https://www.example.com/path?param=value", "", http.Header{}), `"@target-uri"`, "https://www.example.com/path?param=value"},
		{"request target", get("https://www.example.com/path?param=value", "", http.Header{}), `"@request-target"`, "/path?param=value"},
		{"an empty path", httpsig.Message{Method: "GET", Scheme: "https", Authority: "a"}, `"@path"`, "/"},
		{"an escaped path stays escaped", get("https://a/x%2Fy", "", http.Header{}), `"@path"`, "/x%2Fy"},
		{"query", get("https://a/path?param=value&foo=bar&baz=bat%2Dman", "", http.Header{}), `"@query"`, "?param=value&foo=bar&baz=bat%2Dman"},
		{"no query", get("https://a/path", "", http.Header{}), `"@query"`, "?"},
		{"query parameter", get("https://a/path?param=value&foo=bar&baz=batman&qux=", "", http.Header{}), `"@query-param";name="baz"`, "batman"},
		{"empty query parameter", get("https://a/path?param=value&qux=", "", http.Header{}), `"@query-param";name="qux"`, ""},
		{"encoded query parameter", get("https://a/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something", "", http.Header{}),
			`"@query-param";name="bar"`, "with%20plus%20whitespace"},
		{"encoded name", get("https://a/parameters?fa%C3%A7ade%22%3A%20=something", "", http.Header{}), `"@query-param";name="fa%C3%A7ade%22%3A%20"`, "something"},
		{"two values of one field", get("https://a/", "", http.Header{"Cache-Control": {"max-age=60", "   must-revalidate"}}), `"cache-control"`, "max-age=60, must-revalidate"},
		{"an empty field", get("https://a/", "", http.Header{"X-Empty-Header": {""}}), `"x-empty-header"`, ""},
		{"a dictionary's member", get("https://a/", "", http.Header{"Example-Dict": {"  a=1,    b=2;x=1;y=2,   c=(a   b   c)"}}), `"example-dict";key="c"`, "(a b c)"},
		{"bytes of a field", get("https://a/", "", http.Header{"Example-Header": {"value, with, lots", "of, commas"}}), `"example-header";bs`, ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"},
		{"the host as a field", get("https://a/", "b.test", http.Header{}), `"host"`, "b.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.message.Header = c.message.Header.Clone()
			if c.message.Header == nil {
				c.message.Header = http.Header{}
			}
			params := `(` + c.id + `);created=1618884473`
			c.message.Header.Set("Signature-Input", "s="+params)
			c.message.Header.Set("Signature", "s=:"+encode(ed25519.Sign(key, []byte(c.id+": "+c.want+"\n"+`"@signature-params": `+params)))+":")
			s := one(t, c.message)
			p := httpsig.Requirements{Now: s.Created, MaxAge: time.Minute}
			if err := s.Verify(c.message, key.Public().(ed25519.PublicKey), p); err != nil {
				var e *httpsig.Error
				errors.As(err, &e)
				t.Errorf("%v\n%s", err, e.Base)
			}
		})
	}
}

// signed returns a signed write and the moment of its signature.
func signed(t testing.TB, o httpsig.SignOptions) (*http.Request, []byte, time.Time) {
	t.Helper()
	body := []byte(`{"description":"new"}`)
	r := httptest.NewRequest(http.MethodPut, "https://registry.test/api/v1/agents/AIR-1?x=1", bytes.NewReader(body))
	r.Header.Set("X-Agent-Secret", "0123456789abcdef")
	now := time.Unix(1_800_000_000, 0)
	if o.Created.IsZero() {
		o.Created = now
	}
	if err := httpsig.Sign(r, body, keyOfTheRFC(t), o); err != nil {
		t.Fatal(err)
	}
	return r, body, now
}

func TestSignedRequestVerifies(t *testing.T) {
	r, body, now := signed(t, httpsig.SignOptions{KeyID: "z6Mk", Tag: "air"})
	m := httpsig.FromRequest(r, body)
	s := one(t, m)
	if err := s.Verify(m, keyOfTheRFC(t).Public().(ed25519.PublicKey), at(now.Add(5*time.Minute))); err != nil {
		t.Fatal(err)
	}
	if s.KeyID != "z6Mk" || s.Tag != "air" || len(s.Nonce) < 22 { // 128 bits in base64url
		t.Errorf("read %+v", s)
	}
	again, _, _ := signed(t, httpsig.SignOptions{})
	if other := one(t, httpsig.FromRequest(again, body)); other.Nonce == s.Nonce {
		t.Error("two signatures have one nonce")
	}
}

// A signature made over one request must be worth nothing on another.
func TestSignatureIsBoundToRequest(t *testing.T) {
	public := keyOfTheRFC(t).Public().(ed25519.PublicKey)
	for _, c := range []struct {
		name   string
		change func(m *httpsig.Message)
		now    time.Duration
		want   string
	}{
		{"another method", func(m *httpsig.Message) { m.Method = "DELETE" }, 0, httpsig.CodeInvalid},
		{"another path", func(m *httpsig.Message) { m.Path = "/api/v1/agents/AIR-2" }, 0, httpsig.CodeInvalid},
		{"another spelling of the path", func(m *httpsig.Message) { m.Path = "/api/v1/agents/AIR%2D1" }, 0, httpsig.CodeInvalid},
		{"another query", func(m *httpsig.Message) { m.Query = "x=2" }, 0, httpsig.CodeInvalid},
		{"another host", func(m *httpsig.Message) { m.Authority = "other.test" }, 0, httpsig.CodeInvalid},
		{"another port", func(m *httpsig.Message) { m.Authority = "registry.test:8443" }, 0, httpsig.CodeInvalid},
		{"another body", func(m *httpsig.Message) { m.Body = []byte(`{"description":"evil"}`) }, 0, httpsig.CodeDigest},
		{"another body with its digest", func(m *httpsig.Message) {
			m.Body = []byte(`{}`)
			m.Header.Set("Content-Digest", httpsig.ContentDigest(m.Body))
		}, 0, httpsig.CodeInvalid},
		{"no body", func(m *httpsig.Message) { m.Body = nil }, 0, httpsig.CodeDigest},
		{"a second digest that is wrong", func(m *httpsig.Message) {
			m.Header.Set("Content-Digest", m.Header.Get("Content-Digest")+", sha-512=:AAAA:")
		}, 0, httpsig.CodeDigest},
		{"a digest of an outdated kind", func(m *httpsig.Message) { m.Header.Set("Content-Digest", "md5=:AAAA:") }, 0, httpsig.CodeDigest},
		{"no digest", func(m *httpsig.Message) { m.Header.Del("Content-Digest") }, 0, httpsig.CodeDigest},
		{"six minutes later", func(m *httpsig.Message) {}, 6 * time.Minute, httpsig.CodeCreated},
		{"a minute earlier", func(m *httpsig.Message) {}, -time.Minute, httpsig.CodeCreated},
		{"other parameters", func(m *httpsig.Message) {
			m.Header.Set("Signature-Input", strings.Replace(m.Header.Get("Signature-Input"), "created=1800000000", "created=1800000001", 1))
		}, 0, httpsig.CodeInvalid},
		{"fewer components", func(m *httpsig.Message) {
			m.Header.Set("Signature-Input", strings.Replace(m.Header.Get("Signature-Input"), ` "content-digest"`, "", 1))
		}, 0, httpsig.CodeCoverage},
		{"a component twice", func(m *httpsig.Message) {
			m.Header.Set("Signature-Input", strings.Replace(m.Header.Get("Signature-Input"), `"@path"`, `"@path" "@path"`, 1))
		}, 0, httpsig.CodeSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, body, now := signed(t, httpsig.SignOptions{KeyID: "k"})
			m := httpsig.FromRequest(r, body)
			c.change(&m)
			s := one(t, m)
			if got := code(t, s.Verify(m, public, at(now.Add(c.now)))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRefusedSignatures(t *testing.T) {
	good := "sig1=:" + strings.Repeat("A", 86) + "==:"
	for _, c := range []struct{ name, input, value, want string }{
		{"nothing", "", "", httpsig.CodeMissing},
		{"no value", `sig1=("@method");created=1`, "", httpsig.CodeSyntax},
		{"no input", "", good, httpsig.CodeSyntax},
		{"no dictionary", `(((`, good, httpsig.CodeSyntax},
		{"no list", `sig1="@method"`, good, httpsig.CodeSyntax},
		{"another label", `sig2=("@method");created=1`, good, httpsig.CodeSyntax},
		{"63 bytes", `sig1=("@method");created=1`, "sig1=:" + strings.Repeat("A", 84) + ":", httpsig.CodeSyntax},
		{"text for a signature", `sig1=("@method");created=1`, `sig1="abc"`, httpsig.CodeSyntax},
		{"another algorithm", `sig1=("@method");created=1;alg="rsa-v1_5-sha256"`, good, httpsig.CodeAlgorithm},
		{"a text for created", `sig1=("@method");created="1"`, good, httpsig.CodeSyntax},
		{"a fraction for created", `sig1=("@method");created=1.5`, good, httpsig.CodeSyntax},
		{"created before 1970", `sig1=("@method");created=-1`, good, httpsig.CodeSyntax},
		{"created in the year 33658", `sig1=("@method");created=999999999999999`, good, httpsig.CodeSyntax},
		{"a number for the nonce", `sig1=("@method");nonce=1`, good, httpsig.CodeSyntax},
		{"five signatures", `a=(),b=(),c=(),d=(),e=()`, good, httpsig.CodeSyntax},
		{"very many components", `sig1=(` + strings.Repeat(`"a" `, 33) + `"b")`, good, httpsig.CodeSyntax},
		{"very long", `sig1=("` + strings.Repeat("a", 8<<10) + `")`, good, httpsig.CodeSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := httpsig.Message{Method: "GET", Header: http.Header{}}
			if c.input != "" {
				m.Header.Set("Signature-Input", c.input)
			}
			if c.value != "" {
				m.Header.Set("Signature", c.value)
			}
			_, err := httpsig.Read(m)
			if got := code(t, err); got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// A proxy may add a signature of another kind; it does not affect the Ed25519 signature, whatever
// their order.
func TestSecondSignatureOfAnotherKind(t *testing.T) {
	public := keyOfTheRFC(t).Public().(ed25519.PublicKey)
	proxy := "=:" + base64.StdEncoding.EncodeToString(make([]byte, 256)) + ":"
	for _, c := range []struct{ name, input, value string }{
		{"before", `proxy=("@method");created=1;alg="rsa-pss-sha512", %s`, "proxy" + proxy + ", %s"},
		{"behind", `%s, proxy=("@method");created=1;keyid="p"`, "%s, proxy" + proxy},
		{"without a value", `%s, proxy=("@method");created=1;keyid="p"`, "%s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, body, now := signed(t, httpsig.SignOptions{KeyID: "k"})
			for header, form := range map[string]string{"Signature-Input": c.input, "Signature": c.value} {
				r.Header.Set(header, fmt.Sprintf(form, r.Header.Get(header)))
			}
			m := httpsig.FromRequest(r, body)
			if s := one(t, m); s.KeyID != "k" || s.Verify(m, public, at(now)) != nil {
				t.Errorf("read %+v", s)
			}
		})
	}
}

// TestQueryComponentIsCovered checks that @query covers nothing in a request without a query, and
// that a query added afterwards is not covered.
func TestQueryComponentIsCovered(t *testing.T) {
	body := []byte(`{}`)
	r := httptest.NewRequest(http.MethodPut, "https://registry.test/x", bytes.NewReader(body))
	now := time.Unix(1_800_000_000, 0)
	o := httpsig.SignOptions{KeyID: "k", Created: now, Components: []string{"@method", "@authority", "@path", "content-digest"}}
	if err := httpsig.Sign(r, body, keyOfTheRFC(t), o); err != nil {
		t.Fatal(err)
	}
	public := keyOfTheRFC(t).Public().(ed25519.PublicKey)
	m := httpsig.FromRequest(r, body)
	if err := one(t, m).Verify(m, public, at(now)); err != nil {
		t.Error(err)
	}
	m.Query = "force=1"
	if got := code(t, one(t, m).Verify(m, public, at(now))); got != httpsig.CodeCoverage {
		t.Errorf("a query was added: %q", got)
	}
}

func TestRefusedComponents(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"a header that is not there", `"date"`, httpsig.CodeComponent},
		{"a status of a request", `"@status"`, httpsig.CodeComponent},
		{"a name in upper case", `"Date"`, httpsig.CodeSyntax},
		{"a parameter that is not known", `"x";sf`, httpsig.CodeComponent},
		{"of a related request", `"@method";req`, httpsig.CodeComponent},
		{"a query parameter without its name", `"@query-param"`, httpsig.CodeComponent},
		{"a query parameter that is not there", `"@query-param";name="z"`, httpsig.CodeComponent},
		{"a query parameter that stands twice", `"@query-param";name="y"`, httpsig.CodeComponent},
		{"a member of no dictionary", `"x";key="a"`, httpsig.CodeComponent},
		{"a number", `1`, httpsig.CodeSyntax},
		{"empty", `""`, httpsig.CodeSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := httpsig.Message{Method: "GET", Query: "y=1&y=2", Header: http.Header{"X": {"((("}}}
			m.Header.Set("Signature-Input", "s=("+c.input+");created=1800000000")
			m.Header.Set("Signature", "s=:"+strings.Repeat("A", 86)+"==:")
			s := one(t, m)
			if got := code(t, s.Verify(m, make([]byte, 32), httpsig.Requirements{Now: s.Created, MaxAge: time.Minute})); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRequirements(t *testing.T) {
	public := keyOfTheRFC(t).Public().(ed25519.PublicKey)
	for _, c := range []struct {
		name   string
		sign   httpsig.SignOptions
		change func(p *httpsig.Requirements)
		want   string
	}{
		{"a short nonce", httpsig.SignOptions{Nonce: "1234567"}, nil, httpsig.CodeNonce},
		{"a long nonce", httpsig.SignOptions{Nonce: strings.Repeat("n", 129)}, nil, httpsig.CodeNonce},
		{"no nonce is asked for", httpsig.SignOptions{Nonce: "1"}, func(p *httpsig.Requirements) { p.Nonce = false }, ""},
		{"expired", httpsig.SignOptions{Expires: time.Unix(1_800_000_000, 0)}, nil, httpsig.CodeExpired},
		{"expires later", httpsig.SignOptions{Expires: time.Unix(1_800_000_001, 0)}, nil, ""},
		{"the host is not covered", httpsig.SignOptions{Components: []string{"@method", "@path", "@query", "content-digest"}}, nil, httpsig.CodeCoverage},
		{"covered only with a parameter", httpsig.SignOptions{Components: []string{"@method", "@authority", "@path", "content-digest"}}, nil, httpsig.CodeCoverage},
		{"the whole address", httpsig.SignOptions{Components: []string{"content-digest", "@target-uri", "@method"}}, nil, ""},
		{"the target without the host", httpsig.SignOptions{Components: []string{"@method", "@request-target", "content-digest"}}, nil, httpsig.CodeCoverage},
		{"the target and the host", httpsig.SignOptions{Components: []string{"@method", "@authority", "@request-target", "content-digest"}}, nil, ""},
		{"more is covered than asked", httpsig.SignOptions{Components: append(httpsig.WriteComponents(), "x-agent-secret")}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, body, now := signed(t, c.sign)
			p := at(now)
			if c.change != nil {
				c.change(&p)
			}
			m := httpsig.FromRequest(r, body)
			if got := code(t, one(t, m).Verify(m, public, p)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestErrorsContainNoSecrets(t *testing.T) {
	r, body, now := signed(t, httpsig.SignOptions{Components: append(httpsig.WriteComponents(), "x-agent-secret")})
	m := httpsig.FromRequest(r, body)
	err := one(t, m).Verify(m, make([]byte, 32), at(now))
	var e *httpsig.Error
	if !errors.As(err, &e) || e.Code != httpsig.CodeInvalid {
		t.Fatal(err)
	}
	if strings.Contains(e.Base, "0123456789abcdef") || !strings.Contains(e.Base, `"x-agent-secret": (hidden)`) {
		t.Errorf("base:\n%s", e.Base)
	}
}

// TestSignatureOverHTTP checks over a real connection that the server verifies the request that the
// client signed, with host, path and query as sent.
func TestSignatureOverHTTP(t *testing.T) {
	key := keyOfTheRFC(t)
	judged := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			m := httpsig.FromRequest(r, body)
			var all []httpsig.Signature
			if all, err = httpsig.Read(m); err == nil {
				err = all[0].Verify(m, key.Public().(ed25519.PublicKey), at(time.Now()))
			}
		}
		judged <- err
	}))
	defer server.Close()
	body := []byte(`{"a":1}`)
	r, err := http.NewRequest(http.MethodPost, server.URL+"/a%2Fb/c?q=1&r=%20+", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := httpsig.Sign(r, body, key, httpsig.SignOptions{KeyID: "k"}); err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := <-judged; err != nil {
		t.Error(err)
	}
}

func encode(b []byte) string {
	var out bytes.Buffer
	pem.Encode(&out, &pem.Block{Type: "X", Bytes: b})
	lines := strings.Split(out.String(), "\n")
	return strings.Join(lines[1:len(lines)-2], "")
}

// FuzzRead checks that any input is read or refused with a message, and that only signed messages
// verify.
func FuzzRead(f *testing.F) {
	f.Add(`sig1=("@method" "@path");created=1800000000;nonce="12345678"`, "sig1=:"+strings.Repeat("A", 86)+"==:", "a=1")
	f.Add(`a=("x";key="b" "@query-param";name="q");expires=1`, "a=:AA==:", "q=1")
	f.Fuzz(func(t *testing.T, input, value, query string) {
		m := httpsig.Message{Method: "GET", Scheme: "https", Authority: "a", Path: "/", Query: query,
			Header: http.Header{"Signature-Input": {input}, "Signature": {value}, "X": {"b=1"}}}
		all, err := httpsig.Read(m)
		code(t, err)
		for _, s := range all {
			key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
			if code(t, s.Verify(m, key, httpsig.Requirements{Now: s.Created, MaxAge: time.Hour})) == "" {
				t.Error("a signature that nobody made verifies")
			}
		}
	})
}
