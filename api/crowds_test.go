package api_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/registry/admission"
	"gazetteer/registry/resolve"
)

// wideNetworks are the widest networks that one customer of a provider has, by the address number i
// of each.
var wideNetworks = map[string]func(i int) string{
	"an IPv4 24": func(i int) string { return fmt.Sprintf("192.0.2.%d", i) },
	"an IPv6 48": func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) },
}

// newcomer is an address of another network.
const newcomer = "203.0.113.7"

// A flood is what strangers send from many addresses of one wide network.
type flood struct {
	addresses, each int
	// send sends request number n of an address.
	send func(from string, n int) bufferedResponse
	// refusal is in the detail of the answers to those that are refused.
	refusal string
}

// run sends all requests of a flood and checks that some of them are refused.
func (f flood) run(t *testing.T, address func(i int) string) {
	t.Helper()
	admitted, refused := 0, 0
	for i := range f.addresses {
		for n := range f.each {
			r := f.send(address(i), n)
			switch {
			case r.StatusCode < 300:
				admitted++
			case r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable:
				if p := r.problem(t); r.Header.Get("Retry-After") == "" || !strings.Contains(p.Detail, f.refusal) {
					t.Fatalf("request %d from %s: %s", n, address(i), r.body)
				}
				refused++
			default:
				t.Fatalf("request %d from %s: %s %s", n, address(i), r.Status, r.body)
			}
		}
	}
	t.Logf("%d were admitted, %d refused", admitted, refused)
	if admitted < f.each || refused == 0 {
		t.Errorf("%d were admitted, %d refused", admitted, refused)
	}
}

// admitted checks that a request from another network is not refused.
func admitted(t *testing.T, what string, r bufferedResponse) {
	t.Helper()
	if r.StatusCode >= 300 {
		t.Errorf("%s: %s %s", what, r.Status, r.body)
	}
}

// crowdOptions are the options of a server that believes where clients come from.
func crowdOptions() options {
	return fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: -1, AllChanges: -1, Failures: -1, Reports: -1})
}

// TestCrowdsLeaveOwnerRequests checks that requests about hosts from a whole network use up neither what
// all clients together may send nor what may concern one domain: a newcomer is heard, and so is the
// owner, with a signature or without one.
func TestCrowdsLeaveOwnerRequests(t *testing.T) {
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			e := newOwnedSite(t, crowdOptions(), answer.OwnerRequestOptions{})
			e.publishAll("www.example.com")
			send := func(host, wish, from string) bufferedResponse {
				return e.request("POST", "/api/v1/services/"+host+"/"+wish, "", "X-Forwarded-For", from)
			}
			requests := 0
			flood{21, 30, func(from string, n int) bufferedResponse {
				requests++
				return send(fmt.Sprintf("host%d.org", requests), "opt-out", from)
			}, "requests about hosts"}.run(t, address)
			for wish, status := range map[string]int{"opt-out": 202, "opt-in": 409, "recrawl": 404} {
				if r := send("host1.net", wish, newcomer); r.StatusCode != status {
					t.Errorf("the %s of a newcomer: %s %s", wish, r.Status, r.body)
				}
			}
			for _, from := range []string{address(40), "198.51.100.1", "198.18.0.1"} {
				for range 16 {
					send("www.example.com", "opt-out", from)
				}
			}
			if p := send("www.example.com", "opt-out", "198.51.100.1").problem(t); p.Status != 429 || !strings.Contains(p.Detail, "below example.com") || !strings.Contains(p.Help, "sign the request") {
				t.Errorf("after many requests about one domain: %+v", p)
			}
			public, private, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			e.setPage("www.example.com/.well-known/did.json", didDocument("did:web:www.example.com", public))
			signed := func(wish string) bufferedResponse {
				return e.sendSigned("www.example.com", wish, "did:web:www.example.com#key-1", private, "", "X-Forwarded-For", newcomer)
			}
			admitted(t, "the owner without a signature", send("www.example.com", "opt-out", newcomer))
			admitted(t, "the owner's recrawl", signed("recrawl"))
			admitted(t, "the owner's opt-out", signed("opt-out"))
			e.get("/api/v1/services/www.example.com", 410)
			admitted(t, "the owner's opt-in", signed("opt-in"))
		})
	}
}

// TestForgedSignaturesLeaveOwnerRequests checks that requests with a signature that does not hold use up
// nothing of the owner's, and that a domain with valid signatures has a limit of its own.
func TestForgedSignaturesLeaveOwnerRequests(t *testing.T) {
	e := newOwnedSite(t, crowdOptions(), answer.OwnerRequestOptions{})
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, forger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.setPage("www.example.com/.well-known/did.json", didDocument("did:web:www.example.com", public))
	send := func(wish string, key ed25519.PrivateKey, from string) bufferedResponse {
		return e.sendSigned("www.example.com", wish, "did:web:www.example.com#key-1", key, "", "X-Forwarded-For", from)
	}
	statuses := map[int]int{}
	for i := range 25 {
		for range 31 {
			statuses[send("opt-out", forger, fmt.Sprintf("11.%d.1.1", i)).StatusCode]++
		}
	}
	if statuses[http.StatusUnauthorized] != 25*30 || statuses[http.StatusTooManyRequests] != 25 {
		t.Errorf("forged requests: %v", statuses)
	}
	for i := range 12 { // of the domain's own
		admitted(t, "a signed request", send([]string{"opt-out", "opt-in"}[i%2], private, newcomer))
	}
	if p := send("opt-out", private, newcomer).problem(t); p.Status != 429 || !strings.Contains(p.Detail, "below example.com") {
		t.Errorf("the thirteenth signed request: %+v", p)
	}
	if r := e.request("POST", "/api/v1/services/www.example.com/opt-out", "", "X-Forwarded-For", newcomer); r.StatusCode != http.StatusAccepted {
		t.Errorf("a request without a signature after that: %s %s", r.Status, r.body)
	}
}

// A slowFetcher answers nothing until it is released; the zero value answers at once.
type slowFetcher struct {
	started chan struct{}
	release chan struct{}
}

func (f slowFetcher) Document(ctx context.Context, kind document.Kind, address string) (fetch.Answer, error) {
	if f.release != nil && strings.Contains(address, "slow") {
		f.started <- struct{}{}
		<-f.release
	}
	return fetch.Answer{}, nil // nothing is there
}

func (f slowFetcher) Host(ctx context.Context, host string) ([]fetch.Answer, error) {
	a, err := f.Document(ctx, document.AI, "https://"+host+"/.well-known/ai")
	return []fetch.Answer{a}, err
}

// TestCrowdsLeaveValidation checks that a network that has addresses fetched leaves others what all
// clients together may have fetched, what may be fetched from one host, and slots.
func TestCrowdsLeaveValidation(t *testing.T) {
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			o, fetcher := crowdOptions(), slowFetcher{make(chan struct{}), make(chan struct{})}
			o.judge = answer.ValidatorOptions{Fetcher: fetcher}
			h := newTestServer(t, o)
			send := func(host, from string) bufferedResponse {
				return h.request("POST", "/api/v1/validate", `{"url": "https://`+host+`/.well-known/ai"}`, "Content-Type", jsonType, "X-Forwarded-For", from)
			}
			slow := answerAtOnce(64, func(i int) bufferedResponse { return send(fmt.Sprintf("slow%d.example.com", i), address(100+i/4)) })
			held, refused := 0, 0
			for held+refused < 64 {
				select {
				case <-fetcher.started:
					held++
				case r := <-slow:
					if r.StatusCode != http.StatusServiceUnavailable && !strings.Contains(string(r.body), "are being fetched for your network already") {
						t.Fatalf("%s %s", r.Status, r.body)
					}
					refused++
				}
			}
			t.Logf("%d slots are held, %d requests were refused", held, refused)
			admitted(t, "a newcomer beside slow fetches", send("www.example.com", newcomer))
			close(fetcher.release)
			for range held {
				<-slow
			}
			requests := 0
			flood{21, 30, func(from string, n int) bufferedResponse {
				requests++
				return send(fmt.Sprintf("host%d.org", requests), from)
			}, ""}.run(t, address)
			admitted(t, "a newcomer", send("www.example.com", newcomer))
			for _, from := range []string{"198.51.100.1", "198.18.0.1"} {
				for range 16 {
					send("victim.example.com", from)
				}
			}
			if p := send("victim.example.com", "198.51.100.1").problem(t); p.Status != 429 || !strings.Contains(p.Detail, "visits to victim.example.com") {
				t.Errorf("after many fetches from one host: %+v", p)
			}
			admitted(t, "a newcomer's fetch from that host", send("victim.example.com", newcomer))
		})
	}
}

// answerAtOnce sends requests at once, and returns a channel with their answers.
func answerAtOnce(n int, send func(i int) bufferedResponse) <-chan bufferedResponse {
	answers := make(chan bufferedResponse, n)
	for i := range n {
		go func() { answers <- send(i) }()
	}
	return answers
}

// TestCrowdsLeaveSubmissions checks that a network that submits hosts leaves others what all clients
// together may submit, and what may be submitted below one domain.
func TestCrowdsLeaveSubmissions(t *testing.T) {
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			h := newTestServer(t, crowdOptions())
			h.addSubmitter(answer.SubmitterOptions{})
			send := func(from string, hosts ...string) bufferedResponse {
				return h.request("POST", "/api/v1/submissions", `{"hosts": ["`+strings.Join(hosts, `","`)+`"]}`, "Content-Type", jsonType, "X-Forwarded-For", from)
			}
			requests := 0
			flood{84, 1, func(from string, n int) bufferedResponse {
				hosts := make([]string, 60)
				for i := range hosts {
					requests++
					hosts[i] = fmt.Sprintf("host%d.org", requests)
				}
				return send(from, hosts...)
			}, "new hosts"}.run(t, address)
			admitted(t, "a newcomer", send(newcomer, "www.example.com"))
			for _, from := range []string{"198.51.100.1", "198.18.0.1"} {
				for i := range 30 {
					send(from, fmt.Sprintf("%d.%s.victim.org", i, strings.ReplaceAll(from, ".", "-")))
				}
			}
			if p := send("198.51.100.1", "more.victim.org").problem(t); p.Status != 429 || !strings.Contains(p.Detail, "below victim.org") {
				t.Errorf("after many hosts of one domain: %+v", p)
			}
			admitted(t, "a newcomer's host of that domain", send(newcomer, "www.victim.org"))
		})
	}
}

// TestCrowdsLeaveResolutions checks that a network that resolves DIDs of other hosts leaves others what
// all clients together may resolve, at each route that does so.
func TestCrowdsLeaveResolutions(t *testing.T) {
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			const far = "did:wba:elsewhere.example:agents:AIR-7G3K-M9JQ-X2PT"
			resolver, err := resolve.New(resolve.Options{Fetcher: web{"https://elsewhere.example/agents/AIR-7G3K-M9JQ-X2PT/did.json": `{"id": "` + far + `"}`}})
			if err != nil {
				t.Fatal(err)
			}
			o := crowdOptions()
			o.registry.Resolver = resolver
			h := newTestServer(t, o)
			requests := 0
			flood{26, 120, func(from string, n int) bufferedResponse {
				requests++
				r := h.request("GET", fmt.Sprintf("/1.0/identifiers/did:web:host%d.org", requests), "", "X-Forwarded-For", from)
				if r.StatusCode == http.StatusNotFound {
					r.StatusCode = http.StatusOK // admitted: there is no such DID
				}
				return r
			}, "DIDs of other hosts"}.run(t, address)
			admitted(t, "a newcomer", h.request("GET", "/1.0/identifiers/"+far, "", "X-Forwarded-For", newcomer))
			admitted(t, "another newcomer", h.request("GET", "/api/v1/resolve?name="+far, "", "X-Forwarded-For", "198.51.100.9"))
		})
	}
}

// TestCrowdsLeaveStreams checks that a network that follows the status and the changes leaves others
// places.
func TestCrowdsLeaveStreams(t *testing.T) {
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			h := newTestServer(t, crowdOptions())
			ctx, end := context.WithCancel(t.Context())
			var open sync.WaitGroup
			defer open.Wait()
			defer end()
			follow := func(path, from string) int {
				r, err := http.NewRequestWithContext(ctx, "GET", h.base+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Forwarded-For", from)
				answer, err := plain.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				open.Go(func() { <-ctx.Done(); answer.Body.Close() })
				return answer.StatusCode
			}
			for _, path := range []string{"/api/v1/status/stream", "/api/v1/changes/stream"} {
				statuses := map[int]int{}
				for i := range 17 {
					for range 64 {
						statuses[follow(path, address(i))]++
					}
				}
				if statuses[http.StatusOK] < 64 || statuses[http.StatusServiceUnavailable]+statuses[http.StatusTooManyRequests] < 500 {
					t.Errorf("%s: %v", path, statuses)
				}
				if status := follow(path, newcomer); status != http.StatusOK {
					t.Errorf("%s: a newcomer gets %d after %v", path, status, statuses)
				}
			}
		})
	}
}

// TestRefusalsNameWhoUsedTheQuota checks that a client is told whether its own network has sent too much,
// or all clients together.
func TestRefusalsNameWhoUsedTheQuota(t *testing.T) {
	e := newOwnedSite(t, crowdOptions(), answer.OwnerRequestOptions{PerClient: 3, All: 30})
	refusal := func(from string) string {
		t.Helper()
		for i := range 4 {
			r := e.request("POST", fmt.Sprintf("/api/v1/services/host%d.org/opt-out", i), "", "X-Forwarded-For", from)
			if r.StatusCode == http.StatusTooManyRequests {
				return r.problem(t).Detail
			}
		}
		t.Fatal(errors.New("nothing is refused"))
		return ""
	}
	if got := refusal("192.0.2.1"); !strings.Contains(got, "your network has sent too many") {
		t.Errorf("%q", got)
	}
	for i := range 40 {
		e.request("POST", fmt.Sprintf("/api/v1/services/x%d.org/opt-out", i), "", "X-Forwarded-For", fmt.Sprintf("11.%d.1.1", i))
	}
	if got := refusal("203.0.113.7"); !strings.Contains(got, "all clients together") || strings.Contains(got, "your network has sent") {
		t.Errorf("%q", got)
	}
}
