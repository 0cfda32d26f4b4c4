package crawler

import (
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"gazetteer/crawler/frontier"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/teststore"
)

// benchPaths are the three requests of a session with a host that has both
// well-known documents.
var benchPaths = []string{"/robots.txt", "/.well-known/ai", "/.well-known/agis.json"}

func benchHost(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/robots.txt":
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
	case benchPaths[1]:
		io.WriteString(w, `{"aiendpoint":"1.0","service":{"name":"Bench","description":"Books tables."},"capabilities":[{"id":"book_table","description":"Book a table","endpoint":"/api/book","method":"POST"}]}`)
	case benchPaths[2]:
		io.WriteString(w, `{"agis":"1.0","service":"Bench","agis_document":"agtp://bench.test","methods":["BOOK"],"domain":"hospitality","namespace":"bench","version":"1.0.0"}`)
	}
}

// BenchmarkSession compares one host session with a plain net/http client that makes the same three
// requests with the same transport settings over one connection, and reads the bodies. The session
// also judges robots.txt, reads and checks the documents, and uses colly. One run measures both in
// turn; the cost of the servers is equal and included in both.
func BenchmarkSession(b *testing.B) {
	internet, err := fakenet.Open(fakenet.Options{Empty: true})
	if err != nil {
		b.Fatal(err)
	}
	defer internet.Close()
	const host = "bench.test"
	internet.Handle(host, http.HandlerFunc(benchHost))
	s := teststore.New(b)
	c, err := New(Options{Store: s, Dial: internet.Dial(nil), Roots: internet.Roots(), HostInterval: -1, DomainInterval: -1, Rate: -1})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Add(b.Context(), host); err != nil {
		b.Fatal(err)
	}
	var session, plain time.Duration
	b.ReportAllocs()
	for b.Loop() {
		c.robots.forgetAll() // each session is the first with its host
		begun := time.Now()
		v, err := c.runSession(b.Context(), b.Context(), &frontier.DueHost{Name: host})
		session += time.Since(begun)
		if err != nil || v.result.Documents != 2 {
			b.Fatalf("session: %+v, %v", v, err)
		}
		begun = time.Now()
		if err := plainSession(internet, host); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(begun)
	}
	b.ReportMetric(float64(session.Microseconds())/float64(b.N), "session-µs")
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N), "plain-µs")
	b.ReportMetric(float64(session)/float64(plain), "session/plain")
}

// plainSession is what a plain client would do.
func plainSession(internet *fakenet.Net, host string) error {
	transport := &http.Transport{
		DialContext: internet.Dial(nil),
		TLSClientConfig: &tls.Config{
			RootCAs: internet.Roots(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
		},
		DisableCompression: true, MaxConnsPerHost: 1, MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for _, path := range benchPaths {
		req, err := http.NewRequest(http.MethodGet, "https://"+host+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		body := io.Reader(resp.Body)
		if resp.Header.Get("Content-Encoding") == "gzip" {
			if body, err = gzip.NewReader(body); err != nil {
				resp.Body.Close()
				return err
			}
		}
		_, err = io.Copy(io.Discard, io.LimitReader(body, 262145))
		resp.Body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func hostNumber(i int) string { return fmt.Sprintf("www.service-%07d.test", i) }
