package lint_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/lint/repair"
)

const summary = `{"agis": 1.0, "service": "Alba", "agtp": "agtp://alba.example", "methods": ["BOOK"],
	"agis_document": "https://alba.example/agis.yaml", "version": "1"}`

// Judge one document.
func ExampleCheck() {
	r := lint.Check(lint.Input{Name: "agis.json", Text: []byte(summary)}, lint.Options{})
	fmt.Println(r.Kind, r.Valid, r.Failed())
	for _, f := range r.Findings {
		fmt.Printf("%s line %d: %s\n", f.Code, f.Line, f.Message)
	}
	// Output:
	// agis-summary false true
	// WK109 line 1: domain, namespace, negotiable, capability_summary, data_classes, pre_auth_discovery: in the draft's summary and absent here
	// WK102 line 1: agis is a number, not a string
}

// Explain a rule.
func ExampleRule() {
	r, ok := lint.Rule("AGIS103")
	fmt.Println(ok, r.Slug, "-", r.Section)
	// Output:
	// true duplicate-key - AGIS §10
}

// Print the result as a person reads it.
func ExampleCheck_print() {
	in := lint.Input{Name: "agis.json", Text: []byte(summary)}
	reports := []format.Report{{Result: lint.Check(in, lint.Options{}), Text: in.Text}}
	if err := format.Write(os.Stdout, "text", reports, format.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// note[WK109]: domain, namespace, negotiable, capability_summary, data_classes, pre_auth_discovery: in the draft's summary and absent here
	//  --> agis.json:1:1
	//   |
	// 1 | {"agis": 1.0, "service": "Alba", "agtp": "agtp://alba.example", "methods": ["BOOK"],
	//   | ^
	//   = rule: wk-recommended, AGIS §11.1 (the draft leaves it to the reader; this is our reading)
	//   = help: add what the service has; it helps to be found
	//
	// error[WK102]: agis is a number, not a string
	//  --> agis.json:1:10  /agis
	//   |
	// 1 | {"agis": 1.0, "service": "Alba", "agtp": "agtp://alba.example", "methods": ["BOOK"],
	//   |          ^^^
	//   = rule: wk-required, AGIS §11.1 (the draft requires it)
	//   = help: put it in quotes
	//
	// agis.json: not valid; AGIS summary, 1 verb, about 38 tokens (35 without white space); 1 error, 1 note
}

// Accept the findings of today and fail on new ones only.
func ExampleNewBaseline() {
	in := lint.Input{Name: "agis.json", Text: []byte(summary)}
	known := lint.NewBaseline([]lint.Result{lint.Check(in, lint.Options{})})
	fmt.Println(lint.Check(in, lint.Options{Baseline: known}).Failed())
	in.Text = []byte(strings.Replace(summary, "https:", "ftp:", 1))
	fmt.Println(lint.Check(in, lint.Options{Baseline: known}).Failed())
	// Output:
	// false
	// true
}

// Repair what can be repaired without knowing what the author meant.
func Example_repair() {
	fixed, repairs, err := repair.Fix(document.AGISSummary, []byte(summary))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(repairs))
	fmt.Println(string(fixed[:14]))
	// Output:
	// 1
	// {"agis": "1.0"
}
