package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"gazetteer/internal/nameserver"
)

// askFrom is send for a client with another address: the server trusts its proxy, which names the client.
func (p *program) askFrom(client, method, path, body string, headers ...string) (int, string, http.Header) {
	p.t.Helper()
	return p.send(method, path, body, append(headers, "X-Forwarded-For", client)...)
}

// registerFrom registers an agent for a client with that address, and returns the status and the rule of
// a refusal.
func (p *program) registerFrom(client string) (status int, rule string) {
	p.t.Helper()
	status, body, header := p.askFrom(client, http.MethodPost, "/api/v1/agents/register", fmt.Sprintf(`{"name":"crowd","public_key":%q}`, newPublicKey(p.t)))
	var refusal registrationRefusal
	if err := json.Unmarshal([]byte(body), &refusal); err != nil {
		p.t.Fatalf("%d %s", status, body)
	}
	if status == http.StatusTooManyRequests {
		wantRetryAfter(p.t, header)
	}
	return status, refusal.Rule
}

func wantRetryAfter(t *testing.T, header http.Header) {
	t.Helper()
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("429 with Retry-After %q", header.Get("Retry-After"))
	}
}

// TestStrangersUseOnlyTheirShare has networks of each size use up what is theirs, with a server of its
// own for the registrations that wait for approval: other networks, and the owner of a domain that a
// stranger has checked all the time, are served.
func TestStrangersUseOnlyTheirShare(t *testing.T) {
	t.Parallel()
	const each = 3 // registrations of one IPv4 address or /64; the network around it has four times as many
	ns := nameserver.New(t)
	p := startProgram(t, "crawler.enabled=false", "api.trusted_proxies=127.0.0.1", "api.registrations_per_hour="+strconv.Itoa(each), "registry.name_server="+ns.Address)

	t.Run("registrations", func(t *testing.T) {
		for _, c := range []struct {
			name    string
			network func(client int) string // addresses of different clients in one network
			same    string                  // another address of the client 0
			other   string                  // of another network
		}{
			{"IPv4", func(n int) string { return fmt.Sprintf("44.1.1.%d", n+1) }, "44.1.1.1", "44.1.2.1"},
			{"IPv6", func(n int) string { return fmt.Sprintf("2001:1db8:1:%x::1", n+1) }, "2001:1db8:1:1:ffff::9", "2001:1db8:2:1::1"},
		} {
			for n := range 4 {
				for i := range each {
					if status, rule := p.registerFrom(c.network(n)); status != http.StatusCreated {
						t.Errorf("%s: registration %d of client %d: %d %s", c.name, i, n, status, rule)
					}
				}
				if n > 0 {
					continue
				}
				for _, client := range []string{c.network(0), c.same} {
					if status, rule := p.registerFrom(client); status != http.StatusTooManyRequests || rule != "registrations-network" {
						t.Errorf("%s: registration %d from %s: %d %s", c.name, each, client, status, rule)
					}
				}
			}
			if status, rule := p.registerFrom(c.network(4)); status != http.StatusTooManyRequests || rule != "registrations-network" {
				t.Errorf("%s: a fifth client of a network: %d %s", c.name, status, rule)
			}
			if status, rule := p.registerFrom(c.other); status != http.StatusCreated {
				t.Errorf("%s: a client of another network: %d %s", c.name, status, rule)
			}
		}
	})
	t.Run("domain proofs", func(t *testing.T) {
		type agent struct {
			AirID  string `json:"air_id"`
			Secret string `json:"agent_secret"`
		}
		var stranger agent
		_, body, _ := p.askFrom("45.1.1.1", http.MethodPost, "/api/v1/agents/register", fmt.Sprintf(`{"name":"stranger","public_key":%q}`, newPublicKey(t)))
		if err := json.Unmarshal([]byte(body), &stranger); err != nil || stranger.Secret == "" {
			t.Fatal(body)
		}
		out, code := p.cli("agent", "new", "Owner")
		if code != 0 {
			t.Fatal(out)
		}
		look := func() int {
			status, _, header := p.askFrom("45.1.1.1", http.MethodPost, "/api/v1/agents/"+stranger.AirID+"/domains", `{"domain":"victim.example"}`, "X-Agent-Secret", stranger.Secret)
			if status == http.StatusTooManyRequests {
				wantRetryAfter(t, header)
			}
			return status
		}
		for n := 0; look() != http.StatusTooManyRequests; n++ {
			if n > 60 {
				t.Fatal("a stranger may have a domain checked without limit")
			}
		}
		record, code := p.cli("agent", "prove", "--print")
		if code != 0 {
			t.Fatal(record)
		}
		for value := range strings.Lines(record) {
			if at := strings.Index(value, "gazetteer-agent="); at >= 0 {
				ns.Publish("_gazetteer.victim.example", strings.Trim(strings.TrimSpace(value[at:]), `"`))
			}
		}
		look()
		if out, code := p.cli("agent", "prove", "victim.example"); code != 0 || !strings.Contains(out, "victim.example: proved by dns") {
			t.Errorf("the owner's proof: exit code %d\n%s", code, out)
		}
	})
	t.Run("checks of the log", func(t *testing.T) {
		const client, other = "46.1.1.1", "46.1.1.2"
		checks := 0
		for ; ; checks++ {
			status, body, header := p.askFrom(client, http.MethodGet, "/api/v1/audit/verify", "")
			if status == http.StatusTooManyRequests {
				wantRetryAfter(t, header)
				break
			}
			if status != http.StatusOK || checks > 200 {
				t.Fatalf("check %d: %d %s", checks, status, body)
			}
		}
		for _, c := range []struct{ client, path string }{{other, "/api/v1/audit/verify"}, {other, "/log/checkpoint"}, {other, "/api/v1/agents"}, {client, "/api/v1/agents"}, {client, "/log/checkpoint"}, {client, "/api/v1/search?q=table"}} {
			if status, body, _ := p.askFrom(c.client, http.MethodGet, c.path, ""); status != http.StatusOK {
				t.Errorf("%s after %d checks of another client: %d %s", c.path, checks, status, body)
			}
		}
	})
	stopped(t, p)
}

// TestOneNetworkDoesNotFillApprovals has one network register until it is refused, with a registry that
// admits agents after approval, and then the networks around it: others can still register.
func TestOneNetworkDoesNotFillApprovals(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "api.trusted_proxies=127.0.0.1", "registry.admission=approval")
	for _, c := range []struct {
		name   string
		client func(network, client int) string
		other  string
	}{
		{"IPv4", func(network, client int) string { return fmt.Sprintf("44.1.%d.%d", network, client) }, "44.2.0.1"},
		{"IPv6", func(network, client int) string { return fmt.Sprintf("2001:1db8:%x:%x::1", network, client) }, "2001:1db9::1"},
	} {
		// until registers until refused, from other clients of a network each time.
		until := func(network func(n int) int) (taken int) {
			for ; taken < 300; taken++ {
				status, rule := p.registerFrom(c.client(network(taken), taken%250))
				if status == http.StatusTooManyRequests && rule == "applications-network" {
					return taken
				}
				if status != http.StatusAccepted {
					t.Fatalf("%s: registration %d: %d %s", c.name, taken, status, rule)
				}
			}
			return taken
		}
		// The shares shrink as the queue of 1,000 fills.
		if taken := until(func(int) int { return 1 }); taken < 10 || taken > 20 {
			t.Errorf("%s: %d registrations of one /24 or /48 wait for approval, want 20 at most", c.name, taken)
		}
		if taken := until(func(n int) int { return 2 + n }); taken < 20 || taken > 60 {
			t.Errorf("%s: %d more of the /16 or /32 around it, want 60 at most", c.name, taken)
		}
		if status, rule := p.registerFrom(c.other); status != http.StatusAccepted {
			t.Errorf("%s: another network: %d %s", c.name, status, rule)
		}
	}
	stopped(t, p)
}
