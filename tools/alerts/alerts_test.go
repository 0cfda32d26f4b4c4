// Package alerts checks the alert rules of docs/operating.md with the parser of Prometheus, and the
// file of rules that is made of them. It has only tests, so that the product does not need Prometheus.
package alerts

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// rulesFile is the file that Prometheus reads.
const rulesFile = "../../packaging/alerts.yml"

// A rule is one expression of the page. A row with two expressions is two rules, the second with a
// number behind its name, because promtool refuses two rules of one name.
type rule struct {
	alert, expression, duration, meaning, remedy string
}

var condition = regexp.MustCompile("`([^`]+)`(?: for ([0-9]+[mhd]))?")

// readRules returns the rules of the table of docs/operating.md.
func readRules(t *testing.T) []rule {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Alerts\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var rules []rule
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 4 || cells[0] == "alert" {
			continue
		}
		found := condition.FindAllStringSubmatch(cells[1], -1)
		if len(found) == 0 {
			t.Errorf("%s has no expression", cells[0])
		}
		for i, c := range found {
			name := nameAlert(cells[0])
			if i > 0 {
				name += strconv.Itoa(i + 1)
			}
			rules = append(rules, rule{name, c[1], c[2], cells[2], cells[3]})
		}
	}
	return rules
}

// TestAlertRulesParse checks that each expression of the page is one that Prometheus accepts, and
// that its value is a vector: an alert fires for each element.
func TestAlertRulesParse(t *testing.T) {
	rules := readRules(t)
	for _, r := range rules {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(r.expression)
		if err != nil {
			t.Errorf("%s: %v", r.expression, err)
			continue
		}
		if parsed.Type() != parser.ValueTypeVector {
			t.Errorf("%s is a %s", r.expression, parsed.Type())
		}
	}
	if len(rules) < 18 {
		t.Errorf("%d expressions were found", len(rules))
	}
}

// TestRulesFile checks that the file for Prometheus has the rules of the page.
func TestRulesFile(t *testing.T) {
	want := formatRules(readRules(t))
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(rulesFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run UPDATE=1 go -C tools test ./alerts", rulesFile)
	}
}

// formatRules writes rules in the form that Prometheus reads.
func formatRules(rules []rule) string {
	var b strings.Builder
	b.WriteString("# The alert rules of docs/operating.md, for rule_files of Prometheus.\ngroups:\n  - name: gazetteer\n    rules:\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n", r.alert, quote(r.expression))
		if r.duration != "" {
			fmt.Fprintf(&b, "        for: %s\n", r.duration)
		}
		fmt.Fprintf(&b, "        annotations:\n          summary: %s\n          action: %s\n", quote(r.meaning), quote(r.remedy))
	}
	return b.String()
}

// nameAlert returns the name of an alert: GazetteerNotReady for "not ready".
func nameAlert(row string) string {
	name := "Gazetteer"
	for word := range strings.FieldsSeq(row) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// quote writes a text as a YAML scalar in single quotes.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
