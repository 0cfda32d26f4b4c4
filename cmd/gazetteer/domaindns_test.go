package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/internal/nameserver"
)

// TestDomainByDNS proves domains of an agent by TXT records, with the program, its command line and
// a name server. A failed proof shows the question, the answer and the expected value to the owner,
// over HTTP and on the agent's page.
func TestDomainByDNS(t *testing.T) {
	t.Parallel()
	ns := nameserver.New(t)
	p := startProgram(t, "crawler.enabled=false", "registry.name_server="+ns.Address)
	if out, code := p.cli("agent", "new", "Booker"); code != 0 {
		t.Fatal(out)
	}
	prove := func(domain string, code int, says ...string) string {
		t.Helper()
		out, got := p.cli("agent", "prove", domain)
		if got != code {
			t.Errorf("%s: exit code %d, want %d\n%s", domain, got, code, out)
		}
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: nothing says %q\n%s", domain, want, out)
			}
		}
		return out
	}

	ns.Publish("wrong.example.com", "v=spf1 -all")
	out := prove("wrong.example.com", 1, "asked     TXT _gazetteer.wrong.example.com", "problem   the name has no TXT record",
		"asked     TXT wrong.example.com", "problem   no value names the agent", "v=spf1 -all", `expected  "gazetteer-agent=did:wba:localhost:agents:AIR-`)
	record := regexp.MustCompile(`gazetteer-agent=did:wba:\S+; key=z6Mk[^\s"]+`).FindString(out)
	airID := regexp.MustCompile(`AIR-[0-9A-Z-]{14}`).FindString(record)
	if record == "" || airID == "" {
		t.Fatalf("it does not say what to publish:\n%s", out)
	}
	key := record[strings.Index(record, "z6Mk"):]
	another := strings.Replace(record, key, "z6MkfZ6S4NVVTEuts8o5xFzRMR8eC6Y1bngoBQNnXiCvhH8H", 1)
	ns.Publish("_gazetteer.key.example.com", another)
	prove("key.example.com", 1, "the agent is named with another key", another)
	ns.Publish("_gazetteer.filled.example.com", slices.Repeat([]string{"filler"}, 1000)...)
	filled := prove("filled.example.com", 1, "problem   no value names the agent", "990 more")
	if n := strings.Count(filled, "filler"); n > 20 {
		t.Errorf("%d of 1,000 values are shown", n)
	}

	ns.Publish("_gazetteer.label.example.com", "something else", strings.Replace(record, airID, "AIR-0000-0000-0000", 1), record)
	prove("label.example.com", 0, "label.example.com: proved by dns", "TXT _gazetteer.label.example.com")
	ns.Publish("apex.example.com", append(slices.Repeat([]string{"filler"}, 999), record)...) // comes over TCP
	prove("apex.example.com", 0, "apex.example.com: proved by dns", "TXT apex.example.com")

	_, domains := p.ask("GET", "/api/v1/agents/"+airID+"/domains", "")
	_, page := p.ask("GET", "/agents/"+airID, "", "Accept", "text/html")
	page = strings.ReplaceAll(page, "<wbr>", "")
	for _, want := range []string{"TXT _gazetteer.wrong.example.com", "the name has no TXT record", "v=spf1 -all", "the agent is named with another key", key, "label.example.com", "apex.example.com"} {
		if !strings.Contains(domains, want) || !strings.Contains(page, want) {
			t.Errorf("%q: over HTTP %v, on the page %v", want, strings.Contains(domains, want), strings.Contains(page, want))
		}
	}
	if status, body := p.ask("GET", "/api/v1/agents/"+airID+"?require=domain", ""); status != 200 {
		t.Errorf("who requires a proved domain: %d %s", status, body)
	}
	ns.Fail(true)
	if out, code := p.cli("agent", "prove", "--remove", "key.example.com"); code != 0 {
		t.Fatal(out)
	}
	prove("down.example.com", 1, "the name server did not answer as it should")
	// The address of the operator's name server is never shown.
	_, domains = p.ask("GET", "/api/v1/agents/"+airID+"/domains", "")
	_, page = p.ask("GET", "/agents/"+airID, "", "Accept", "text/html")
	for where, text := range map[string]string{"the command line": out + filled, "HTTP": domains, "the page": page} {
		if strings.Contains(text, ns.Address) || strings.Contains(text, strings.TrimPrefix(ns.Address, "127.0.0.1")) {
			t.Errorf("%s names the server %s", where, ns.Address)
		}
	}
}
