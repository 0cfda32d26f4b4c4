package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gazetteer/registry"

	"golang.org/x/net/html"
)

func TestReportForm(t *testing.T) {
	good := url.Values{"reason": {"malware"}, "text": {"it sent me <script>x</script>\u202e"}, "contact": {"me@reporter.test"}}
	path := "/agents/" + airID + "/report"
	answers := &replaceable{sample{word: plainWord}}
	h := engine(t, answers)
	w := sendForm(t, h, path, good)
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "/agents/"+airID+"/report/"+reportID {
		t.Fatalf("status %d, to %q", w.Code, to)
	}
	for _, c := range []struct {
		name   string
		form   url.Values
		err    error
		status int
		says   []string
	}{
		{"nothing said", url.Values{"reason": {"spam"}}, nil, 400, []string{"is required", "Say what happened"}},
		{"too often", good, &registry.Refusal{Kind: registry.ErrTooMany, Message: "your network has made very many reports", Wait: time.Hour}, 429, []string{"very many reports", "Try again later", "me@reporter.test", `value="malware" selected`}},
		{"said already", good, &registry.Refusal{Kind: registry.ErrState, Message: "a report is open already", Help: "the operator is reviewing it"}, 409, []string{"A report is open already."}},
		{"blocked", good, &registry.Refusal{Kind: registry.ErrForbidden, Message: "the network is on the block list"}, 403, []string{"on the block list"}},
		{"gone", good, &registry.Refusal{Kind: registry.ErrGone, Message: "Agent is deleted"}, 410, []string{"Agent is deleted"}},
		{"our failure", good, fmt.Errorf("the disk"), 500, []string{"The fault is ours"}},
		{"too long", url.Values{"text": {strings.Repeat("x", 40<<10)}}, nil, 400, []string{"is longer than"}},
	} {
		answers.both = sample{word: plainWord, reportErr: c.err}
		wantPage(t, c.name, sendForm(t, h, path, c.form), c.status, c.says)
	}
	answers.both = sample{word: plainWord}
	if text := textOf(parse(t, get(t, h, "/agents/"+airID+"/report/"+reportID).Body.String())); !strings.Contains(text, "The operator has suspended the agent.") || !strings.Contains(text, "seen, and true") {
		t.Errorf("a settled report is shown as %s", text)
	}
}

// TestStatementsHaveLinks checks that every statement on an agent's page has a link beside it, and
// that the target of the link exists.
func TestStatementsHaveLinks(t *testing.T) {
	page := parse(t, get(t, engine(t, sample{word: plainWord, hits: 1}), "/agents/"+airID).Body.String())
	ids, links := map[string]bool{}, 0
	for n := range page.Descendants() {
		ids[attribute(n, "id")] = true
	}
	for _, a := range elements(page, "a") {
		if to, local := strings.CutPrefix(attribute(a, "href"), "#"); local && !ids[to] {
			t.Errorf("%q leads to #%s, which is not on the page", textOf(a), to)
		}
	}
	linked := func(what string, n *html.Node) {
		links++
		if len(elements(n, "a")) == 0 && len(elements(n, "details")) == 0 {
			t.Errorf("%s: nothing leads from %q to its evidence", what, textOf(n))
		}
	}
	for n := range page.Descendants() {
		class := attribute(n, "class")
		switch {
		case n.Data == "section" && (attribute(n, "aria-labelledby") == "reach" || attribute(n, "aria-labelledby") == "evidence"):
			for _, dd := range elements(n, "dd") {
				linked(attribute(n, "aria-labelledby"), dd)
			}
		case n.Data == "ol" && class == "keys":
			for _, li := range elements(n, "li") {
				linked("keys", li)
			}
		case n.Data == "ol" && class == "cards said":
			for _, article := range elements(n, "article") {
				linked("attestations", article)
			}
		case n.Data == "ol" && strings.HasPrefix(class, "fetches history"):
			for _, li := range elements(n, "li") {
				linked("history", li)
			}
		case n.Data == "td" && class == "claim":
			linked("document", n)
		case n.Data == "p" && (class == "notice" || class == "from"):
			linked("head", n)
		}
	}
	if links < 20 {
		t.Errorf("only %d claims were looked at", links)
	}
}
