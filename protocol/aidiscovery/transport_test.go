package aidiscovery_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// A script is one scripted server of testdata/transport.json.
type script struct {
	ID, Start string
	Exchanges []scriptAnswer
	Expect    struct {
		Codes, Warnings []string
		NeverRequested  []string `json:"never_requested"`
		MaxRequests     int      `json:"max_requests"`
	}
}

type scriptAnswer struct {
	URL     string
	Status  int
	Headers map[string]string
	Body    string
	DelayMS int `json:"delay_ms"`
}

// A walker plays a reader that keeps the draft's rules on a script, without
// sockets, and writes down the exchange.
type walker struct {
	script    script
	asked     map[string]int
	requested []string
}

// ask returns the answer to the next request of an address. Server errors are
// asked again three times.
func (w *walker) ask(address string) scriptAnswer {
	const retries = 3
	for try := 0; ; try++ {
		a := w.once(address)
		if a.Status < 500 || try == retries {
			return a
		}
	}
}

func (w *walker) once(address string) scriptAnswer {
	w.requested = append(w.requested, address)
	var answers []scriptAnswer
	for _, a := range w.script.Exchanges {
		if a.URL == address {
			answers = append(answers, a)
		}
	}
	if len(answers) == 0 {
		return scriptAnswer{URL: address, Status: http.StatusNotFound}
	}
	n := w.asked[address]
	w.asked[address]++
	return answers[min(n, len(answers)-1)]
}

func (w *walker) fetch(t *testing.T, address string) aidiscovery.Exchange {
	x := aidiscovery.Exchange{Asked: address}
	if strings.HasPrefix(address, "http:") {
		x.Failure = aidiscovery.Cleartext
		return x
	}
	for {
		a := w.ask(address)
		x.Status, x.Header = a.Status, http.Header{}
		for name, value := range a.Headers {
			x.Header.Set(name, value)
		}
		x.Took = max(x.Took, time.Duration(a.DelayMS)*time.Millisecond)
		if x.Took > aidiscovery.LateAnswer {
			x.Failure = aidiscovery.TimedOut
			return x
		}
		location := x.Header.Get("Location")
		if location == "" {
			x.Body = body(t, a.Body)
			x.Size = len(x.Body)
			return x
		}
		base, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		next, err := base.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		x.Hops = append(x.Hops, next.String())
		if len(x.Hops) > aidiscovery.MaxRedirects {
			x.Failure = aidiscovery.TooManyRedirects
			return x
		}
		if next.Scheme == "http" {
			x.Failure = aidiscovery.Downgrade
			return x
		}
		address = next.String()
	}
}

// body returns the bytes of a placeholder, after decompression.
func body(t *testing.T, s string) []byte {
	switch {
	case s == "$MIN":
		return read(t, "valid/seed-8.1-minimal.json")
	case s == "$OTHER":
		return read(t, "valid/seed-8.2-full.json")
	case s == "$PAD300K":
		return bytes.Repeat([]byte(" "), 300<<10)
	case s == "$GZIP_50M_OF_SPACES":
		return bytes.Repeat([]byte(" "), 50<<20)
	case strings.HasPrefix(s, "$PAD_TO_"):
		size, err := strconv.Atoi(strings.TrimPrefix(s, "$PAD_TO_"))
		if err != nil {
			t.Fatal(err)
		}
		return append(read(t, "valid/seed-8.1-minimal.json"), make([]byte, size)...)[:size]
	case strings.HasPrefix(s, "$"):
		t.Fatalf("placeholder %s", s)
	}
	return []byte(s)
}

func TestTransportScripts(t *testing.T) {
	var file struct{ Cases []script }
	if err := json.Unmarshal(read(t, "transport.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 25 {
		t.Fatalf("%d scripts, want 25", len(file.Cases))
	}
	for _, s := range file.Cases {
		t.Run(s.ID, func(t *testing.T) {
			w := walker{script: s, asked: map[string]int{}}
			x := w.fetch(t, s.Start)
			alias, err := url.Parse(s.Start)
			if err != nil {
				t.Fatal(err)
			}
			alias.Path = "/ai"
			switch {
			case x.Status == http.StatusNotFound:
				if y := w.fetch(t, alias.String()); y.Status == http.StatusOK {
					x = y
					x.Alias = true
				}
			case slices.ContainsFunc(s.Exchanges, func(a scriptAnswer) bool { return a.URL == alias.String() }):
				x.AliasBody = w.fetch(t, alias.String()).Body
			}
			findings := aidiscovery.Transport(x)
			if got := codes(findings, protocol.Error); !slices.Equal(got, sorted(s.Expect.Codes)) {
				t.Errorf("errors %v, want %v", got, s.Expect.Codes)
			}
			if got := codes(findings, protocol.Warning); !slices.Equal(got, sorted(s.Expect.Warnings)) {
				t.Errorf("warnings %v, want %v", got, s.Expect.Warnings)
			}
			for _, f := range findings {
				if f.Message == "" || f.Help == "" || f.Section == "" || f.Line != 0 {
					t.Errorf("finding %+v", f)
				}
			}
			for _, never := range s.Expect.NeverRequested {
				if slices.Contains(w.requested, never) {
					t.Errorf("%s was asked", never)
				}
			}
			if most := s.Expect.MaxRequests; most > 0 && len(w.requested) > most {
				t.Errorf("%d requests, want at most %d", len(w.requested), most)
			}
		})
	}
}

func sorted(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}

func TestTransport(t *testing.T) {
	const asked = "https://example.com/.well-known/ai"
	good := http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Etag": {`"1"`}}
	typed := func(value string) http.Header {
		return http.Header{"Content-Type": {value}, "Last-Modified": {"Sat, 01 Mar 2026 00:00:00 GMT"}}
	}
	for _, c := range []struct {
		name string
		x    aidiscovery.Exchange
		want string // severity and code
	}{
		{"fine", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good}, ""},
		{"unchanged", aidiscovery.Exchange{Asked: asked, Status: 304}, ""},
		{"three seconds are fine", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Took: 3 * time.Second}, ""},
		{"over three seconds", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Took: 3100 * time.Millisecond}, "warning AI110"},
		{"ten seconds", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Took: 10 * time.Second}, "warning AI110"},
		{"over ten seconds", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Took: 10001 * time.Millisecond}, "error AI110"},
		{"slow and not there", aidiscovery.Exchange{Asked: asked, Status: 404, Took: 4 * time.Second}, "warning AI110, error AI106"},
		{"non-authoritative information", aidiscovery.Exchange{Asked: asked, Status: 203, Header: good}, "error AI106"},
		{"gone", aidiscovery.Exchange{Asked: asked, Status: 410}, "error AI106"},
		{"forbidden", aidiscovery.Exchange{Asked: asked, Status: 403}, "error AI107"},
		{"a redirect that leads nowhere", aidiscovery.Exchange{Asked: asked, Status: 302, Failure: aidiscovery.BadRedirect, Detail: "no Location"}, "error AI106"},
		{"a redirect to a port that is not asked", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://example.com:8443/x"}, Status: 302, Failure: aidiscovery.BadRedirect, Detail: "port 8443"}, "error AI106"},
		{"another host, and then nowhere", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://b.example/x", "https://b.example:8443/x"}, Status: 302, Failure: aidiscovery.BadRedirect}, "warning AI105, error AI106"},
		{"unchanged, although nothing was asked to be", aidiscovery.Exchange{Asked: asked, Status: 304, Failure: aidiscovery.NothingToKeep}, "error AI106"},
		{"unreachable breaks no rule", aidiscovery.Exchange{Asked: asked, Failure: aidiscovery.Unreachable}, ""},
		{"unreachable with a query", aidiscovery.Exchange{Asked: asked + "?x", Failure: aidiscovery.Unreachable}, "error AI114"},
		{"query", aidiscovery.Exchange{Asked: asked + "?x", Status: 200, Header: good}, "error AI114"},
		{"fragment", aidiscovery.Exchange{Asked: asked + "#x", Status: 200, Header: good}, "error AI114"},
		{"redirect to a query", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://example.com/ai.json?v=2"}, Status: 200, Header: good}, "error AI114"},
		{"letter case and default port of a host", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://EXAMPLE.com:443/x"}, Status: 200, Header: good}, ""},
		{"another port", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://example.com:8443/x"}, Status: 200, Header: good}, "warning AI105"},
		{"there and back", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://b.example/x", "https://example.com/x"}, Status: 200, Header: good}, ""},
		{"six hops", aidiscovery.Exchange{Asked: asked, Hops: []string{"https://example.com/1", "https://example.com/2", "https://example.com/3", "https://example.com/4", "https://example.com/5", "https://example.com/6"}}, "error AI104"},
		{"plain http in capitals", aidiscovery.Exchange{Asked: "HTTP://example.com/.well-known/ai"}, "error AI101"},
		{"certificate", aidiscovery.Exchange{Asked: asked, Failure: aidiscovery.BadCertificate, Detail: "expired"}, "error AI102"},
		{"no end", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Failure: aidiscovery.TooLarge}, "error AI116"},
		{"just not too large", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Size: aidiscovery.HardSize}, ""},
		{"no header at all", aidiscovery.Exchange{Asked: asked, Status: 200}, "error AI108, info AI111"},
		{"a broken parameter", aidiscovery.Exchange{Asked: asked, Status: 200, Header: typed("application/json; charset")}, "warning AI109"},
		{"another charset", aidiscovery.Exchange{Asked: asked, Status: 200, Header: typed("application/json; charset=iso-8859-1")}, "warning AI109"},
		{"utf8 without hyphen", aidiscovery.Exchange{Asked: asked, Status: 200, Header: typed("application/json; charset=utf8")}, "warning AI109"},
		{"two types", aidiscovery.Exchange{Asked: asked, Status: 200, Header: typed("application/json, text/html")}, "error AI108"},
		{"blank type", aidiscovery.Exchange{Asked: asked, Status: 200, Header: typed(" ")}, "error AI108"},
		{"alias", aidiscovery.Exchange{Asked: "https://example.com/ai", Alias: true, Status: 200, Header: good}, "warning AI113"},
		{"an alias that is not there", aidiscovery.Exchange{Asked: "https://example.com/ai", Alias: true, Status: 404}, "error AI106"},
		{"same copies", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`{"a": 1, "b": []}`), AliasBody: []byte("\uFEFF{\"b\":[],\n\"\\u0061\":1}")}, ""},
		{"another number", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`{"a": 1}`), AliasBody: []byte(`{"a": 2}`)}, "warning AI112"},
		{"another order of elements", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`[1,2]`), AliasBody: []byte(`[2,1]`)}, "warning AI112"},
		{"one more member", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`{"a":1}`), AliasBody: []byte(`{"a":1,"b":2}`)}, "warning AI112"},
		{"another name", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`{"a":1}`), AliasBody: []byte(`{"b":1}`)}, "warning AI112"},
		{"an alias that is no JSON", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`{"a":1}`), AliasBody: []byte(`<html>`)}, "warning AI112"},
		{"both no JSON", aidiscovery.Exchange{Asked: asked, Status: 200, Header: good, Body: []byte(`x`), AliasBody: []byte(`x`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range aidiscovery.Transport(c.x) {
				got = append(got, f.Severity.String()+" "+f.Code)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}
