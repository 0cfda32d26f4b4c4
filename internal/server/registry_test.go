package server

import (
	"strings"
	"testing"
)

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
		if _, err := parseCosigners([]string{line}, nil); err == nil || !strings.Contains(err.Error(), "registry.witnesses") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
