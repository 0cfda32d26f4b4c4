package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gazetteer/registry/audit"
)

// The way out of a forked log is in one line with the reason.
func TestForkedLogIsExplainedInOneLine(t *testing.T) {
	err := explainLogError(fmt.Errorf("log data/log: %w", audit.ErrFork))
	text := err.Error()
	if !errors.Is(err, audit.ErrFork) || strings.Contains(text, "\n") || !strings.HasPrefix(text, "log data/log: ") ||
		!strings.Contains(text, "; to accept the loss of records of the store, set registry.accept_log_loss = true;") {
		t.Errorf("%q", text)
	}
}

func TestParseRegistriesAndWitnesses(t *testing.T) {
	bases, err := parseRegistries([]string{"agents.example=https://registry.example", "b.example:8443=https://c.example/sub"})
	if err != nil || len(bases) != 2 || bases["b.example:8443"] != "https://c.example/sub" {
		t.Errorf("%v, %v", bases, err)
	}
	for _, line := range []string{"agents.example", "=https://registry.example", "agents.example=http://registry.example"} {
		if _, err := parseRegistries([]string{line}); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"", "key", "key https://witness.example", "key ftp://witness.example", "a b c"} {
		if _, err := parseCosigners([]string{line}); err == nil || !strings.Contains(err.Error(), "registry.witnesses") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
