package search

import (
	"testing"

	"gazetteer/protocol"
)

// A document with errors or warnings shows how many it has.
func TestDescribeFindings(t *testing.T) {
	warning, failure, note := protocol.Finding{Severity: protocol.Warning}, protocol.Finding{Severity: protocol.Error}, protocol.Finding{Severity: protocol.Info}
	for want, findings := range map[string][]protocol.Finding{
		"":                      {note},
		", 1 warning":           {note, warning},
		", 2 errors, 1 warning": {failure, warning, failure},
		", 1 error, 2 warnings": {warning, failure, warning},
	} {
		if got := describeFindings(findings); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
