package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/internal/need"
	"gazetteer/relay"
	"gazetteer/relay/relayhttp"
)

// TestSpectral has both descriptions judged by Spectral's recommended rules, and a bad description
// too, so that a Spectral that finds nothing is noticed.
func TestSpectral(t *testing.T) {
	node, modules := need.Node(t)
	h := newTestServer(t, options{relay: func(*relay.Options, *relayhttp.Options) {}})
	dir := t.TempDir()
	rules, err := filepath.Abs("testdata/spectral.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"public":   h.get("/openapi.json", 200).body,
		"operator": h.requestAt(h.admin, "GET", "/admin/openapi.json", nil).body,
		"bad":      []byte(`{"openapi": "3.1.0", "info": {"title": "Bad", "version": "1"}, "paths": {"/a": {"get": {"responses": {"200": {}}}}}}`),
	} {
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		// The exit code is 1 for findings, which are read below, and 2 for a failure, which writes
		// no JSON.
		out, _ := exec.CommandContext(t.Context(), node, filepath.Join(modules, "@stoplight/spectral-cli/dist/index.js"),
			"lint", "--ruleset", rules, "--format", "json", "--quiet", file).Output()
		var findings []struct {
			Code, Message string
			Path          []any
		}
		if err := json.Unmarshal(out, &findings); err != nil {
			t.Fatalf("%s: %v: %.500s", name, err, out)
		}
		if name == "bad" {
			if len(findings) < 3 {
				t.Errorf("a bad description has only these findings: %v", findings)
			}
			continue
		}
		for _, f := range findings {
			t.Errorf("%s: %s: %s at %s", name, f.Code, f.Message, strings.Trim(fmt.Sprint(f.Path), "[]"))
		}
	}
}
