package fakenet

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// sizeLimit is the size in bytes over which a reader refuses a document (AI
// Discovery 4.5: 256 kilobytes).
const sizeLimit = 256 << 10

const (
	pathAI      = "/.well-known/ai"
	pathAlias   = "/ai"
	pathSummary = "/.well-known/agis.json"
)

var jsonType = mediaTypes[".json"]

// installOdd adds the hosts that misbehave, one misdeed each, and those that do
// something unusual that is right. All are seeds.
func installOdd(add func(Host, *Site)) error {
	odd := func(name, note string, expect map[string]string, s Site) {
		add(Host{Name: name + ".test", Seed: true, Expect: expect, Note: note}, &s)
	}
	page := func(h http.Handler) Site { return Site{Handler: site{pathAI: h}} }
	only := func(outcome string) map[string]string { return map[string]string{"ai": outcome} }
	withAI := func(outcome string) map[string]string {
		return map[string]string{"ai": outcome, "agis-summary": "absent"}
	}

	// robots.txt
	robots := func(name, text string) Site {
		return Site{Handler: site{pathAI: sampleHandler(name), pathSummary: sampleSummary(name), "/robots.txt": newFile([]byte(text), "text/plain; charset=utf-8")}}
	}
	odd("robots-all", "robots.txt forbids everybody everything", expectAll("refused-by-robots"),
		robots("robots-all", "User-agent: *\nDisallow: /\n"))
	odd("robots-us", "robots.txt forbids Gazetteer everything and others nothing", expectAll("refused-by-robots"),
		robots("robots-us", "User-agent: *\nAllow: /\n\nUser-agent: Gazetteer\nDisallow: /\n"))
	odd("robots-agis", "robots.txt forbids /.well-known/agis.json alone", map[string]string{"ai": "ok", "agis-summary": "refused-by-robots"},
		robots("robots-agis", "User-agent: *\nDisallow: /.well-known/agis.json\n"))
	odd("robots-503", "robots.txt answers 503, which forbids everything", expectAll("refused-by-robots"),
		Site{Handler: site{pathAI: sampleHandler("robots-503"), "/robots.txt": statusHandler(http.StatusServiceUnavailable)}})
	odd("robots-404", "robots.txt answers 404, which allows everything", withAI("ok"), page(sampleHandler("robots-404")))

	// the alias
	odd("alias-only", "only /ai answers, which is not authoritative", map[string]string{"ai": "absent", "ai-alias": "ok", "agis-summary": "absent"},
		Site{Handler: site{pathAlias: sampleHandler("alias-only")}})
	odd("alias-beside", "/ai answers beside the well-known path, and is not asked for", withAI("ok"),
		Site{Handler: site{pathAI: sampleHandler("alias-beside"), pathAlias: sampleHandler("alias-beside")}})

	// redirects
	odd("redirect-same", "a redirect to another path", withAI("ok"),
		Site{Handler: site{pathAI: redirectHandler(http.StatusFound, "/discovery.json"), "/discovery.json": sampleHandler("redirect-same")}})
	odd("redirect-cross", "a redirect to another host; the document stays that of the host asked", withAI("ok"),
		Site{Handler: site{pathAI: redirectHandler(http.StatusMovedPermanently, "https://redirect-target.test/for/redirect-cross.json")}})
	odd("redirect-target", "serves the document of redirect-cross.test and none of its own", maps.Clone(expectations[nothing]),
		Site{Handler: site{"/for/redirect-cross.json": sampleHandler("redirect-cross")}})
	odd("redirect-5", "five redirects, as many as are followed", withAI("ok"), Site{Handler: redirectChain("redirect-5", 5)})
	odd("redirect-6", "six redirects, one too many", withAI("too-many-redirects"), Site{Handler: redirectChain("redirect-6", 6)})
	odd("redirect-loop", "two redirects to each other", withAI("too-many-redirects"),
		Site{Handler: site{pathAI: redirectHandler(http.StatusTemporaryRedirect, "/again"), "/again": redirectHandler(http.StatusTemporaryRedirect, pathAI)}})
	odd("redirect-http", "a redirect to plain http", withAI("insecure-redirect"),
		Site{Handler: site{pathAI: redirectHandler(http.StatusMovedPermanently, "http://redirect-http.test/plain.json"), "/plain.json": sampleHandler("redirect-http")}})
	odd("redirect-loopback", "a redirect to 127.0.0.1", withAI("blocked-address"), page(redirectHandler(http.StatusFound, "https://127.0.0.1/.well-known/ai")))
	odd("redirect-metadata", "a redirect to the address of cloud metadata", withAI("blocked-address"), page(redirectHandler(http.StatusFound, "https://169.254.169.254/latest/meta-data/")))
	odd("redirect-nowhere", "a redirect without a Location", withAI("bad-redirect"), page(statusHandler(http.StatusFound)))

	// status
	odd("absent", "answers 404 to everything", maps.Clone(expectations[nothing]), Site{Handler: site{}})
	odd("unavailable", "answers 503", only("server-error"), page(statusHandler(http.StatusServiceUnavailable)))
	odd("busy", "answers 429 with Retry-After: 120", only("throttled"), page(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "120")
		statusHandler(http.StatusTooManyRequests).ServeHTTP(w, r)
	})))
	odd("forbids", "answers 403", only("forbidden"), page(statusHandler(http.StatusForbidden)))

	// bytes
	odd("just-fits", "a document of exactly 262,144 bytes", withAI("ok"), page(paddedDocument("just-fits", sizeLimit)))
	odd("too-large", "a document of 262,145 bytes", withAI("too-large"), page(paddedDocument("too-large", sizeLimit+1)))
	odd("endless", "a body that never ends", withAI("too-large"), page(http.HandlerFunc(serveEndless)))
	odd("gzip", "a document sent with gzip", withAI("ok"), page(gzippedHandler(func() []byte { return sampleText("gzip") })))
	odd("gzip-bomb", "8 MiB of blanks in 8 KiB of gzip", withAI("too-large"), page(gzippedHandler(func() []byte { return bytes.Repeat([]byte{' '}, 8<<20) })))
	odd("not-json", "a document cut off in the middle", withAI("unreadable"), page(newFile([]byte(`{"aiendpoint": "1.0", "service": {"name": "Cut`), jsonType)))
	odd("twice", "a member that occurs twice", withAI("unreadable"), page(newFile([]byte(strings.Replace(string(sampleText("twice")), `{`, `{"aiendpoint":"1.0",`, 1)), jsonType)))
	odd("not-utf8", "text in Latin-1", withAI("unreadable"), page(newFile(bytes.Replace(sampleText("not-utf8"), []byte("Shows"), []byte("Caf\xe9 shows"), 1), jsonType)))
	odd("html", "a page for people at the well-known path", withAI("bad-media-type"), page(newFile([]byte("<!doctype html><title>Welcome</title>\n"), "text/html; charset=utf-8")))

	// time and trust
	odd("slow", "takes the request and never answers", only("timeout"), page(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})))
	odd("stalls", "begins to answer and stops in the middle", only("timeout"), page(http.HandlerFunc(serveStalled)))
	for name, c := range map[string]struct {
		show Certificate
		note string
	}{
		"expired":     {ExpiredCertificate, "a certificate that ended yesterday"},
		"wrong-name":  {WrongNameCertificate, "a certificate for another host"},
		"self-signed": {SelfSignedCertificate, "a certificate that nobody vouches for"},
	} {
		odd(name, c.note, expectAll("tls"), Site{Handler: site{pathAI: sampleHandler(name)}, Certificate: c.show})
	}

	// documents that are read
	for name, c := range map[string]struct{ note, outcome string }{
		"breaks-rules": {"a document that breaks more than ten rules", "ok"},
		"hostile-text": {"a valid document whose text holds terminal escapes, bidi controls and markup", "ok"},
		"other-format": {"another published format at the same path", "other-format"},
	} {
		text, err := readEmbedded("odd/" + name + ".json")
		if err != nil {
			return err
		}
		odd(name, c.note, withAI(c.outcome), page(newFile(text, jsonType)))
	}
	return nil
}

// sampleText is a small valid document that describes its purpose.
func sampleText(name string) []byte {
	return fmt.Appendf(nil, `{"aiendpoint":"1.0","service":{"name":"Test host %[1]s","description":"Part of the test set of the demo: a small service on a host that behaves in an unusual way.","category":["test"]},`+
		`"capabilities":[{"id":"show_sample","description":"Shows the sample text of %[1]s","endpoint":"/sample","method":"GET","returns":"sample {text}"}],`+
		`"auth":{"type":"none"}}`, name)
}

func sampleHandler(name string) http.Handler { return newFile(sampleText(name), jsonType) }

// sampleSummary is a small valid AGIS summary whose document is not to be had
// over https.
func sampleSummary(name string) http.Handler {
	return newFile(fmt.Appendf(nil, `{"agis":"1.0","service":"Test host %[1]s","agtp":"agtp://%[1]s.test","agis_document":"agtp://%[1]s.test",`+
		`"methods":["SHOW"],"domain":"test","namespace":"%[1]s","negotiable":false,"capability_summary":["retrieval"],"data_classes":[],`+
		`"pre_auth_discovery":true,"version":"1.0.0","interaction_protocols":["request"]}`, name), jsonType)
}

func statusHandler(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintln(w, code, http.StatusText(code))
	})
}

func redirectHandler(code int, to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	})
}

// redirectChain leads to a document by so many redirects, each with another status.
func redirectChain(name string, redirects int) site {
	codes := []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}
	s, from := site{}, pathAI
	for i := range redirects {
		to := "/hop/" + strconv.Itoa(i+1)
		s[from] = redirectHandler(codes[i%len(codes)], to)
		from = to
	}
	s[from] = sampleHandler(name)
	return s
}

// paddedDocument is a valid document of exactly so many bytes.
func paddedDocument(name string, size int) http.Handler {
	text := sampleText(name)
	return newFile(append(text, bytes.Repeat([]byte{'\n'}, size-len(text))...), jsonType)
}

// gzippedHandler sends the text compressed, whatever the client accepts. It makes and compresses the
// text at the first request.
func gzippedHandler(text func() []byte) http.Handler {
	packed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(text()) // into memory: cannot fail
		_ = z.Close()
		return b.Bytes()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		newFile(packed(), jsonType).ServeHTTP(w, r)
	})
}

// serveEndless sends JSON white space until the client has had enough.
func serveEndless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", jsonType)
	blanks := bytes.Repeat([]byte{' '}, 16<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(blanks); err != nil {
			return
		}
	}
}

// serveStalled sends half of a document and then nothing.
func serveStalled(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", jsonType)
	half := sampleText("stalls")
	_, _ = w.Write(half[:len(half)/2])
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
