package agis_test

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/yaml"
)

// The examples of every rule show what the rule is about: the bad one has its
// code, the good one has not.
func TestRuleExamples(t *testing.T) {
	rules := agis.Rules()
	if len(rules) != 117 {
		t.Errorf("%d rules, want the 112 of the draft and our 5", len(rules))
	}
	for _, rule := range rules {
		t.Run(rule.Code, func(t *testing.T) {
			if rule.Text == "" || !strings.HasSuffix(rule.Text, ".") || rule.Bad == "" || rule.Good == "" || rule.Bad == rule.Good {
				t.Fatalf("the rule is not explained: %+v", rule)
			}
			if pass := 0; strings.HasPrefix(rule.Code, "AGIS") && rule.Pass == pass || rule.Pass > 8 {
				t.Errorf("pass %d", rule.Pass)
			}
			if !reported(t, rule.Code, rule.Bad) {
				t.Errorf("the bad example is not reported:\n%s", rule.Bad)
			}
			if reported(t, rule.Code, rule.Good) {
				t.Errorf("the good example is reported:\n%s", rule.Good)
			}
		})
	}
}

const summaryBase = `{"agis":"1.0","service":"Acme Reservations","agtp":"agtp://acme.example","agis_document":"https://acme.example/service.agis","methods":["BOOK"]}`

// reported reports whether an example, put in its place, has a finding of that
// code.
func reported(t *testing.T, code, example string) bool {
	t.Helper()
	var findings []protocol.Finding
	whole := []string{"AGIS101", "AGIS102", "AGIS103", "AGIS104", "AGIS105"}
	switch {
	case slices.Contains(whole, code):
		_, findings, _ = agis.Parse([]byte(example), agis.Options{})
	case code == "WK101":
		_, findings, _ = agis.ParseSummary([]byte(example), agis.Options{})
	case code == "WK110": // needs the document
		doc, _ := check(t, base, agis.Options{})
		text, _, _ := strings.Cut(example, "(")
		summary, _, err := agis.ParseSummary(put(t, summaryBase, text), agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		findings = agis.CrossCheck(summary, doc)
	case code == "WK111": // needs the answer
		doc, _ := check(t, base, agis.Options{})
		status := 200
		if strings.Contains(example, "401") {
			status = 401
		}
		findings = agis.CheckAccess(status, doc)
	case code == "AGIS106" && strings.Contains(example, "1001"): // too long to show
		_, findings = check(t, strings.Replace(base, "endpoints:\n", "endpoints:\n"+strings.Repeat("  - {method: BOOK, path: /a}\n", 1000), 1), agis.Options{})
	case code == "WK114" && strings.Contains(example, "1001"):
		_, findings, _ = agis.ParseSummary([]byte(strings.Replace(summaryBase, `"BOOK"`, `"BOOK"`+strings.Repeat(`,"BOOK"`, 1000), 1)), agis.Options{})
	case strings.HasPrefix(code, "WK"):
		_, findings, _ = agis.ParseSummary(put(t, summaryBase, example), agis.Options{})
	default:
		// Nothing negotiable and no data, unless the example says so.
		plain, _, _ := strings.Cut(strings.Replace(base, "  negotiable: true\n", "", 1), "data_manifest:")
		_, findings = check(t, string(put(t, plain, example)), agis.Options{})
	}
	return has(findings, code)
}

// put sets the fields of an example in a document, or its endpoints.
func put(t *testing.T, document, example string) []byte {
	t.Helper()
	tree := func(text string) *protocol.Node {
		root, err := yaml.Read([]byte(text), protocol.Limits{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return root
	}
	root, change := tree(document), tree(example)
	json := strings.HasPrefix(document, "{")
	if change.Kind == protocol.Array {
		endpoints := root.Member("endpoints")
		endpoints.Items = change.Items
		return yaml.Write(root)
	}
	for _, m := range change.Items {
		at := root
		if slices.Contains([]string{"method", "path", "semantic", "input", "output", "errors", "proposed"}, m.Key) && !json {
			at = root.Member("endpoints").Items[0]
		}
		if i := slices.IndexFunc(at.Items, func(old *protocol.Node) bool { return old.Key == m.Key }); i >= 0 {
			at.Items[i] = m
		} else {
			at.Items = append(at.Items, m)
		}
	}
	if json {
		return protocol.WriteJSON(root, "")
	}
	return yaml.Write(root)
}
