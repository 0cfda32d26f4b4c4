// Package alerts checks the alert rules of docs/operating.md with the parser of Prometheus. It has
// only a test, so that the product does not need Prometheus.
package alerts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestAlertRulesParse checks that each expression of the page is one that Prometheus accepts, and
// that its value is a vector: an alert fires for each element.
func TestAlertRulesParse(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Alerts\n")
	text, _, _ = strings.Cut(text, "\n## ")
	code := regexp.MustCompile("`([^`]+)`")
	rules := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || strings.HasPrefix(line, "| alert ") {
			continue
		}
		found := code.FindAllStringSubmatch(cells[1], -1)
		if len(found) == 0 {
			t.Errorf("%s has no expression", cells[0])
		}
		for _, expression := range found {
			rules++
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression[1])
			if err != nil {
				t.Errorf("%s: %v", expression[1], err)
				continue
			}
			if parsed.Type() != parser.ValueTypeVector {
				t.Errorf("%s is a %s", expression[1], parsed.Type())
			}
		}
	}
	if rules < 18 {
		t.Errorf("%d expressions were found", rules)
	}
}
