package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/route"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/relay"
	"gazetteer/web"
)

// The operator's pages answer on the operator's listener alone and are not kept by any cache. That of
// the relay shows counts, and a reason is escaped like any other text.
func TestOperatorPages(t *testing.T) {
	h := mount(t, sample{word: plainWord, hits: 1}, web.Options{
		Now: func() time.Time { return now },
		Registry: func(context.Context) (air.RegistryStatus, error) {
			return air.RegistryStatus{Admission: admission.PolicyState{Mode: admission.ModeApproval}, Waiting: 2, Reports: air.ReportCount{Open: 3, Overdue: 1}, Halted: &audit.Halt{Cause: audit.CauseDamage, Reason: "<b>"}}, nil
		},
		Standing: func() api.ServerStatus {
			return api.ServerStatus{Version: "v1", Ready: true, Work: route.Work{Read: true, Sign: true, Problems: []string{"the disk is <full>"}}, Relay: &relay.Status{
				Metrics: relay.Metrics{Accepted: 1234, Acknowledged: 1200, Refused: map[string]uint64{"replay": 7, "<b>": 9}},
				Waiting: 34, WaitingBytes: 68_000, Inboxes: 3, Oldest: now.Add(-2 * time.Hour),
			}}
		},
	}).(listeners)
	for path, want := range map[string][]string{
		"/admin/":      {"<b>refused</b>", "signs", "the disk is &lt;full&gt;", "Relay", "Operator", "/admin/relay", "until you approve them", "2 registrations", "3 open reports, 1 overdue", "&lt;b&gt;", "gazetteer registry reports"},
		"/admin/relay": {"1,234", "1,200", "34", "replay", "&lt;b&gt;", "2 hours ago", ">16<"},
	} {
		w := get(t, h.operator, path)
		if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, Cache-Control %q", path, w.Code, w.Header().Get("Cache-Control"))
		}
		for _, fault := range faults(parse(t, w.Body.String())) {
			t.Errorf("%s: %s", path, fault)
		}
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s does not show %q:\n%s", path, text, w.Body)
			}
		}
		if w := get(t, h, path); w.Code != 404 {
			t.Errorf("%s answers the public with %d", path, w.Code)
		}
	}
	if w := get(t, h.operator, "/admin"); w.Code != 308 || w.Header().Get("Location") != "/admin/" || get(t, h, "/admin").Code != 404 {
		t.Errorf("/admin: %d to %q, and %d for the public", w.Code, w.Header().Get("Location"), get(t, h, "/admin").Code)
	}
	if body := get(t, h, "/status").Body.String(); strings.Contains(body, "/admin/") {
		t.Errorf("a public page links to the operator's:\n%s", body)
	}
	behind := mount(t, sample{word: plainWord}, web.Options{Standing: func() api.ServerStatus {
		return api.ServerStatus{Ready: true, Work: route.Work{Problems: []string{"read: the states of hosts are behind the store"}}}
	}}).(listeners)
	if w := get(t, behind.operator, "/admin/"); !strings.Contains(w.Body.String(), "<b>not complete</b>") || !strings.Contains(w.Body.String(), "the states of hosts are behind") {
		t.Errorf("while the states of hosts are behind: %s", w.Body)
	}
	none := mount(t, sample{word: plainWord, hits: 1}, web.Options{}).(listeners)
	if w := get(t, none.operator, "/admin/relay"); w.Code != 200 || !strings.Contains(w.Body.String(), "no relay") {
		t.Errorf("without a relay: %d %s", w.Code, w.Body)
	}
}
