package web

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/web/frame"
)

// explanationView is the page that shows the owner of a host what the crawler found there.
type explanationView struct {
	Host, Word, Why string
	By, Proof       string
	States          []stateLine
	Steps           []stepView // of the last visit
	StepsAt         frame.Moment
	StepsWhy        string
	Days            []dayView
	DaysText        string // what the strip shows, for those who do not see it
	Begins          frame.Moment
	Turns           []turnView
	In              []string
	MoreIn          int
	Anybody, Owner  []previewView
	Wait            frame.Moment           // when a request of anybody is taken
	Reasons         []conformance.Evidence // of a host that is not listed, most direct first
	Embed           []programView          // the badge, to be copied
}

type stateLine struct {
	Name, Word, Tone string
	At               frame.Moment
	Evidence         []conformance.Evidence
	More             int // pieces of evidence that are not shown
}

type stepView struct{ URL, Status, Why string }

type dayView struct{ X, Class, Text string }

type turnView struct {
	At   frame.Moment
	Text string
}

type previewView struct {
	URL, Why string
	Asked    bool
}

// markWords describe the marks of the strip.
var markWords = []struct{ mark, words string }{
	{"good", "all checks passed"}, {"flawed", "broken rules or disagreeing documents"}, {"bad", "no answer, or no readable document"},
	{"changing", "changed too often to record"}, {"empty", "nothing published"}, {"closed", "disallowed by robots.txt"}, {"unknown", "no data"},
}

func (p *Pages) explanationOf(e answer.Explanation) explanationView {
	page, picture := p.BaseAddress+frame.ServicePath(e.Host), p.BaseAddress+"/api/v1/services/"+e.Host+"/badge.svg"
	v := explanationView{Host: e.Host, Word: "Not listed", Why: e.Why, By: e.MeasuredBy, Proof: e.OriginProof, Begins: p.MomentOf(e.History.Begins)}
	if e.Listed {
		v.Word = "Listed"
	}
	for _, s := range e.States {
		line := stateLine{Name: facetText("is", string(s.Name)), Word: "Yes", Tone: "info", At: p.MomentOf(s.At)}
		line.Evidence, line.More = frame.SplitAt(s.Evidence, 5)
		switch {
		case s.Verdict == conformance.No:
			line.Word, line.Tone = "No", "error"
		case s.Verdict == conformance.Unknown:
			line.Word = unknownWord(e, s.Name)
		case s.Level > 0:
			line.Word = fmt.Sprintf("Yes, level %d", s.Level)
		}
		v.States = append(v.States, line)
	}
	if visit := e.LastVisit; visit != nil {
		v.StepsAt, v.StepsWhy = p.MomentOf(visit.At), frame.AsSentence(visit.Why)
		for _, r := range visit.Requests {
			status := "no answer"
			if r.Status > 0 {
				status = fmt.Sprintf("HTTP %d", r.Status)
			}
			v.Steps = append(v.Steps, stepView{r.URL, status, r.Why})
		}
	}
	counts := map[string]int{}
	for i, d := range e.History.Days {
		mark := d.Mark()
		counts[mark]++
		text := d.Day + ": " + wordsOfMark(mark)
		if d.Changes > 0 {
			text += ", " + frame.FormatCount(d.Changes, "change")
		}
		v.Days = append(v.Days, dayView{X: fmt.Sprint(10 * i), Class: mark, Text: text})
	}
	var parts []string
	for _, m := range markWords {
		if n := counts[m.mark]; n > 0 {
			parts = append(parts, m.words+" on "+frame.FormatCount(n, "day"))
		}
	}
	v.DaysText = frame.AsSentence(strings.Join(parts, "; "))
	for _, t := range e.History.Turns[:min(len(e.History.Turns), 10)] {
		v.Turns = append(v.Turns, turnView{p.MomentOf(t.Time()), frame.AsSentence(describeTurn(t))})
	}
	if !e.Listed {
		for _, s := range e.States {
			for _, evidence := range s.Evidence {
				// A name that does not resolve fails every request with the same words.
				if !slices.ContainsFunc(v.Reasons, func(r conformance.Evidence) bool { return r.Code == evidence.Code && r.Text == evidence.Text }) {
					v.Reasons = append(v.Reasons, evidence)
				}
			}
		}
		v.Reasons = v.Reasons[:min(len(v.Reasons), 3)]
	}
	v.Embed = []programView{
		{"HTML", fmt.Sprintf(`<a href="%s"><img src="%s" alt="Checked by Gazetteer"></a>`, page, picture)},
		{"Markdown", fmt.Sprintf("[![Checked by Gazetteer](%s)](%s)", picture, page)},
	}
	v.In, v.MoreIn = e.Links.In, e.Links.TotalIn-len(e.Links.In)
	v.Anybody, v.Owner, v.Wait = previewOf(e.Recheck), previewOf(e.OwnerRecheck), p.MomentOf(e.Recheck.NotBefore)
	return v
}

// unknownWord says why nothing is known of a state.
func unknownWord(e answer.Explanation, state conformance.Name) string {
	switch {
	case state == conformance.Consistent && (e.Class == conformance.Publishes || e.Class == conformance.OtherDialect):
		return "Not applicable: one document"
	case state == conformance.Answers && isWithheld(e):
		return "Not checked (robots.txt)"
	default:
		return "Unknown"
	}
}

// isWithheld reports whether robots.txt alone is the reason that nothing was found at a host.
func isWithheld(e answer.Explanation) bool {
	failed := func(s conformance.State) bool { return s.Name == conformance.Answers && s.Verdict == conformance.No }
	return e.Class == conformance.Withheld && !slices.ContainsFunc(e.States, failed)
}

func wordsOfMark(mark string) string {
	for _, m := range markWords {
		if m.mark == mark {
			return m.words
		}
	}
	return mark
}

// describeTurn describes a change of a host's states.
func describeTurn(t conformance.Turn) string {
	switch {
	case t.Flapping:
		return "the states change all the time; single changes are no longer recorded"
	case t.First():
		return "first visited: " + answer.ClassReason(t.Standing.Class)
	}
	var parts []string
	for _, name := range conformance.Names() {
		if from, to := t.Before.Verdict(name), t.Standing.Verdict(name); from != to {
			parts = append(parts, fmt.Sprintf("%s: %s, was %s", facetText("is", string(name)), to, from))
		}
	}
	if t.Before.Class != t.Standing.Class {
		parts = append(parts, answer.ClassReason(t.Standing.Class))
	}
	if t.Before.Level != t.Standing.Level && t.Standing.Level > 0 && t.Before.Level > 0 {
		parts = append(parts, fmt.Sprintf("level %d, was %d", t.Standing.Level, t.Before.Level))
	}
	if len(parts) == 0 {
		return "the states are steady again"
	}
	return strings.Join(parts, "; ")
}

func previewOf(p crawler.Preview) []previewView {
	var steps []previewView
	for _, s := range p.Steps {
		steps = append(steps, previewView{s.URL, s.Why, s.Asked})
	}
	return steps
}
