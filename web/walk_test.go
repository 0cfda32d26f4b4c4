package web_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/need"
	"gazetteer/internal/teststore"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/registrar"
	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/web"
	"gazetteer/web/crawlerpages"
	"gazetteer/web/docpages"
	"gazetteer/web/frame"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/gin-gonic/gin"
)

// The walk visits the pages as a person does: real Chromium, the real handler, and below it a real
// store and index that a real crawl of the small internet has filled. It runs in light and dark,
// wide and narrow, and without scripts. It checks each page as it is shown: no request to another
// host, no report of the security policy, no line in the console, nothing wider than the window,
// nothing clipped, broken or overlapping, readable colors, and no finding of axe-core. It fails if
// it leaves out a page.
//
// With SCREENSHOTS=DIR it keeps pictures of the pages in that directory.
func TestBrowserWalk(t *testing.T) {
	browser := startBrowser(t)
	h := openTestServer(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			t.Run(fmt.Sprintf("%s %d", scheme, width), func(t *testing.T) {
				// What axe reads in the elements alone depends on neither form: all of its rules in
				// each width once and each scheme once, and those of colors and places in each form.
				rules := axeLookRules
				if (scheme == "light") == (width == 1280) {
					rules = axeAllRules
				}
				tab := newTab(t, browser, h, look{scheme: scheme, width: width, scripts: true, axe: rules})
				h.walk(t, tab)
				for _, route := range h.pages {
					if !slices.ContainsFunc(tab.judged, func(path string) bool { return matchesRoute(route, path) }) {
						t.Errorf("no page of %s was judged", route)
					}
				}
			})
		}
	}
	// The sample has what takes a registry a month: attestations, a recovery.
	full := &testServer{}
	server := httptest.NewServer(engine(t, sample{word: plainWord, hits: 3}))
	t.Cleanup(server.Close)
	full.url = server.URL
	for _, l := range []look{{scheme: "light", width: 1280}, {scheme: "light", width: 390}, {scheme: "dark", width: 1280}, {scheme: "dark", width: 390}} {
		t.Run(fmt.Sprintf("a full agent, %s %d", l.scheme, l.width), func(t *testing.T) {
			l.scripts, l.axe = true, axeAllRules
			tab := newTab(t, browser, full, l)
			for name, path := range map[string]string{"full-agents": "/agents?require=key&capability=book", "full-agent": "/agents/" + airID, "full-log": "/log"} {
				tab.open(path)
				tab.judge(name)
			}
			// Each check of the DID document can be seen beside its field.
			tab.open("/agents/" + airID)
			if cut := evaluate[int](tab, `[...document.querySelectorAll(".checks tbody td:last-child")].filter(d => d.getBoundingClientRect().right > innerWidth).length`); cut > 0 {
				t.Errorf("%d checks lie outside of the window", cut)
			}
		})
	}
	t.Run("without scripts", func(t *testing.T) {
		h.walk(t, newTab(t, browser, h, look{scheme: "light", width: 1280}))
	})
	t.Run("a small screen", func(t *testing.T) { // as 1280×1024 pixels are at 400 %
		tab := newTab(t, browser, h, look{scheme: "light", width: 320, height: 256, scripts: true})
		for _, p := range h.places() {
			tab.open(p.path)
			tab.judge("small-" + p.name)
		}
	})
	t.Run("a phone shows a result at once", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 390, scripts: true})
		for _, q := range []string{"send a text message", "book a table for two", "einen Termin beim Arzt vereinbaren"} {
			tab.open("/?" + url.Values{"q": {q}}.Encode())
			if bottom := evaluate[float64](tab, `document.querySelector(".hits > li").getBoundingClientRect().bottom`); bottom > 844 {
				t.Errorf("%s: the first result ends at %v", q, bottom)
			}
		}
		tab.open("/?q=book")
		if !evaluate[bool](tab, `document.querySelector("#facets").getBoundingClientRect().bottom <= document.querySelector(".hits").getBoundingClientRect().top`) {
			t.Error("the list that narrows the results stands below them")
		}
		tab.click("#facets summary")
		tab.sees("#facets li", "BOOK")
		// A line of a command ends between its words, not behind the dashes of an option.
		tab.openDetails()
		if parted := evaluate[[]string](tab, `[...document.querySelectorAll(".programs pre")].flatMap(pre => [...pre.textContent.matchAll(/--[a-z]/g)].map(m => {
			const top = at => {
				const range = document.createRange()
				range.setStart(pre.firstChild, at)
				range.setEnd(pre.firstChild, at + 1)
				return range.getBoundingClientRect().top
			}
			return top(m.index) == top(m.index + 2) ? "" : pre.textContent.slice(m.index, m.index + 20)
		}).concat(pre.textContent.startsWith("curl") ? "curl" : "")).filter(Boolean)`); !slices.Contains(parted, "curl") || slices.ContainsFunc(parted, func(s string) bool { return s != "curl" }) {
			t.Errorf("lines of %d commands end inside of options: %q", len(parted), parted)
		}
		tab.open("/agents")
		if top := evaluate[float64](tab, `document.querySelector(".cards > li").getBoundingClientRect().top`); top > 600 || evaluate[bool](tab, `document.querySelector("#capability").checkVisibility()`) {
			t.Errorf("the first agent begins at %v, behind the filters", top)
		}
		tab.open("/rules")
		if height := evaluate[float64](tab, `document.querySelector("main").getBoundingClientRect().height`); height > 2*844 {
			t.Errorf("the folded rules are %v pixels high", height)
		}
		tab.click("[aria-labelledby=rules-agis] summary")
		tab.sees("#AGIS302", "AGIS302")
		tab.open("/agents?capability=book")
		if !evaluate[bool](tab, `document.querySelector("#capability").checkVisibility()`) {
			t.Error("a filter that is set is folded")
		}
	})
	t.Run("with room the list of filters is open", func(t *testing.T) {
		for _, scripts := range []bool{true, false} {
			tab := newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: scripts})
			tab.open("/?q=book")
			tab.sees("#facets li", "BOOK")
		}
	})
	t.Run("texts from right to left stand at the left edge of the page", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true})
		for _, path := range []string{"/services/locanda.test", "/?q=host%3Alocanda.test"} {
			tab.open(path)
			edges := evaluate[[]float64](tab, `[...document.querySelectorAll("main [dir=auto]")].filter(e => e.matches(":dir(rtl)") && e.getClientRects().length).map(e => {
				const range = document.createRange()
				range.selectNodeContents(e)
				return range.getBoundingClientRect().left - e.parentElement.getBoundingClientRect().left
			})`)
			if len(edges) == 0 || slices.Max(edges) > 1 {
				t.Errorf("%s: texts from right to left begin %v pixels from the left edge", path, edges)
			}
		}
	})
	t.Run("results on paper", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true})
		call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		tab.open("/?q=book+a+table")
		text := evaluate[string](tab, `document.querySelector("main").innerText`)
		if !strings.Contains(text, "Search: book a table") || strings.Contains(text, "Narrow down") {
			t.Errorf("printed: %.300s", text)
		}
		// Nothing of a program is cut off at the edge of the paper, and there is nothing to press.
		for _, path := range []string{"/bot", "/services/stripe.test"} {
			tab.open(path)
			if cut := evaluate[[]string](tab, `[...document.querySelectorAll("main pre")].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40))`); len(cut) > 0 {
				t.Errorf("%s: cut off on paper: %q", path, cut)
			}
			if evaluate[bool](tab, `[...document.querySelectorAll("main button")].some(e => e.checkVisibility())`) {
				t.Errorf("%s: a button is printed", path)
			}
		}
	})
	t.Run("rules are filtered while a person types as the server filters them", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true})
		for _, words := range []string{"3.3", "§4.2", "language", "category-unknown", "nothing has this"} {
			tab.open("/rules?q=" + url.QueryEscape(words))
			want := evaluate[int](tab, `document.querySelectorAll(".rules > li").length`)
			tab.open("/rules")
			tab.awaitScripts()
			tab.filterRules(words)
			if got := evaluate[int](tab, `document.querySelectorAll(".rules > li:not([hidden])").length`); got != want {
				t.Errorf("%s: %d rules while typing, %d from the server", words, got, want)
			}
			if want == 0 {
				tab.sees("#matching", "None of")
				tab.sees("#matching a", "Show all")
			}
		}
		tab.filterRules("")
		if left := evaluate[string](tab, `document.querySelector("#matching").textContent`); left != "" {
			t.Errorf("without words the page says %q", left)
		}
	})
	t.Run("the order of the API", func(t *testing.T) {
		sameOrder(t, h, newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true}))
	})
	t.Run("filters and counts agree", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true})
		tab.open("/")
		verbs := evaluate[string](tab, `document.querySelector('dt a[href="/verbs"]').closest("div").querySelector("dd").textContent`)
		tab.open("/verbs")
		tab.sees("main", "of "+verbs+" verbs")
		tab.open("/?q=cancel+class%3Aappointment+effect%3Airreversible")
		tab.sees(".hits", "Arzttermin") // its document declares that it can be undone
		if n := evaluate[int](tab, `[...document.querySelectorAll(".hits .badge")].filter(b => b.textContent.trim() == "Can be undone").length`); n > 0 {
			t.Errorf("%d operations that the filter calls irreversible are said to be reversible", n)
		}
	})
	t.Run("a script that fails", func(t *testing.T) { scriptsFail(t, browser, h) })
	t.Run("a search that a further key replaces", func(t *testing.T) {
		tab := newTab(t, browser, h, look{scheme: "light", width: 390, scripts: true})
		// No search is answered, and one is aborted as the browser does it.
		call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			XMLHttpRequest.prototype.send = function () { document.documentElement.dataset.sent = "" }
			XMLHttpRequest.prototype.abort = function () { this.onabort(new Event("abort")); document.documentElement.dataset.replaced = "" }`})
		tab.open("/")
		tab.types("taxi")
		tab.until(`"sent" in document.documentElement.dataset`)
		tab.types("s")
		tab.until(`"replaced" in document.documentElement.dataset`)
		tab.mu.Lock()
		defer tab.mu.Unlock()
		if len(tab.strange) > 0 {
			t.Errorf("the console has %q", tab.strange)
		}
	})
	t.Run("by keyboard", func(t *testing.T) {
		byKeyboard(t, newTab(t, browser, h, look{scheme: "light", width: 1280, scripts: true}))
	})
}

// dismiss ends every report that is open.
func (h *testServer) dismiss(t *testing.T) {
	t.Helper()
	open, _, err := h.registry.Reports(t.Context(), admission.ReportFilter{}, "", 0)
	if err != nil || len(open) == 0 {
		t.Fatalf("%d reports, %v", len(open), err)
	}
	for _, p := range open {
		if _, err := h.registry.SettleReport(t.Context(), p.ID, admission.ReportDismissed, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// walk searches, follows a hit to its service, looks an agent up, and visits
// the pages that are left, those for what went wrong among them.
func (h *testServer) walk(t *testing.T, tab *tab) {
	tab.open("/")
	tab.judge("home")
	if tab.scripts {
		h.typeAQuery(t, tab)
		tab.open("/")
	}
	tab.submit("#q", "send a text message protocol:http")
	tab.sees(".hits h2", "message")
	tab.judge("results")
	tab.click(".hit summary")
	tab.sees(".why", "words found")
	tab.sees(".hit", "curl")
	tab.judge("result-open")
	if tab.scripts {
		tab.openDetails()
		tab.judge("results-all-open")
	}
	tab.follow(".hit h2 a")
	tab.sees("#op .verb", "SEND")
	tab.sees("#documents", "Documents and findings")
	tab.judge("service")
	if tab.scripts {
		tab.openDetails()
		tab.judge("service-all-open")
	}
	tab.open("/services/locanda.test")
	tab.sees("main", "Claimed by one side only. Only the agent claims this")
	tab.judge("service-agents")
	tab.follow(`header a[href="/agents"]`)
	tab.judge("agents")
	tab.submit("#q", "books tables")
	tab.sees(".cards", "Concierge")
	tab.judge("agents-found")
	tab.open("/agents?require=domain")
	tab.sees(".empty", "No agent matches")
	tab.submit("#q", h.agent.AirID)
	tab.sees("h1", "Concierge")
	tab.sees(".keys", "replaced by rotation")
	tab.sees(".checks", "names this agent")
	tab.judge("agent")
	tab.follow(`a[href$="/report"]`)
	tab.judge("report")
	tab.send("#text", "it writes to everybody")
	tab.sees("main", "The operator has not reviewed it yet.")
	tab.judge("reported")
	h.dismiss(t) // the next walk reports it again
	tab.open("/log")
	tab.sees("main", "gazetteer log verify")
	tab.sees("table", "Key rotated")
	tab.judge("log")
	for _, p := range h.places() {
		tab.open(p.path)
		tab.sees(p.selector, p.says)
		if !slices.Contains(tab.judged, p.path) {
			tab.judge(p.name)
		}
	}
	tab.open("/validate")
	tab.judge("validate")
	tab.refused("#url", "10.0.0.1")
	tab.sees("[role=alert]", "not the address of a public host")
	tab.judge("validate-trouble")
	tab.open("/validate")
	tab.send("#text", brokenDocument)
	tab.sees(".verdict", "Not valid")
	tab.sees(".findings", "AI418")
	tab.sees("#d1-L5", `"method": "FETCH"`)
	tab.judge("validated")
	tab.follow(`.findings a[href="/rules/AI418"]`)
	tab.sees("h1", "AI418")
	tab.judge("rule")
	tab.open("/rules?family=agis&severity=error")
	tab.judge("rules-filtered")
	tab.open("/validate?sample=broken.json")
	tab.follow("button[value=fix]")
	tab.sees("main", "Repaired in the text below")
	tab.judge("validate-fixed")
	tab.open("/submit")
	tab.send("#hosts", "new.example.com\n10.0.0.1")
	tab.sees("#progress", "first visit")
	tab.sees("main", "Not accepted")
	tab.judge("submitted")
	tab.open("/services/klarna.test/crawl-log")
	tab.sees(".fetches", "/robots.txt")
	tab.judge("crawl-log")
	tab.open("/bot")
	tab.sees("main", "User-agent: Gazetteer")
	tab.click("#request-out") // nothing is chosen before
	tab.send("#host", "klarna.test")
	tab.sees("main", "sign the request")
	tab.judge("opt-out-asked")
	for name, path := range map[string]string{
		"problem-rule": "/rules/AI9999", "problem-query": "/?q=book+verb%3A", "problem-host": "/services/unknown.test", "problem-page": "/no/such/page",
		"problem-agent": "/agents/AIR-0000-0000-0000",
	} {
		tab.fails(path)
		tab.judge(name)
	}
}

// A place is a page at a fixed address, and its expected content.
type place struct{ name, path, selector, says string }

// places are the pages that need no step before them.
func (h *testServer) places() []place {
	return []place{
		{"services", "/services", ".cards", "test"},
		{"services-next", "/services?page=2", ".pager", "Previous"},
		{"services-filtered", "/services?category=finance&sort=operations", ".chips .on", "finance"},
		{"services-none", "/services?q=nosuchservice", ".empty", "No service matches"},
		{"document", "/services/stripe.test/documents/ai", ".source", "aiendpoint"},
		{"verbs", "/verbs", ".directory", "SEND"},
		{"verb", "/verbs/BOOK", "#family + ul", "RESERVE"},
		{"namespaces", "/namespaces", ".directory", "accounting-xero"},
		{"similar", "/services/doctor.test", "#similar ~ .cards", "both offer"},
		{"namespace", "/namespaces/taxi", ".hits", "ESTIMATE"},
		{"namespace-of-several", "/namespaces/acme-reservations", "#care + ul", "Possible squatting"},
		{"service-of-foreign-name", "/services/last-tables.test", "h1 ~ [role=note]", "Possible squatting"},
		{"data-classes", "/data-classes", ".directory", "appointment"},
		{"verbs-none", "/verbs?q=zzz", ".empty", "Show all"},
		{"data-class", "/data-classes/appointment", ".hits", "haircut"},
		{"filtered", "/?q=cancel+class%3Aappointment+effect%3Airreversible", "#facets", "Narrow down"},
		{"beside", "/?q=library+domain%3Aeducation", ".beside", "Town Library"},
		{"last-page", "/?q=send&page=2", ".pager", "Page 2"},
		{"empty", "/?q=verb%3ASENT", ".empty", "No operation matches"},
		{"refused", "/services/robots-us.test", "#visits ~ *, .fetches", "robots"},
		{"mistakes", "/services/breaks-rules.test", ".how", "does not say how it is called"},
		{"invalid", "/services/not-utf8.test", ".fetches", "Not readable"},
		{"hostile", "/services/hostile.test", "#operations ~ *", "<script>"},
		{"hostile-results", "/?q=host%3Ahostile.test", ".hits", "U+202E"},
		{"languages", "/services/locanda.test", ".ops", "تێبل"},
		{"docs", "/docs", "main", "Search"},
		{"docs-operation", "/docs/search", "main", "q"},
		{"mcp", "/mcp", "main", "MCP"},
		{"operator", h.operator + "/admin/", "main", "registration"},
		{"operator-relay", h.operator + "/admin/relay", "main", "replay"},
		{"operator-contracts", h.operator + "/admin/contracts", "td button", "Revoke"},
		{"submit", "/submit", "main", "Add a service"},
		{"rules", "/rules", ".page-rules", "Fetching and recognition"},
		{"rules-found", "/rules?family=wk", ".rules", "WK"},
		{"sample", "/validate?sample=broken.json", "main", "json"},
		{"help", "/help/search", ".tries", "in plain words"},
		{"agents", "/agents", ".cards", "Concierge"},
		{"agent-page", "/agents/" + h.agent.AirID, "h1", "Concierge"},
		{"report-page", "/agents/" + h.agent.AirID + "/report", "main", "Report"},
		{"log-page", "/log", "main", "gazetteer log verify"},
		{"bot", "/bot", "main", "User-agent: Gazetteer"},
		{"status", "/status", "main", "Hosts known"},
		{"changes", "/changes", "main", "locanda.test"},
		{"changes-none", "/changes?host=nobody.test", "main", "nobody.test"},
		{"diff", h.diff, "main ins, main del", ""},
		{"census", "/census", ".chart", "Documents agree"},
		{"census-hosts", "/census/hosts?figure=format%3Aai", ".hostlist", ".test"},
		{"home", "/", "p.states", "can be reached"},
	}
}

// matchesRoute reports whether a path, with or without a query, is one of a route's, in gin's notation.
func matchesRoute(route, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	pattern, parts := strings.Split(route, "/"), strings.Split(path, "/")
	if len(pattern) != len(parts) {
		return false
	}
	for i, segment := range pattern {
		if segment != parts[i] && (!strings.HasPrefix(segment, ":") || parts[i] == "") {
			return false
		}
	}
	return true
}

// typeAQuery types as a person does and watches the results change below: the
// field keeps the focus, the address follows, and a mistake is pointed at.
func (h *testServer) typeAQuery(t *testing.T, tab *tab) {
	tab.types("order a taxi")
	tab.until(`document.querySelector("#found .hit h2")?.innerText.includes("taxi")`)
	tab.sees("#told", "operations match")
	tab.judge("typed")
	if got := evaluate[string](tab, `document.activeElement.id + ": " + new URLSearchParams(location.search).get("q") + ": " + document.title`); got != "q: order a taxi: order a taxi · Gazetteer" {
		t.Errorf("after typing: %q", got)
	}
	tab.types(" ver")
	tab.until(`[...document.querySelectorAll("#q-suggestions li")].some(o => o.dataset.text.startsWith("order a taxi ver"))`)
	address := h.url + "/?q=order%20a%20taxi%20verb%3A" // as htmx writes it
	tab.mu.Lock()
	tab.asked[address] = true // answers 400
	tab.mu.Unlock()
	tab.types("b:")
	tab.until(`document.querySelector("#found pre.query b")`)
	tab.sees("#told", "has no value")
	tab.judge("typed-mistake")
	tab.types("ORDER")
	tab.until(`document.querySelector("#facets .on a")?.textContent.includes("ORDER")`)
	if tab.width < 900 {
		tab.click("#facets summary")
	}
	tab.follow("#facets .on a")
	tab.sees("#found .hit h2", "taxi")
}

// types presses the keys of a text in the field of the search.
func (b *tab) types(text string) {
	b.Helper()
	must(b.T, chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS("#q"), text)))
}

// filterRules writes words into the filter of the rules, as one event.
func (b *tab) filterRules(words string) {
	b.Helper()
	evaluate[bool](b, fmt.Sprintf(`(field => { field.value = %q; return field.dispatchEvent(new Event("input")) })(document.querySelector("#filter"))`, words))
}

// until waits until an expression holds in the page, which looks at each change
// of it; the limit of the tab is its limit.
func (b *tab) until(expression string) {
	b.Helper()
	evaluate[bool](b, fmt.Sprintf(`new Promise(done => {
		const holds = () => %s
		if (holds()) return done(true)
		new MutationObserver((_, watch) => { if (holds()) { watch.disconnect(); done(true) } }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true})
	})`, expression), chromedp.EvalAwaitPromise)
}

// scriptsFail removes from the pages what their scripts depend on: the rest must work as without
// scripts.
func scriptsFail(t *testing.T, browser context.Context, h *testServer) {
	for name, sabotage := range map[string]string{
		"no clipboard":        `Object.defineProperty(navigator, "clipboard", {value: undefined})`,
		"no events":           `delete window.EventSource`,
		"no observer":         `window.MutationObserver = function () { throw new Error("none") }`,
		"a query that throws": `const find = document.querySelectorAll; Document.prototype.querySelectorAll = function (s) { if (s.includes("copy")) throw new Error("none"); return find.call(this, s) }`,
		"no network":          `XMLHttpRequest.prototype.send = function () { setTimeout(() => this.onerror(new Event("error"))) }`,
		"no htmx":             `Object.defineProperty(window, "htmx", {set() { throw new Error("none") }})`,
	} {
		t.Run(name, func(t *testing.T) {
			tab := newTab(t, browser, h, look{scheme: "light", width: 390, scripts: true})
			call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: sabotage})
			tab.open("/")
			tab.submit("#q", "send a text message protocol:http")
			tab.sees(".hits h2", "message")
			tab.follow(".hit h2 a")
			tab.sees("#op .verb", "SEND")
			if name == "no network" {
				tab.open("/")
				tab.types("taxi")
				tab.until(`document.querySelector("#told.notice")?.innerText.includes("Press Enter")`)
			}
			tab.open("/status")
			tab.sees("main", "Hosts known")
			tab.open("/rules?q=AGIS302")
			tab.sees(".rules", "AGIS302")
		})
	}
}

// byKeyboard does without a mouse what the walk does with one.
func byKeyboard(t *testing.T, tab *tab) {
	tab.open("/")
	tab.press("\t")
	if got := evaluate[string](tab, `document.activeElement.className`); got != "skip" {
		t.Errorf("the first stop is %q, want the skip link", got)
	}
	if top := evaluate[float64](tab, `document.activeElement.getBoundingClientRect().top`); top < 0 {
		t.Errorf("the skip link is not visible when it has the focus: top %v", top)
	}
	tab.press("\r")
	if got := evaluate[string](tab, `document.activeElement.id`); got != "main" {
		t.Errorf("the skip link leads to %q", got)
	}
	tab.press("\t")
	if got := evaluate[string](tab, `document.activeElement.id`); got != "q" {
		t.Errorf("the next stop is %q, want the search field", got)
	}
	if got := evaluate[string](tab, `getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth`); got != "solid3px" {
		t.Errorf("the focus is drawn as %q", got)
	}
	tab.press("\t")
	tab.open("/services")
	tab.pressSlash()
	if got := evaluate[string](tab, `document.activeElement.id`); got != "filter" {
		t.Errorf("the key / leads to %q", got)
	}
	// From the field into the results and back by the arrows, and to a service by Enter.
	tab.open("/?q=send+a+text+message")
	tab.pressSlash()
	tab.press(kb.ArrowDown)
	tab.press(kb.ArrowDown)
	if got := evaluate[bool](tab, `document.activeElement === document.querySelectorAll(".hits h2 a")[1]`); !got {
		t.Error("the arrows do not lead to the second result")
	}
	tab.press(kb.ArrowUp)
	tab.press(kb.ArrowUp)
	if got := evaluate[string](tab, `document.activeElement.id`); got != "q" {
		t.Errorf("the arrows lead back to %q", evaluate[string](tab, `document.activeElement.outerHTML.slice(0, 200)`))
	}
	// Suggestions: chosen by the arrows, closed by Escape, taken by Enter.
	tab.open("/")
	tab.types("boo")
	tab.until(`document.querySelector("#q-suggestions:not([hidden]) li")`)
	tab.press(kb.Escape)
	if !evaluate[bool](tab, `document.querySelector("#q-suggestions").hidden`) {
		t.Error("Escape does not close the suggestions")
	}
	tab.types("k")
	tab.until(`document.querySelector("#q-suggestions:not([hidden]) li")`)
	tab.press(kb.ArrowDown)
	tab.until(`document.querySelector("#q-suggestions [aria-selected=true]")`)
	taken := evaluate[string](tab, `document.querySelector("#q-suggestions [aria-selected=true]").dataset.text`)
	tab.arrive(http.StatusOK, chromedp.Evaluate[chromedp.Void](keyDown("Enter")))
	if got := evaluate[string](tab, `new URLSearchParams(location.search).get("q")`); got != taken {
		t.Errorf("the suggestion %q leads to %q", taken, got)
	}
	// A result that has the focus when other results arrive gives it back to the field.
	tab.open("/?q=send+a+text+message")
	tab.types("s")
	tab.press(kb.Escape)
	evaluate[bool](tab, `document.querySelector(".hits h2 a").focus(), document.body.addEventListener("htmx:afterSettle", () => { document.documentElement.dataset.settled = "" }), true`)
	tab.until(`"settled" in document.documentElement.dataset`)
	if got := evaluate[string](tab, `document.activeElement.id`); got != "q" {
		t.Errorf("after other results the focus is on %q", evaluate[string](tab, `document.activeElement.outerHTML.slice(0, 100)`))
	}
	// A page that the browser shows again has the query of its results in the field.
	evaluate[bool](tab, `document.querySelector("#q").value = "another query", dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))`)
	if got := evaluate[bool](tab, `document.querySelector("#q").value === new URLSearchParams(location.search).get("q")`); !got {
		t.Error("a page that is shown again has another query in its field")
	}
	// Every stop of a page shows that it has the focus, and is not cut off.
	tab.open("/?q=send+a+text+message")
	for range 40 {
		tab.press("\t")
		stop := evaluate[string](tab, `(() => { const a = document.activeElement, s = getComputedStyle(a);
			return a === document.body || s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 ? "" : a.outerHTML })()`)
		if stop != "" {
			t.Errorf("no focus is drawn on %s", stop)
		}
	}
}

// startBrowser starts Chromium. Without one the test is skipped, loudly, unless
// REQUIRE_BROWSER=1, or REQUIRE_ALL=1, says that it must run.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("REQUIRE_BROWSER") == "1" {
		t.Setenv(need.All, "1")
	}
	path := need.Program(t, "chromium", "chromium-headless-shell", "google-chrome", "chrome")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), // its directory is one that waits for what Chromium leaves running
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, quit := chromedp.NewContext(allocator)
	t.Cleanup(quit)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return browser
}

// A testServer is the program with a few crawled hosts and one agent.
type testServer struct {
	url      string
	operator string   // address of the operator's listener
	pages    []string // routes of all pages, in gin's notation
	agent    registry.Agent

	registry *registrar.Registrar
	answers  *answer.Answers
	diff     string // path of the page with what changed between two versions of a document
}

// openTestServer crawls these hosts of the small internet; without any, all that a crawl begins at.
func openTestServer(t *testing.T, hosts ...string) *testServer {
	t.Helper()
	ctx := t.Context()
	gin.SetMode(gin.TestMode)
	s := teststore.New(t)
	states := standing.Open(standing.Options{Store: s, Linger: time.Millisecond})
	x, err := index.Open(ctx, index.Options{Dir: t.TempDir(), Store: s, States: states, Linger: time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "gazetteer.test"})
	must(t, err)
	key, err := checkpoint.OpenKey(filepath.Join(t.TempDir(), "key"), "gazetteer.test/log")
	must(t, err)
	tree, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(t.TempDir(), "log"), Store: s, Key: key})
	must(t, err)
	t.Cleanup(func() { must(t, tree.Close()) })
	feed, err := changefeed.Open(ctx, changefeed.Options{Dir: filepath.Join(t.TempDir(), "changes"), Store: s})
	must(t, err)
	t.Cleanup(func() { must(t, feed.Close()) })
	directory := r.NewDirectory()
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	t.Cleanup(func() { stop(); group.Wait() })
	figures := census.OpenLive(census.LiveOptions{Store: s})
	for _, follow := range []func(context.Context) error{x.Run, tree.Run, directory.Run, states.Run, figures.Run, feed.Run} {
		group.Go(func() {
			if err := follow(running); err != nil {
				t.Errorf("follow the store: %v", err)
			}
		})
	}
	h := &testServer{}
	h.storeEarlierVersion(t, s) // before the crawl, so that feed and log have it in the order of time
	crawlSome(t, s, hosts)

	old, next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	h.registry = r
	made, _, err := r.Register(ctx, registry.Registration{
		Name:      "Concierge",
		PublicKey: did.FormatPublicKey(old.Public().(ed25519.PublicKey)), Commitment: registry.RecoveryCommitment(ed25519.PublicKey(bytes.Repeat([]byte{3}, ed25519.PublicKeySize))),
		Description: "Books tables for everyone who asks.", Editable: registry.Editable{Capabilities: []string{"BOOK", "CANCEL"},
			ServiceEndpoints: []registry.ServiceEndpoint{{Type: did.TypeInbox, ServiceEndpoint: "https://relay.example.com/inbox/concierge"},
				{Type: "AgentCard", ServiceEndpoint: "https://locanda.test/card.json"}}},
	})
	must(t, err)
	h.agent, err = r.Rotate(ctx, made.AirID, registry.NewRotation(r.DID(made.AirID), old, next, "", time.Now()))
	must(t, err)
	must(t, x.WaitFor(ctx, s.Head().Seq))
	must(t, tree.WaitFor(ctx, s.Head().Seq))
	must(t, directory.WaitFor(ctx, s.Head().Seq))
	must(t, states.WaitFor(ctx, s.Head().Seq))
	joiner, err := join.New(join.Options{Store: s, Registry: r, Directory: directory})
	must(t, err)
	crawl, err := crawler.New(crawler.Options{Store: s}) // runs nothing
	must(t, err)
	requests := answer.NewOwnerRequests(answer.OwnerRequestOptions{Owners: owner.New(owner.Options{Crawler: crawl}), Recrawl: crawl.Recrawl})
	must(t, errors.Join(figures.WaitFor(ctx, s.Head().Seq), feed.WaitFor(ctx, s.Head().Seq)))
	answers := &answer.Answers{Store: s, Index: x, Census: figures, Feed: feed, Registry: r, Directory: directory, Joiner: joiner, Log: tree, Validator: answer.NewValidator(answer.ValidatorOptions{}), Submitter: answer.NewSubmitter(answer.SubmitterOptions{Add: crawl.Add}), Crawler: crawl, OwnerRequests: requests, Blocks: crawl, Standing: states}
	h.answers = answers
	routes, err := api.New(api.Options{Options: route.Options{Answers: answers}})
	must(t, err)
	tools, err := toolhost.Open(ctx, toolhost.Options{Store: s, Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, tools.Close()) })
	_, _, err = tools.Propose(ctx, "reservations.acme.test", "")
	must(t, err)
	_, err = tools.Approve(ctx, "book_reservation", toolhost.Approval{})
	must(t, err)
	status := func() api.ServerStatus {
		v := routes.ServerStatus()
		v.Relay = &relay.Status{Metrics: relay.Metrics{Accepted: 1234, Pulled: 1210, Acknowledged: 1200, Refused: map[string]uint64{"replay": 7, "unknown_recipient": 2}}, Waiting: 34, WaitingBytes: 68_000, Inboxes: 3, Oldest: time.Now().Add(-2 * time.Hour)}
		return v
	}
	pages := web.New(answers, x, web.Options{PublicURL: "https://gazetteer.test", Standing: status, Registry: routes.RegistryStatus, Contracts: tools, Links: []frame.Link{{Text: "Docs", Address: "/docs"}, {Text: "MCP", Address: "/mcp"}}, Bot: crawlerpages.Bot{
		UserAgent: "Gazetteer/0.1 (+https://gazetteer.test/bot)", Contact: "https://gazetteer.test/contact", Addresses: []string{"192.0.2.7"},
		HostInterval: time.Second, DomainInterval: 2 * time.Second,
	}})
	reference, err := docpages.New(pages.Frame, routes.OpenAPI(), answers, "https://gazetteer.test")
	must(t, err)
	for _, e := range []*gin.Engine{routes.Engine(), gin.New()} { // the second one says what the pages are
		pages.Mount(e)
		reference.Mount(e)
		if e != routes.Engine() {
			pages.MountOperator(e)
			for _, r := range e.Routes() {
				if r.Method == http.MethodGet && !strings.HasPrefix(r.Path, "/static/") && guessedAddresses[r.Path] == "" && r.Path != "/admin" /* leads to /admin/ */ {
					h.pages = append(h.pages, r.Path)
				}
			}
		}
	}
	pages.MountOperator(routes.Operator)
	routes.SetNotFound(pages.NotFound)
	server, operator := httptest.NewServer(routes.Handler()), httptest.NewServer(routes.OperatorHandler())
	t.Cleanup(server.Close)
	t.Cleanup(operator.Close)
	h.url, h.operator = server.URL, operator.URL
	return h
}

// crawlSome visits some hosts of the small internet, or all, and two of our own: one that
// publishes hostile text, one that speaks several languages.
func crawlSome(t *testing.T, s *boltstore.Store, some []string) {
	t.Helper()
	internet, err := fakenet.Open(fakenet.Options{})
	must(t, err)
	defer internet.Close()
	internet.Handle("hostile.test", publish(hostileDocument))
	internet.Handle("locanda.test", publish(languagesDocument))
	// A host that answers does so in time on the busiest machine; those that never answer are left out.
	c, err := crawler.New(crawler.Options{Store: s, Dial: internet.Dial(nil), Roots: internet.Roots(), Timeout: time.Minute, SessionTimeout: 10 * time.Minute})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer func() { stop(); group.Wait() }()
	group.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("crawl: %v", err)
		}
	})
	var hosts []string
	for _, h := range internet.Hosts() {
		if h.Seed && !slices.Contains(slices.Collect(maps.Values(h.Expect)), "timeout") && (some == nil || slices.Contains(some, h.Name)) {
			hosts = append(hosts, h.Name)
		}
	}
	for _, visited := range [][]string{hosts, {"hostile.test", "locanda.test"}} { // our own are the newest
		must(t, c.Crawl(ctx, visited, func(crawler.Result) error { return nil }))
	}
}

// storeEarlierVersion stores a version of the document of locanda.test as if it had been found a
// week before.
func (h *testServer) storeEarlierVersion(t *testing.T, s *boltstore.Store) {
	t.Helper()
	earlier := strings.Replace(languagesDocument, `"description": "`, `"description": "As it was a week ago: `, 3)
	if earlier == languagesDocument {
		t.Fatal("the documents are the same")
	}
	from, at := document.Digest([]byte(earlier)), time.Now().Add(-7*24*time.Hour)
	version, err := json.Marshal(map[string]any{"digest": from, "seen": at, "size": len(earlier), "url": "https://locanda.test/.well-known/ai", "kind": document.AI})
	must(t, err)
	_, err = s.Apply(t.Context(), store.Put(store.VersionKey("locanda.test", string(document.AI), at, from), version), store.Put(store.BlobKey(from), []byte(earlier)))
	must(t, err)
	h.diff = "/services/locanda.test/documents/ai/diff?" + url.Values{"from": {from}, "to": {document.Digest([]byte(languagesDocument))}}.Encode()
}

func publish(document string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/ai" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, document)
	})
}

//go:embed testdata/hostile.json
var hostileDocument string

//go:embed testdata/broken.json
var brokenDocument string

//go:embed testdata/languages.json
var languagesDocument string

//go:embed testdata/axe/axe.min.js
var axe string

// look is how a page is looked at.
type look struct {
	scheme  string
	width   int64
	height  int64 // 0 is 900
	scripts bool
	axe     string // the rules that axe judges by, the slowest of the judges; "" is none
}

// tab is a page of the browser that records forbidden events.
type tab struct {
	*testing.T
	look
	ctx    context.Context
	base   string
	own    []string // addresses that belong to the program
	judged []string // paths with their queries

	mu      sync.Mutex // guards the following fields
	strange []string
	asked   map[string]bool // addresses whose failure is wanted
}

func newTab(t *testing.T, browser context.Context, h *testServer, l look) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	b := &tab{T: t, look: l, ctx: ctx, base: h.url, own: []string{h.url + "/", "about:"}, asked: map[string]bool{}}
	if h.operator != "" {
		b.own = append(b.own, h.operator+"/")
	}
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(l.width, cmp.Or(l.height, 900))))
	must(t, chromedp.Listen(ctx, b.note))
	call(b, log.Enable, cdp.Empty{})
	call(b, audits.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if l.axe != "" { // once for a tab, not for each of its pages
		call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: axe})
	}
	if !l.scripts {
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	return b
}

// note records every event that our pages must not cause.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	strange := func(format string, args ...any) { b.strange = append(b.strange, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !slices.ContainsFunc(b.own, func(prefix string) bool { return strings.HasPrefix(u, prefix) }) {
			strange("it asks for %s", u)
		}
	case *log.EventEntryAdded:
		if !b.asked[e.Entry.URL] {
			strange("the log says: %s %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		strange("the browser complains: %s", e.Issue.Code)
	case *runtime.EventConsoleAPICalled:
		strange("something writes to the console: %s", e.Type)
	case *runtime.EventExceptionThrown:
		strange("a script failed: %s", e.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		strange("a dialog opens: %s", e.Message)
	}
}

// open requests a path or an address that must exist; fails requests a path that must not exist.
func (b *tab) open(path string) {
	b.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.base + path
	}
	b.arrive(http.StatusOK, chromedp.Navigate(path))
}

func (b *tab) fails(path string) {
	b.Helper()
	b.mu.Lock()
	b.asked[b.base+path] = true
	b.mu.Unlock()
	response, err := chromedp.RunResponse(b.ctx, chromedp.Navigate(b.base+path))
	must(b.T, err)
	if response.Status < 400 {
		b.Errorf("%s: status %d", path, response.Status)
	}
}

// submit fills a field and sends its form by the Enter key. With scripts the text is set and not
// typed: on a busy machine results would appear while it is typed, and the address would change.
func (b *tab) submit(field, text string) {
	b.Helper()
	if b.scripts {
		// Without events, which begin a live search: its results can change the address while the
		// page of the submitted form is awaited.
		evaluate[bool](b, fmt.Sprintf("document.querySelector(%q).value = %q, true", field, text))
		text = ""
	}
	b.arrive(http.StatusOK, chromedp.SendKeys(chromedp.CSS(field), text+"\r"))
}

// refused is submit for what cannot be asked.
func (b *tab) refused(field, text string) {
	b.Helper()
	b.mu.Lock()
	b.asked[b.base+"/validate"] = true
	b.mu.Unlock()
	b.arrive(http.StatusBadRequest, chromedp.SendKeys(chromedp.CSS(field), text+"\r"))
}

// send types a text of several lines and presses the button of its form.
func (b *tab) send(field, text string) {
	b.Helper()
	if !b.scripts { // typed key by key, as a person does; with scripts it is pasted
		must(b.T, chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(field), text)))
	} else {
		must(b.T, chromedp.Do(b.ctx, chromedp.SetValue(chromedp.CSS(field), text)))
	}
	b.follow("form.check button:not(.second)")
}

// follow clicks a link.
func (b *tab) follow(selector string) {
	b.Helper()
	b.arrive(http.StatusOK, chromedp.Click(chromedp.CSS(selector)))
}

func (b *tab) arrive(status int64, step chromedp.Action[chromedp.Void]) {
	b.Helper()
	response, err := chromedp.RunResponse(b.ctx, step)
	must(b.T, err)
	if response == nil {
		b.Fatal("no page was loaded")
	}
	if response.Status != status {
		b.Fatalf("%s: status %d, want %d", response.URL, response.Status, status)
	}
}

// click clicks on what leads nowhere.
func (b *tab) click(selector string) {
	b.Helper()
	must(b.T, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))))
}

// openDetails opens all that is folded on the page.
func (b *tab) openDetails() {
	b.Helper()
	evaluate[bool](b, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
}

func (b *tab) press(key string) {
	b.Helper()
	b.awaitScripts()
	must(b.T, chromedp.Do(b.ctx, chromedp.KeyEvent(key)))
}

// awaitScripts waits until the page is loaded, with its deferred scripts.
func (b *tab) awaitScripts() {
	b.Helper()
	evaluate[bool](b, `document.readyState === "complete" || new Promise(done => addEventListener("load", () => done(true)))`, chromedp.EvalAwaitPromise)
}

// pressSlash presses the key / as one event.
func (b *tab) pressSlash() {
	b.Helper()
	b.awaitScripts()
	if !evaluate[bool](b, keyDown("/")+" === false") {
		b.Error("the page lets the character / through")
	}
}

// keyDown is a script that presses a key as one event. The browser's protocol sends the character as
// a second one, which on a busy machine is typed, or submits a form, although the page prevents it.
func keyDown(key string) string {
	return fmt.Sprintf(`(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, key)
}

// sees checks that an element that the selector finds shows the text.
func (b *tab) sees(selector, text string) {
	b.Helper()
	shown := evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText).join("\n")`, selector))
	if !strings.Contains(strings.ToLower(shown), strings.ToLower(text)) {
		b.Errorf("%s does not show %q but %q", selector, text, shown)
	}
}

// transferred is the number of bytes of a page and of what it loads, as they are sent: compressed, and
// also those that the browser has kept from another page.
const transferred = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).reduce((n, e) => n + e.encodedBodySize, 0)`

// judge checks what holds for every page, and keeps a picture of it.
func (b *tab) judge(name string) {
	b.Helper()
	fault := func(format string, args ...any) {
		b.Helper()
		b.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	for _, wide := range evaluate[[]string](b, overflows) {
		fault("wider than the window: %s", wide)
	}
	if size := evaluate[int](b, `performance.getEntriesByType("navigation")[0]?.decodedBodySize ?? 0`); size > 100<<10 {
		fault("the page has %d bytes, more than 100 KiB", size)
	}
	if size := evaluate[int](b, transferred); size > 100<<10 {
		fault("the page and what it loads have %d bytes as they are sent, more than 100 KiB", size)
	}
	for _, faint := range evaluate[[]string](b, faintTexts) {
		fault("hard to read: %s", faint)
	}
	for _, broken := range evaluate[[]string](b, brokenLayout) {
		fault("laid out badly: %s", broken)
	}
	for _, small := range evaluate[[]string](b, smallTargets) {
		fault("hard to hit: %s", small)
	}
	if b.axe != "" {
		for _, violation := range b.violations() {
			fault("axe: %s", violation)
		}
	}
	b.judged = append(b.judged, evaluate[string](b, `location.pathname + location.search`))
	b.mu.Lock()
	for _, s := range b.strange {
		fault("%s", s)
	}
	b.strange = nil
	b.mu.Unlock()
	b.keep(name)
}

// keep writes a picture of the whole page into the directory SCREENSHOTS.
func (b *tab) keep(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" || !b.scripts {
		return
	}
	// The compression for size takes longer than the page.
	whole, fast := true, true
	picture, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &whole, OptimizeForSpeed: &fast})
	must(b.T, err)
	must(b.T, os.MkdirAll(dir, 0o755))
	must(b.T, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, b.scheme, b.width)), picture.Data, 0o644))
}

// Rules of axe-core, as its option runOnly: those of WCAG 2.2 AA and its best practices; and those
// among them that depend on colors and places.
const (
	axeAllRules  = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	axeLookRules = `{type: "rule", values: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]}`
)

// violations runs axe-core.
func (b *tab) violations() []string {
	b.Helper()
	// Nothing here reads the selectors of elements.
	return evaluate[[]string](b, `axe.run(document, {
		preload: false,
		selectors: false,
		resultTypes: ["violations"],
		runOnly: `+b.axe+`,
	}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html + ": " + n.failureSummary)))`, chromedp.EvalAwaitPromise)
}

// overflows names what sticks out of the window to the right. What scrolls by
// itself may.
const overflows = `(() => {
	const page = document.scrollingElement
	if (page.scrollWidth <= innerWidth) return []
	return [...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("pre, .scroll"))
		.map(e => e.outerHTML.slice(0, 200)).slice(0, 3).concat("the page is " + page.scrollWidth + " wide, the window " + innerWidth)
})()`

// faintTexts names visible texts whose contrast is below 4.5.
const faintTexts = `(() => {
	const parse = c => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n }
	const luminance = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c } return [255, 255, 255, 1] }
	const faint = []
	for (const e of document.querySelectorAll("body, body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.tagName !== "INPUT") continue
		const [a, b] = [luminance(parse(getComputedStyle(e).color)), luminance(ground(e))]
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
		if (contrast < 4.5) faint.push(contrast.toFixed(2) + " " + e.outerHTML.slice(0, 120))
	}
	return faint.slice(0, 5)
})()`

// brokenLayout names texts and values of selects that are clipped, words that are broken inside, and
// controls that overlap.
// Names of hosts and addresses may be broken between their parts. Code has no words and may be broken.
const brokenLayout = `(() => {
	const faults = [], hidden = e => e.closest(".visually-hidden, .skip, [hidden], .page-results .search, .brand, :is(.checks, .stacked) thead, .page-home:has(.hits, .empty) .hero") || !e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})
	for (const e of document.querySelectorAll("body *")) {
		const s = getComputedStyle(e)
		if (/hidden|clip/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.innerText?.trim() && !hidden(e)) faults.push("clipped: " + e.outerHTML.slice(0, 120))
	}
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange()
	for (let node; node = texts.nextNode();) {
		const e = node.parentElement
		if (!node.data.trim() || e.closest("code, pre, svg, bdi, dd, textarea, option, .host, .path, .address, .mark") || hidden(e)) continue
		for (const word of node.data.matchAll(/(?<!\S)[(“]?[\p{Script=Latin}]{2,22}[.,:;)”]?(?!\S)/gu)) {
			range.setStart(node, word.index)
			range.setEnd(node, word.index + word[0].length)
			const lines = [...range.getClientRects()].map(r => Math.round(r.top))
			if (Math.max(...lines) - Math.min(...lines) > 4) faults.push("broken inside: " + word[0] + " in " + e.outerHTML.slice(0, 120))
		}
	}
	// A name is all text of its element: the places where it may be broken divide the text.
	for (const e of document.querySelectorAll("h1, h2, h3, bdi, dd, dd code, .host, .path, .address, .how code, .fetches code")) {
		if (hidden(e)) continue
		const parts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT)
		for (let node; node = parts.nextNode();) {
			if (node.parentElement.closest("pre, svg, .mark, .visually-hidden") || hidden(node.parentElement)) continue
			for (const part of node.data.matchAll(/(?<![^\s./:_@?&=(])[\p{Ll}]{2,22}(?![^\s./:_@?&=),])/gu)) {
				range.setStart(node, part.index)
				range.setEnd(node, part.index + part[0].length)
				const lines = [...range.getClientRects()].filter(r => r.width > 1).map(r => Math.round(r.top))
				if (Math.max(...lines) - Math.min(...lines) > 4) faults.push("name broken inside: " + part[0] + " in " + e.outerHTML.slice(0, 120))
			}
		}
	}
	// A line of a command ends between its words, not behind the dashes of an option.
	for (const e of document.querySelectorAll(".programs pre, :is(p, li, dd, td) > code")) {
		if (hidden(e)) continue
		const parts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT)
		for (let node; node = parts.nextNode();) for (const option of node.data.matchAll(/(?<!\S)--[a-z]/g)) {
			range.setStart(node, option.index)
			range.setEnd(node, option.index + 3)
			const lines = [...range.getClientRects()].filter(r => r.width > 1).map(r => Math.round(r.top))
			if (Math.max(...lines) - Math.min(...lines) > 4) faults.push("option broken inside: " + e.outerHTML.slice(0, 120))
		}
	}
	for (const e of document.querySelectorAll("select")) {
		if (hidden(e)) continue
		const whole = e.cloneNode(true)
		whole.removeAttribute("id")
		whole.style = "width: max-content; position: absolute"
		e.after(whole)
		if (whole.offsetWidth > e.offsetWidth + 1) faults.push("a value is cut: " + e.name + ", " + e.offsetWidth + " of " + whole.offsetWidth + " pixels")
		whole.remove()
	}
	const boxes = [...document.querySelectorAll("main a, main button, main input:not([type=hidden]), main select, main summary, header a")].filter(e => !hidden(e))
		.flatMap(e => [...e.getClientRects()].map(r => [e, r]))
	for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
		const [e, a] = boxes[i], [f, b] = boxes[j]
		if (e === f || e.contains(f) || f.contains(e)) continue
		if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 4 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6) faults.push("overlap: " + e.outerHTML.slice(0, 80) + " and " + f.outerHTML.slice(0, 80))
	}
	return faults.slice(0, 5)
})()`

// smallTargets names links and buttons below 24 pixels that stand by themselves
// (WCAG 2.2, 2.5.8 leaves out those in a sentence).
const smallTargets = `[...document.querySelectorAll("nav a, button, select, input:not([type=hidden]), .chips a, .summary a, summary, .verbs a, .ways a, .examples a, .related a, .as-json a")]
	.filter(e => e.getClientRects().length && e.getBoundingClientRect().height < 23.5)
	.map(e => Math.round(e.getBoundingClientRect().height) + " pixels: " + e.outerHTML.slice(0, 120)).slice(0, 5)`

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	must(b.T, err)
}

func evaluate[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.Fatalf("evaluate %.80s: %v", expression, err)
	}
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
