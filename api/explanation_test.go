package api_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/store"
)

// TestExplanation has a host whose document breaks a rule, which failed for some days, and to which
// another host links. The explanation shows what the crawler saw.
func TestExplanation(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	h := newTestServer(t, options{})
	h.answers.Now = func() time.Time { return now }
	const host = "ours.example"
	broken := strings.Replace(aiText("Ours"), `"method": "GET"`, `"method": "FETCH"`, 1)
	_, writes := h.prepareDocument(host, document.AI, "application/json", broken, now.Add(-time.Hour))
	var record crawler.Host
	if err := json.Unmarshal(writes[0].Value, &record); err != nil {
		t.Fatal(err)
	}
	record.Due = now.Add(23 * time.Hour)
	writes[0] = store.Put(store.HostKey(host), encodeJSON(t, record))
	good := conformance.Standing{Class: conformance.Publishes, Reachable: conformance.Yes, WellFormed: conformance.Yes, Conformant: conformance.Yes, Answers: conformance.Yes, Level: 1}
	silent := conformance.Standing{Class: conformance.Silent, Reachable: conformance.No}
	for i, turn := range []conformance.Turn{
		{At: now.AddDate(0, 0, -20), Standing: good}, {At: now.AddDate(0, 0, -6), Standing: silent, Before: &good},
		{At: now.AddDate(0, 0, -3), Standing: good, Before: &silent},
	} {
		turn.Host = host
		if i == 0 {
			turn.Known = turn.At
		}
		writes = append(writes, store.Put(store.TurnKey(host, turn.At), encodeJSON(t, turn)))
	}
	h.applyWrites(writes...)
	h.publish("from.example", document.AGISSummary, "application/json", `{"agis": "1.0", "service": "From", "agis_document": "agtp://from.example/agis", "methods": ["BOOK"], "domain": "travel", "related_services": ["agtp://ours.example"]}`, seen)
	head := h.store.Head().Seq
	if err := errors.Join(h.index.WaitFor(t.Context(), head), h.answers.Standing.WaitFor(t.Context(), head)); err != nil {
		t.Fatal(err)
	}

	var e answer.Explanation
	decodeInto(t, h.get("/api/v1/services/"+host+"/explanation", 200), &e)
	if !e.Listed || e.Class != conformance.Publishes || e.Why == "" {
		t.Errorf("listed %v, class %s, because %q", e.Listed, e.Class, e.Why)
	}
	failing := slices.IndexFunc(e.States, func(s conformance.State) bool { return s.Name == conformance.Conformant })
	if len(e.States) != 5 || failing < 0 || e.States[failing].Verdict != conformance.No || len(e.States[failing].Evidence) == 0 {
		t.Fatalf("the states are %+v", e.States)
	}
	if v := e.States[failing].Evidence[0]; v.Kind != "ai" || v.Code == "" || v.Line != 5 {
		t.Errorf("the evidence is %+v, want a rule and line 5", v)
	}
	var marks []string
	for _, d := range e.History.Days {
		marks = append(marks, d.Mark())
	}
	want := slices.Concat(slices.Repeat([]string{"unknown"}, 9), slices.Repeat([]string{"good"}, 14), slices.Repeat([]string{"bad"}, 3), slices.Repeat([]string{"good"}, 4))
	if !slices.Equal(marks, want) || e.History.Days[29].Day != "2026-11-22" {
		t.Errorf("the days are %v", marks)
	}
	if e.Links.TotalIn != 1 || !slices.Equal(e.Links.In, []string{"from.example"}) {
		t.Errorf("the links are %+v", e.Links)
	}
	if !slices.ContainsFunc(e.Recheck.Steps, func(s crawler.PreviewStep) bool {
		return s.Asked && s.Kind == "ai" && s.Why != ""
	}) {
		t.Errorf("a new visit would be %+v", e.Recheck)
	}
	var from answer.Explanation
	decodeInto(t, h.get("/api/v1/services/from.example/explanation", 200), &from)
	if from.Links.TotalOut != 1 || !slices.Equal(from.Links.Out, []string{host}) || len(from.History.Turns) != 0 {
		t.Errorf("the other host: %+v %+v", from.Links, from.History)
	}
	h.get("/api/v1/services/unknown.example/explanation", 404)
}
