// Package mcpconformance judges a server of the Model Context Protocol with programs that share no
// code with it: the protocol's own conformance suite, and the official client in TypeScript. It is
// for tests; .ci/install brings the npm packages it runs.
//
// Much of the suite calls tools, prompts and resources with fixed names. [AddTools] adds the tools to
// a server under test, so that its transport is judged with every kind of content.
package mcpconformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/internal/need"
)

// Scenarios for [Run]. The rest of the suite judges what a server offers by choice, in a session:
// prompts, resources, completion, logging, progress, and questions to the client.
var (
	// Basic fit every server that has tools.
	Basic = []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"}
	// Content need the tools of [AddTools].
	Content = []string{"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error", "json-schema-2020-12"}
)

// Run runs scenarios of the conformance suite against the server at an address, each as a subtest. A
// scenario fails when one of its checks fails or warns, or when it checks nothing.
func Run(t *testing.T, url string, scenarios []string) {
	t.Helper()
	node, modules := need.Node(t)
	out := t.TempDir()
	// The exit code is that of the whole suite, much of which does not fit. The results are read below.
	program := exec.CommandContext(t.Context(), node, filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--suite", "all", "--output-dir", out)
	said, _ := program.CombinedOutput()
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			// The folder is server-SCENARIO-TIME, and a scenario may be the beginning of another's
			// name.
			found, err := filepath.Glob(filepath.Join(out, "server-"+scenario+"-2*", "checks.json"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%d results: %v: %.2000s", len(found), err, said)
			}
			text, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			var checks []struct{ ID, Status, Description, ErrorMessage string }
			if err := json.Unmarshal(text, &checks); err != nil {
				t.Fatal(err)
			}
			passed := 0
			for _, c := range checks {
				switch c.Status {
				case "SUCCESS":
					passed++
				case "INFO":
				default:
					t.Errorf("%s: %s: %s: %s", c.Status, c.ID, c.Description, c.ErrorMessage)
				}
			}
			if passed == 0 {
				t.Errorf("no check passed: %s", text)
			}
		})
	}
}

//go:embed testdata/client.mjs
var client []byte

// A Call is a call of a tool by the client in TypeScript.
type Call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// A Result is what the client in TypeScript makes of the answer to a [Call].
type Result struct {
	Content           []map[string]any `json:"content"`
	StructuredContent map[string]any   `json:"structuredContent"`
	IsError           bool             `json:"isError"`
	Error             string           `json:"error"` // of the protocol: the call had no result
}

// A Session is what the client in TypeScript saw.
type Session struct {
	Server       struct{ Name, Version string } `json:"server"`
	Protocol     string                         `json:"protocol"` // version
	Instructions string                         `json:"instructions"`
	Tools        []struct {
		Name, Description string
		InputSchema       map[string]any
	} `json:"tools"`
	Results []Result `json:"results"` // of each call, in order
}

// Connect opens a session of the official client in TypeScript over streamable HTTP, lists the tools,
// and makes the calls. The client judges every answer by its schemas. The headers go with each
// request.
func Connect(t *testing.T, url string, headers map[string]string, calls ...Call) Session {
	t.Helper()
	node, modules := need.Node(t)
	dir := t.TempDir()
	// A module finds packages in a node_modules beside it, and nowhere else.
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "client.mjs")
	if err := os.WriteFile(script, client, 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{"url": url, "headers": maps.Clone(headers), "calls": slices.Clone(calls)})
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), node, "--preserve-symlinks", script)
	var errors bytes.Buffer
	program.Stdin, program.Stderr = bytes.NewReader(input), &errors
	output, err := program.Output()
	if err != nil {
		t.Fatalf("the client in TypeScript: %v: %s", err, strings.TrimSpace(errors.String()))
	}
	var s Session
	if err := json.Unmarshal(output, &s); err != nil {
		t.Fatal(fmt.Errorf("the client in TypeScript wrote %.500q: %w", output, err))
	}
	return s
}
