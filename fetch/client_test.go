package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
)

// A page is one answer of a site.
type page struct {
	status int
	header map[string]string
	body   string
}

func (p page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=60")
	for k, v := range p.header {
		w.Header().Set(k, v)
		if v == "" {
			w.Header()[k] = nil
		}
	}
	w.WriteHeader(max(p.status, 200))
	io.WriteString(w, p.body)
}

// A site answers the given paths, and all others with 404.
type site map[string]http.Handler

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s[r.URL.Path]; h != nil {
		h.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

const (
	aiPath      = "/.well-known/ai"
	summaryPath = "/.well-known/agis.json"
)

func ai(name string) page {
	return page{body: fmt.Sprintf(`{"aiendpoint":"1.0","service":{"name":%q,"description":"Books tables."},
"capabilities":[{"id":"book_table","description":"Book a table","endpoint":"/api/book","method":"POST"}]}`, name)}
}

func summary(address string) page {
	return page{body: fmt.Sprintf(`{"agis":"1.0","service":"Acme","agtp":"agtp://acme.test","agis_document":%q,"methods":["BOOK"]}`, address)}
}

var agis = page{header: map[string]string{"Content-Type": "application/agis+yaml"}, body: `agis: "1.0"
service: Acme
endpoints:
  - method: BOOK
    path: /table
`}

func redirect(to string) page { return page{status: 302, header: map[string]string{"Location": to}} }

func text(body string) page {
	return page{body: body, header: map[string]string{"Content-Type": "text/plain"}}
}

// asked lists what the servers were asked, in order.
func asked(n *fakenet.Net) []string {
	var out []string
	for _, q := range n.Requests() {
		out = append(out, q.Host+q.Path)
	}
	return out
}

var (
	empty  = fakenet.Options{Empty: true}
	memory = fakenet.Options{Empty: true, Memory: true}
)

func TestHost(t *testing.T) {
	for _, c := range []struct {
		name  string
		sites map[string]site
		asked []string // besides robots.txt
		want  []string // kind, outcome and codes of errors and warnings of each answer
	}{
		{
			"everything there is", map[string]site{"acme.test": {aiPath: ai("A"), summaryPath: summary("https://acme.test/acme.agis"), "/acme.agis": agis}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath, "acme.test/acme.agis"},
			[]string{"ai ok []", "agis-summary ok []", "agis ok []"},
		},
		{
			"the same document at both paths", map[string]site{"acme.test": {aiPath: ai("A"), "/ai": ai("A")}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai ok []", "agis-summary absent []"},
		},
		{
			"another document at the alias", map[string]site{"acme.test": {aiPath: ai("A"), "/ai": ai("B")}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai ok [AI112]", "agis-summary absent []"},
		},
		{
			"the alias alone", map[string]site{"acme.test": {"/ai": ai("A")}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai-alias ok [AI113]", "agis-summary absent []"},
		},
		{
			"a broken alias is passed over beside a good document", map[string]site{"acme.test": {aiPath: ai("A"), "/ai": page{status: 500}}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai ok []", "agis-summary absent []"},
		},
		{
			"gone for good, so the alias does not count", map[string]site{"acme.test": {aiPath: page{status: 410}, "/ai": ai("A")}},
			[]string{"acme.test" + aiPath, "acme.test" + summaryPath},
			[]string{"ai absent [AI106]", "agis-summary absent [FETCH105]"},
		},
		{
			"forbidden, so the alias does not count", map[string]site{"acme.test": {aiPath: page{status: 403}, "/ai": ai("A")}},
			[]string{"acme.test" + aiPath, "acme.test" + summaryPath},
			[]string{"ai forbidden [AI107]", "agis-summary absent [FETCH105]"},
		},
		{
			"broken, so the alias does not count", map[string]site{"acme.test": {aiPath: page{status: 500}, "/ai": ai("A")}},
			[]string{"acme.test" + aiPath, "acme.test" + summaryPath},
			[]string{"ai server-error [AI106]", "agis-summary absent [FETCH105]"},
		},
		{
			"nothing", map[string]site{"acme.test": {}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai absent [AI106]", "agis-summary absent [FETCH105]"},
		},
		{
			"a summary alone, its document elsewhere", map[string]site{
				"acme.test": {summaryPath: summary("https://docs.test/acme.agis")},
				"docs.test": {"/acme.agis": agis},
			},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath, "docs.test/acme.agis"},
			[]string{"ai absent []", "agis-summary ok []", "agis ok []"},
		},
		{
			"a document on a host that forbids it", map[string]site{
				"acme.test": {summaryPath: summary("https://docs.test/acme.agis")},
				"docs.test": {"/robots.txt": text("User-agent: *\nDisallow: /\n"), "/acme.agis": agis},
			},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai absent []", "agis-summary ok []", "agis refused-by-robots [FETCH107]"},
		},
		{
			"a document at an address that is not asked", map[string]site{"acme.test": {summaryPath: summary("https://127.0.0.1/acme.agis")}},
			[]string{"acme.test" + aiPath, "acme.test/ai", "acme.test" + summaryPath},
			[]string{"ai absent []", "agis-summary ok []", "agis blocked-address [FETCH101]"},
		},
		{
			"robots.txt closes all", map[string]site{"acme.test": {"/robots.txt": text("User-agent: Gazetteer\nDisallow: /\n"), aiPath: ai("A")}}, nil,
			[]string{"ai refused-by-robots [FETCH107]", "agis-summary refused-by-robots [FETCH107]"},
		},
		{
			"robots.txt closes one", map[string]site{"acme.test": {"/robots.txt": text("User-agent: *\nDisallow: /.well-known/ai\n"), aiPath: ai("A"), summaryPath: summary("agtp://acme.test")}},
			[]string{"acme.test" + summaryPath},
			[]string{"ai refused-by-robots [FETCH107]", "agis-summary ok []"},
		},
		{
			"robots.txt fails", map[string]site{"acme.test": {"/robots.txt": page{status: 503}, aiPath: ai("A")}}, nil,
			[]string{"ai refused-by-robots [FETCH107]", "agis-summary refused-by-robots [FETCH107]"},
		},
		{"an unknown name", nil, nil, []string{"ai dns [FETCH102]", "agis-summary dns [FETCH102]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			internet, client := open(t, empty, fetch.Options{})
			for host, s := range c.sites {
				internet.Handle(host, s)
			}
			answers, err := client.Host(t.Context(), "https://ACME.test/anything")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range answers {
				got = append(got, fmt.Sprint(a.Kind, " ", a.Outcome, " ", append(codes(a.Findings, protocol.Error), codes(a.Findings, protocol.Warning)...)))
				if (a.Body != nil) != (a.Outcome == fetch.OK) {
					t.Errorf("%s: a body with outcome %s", a.Kind, a.Outcome)
				}
				if a.Outcome == fetch.OK && (a.Digest != document.Digest(a.Body) || a.TLS == nil || a.TLS.Version != "TLS 1.3" || a.Robots == nil || !a.Robots.Open && a.Robots.Disallowed == 0) {
					t.Errorf("%s: digest %s, TLS %+v, robots %+v", a.Kind, a.Digest, a.TLS, a.Robots)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("answers %q, want %q", got, c.want)
			}
			robots := map[string]bool{}
			var documents []string
			for _, q := range internet.Requests() {
				if q.Path == "/robots.txt" {
					if robots[q.Host] {
						t.Errorf("robots.txt of %s was asked for twice", q.Host)
					}
					robots[q.Host] = true
					continue
				}
				if !robots[q.Host] {
					t.Errorf("%s%s was requested before robots.txt", q.Host, q.Path)
				}
				if q.Host == "acme.test" && q.Conn != 1 {
					t.Errorf("%s was asked on connection %d", q.Path, q.Conn)
				}
				documents = append(documents, q.Host+q.Path)
			}
			if !slices.Equal(documents, c.asked) {
				t.Errorf("asked %q, want %q", documents, c.asked)
			}
		})
	}
}

func TestHostNames(t *testing.T) {
	_, client := open(t, empty, fetch.Options{})
	for _, name := range []string{"", "localhost", "127.0.0.1", "a.test:8443", "intranet"} {
		_, err := client.Host(t.Context(), name)
		if _, ok := errors.AsType[*fetch.HostError](err); !ok {
			t.Errorf("Host(%q): %v, want a HostError", name, err)
		}
	}
}

func zip(body string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

// TestFailures checks the message for each kind of failure, in the rules of either draft.
func TestFailures(t *testing.T) {
	ca := func(c fakenet.Certificate) fakenet.Site {
		return fakenet.Site{Handler: site{"/doc": ai("A")}, Certificate: c}
	}
	of := func(p http.Handler) fakenet.Site { return fakenet.Site{Handler: site{"/doc": p}} }
	const doc = "https://a.test/doc"
	media := func(m string) map[string]string { return map[string]string{"Content-Type": m} }
	for _, c := range []struct {
		name, address string
		site          fakenet.Site
		outcome       fetch.Outcome
		ai, agis      string // codes of errors and warnings
		says          string // in some message
	}{
		{"a good document", doc, of(ai("A")), fetch.OK, "", "", ""},
		{"plain http", "http://a.test/doc", of(ai("A")), fetch.BadAddress, "AI101", "FETCH101", "plain http"},
		{"another port", "https://a.test:8443/doc", of(ai("A")), fetch.BadAddress, "FETCH101", "FETCH101", "port 8443"},
		{"an address in numbers", "https://192.0.2.1/doc", of(ai("A")), fetch.BlockedAddress, "FETCH101", "FETCH101", "no public host"},
		{"user information", "https://me:pw@a.test/doc", of(ai("A")), fetch.BadAddress, "FETCH101", "FETCH101", "user information"},
		{"no address", "doc.json", of(ai("A")), fetch.BadAddress, "FETCH101", "FETCH101", ""},
		{"a file", "file:///etc/passwd", of(ai("A")), fetch.BadAddress, "FETCH101", "FETCH101", "not https"},
		{"an address too long", doc + "?" + strings.Repeat("x", 3000), of(ai("A")), fetch.BadAddress, "AI114 FETCH101", "FETCH101", "bytes long"},
		{"a fragment", doc + "#top", of(ai("A")), fetch.OK, "AI114", "", "fragment"},
		{"a name in its own letters", "https://BÜCHER.test/old", fakenet.Site{Down: true}, fetch.OK, "", "", ""},
		{"a query", doc + "?v=1", of(ai("A")), fetch.OK, "AI114", "", "query"},
		{"an unknown name", "https://b.test/doc", of(ai("A")), fetch.DNSFailed, "FETCH102", "FETCH102", "does not resolve"},
		{"nobody listens", doc, fakenet.Site{Down: true}, fetch.Unreachable, "FETCH102", "FETCH102", "refuses"},
		{"an expired certificate", doc, ca(fakenet.ExpiredCertificate), fetch.TLSFailed, "AI102", "FETCH103", "the certificate expired on "},
		{"a certificate of another name", doc, ca(fakenet.WrongNameCertificate), fetch.TLSFailed, "AI102", "FETCH103", `not for "a.test"`},
		{"a certificate signed by itself", doc, ca(fakenet.SelfSignedCertificate), fetch.TLSFailed, "AI102", "FETCH103", "signed by"},
		{"too many redirects", doc, of(redirect("/doc")), fetch.TooManyRedirects, "AI104", "FETCH104", "more than 5 redirects"},
		{"a redirect to http", doc, of(redirect("http://a.test/doc")), fetch.InsecureRedirect, "AI103", "FETCH104", "http://a.test/doc"},
		{"a redirect to nowhere", doc, of(page{status: 301}), fetch.BadRedirect, "AI106", "FETCH104", "no Location"},
		{"a redirect to another port", doc, of(redirect("https://a.test:8443/doc")), fetch.BadRedirect, "AI106", "FETCH104", "port 8443"},
		{"a redirect to a private address", doc, of(redirect("https://10.0.0.1/")), fetch.BlockedAddress, "FETCH101", "FETCH101", "10.0.0.1"},
		{"a redirect to another host", doc, of(redirect("https://other.test/doc")), fetch.OK, "AI105", "FETCH112", `"other.test"`},
		{"a redirect to a host that forbids it", doc, of(redirect("https://shut.test/doc")), fetch.RefusedByRobots, "FETCH107", "FETCH107", "Disallow: /"},
		{"201", doc, of(page{status: 201, body: ai("A").body}), fetch.BadStatus, "AI106", "FETCH105", "201"},
		{"203", doc, of(page{status: 203, body: ai("A").body}), fetch.OK, "AI106", "", "203"},
		{"204", doc, of(page{status: 204}), fetch.BadStatus, "AI106", "FETCH105", "204"},
		{"206", doc, of(page{status: 206, body: ai("A").body}), fetch.BadStatus, "AI106", "FETCH105", "206"},
		{"304 without a condition", doc, of(page{status: 304}), fetch.BadStatus, "AI106", "FETCH105", "304"},
		{"401", doc, of(page{status: 401}), fetch.Forbidden, "AI107", "FETCH106", "401"},
		{"403", doc, of(page{status: 403}), fetch.Forbidden, "AI107", "FETCH106", "403"},
		{"404", doc, of(page{status: 404}), fetch.Absent, "AI106", "FETCH105", "404"},
		{"418", doc, of(page{status: 418}), fetch.BadStatus, "AI106", "FETCH105", "418"},
		{"429", doc, of(page{status: 429}), fetch.Throttled, "AI106", "FETCH105", "429"},
		{"500", doc, of(page{status: 500}), fetch.ServerError, "AI106", "FETCH105", "500"},
		{"HTML", doc, of(page{header: media("text/html"), body: "<html>"}), fetch.BadMediaType, "AI108", "FETCH108", "text/html"},
		{"no media type", doc, of(page{header: media(""), body: "{}"}), fetch.BadMediaType, "AI108", "FETCH108", "no Content-Type"},
		{"another charset", doc, of(page{header: media("application/json; charset=latin1"), body: "{}"}), fetch.OK, "AI109", "FETCH115", "latin1"},
		{"brotli", doc, of(page{header: map[string]string{"Content-Encoding": "br"}, body: "x"}), fetch.Unreadable, "FETCH109", "FETCH109", `"br"`},
		{"damaged gzip", doc, of(page{header: map[string]string{"Content-Encoding": "gzip"}, body: zip("{}")[:12]}), fetch.Unreadable, "FETCH109", "FETCH109", "cut short"},
		{"gzip", doc, of(page{header: map[string]string{"Content-Encoding": "gzip"}, body: zip("{}")}), fetch.OK, "", "", ""},
		{"too large", doc, of(page{body: strings.Repeat(" ", 262145)}), fetch.TooLarge, "AI116", "FETCH111", "262144"},
		{"a header too large", doc, of(page{header: map[string]string{"X-Long": strings.Repeat("x", 70<<10)}}), fetch.TooLarge, "FETCH111", "FETCH111", "response header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			internet, client := open(t, empty, fetch.Options{})
			internet.Serve("a.test", c.site)
			internet.Handle("other.test", site{"/doc": ai("A")})
			internet.Handle("xn--bcher-kva.test", site{"/old": redirect("/doc"), "/doc": ai("A")})
			internet.Handle("shut.test", site{"/robots.txt": text("User-agent: *\nDisallow: /\n")})
			for kind, want := range map[document.Kind]string{document.AI: c.ai, document.AGISSummary: c.agis} {
				a, err := client.Document(t.Context(), kind, c.address)
				if err != nil {
					t.Fatal(err)
				}
				if a.Outcome != c.outcome {
					t.Errorf("%s: outcome %q (%s), want %q", kind, a.Outcome, a.Detail, c.outcome)
				}
				got := strings.Join(append(codes(a.Findings, protocol.Error), codes(a.Findings, protocol.Warning)...), " ")
				if got != want {
					t.Errorf("%s: codes %q, want %q", kind, got, want)
				}
				said := ""
				for _, f := range a.Findings {
					said += f.Message + "\n"
					if f.Message == "" || f.Help == "" || f.Section == "" || f.Line != 0 {
						t.Errorf("%s: finding %+v is not whole", kind, f)
					}
				}
				if want != "" && !strings.Contains(said, c.says) {
					t.Errorf("%s: the messages are %q, want %q among them", kind, said, c.says)
				}
				if readable := c.outcome == fetch.OK || c.outcome == fetch.BadMediaType; (a.Body != nil) != readable {
					t.Errorf("%s: body %q with outcome %s", kind, a.Body, a.Outcome)
				}
			}
			for _, q := range internet.Requests() {
				if !q.TLS {
					t.Errorf("%s was asked over plain http", q.Path)
				}
			}
		})
	}
}

func TestKindIsSetLater(t *testing.T) {
	internet, client := open(t, empty, fetch.Options{})
	internet.Handle("a.test", site{"/some": text("agis: 1.0"), "/some.yaml": text("agis: 1.0"), aiPath: text("{}")})
	some, err := client.Document(t.Context(), "", "https://a.test/some")
	if err != nil || some.Outcome != fetch.OK || string(some.Body) != "agis: 1.0" || len(codes(some.Findings, protocol.Error)) > 0 {
		t.Fatalf("without a kind: %s, %v, %v", some.Outcome, some.Findings, err)
	}
	if a := some.As(document.AGIS); a.Outcome != fetch.BadMediaType || a.Kind != "agis" || a.Body == nil || codes(a.Findings, protocol.Error)[0] != "FETCH108" {
		t.Errorf("as AGIS: %s, %v", a.Outcome, a.Findings)
	}
	if a := some.As(document.AI); codes(a.Findings, protocol.Error)[0] != "AI108" {
		t.Errorf("as AI Discovery: %v", a.Findings)
	}
	if some.Kind != "" || some.Outcome != fetch.OK {
		t.Error("As changed the answer it was asked of")
	}
	named, err := client.Document(t.Context(), "", "https://a.test/some.yaml")
	if a := named.As(document.AGIS); err != nil || a.Outcome != fetch.OK {
		t.Errorf("AGIS as plain text under a telling name: %s, %v", a.Outcome, err)
	}
	known, err := client.Document(t.Context(), "", "https://a.test"+aiPath)
	if err != nil || known.Kind != "ai" || known.Outcome != fetch.BadMediaType {
		t.Errorf("at the well-known path: %s %s, %v", known.Kind, known.Outcome, err)
	}
}

func TestCrawlDelayIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		internet, client := open(t, memory, fetch.Options{MaxCrawlDelay: 5 * time.Second})
		internet.Handle("a.test", site{"/robots.txt": text("User-agent: *\nCrawl-delay: 60\n"), aiPath: ai("A")})
		if _, err := client.Host(t.Context(), "a.test"); err != nil {
			t.Fatal(err)
		}
		requests := internet.Requests()
		if len(requests) != 4 {
			t.Fatalf("asked %q", asked(internet))
		}
		for i, q := range requests[1:] {
			if gap := q.Begun.Sub(requests[i].Begun); gap < 5*time.Second || gap > 6*time.Second {
				t.Errorf("%s came %v after the request before it, want 5 s", q.Path, gap)
			}
		}
	})
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name       string
		retries    int
		retryAfter string
		times      int
		took       time.Duration
	}{
		{"none unless wanted", 0, "", 1, 0},
		{"with growing gaps", 3, "", 4, 13 * time.Second},
		{"never more than three", 9, "", 4, 13 * time.Second},
		{"as late as the host says", 1, "7", 2, 7 * time.Second},
		{"not when that is too late", 3, "3600", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				internet, client := open(t, memory, fetch.Options{Retries: c.retries})
				internet.Handle("a.test", site{aiPath: page{status: 503, header: map[string]string{"Retry-After": c.retryAfter}}})
				begun := time.Now()
				a, err := client.Document(t.Context(), document.AI, "https://a.test"+aiPath)
				took := time.Since(begun)
				if err != nil || a.Outcome != fetch.ServerError || len(asked(internet)) != 1+c.times || took.Round(time.Second) != c.took {
					t.Errorf("%s after %v, %q, %v", a.Outcome, took, asked(internet), err)
				}
			})
		})
	}
}

func TestSlowResponsesAreReported(t *testing.T) {
	for _, c := range []struct {
		delay, timeout time.Duration
		outcome        fetch.Outcome
		severity       protocol.Severity
	}{
		{4 * time.Second, 0, fetch.OK, protocol.Warning},
		{11 * time.Second, 20 * time.Second, fetch.OK, protocol.Error},
		{11 * time.Second, 0, fetch.Timeout, protocol.Error},
	} {
		for kind, code := range map[document.Kind]string{document.AI: "AI110", document.AGIS: "FETCH110"} {
			synctest.Test(t, func(t *testing.T) {
				internet, client := open(t, memory, fetch.Options{Timeout: c.timeout})
				internet.Handle("a.test", site{"/doc": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(c.delay):
						ai("A").ServeHTTP(w, r)
					case <-r.Context().Done():
					}
				})})
				a, err := client.Document(t.Context(), kind, "https://a.test/doc")
				if err != nil || a.Outcome != c.outcome || !slices.Equal(codes(a.Findings, c.severity), []string{code}) {
					t.Errorf("after %v: %s, %v, %v; want %s as %s", c.delay, a.Outcome, a.Findings, err, code, c.severity)
				}
			})
		}
	}
}

// A call ends with its context, with the error of the caller; when its own time limit ends it, the
// result says so of the host.
func TestTime(t *testing.T) {
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	synctest.Test(t, func(t *testing.T) {
		internet, client := open(t, memory, fetch.Options{SessionTimeout: 15 * time.Second})
		internet.Handle("a.test", site{aiPath: silent, summaryPath: silent})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := client.Host(ctx, "a.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's context ended, and Host says %v", err)
		}
		if _, err := client.Document(ctx, document.AI, "https://a.test"+aiPath); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's context had ended, and Document says %v", err)
		}
		begun := time.Now()
		answers, err := client.Host(t.Context(), "a.test")
		if err != nil || time.Since(begun) > 16*time.Second {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
		for _, a := range answers {
			if a.Outcome != fetch.Timeout || a.Detail == "" {
				t.Errorf("%s: %s %s", a.Kind, a.Outcome, a.Detail)
			}
		}
	})
}

// TestOneConnectionToAHost checks that concurrent calls for one host run one after another.
func TestOneConnectionToAHost(t *testing.T) {
	internet, client := open(t, empty, fetch.Options{})
	internet.Handle("a.test", site{aiPath: redirect("https://b.test/doc"), "/doc": ai("A")})
	internet.Handle("b.test", site{aiPath: redirect("https://a.test/doc"), "/doc": ai("B")})
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			host := []string{"a.test", "b.test"}[i%2]
			a, err := client.Document(t.Context(), document.AI, "https://"+host+aiPath)
			if err != nil || a.Outcome != fetch.OK {
				t.Errorf("%s: %s, %v", host, a.Outcome, err)
			}
		})
	}
	calls.Wait()
	ended := map[string]time.Time{}
	for _, q := range internet.Requests() {
		if q.Begun.Before(ended[q.Host]) {
			t.Errorf("%s%s was asked while another request ran", q.Host, q.Path)
		}
		ended[q.Host] = q.Ended
	}
	if len(ended) != 2 {
		t.Errorf("asked %v", ended)
	}
}

// TestClientRefusesPrivateAddresses checks that a client without a Dial function uses the guard.
func TestClientRefusesPrivateAddresses(t *testing.T) {
	guard, err := fetch.NewGuard(fetch.GuardOptions{Resolver: &answers{addrs: map[string][]netip.Addr{
		"rebound.test.": addrs("127.0.0.1"), "mixed.test.": addrs("8.8.8.8", "169.254.169.254"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(fetch.Options{Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"rebound.test", "mixed.test"} {
		got, err := client.Host(t.Context(), host)
		if err != nil || got[0].Outcome != fetch.BlockedAddress || codes(got[0].Findings, protocol.Error)[0] != "FETCH101" {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
}

func TestExpiringCertificate(t *testing.T) {
	var ahead time.Duration // of the clock that the client goes by
	internet, client := open(t, empty, fetch.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	internet.Handle("a.test", site{aiPath: ai("A"), summaryPath: summary("agtp://a.test")})
	warned := func() (warned []bool, expires time.Time) {
		answers, err := client.Host(t.Context(), "a.test")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			warned = append(warned, slices.Contains(codes(a.Findings, protocol.Warning), "FETCH114"))
		}
		return warned, answers[0].TLS.Expires
	}
	now, expires := warned()
	ahead = time.Until(expires) - 8*24*time.Hour
	early, _ := warned()
	ahead = time.Until(expires) - 6*24*time.Hour
	late, _ := warned()
	if slices.Contains(now, true) || slices.Contains(early, true) || slices.Contains(late, false) {
		t.Errorf("warned %v now, %v eight days before the end, %v six days before", now, early, late)
	}
}

func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range fetch.Rules() {
		if seen[r.Code] || !strings.HasPrefix(r.Code, "FETCH") || r.Slug == "" || r.Basis != "own" || !strings.HasPrefix(r.Section, "RFC ") {
			t.Errorf("rule %+v", r)
		}
		if r.Text == "" || r.Bad == "" || r.Good == "" || r.Bad == r.Good || !strings.HasSuffix(r.Text, ".") {
			t.Errorf("%s does not explain itself", r.Code)
		}
		seen[r.Code] = true
	}
}
