package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/internal/config"
	"gazetteer/registry/audit"
)

// The way out of a forked log is in one line with the reason.
func TestForkedLogIsExplainedInOneLine(t *testing.T) {
	h := &Server{Config: config.Config{DataDir: t.TempDir(), Registry: config.RegistryConfig{DIDHost: "registry.example"}}}
	h.checkpointCopy = filepath.Join(t.TempDir(), "copy")
	for _, file := range []string{filepath.Join(h.Config.DataDir, "log.key"), h.checkpointCopy} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const accept = "; to accept the loss of records of the store, set registry.accept_log_loss = true; "
	for _, lossOfRecords := range []bool{false, true} {
		err := h.explainLogError(fmt.Errorf("log data/log: %w", &audit.ForkError{LossOfRecords: lossOfRecords}))
		text := err.Error()
		if !errors.Is(err, audit.ErrFork) || strings.Contains(text, "\n") || !strings.HasPrefix(text, "log data/log: ") {
			t.Errorf("%q", text)
		}
		if strings.Contains(text, accept) != lossOfRecords {
			t.Errorf("with a loss of records %t, the error advises to accept it, or not: %q", lossOfRecords, text)
		}
		if want := "move " + h.Config.DataDir + "/log.key and " + h.checkpointCopy + ` away, set registry.log_origin to a new name, such as "registry.example/log-2"`; !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
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
