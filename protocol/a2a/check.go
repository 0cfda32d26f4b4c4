package a2a

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"gazetteer/protocol/jcs"
)

// A RuleResult says whether a rule holds.
type RuleResult uint8

const (
	// Unjudged: an earlier rule is broken, so this rule could not be checked.
	Unjudged RuleResult = iota
	// Holds: the envelope keeps the rule.
	Holds
	// Broken: the envelope breaks the rule.
	Broken
)

// String returns "-", "ok" or "no".
func (v RuleResult) String() string { return [...]string{"-", "ok", "no"}[v] }

// A Finding is the result of [Check] for one rule.
type Finding struct {
	Rule         Rule
	Strict, Wire RuleResult
	Detail       string // what is wrong, "" for nothing; it quotes the envelope
}

// A Report is the result of [Check] for the form of an envelope.
type Report struct {
	Findings []Finding // one for each rule, in the order of [Rules]
	Envelope *Envelope // nil when its form is right in neither profile
}

// Profiles returns the profiles in which the envelope is well-formed, its signature
// included.
func (r Report) Profiles() []Profile {
	var out []Profile
	for _, p := range [...]Profile{Strict, Wire} {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.verdictIn(p) != Holds }) {
			out = append(out, p)
		}
	}
	return out
}

func (f Finding) verdictIn(p Profile) RuleResult {
	if p == Wire {
		return f.Wire
	}
	return f.Strict
}

// Check checks the form of an envelope against every rule, in both profiles, where [Read] stops at
// the first broken rule. It checks whether the signature has a valid form, not whether it verifies.
func Check(text []byte) Report {
	last := slices.IndexFunc(rules, func(r Rule) bool { return r.Code == RuleSignatureText })
	r := Report{Findings: make([]Finding, last+1)}
	for i := range r.Findings {
		r.Findings[i].Rule = rules[i]
	}
	e := &Envelope{Text: text}
	if !r.checkJSON(e) {
		return r
	}
	for _, p := range [...]Profile{Strict, Wire} {
		c := checker{profile: p}
		c.checkEnvelope(e.document.Root())
		r.recordViolations(p, c.found)
	}
	if e.document.Root().Kind() != jcs.Object {
		return r
	}
	e.setFields()
	_, err := e.signatureBytes()
	r.judgeSignature(err)
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Wire == Broken && f.Rule.Code != RuleSignatureText }) {
		r.Envelope = e
	}
	return r
}

// checkJSON checks the rules about the text and reports whether the other rules can be checked.
// Numbers that break a rule do not prevent that.
func (r *Report) checkJSON(e *Envelope) bool {
	err := parseJSON(&e.document, e.Text, jcs.ExactIntegers)
	if err == nil {
		r.holdBefore("object")
		return true
	}
	why, _ := errors.AsType[*Refusal](err)
	number := why.Rule == string(jcs.Float) || why.Rule == string(jcs.Range)
	if number {
		if again := parseJSON(&e.document, e.Text, jcs.Verbatim); again != nil {
			why, _ = errors.AsType[*Refusal](again)
			number = false
		}
	}
	if number {
		r.holdBefore("object")
	} else {
		r.holdBefore(why.Rule)
	}
	f := &r.Findings[r.findRule(why.Rule)]
	f.Strict, f.Wire, f.Detail = Broken, Broken, why.Detail
	if place, ok := errors.AsType[*jcs.Error](why); ok {
		line, column := lineAndColumn(e.Text, place.Offset)
		f.Detail += fmt.Sprintf(" (line %d, column %d)", line, column)
	}
	return number
}

// lineAndColumn returns the place of a byte as editors count, from 1; a column is a character.
func lineAndColumn(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}

// holdBefore marks the rules before the broken one as kept. The reader reports the first problem in
// the order of the text, so it has checked these rules up to that place.
func (r *Report) holdBefore(code string) {
	for i := range r.findRule(code) {
		r.Findings[i].Strict, r.Findings[i].Wire = Holds, Holds
	}
}

func (r *Report) findRule(code string) int {
	return slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule.Code == code })
}

// recordViolations adds the violations of one profile to the report.
func (r *Report) recordViolations(p Profile, found []violation) {
	verdict := Holds
	for i := r.findRule("object"); i < len(r.Findings)-1; i++ {
		f := &r.Findings[i]
		if verdict == Broken && r.Findings[i-1].Rule.Code == "object" {
			return // other values have nothing else to check
		}
		verdict = Holds
		for _, v := range found {
			if v.rule != f.Rule.Code {
				continue
			}
			verdict = Broken
			if text := v.text(); f.Detail == "" {
				f.Detail = text
			} else if p == Strict {
				f.Detail += "; " + text
			}
		}
		if p == Wire {
			f.Wire = verdict
		} else {
			f.Strict = verdict
		}
	}
}

func (r *Report) judgeSignature(err error) {
	f := &r.Findings[len(r.Findings)-1]
	f.Strict, f.Wire = Holds, Holds
	if why, ok := errors.AsType[*Refusal](err); ok {
		f.Strict, f.Wire, f.Detail = Broken, Broken, why.Detail
	}
}
