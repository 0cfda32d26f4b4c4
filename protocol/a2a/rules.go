package a2a

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Rule is one requirement on an envelope.
type Rule struct {
	Code    string // for example "duplicate-key"
	Section string // of the draft, "" for a limit of ours
	Title   string // what must hold, one sentence without a full stop
	Repair  string // what the sender can do, an imperative without a full stop
	Status  int    // of the refusal
	Reason  string // its error text
}

// The codes of the rules that are checked after the form of an envelope.
const (
	RuleSignatureText = "signature-text"
	RuleSender        = "sender"
	RuleSenderKey     = "sender-key"
	RuleResolver      = "resolver"
	RuleSignature     = "signature"
	RuleRecipient     = "recipient"
	RuleClock         = "clock"
	RuleReplay        = "replay"
	RuleReplayFull    = "replay-full"
	RuleThreadClosed  = "thread-closed"
	RuleThread        = "thread"
	RuleThreadBody    = "thread-body"
	RuleOpen          = "open"
	RuleStaleKey      = "stale-key"
	RuleReceipt       = "receipt"
)

//go:embed rules.txt
var ruleText string

// rules is the table of rules in the order in which an envelope is checked. Rules up to
// [RuleSignatureText] are about its form; [Check] reports those.
var rules = parseRules(ruleText)

// parseRules reads the table of rules, whose form its first lines describe. It panics if a rule is
// malformed.
func parseRules(text string) []Rule {
	var table []Rule
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue
		}
		head, rest, _ := strings.Cut(paragraph, "\n")
		title, rest, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), " refusal: ")
		refusal, repair, _ := strings.Cut(rest, " repair: ")
		code, section, _ := strings.Cut(head, " ")
		r := Rule{Code: code, Title: title, Repair: repair}
		if section != "own" {
			r.Section = strings.TrimPrefix(section, "§")
		}
		status, reason, _ := strings.Cut(refusal, " ")
		if _, err := fmt.Sscan(status, &r.Status); err != nil || reason == "" || repair == "" {
			panic(fmt.Sprintf("rule %q: want a code and a section, the title, refusal: and repair:", head))
		}
		r.Reason = reason
		table = append(table, r)
	}
	return table
}

// Rules returns all rules in the order in which an envelope is checked.
func Rules() []Rule { return slices.Clone(rules) }

// RuleOf returns the rule of a code.
func RuleOf(code string) Rule {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Code == code }); i >= 0 {
		return rules[i]
	}
	return Rule{Code: code, Status: http.StatusBadRequest, Reason: ErrorBadRequest}
}
