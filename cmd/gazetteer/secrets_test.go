package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gazetteer/internal/cli"
	"gazetteer/internal/server"
	"gazetteer/registry/keyfile"
)

// TestProgramSecrets looks for every secret there is in all that the program
// shows: its log at the debug level, its answers and errors, its pages and
// figures, its exports, the list of processes, and what its commands print.
func TestProgramSecrets(t *testing.T) {
	t.Parallel()
	metrics, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, "crawler.enabled=false", "registry.name_server=127.0.0.1:1", "log_level=debug", "metrics_listen="+metrics)
	const passphrase, guess = "correct-horse-battery", "0123456789abcdef0123456789abcdee"
	if err := os.WriteFile(filepath.Join(p.dir, "pass"), []byte(passphrase+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // what, to its text
	cli := func(args ...string) {
		out, _ := p.cli(args...)
		shown["gazetteer "+strings.Join(args, " ")] = out
	}
	cli("agent", "new", "Booker", "--encrypt", "--passphrase-file", "pass")
	signed := func(args ...string) { cli(append(append([]string{"agent"}, args...), "--passphrase-file", "pass")...) }
	signed("update", "--inbox", "https://agent.example.com/inbox")
	signed("rotate")
	signed("prove", "agent.example.com")
	signed("show")
	signed("update", "--inbox", "javascript:alert(1)")
	signed("export", "--out", "moved.jsonl")

	status, answer := p.ask("POST", "/api/v1/agents/register", `{"name":"Old","public_key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`)
	var old struct {
		AirID  string `json:"air_id"`
		Secret string `json:"agent_secret"`
	}
	if err := json.Unmarshal([]byte(answer), &old); err != nil || status != http.StatusCreated || len(old.Secret) < 20 {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	path := "/api/v1/agents/" + old.AirID
	ask := func(method, path, body string, headers ...string) {
		_, text := p.ask(method, path, body, headers...)
		shown[method+" "+path] = text
	}
	ask("PUT", path, `{"description": "x"}`, "X-Agent-Secret", old.Secret)
	ask("PUT", path, `{"description": "`+"\x01"+`"}`, "X-Agent-Secret", old.Secret)
	ask("PUT", path, `{"username": "x"}`, "X-Agent-Secret", guess)
	ask("DELETE", path, "", "X-Admin-Key", guess, "Authorization", "Bearer "+guess)
	ask("GET", "/admin/status", "", "Authorization", "Bearer "+guess, "X-Admin-Key", guess)
	cli("registry", "export", old.AirID, "--out", "operators.jsonl")
	cli("--json", "agent", "show", old.AirID)
	cli("log", "head")
	for _, name := range []string{"moved.jsonl", "operators.jsonl"} {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatalf("%v\n%v", err, shown)
		}
		shown[name] = string(text)
	}
	_, spec := p.ask("GET", "/openapi.json", "")
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(spec), &described); err != nil {
		t.Fatal(err)
	}
	for route, methods := range described.Paths {
		if _, ok := methods["get"]; ok && !strings.HasSuffix(route, "/stream") {
			ask("GET", regexp.MustCompile(`\{(air_id|id)\}`).ReplaceAllString(route, old.AirID), "")
		}
	}
	for _, path := range pages(p, "/", 200) {
		shown[path] = path
	}
	response, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	var figures strings.Builder
	if err := response.Write(&figures); err != nil {
		t.Fatal(err)
	}
	shown["/metrics"] = figures.String()
	if processes, err := filepath.Glob("/proc/[0-9]*/cmdline"); err == nil {
		for _, name := range processes {
			line, _ := os.ReadFile(name) // it may have ended
			shown[name] += string(line)
		}
	}
	if err := p.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	shown["the log"] = p.log.String()
	if !strings.Contains(shown["the log"], `"level":"DEBUG"`) && !strings.Contains(shown["the log"], `"msg":"request"`) {
		t.Errorf("the log says nothing:\n%s", shown["the log"])
	}

	secrets := map[string]string{"the passphrase": passphrase, "a guess": guess, "the agent's secret": old.Secret}
	forms := func(name string, secret []byte) {
		for form, text := range map[string]string{
			"": string(secret), " in hex": hex.EncodeToString(secret), " in base64": base64.RawStdEncoding.EncodeToString(secret), " in base64url": base64.RawURLEncoding.EncodeToString(secret),
		} {
			secrets[name+form] = text
		}
	}
	for _, name := range []string{"agent.key", "agent.recovery.key"} {
		key, err := keyfile.Read(filepath.Join(p.dir, name), func() ([]byte, error) { return []byte(passphrase), nil })
		if err != nil {
			t.Fatal(err)
		}
		forms(name, key.Seed())
	}
	keys, err := filepath.Glob(filepath.Join(p.data(), "*.key"))
	if err != nil || len(keys) < 3 {
		t.Fatalf("the keys of the server are %v, %v", keys, err)
	}
	for _, path := range keys {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		forms(name, text)
		if key, err := keyfile.Read(path, nil); err == nil {
			forms(name+", its seed,", key.Seed())
		}
		if parts := strings.SplitN(strings.TrimSpace(string(text)), "+", 5); name == "log.key" { // PRIVATE+KEY+name+hash+key
			secrets["the key of the log"] = parts[4]
		}
	}
	if len(shown) < 100 {
		t.Errorf("only %d things were looked at", len(shown))
	}
	for what, text := range shown {
		for name, secret := range secrets {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%s shows %s", what, name)
			}
		}
	}
}

// pages returns the pages that can be reached by links, with their texts, as many
// as there are or most.
func pages(p *program, from string, most int) (texts []string) {
	links := regexp.MustCompile(`href="(/[^"#]*)`)
	seen, todo := map[string]bool{from: true}, []string{from}
	for len(todo) > 0 && len(texts) < most {
		_, text := p.ask("GET", todo[0], "", "Accept", "text/html")
		texts, todo = append(texts, text), todo[1:]
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if !seen[link[1]] && !strings.HasSuffix(link[1], "/stream") {
				seen[link[1]] = true
				todo = append(todo, link[1])
			}
		}
	}
	return texts
}

// TestNoFlagAcceptsSecret checks that no flag has a secret as its value: the list of processes and
// the history of a shell show the values of flags.
func TestNoFlagAcceptsSecret(t *testing.T) {
	t.Parallel()
	suspect := regexp.MustCompile(`secret|password|passphrase|token$|seed$`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			if suspect.MatchString(flag.Name) && !strings.HasSuffix(flag.Name, "-file") && flag.Value.Type() != "bool" {
				t.Errorf("%s takes --%s", c.CommandPath(), flag.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(cli.Streams{}, server.Environment{}))
}
