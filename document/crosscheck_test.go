package document_test

import (
	"errors"
	"strings"
	"testing"

	"gazetteer/document"
)

func TestCrossCheck(t *testing.T) {
	const (
		summary = `{"agis":"1.0","service":"Acme","agtp":"agtp://acme.test","agis_document":"https://acme.test/a.agis","methods":["BOOK","FIND"]}`
		full    = "agis: \"1.0\"\nservice: Acme\npre_auth_discovery: true\nendpoints:\n  - method: BOOK\n    path: /table\n"
	)
	findings, err := document.CrossCheck([]byte(summary), []byte(full))
	if err != nil || len(findings) != 1 || findings[0].Code != document.CodeDiffers || findings[0].Pointer != "/methods" {
		t.Errorf("findings %+v, %v", findings, err)
	}
	for name, pair := range map[string][2]string{"summary": {"{", full}, "document": {summary, "\x00"}} {
		if _, err := document.CrossCheck([]byte(pair[0]), []byte(pair[1])); !errors.Is(err, document.ErrUnreadable) {
			t.Errorf("a broken %s: %v", name, err)
		}
	}
	if findings, err := document.CheckAccess(401, []byte(full)); err != nil || len(findings) != 1 || findings[0].Code != "WK111" {
		t.Errorf("findings %+v, %v", findings, err)
	}
	if _, err := document.CheckAccess(401, []byte("\x00")); !errors.Is(err, document.ErrUnreadable) {
		t.Errorf("a broken document: %v", err)
	}
}

func TestSummaryAndDocumentProtocols(t *testing.T) {
	const summary, full = `{"agis":"1.0","interaction_protocols":["request","query"]}`, "agis: \"1.0\"\nservice: Acme\n"
	for text, want := range map[string]string{full: "request query", full + "interaction_protocols: [confirm]\n": "confirm"} {
		got, err := document.Protocols([]byte(summary), []byte(text))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
	for _, pair := range [][2]string{{"{", full}, {summary, "\x00"}} {
		if _, err := document.Protocols([]byte(pair[0]), []byte(pair[1])); !errors.Is(err, document.ErrUnreadable) {
			t.Errorf("%q: %v", pair, err)
		}
	}
}
