package fetch_test

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
)

const valid = "../protocol/aidiscovery/testdata/valid/"

func scripts(t *testing.T) []fakenet.Script {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(valid + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	s, err := fakenet.ReadScripts("testdata/transport.json", read("seed-8.1-minimal.json"), read("seed-8.2-full.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 25 {
		t.Fatalf("%d scripts, want 25", len(s))
	}
	return s
}

// open returns a small internet and a client of it.
func open(t *testing.T, n fakenet.Options, o fetch.Options) (*fakenet.Net, *fetch.Client) {
	t.Helper()
	internet, err := fakenet.Open(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := internet.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Dial, o.Roots = internet.Dial(nil), internet.Roots()
	client, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return internet, client
}

// TestScripts plays every script twice: in memory, where time passes at once,
// and on sockets, where it does not matter.
func TestScripts(t *testing.T) {
	for _, s := range scripts(t) {
		t.Run(s.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				playScript(t, s, fakenet.Options{Empty: true, Memory: true})
			})
		})
		if strings.HasPrefix(s.ID, "slow-") || strings.HasPrefix(s.ID, "server-error-") {
			continue
		}
		t.Run(s.ID+" on sockets", func(t *testing.T) {
			playScript(t, s, fakenet.Options{Empty: true})
		})
	}
}

func playScript(t *testing.T, s fakenet.Script, n fakenet.Options) {
	internet, client := open(t, n, fetch.Options{Retries: 3})
	if err := internet.Play(s); err != nil {
		t.Fatal(err)
	}
	a := startOf(t, client, s)
	if got := outcomeWord(a); got != s.Expect.Outcome {
		t.Errorf("outcome %q (%s: %s), want %q", got, a.Outcome, a.Detail, s.Expect.Outcome)
	}
	for severity, want := range map[protocol.Severity][]string{protocol.Error: s.Expect.Codes, protocol.Warning: s.Expect.Warnings} {
		if got := codes(a.Findings, severity); !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s codes %q, want %q", severity, got, want)
		}
	}
	if err := s.CheckRequests(internet.Requests()); err != nil {
		t.Error(err)
	}
	if s.Expect.Identity != "" {
		wantIdentity(t, a, s)
	}
}

// startOf fetches what a script starts with: the document alone, or all of the
// host where the script is about more.
func startOf(t *testing.T, client *fetch.Client, s fakenet.Script) fetch.Answer {
	t.Helper()
	u, err := url.Parse(s.Start)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Exchanges, func(x fakenet.ScriptExchange) bool { return strings.HasSuffix(x.URL, "/ai") && x.URL != s.Start }) {
		a, err := client.Document(t.Context(), document.AI, s.Start)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	answers, err := client.Host(t.Context(), u.Hostname())
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// outcomeWord is the outcome in the words of the scripts.
func outcomeWord(a fetch.Answer) string {
	switch a.Outcome {
	case fetch.OK:
		if a.Kind == string(document.AIAlias) {
			return "alias-only"
		}
		return "document"
	case fetch.Absent:
		return "absent"
	case fetch.ServerError, fetch.Throttled:
		return "retry-later"
	case fetch.Unchanged:
		return "unchanged"
	}
	return "refused"
}

func codes(findings []protocol.Finding, severity protocol.Severity) []string {
	var out []string
	for _, f := range findings {
		if f.Severity == severity {
			out = append(out, f.Code)
		}
	}
	return out
}

func wantIdentity(t *testing.T, a fetch.Answer, s fakenet.Script) {
	t.Helper()
	d, err := document.Read(document.Input{Kind: document.AI, Host: s.Expect.Identity, URL: a.Address(), Bytes: a.Body})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := url.Parse(a.URL)
	if err != nil || asked.Hostname() != s.Expect.Identity {
		t.Errorf("asked %s, want the document to be that of %s", a.URL, s.Expect.Identity)
	}
	if got := d.Operations[0].Call.URL; got != s.Expect.Base+"/api/notes" {
		t.Errorf("the first operation is called at %s, want it below %s", got, s.Expect.Base)
	}
}
