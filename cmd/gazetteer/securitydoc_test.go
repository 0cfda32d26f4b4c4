package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage checks that docs/security.md names tests that exist, in each row of its table of
// threats, and the defaults of config.toml, which a test of package config holds against the
// program's.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page, config := readPage(t, "../../docs/security.md"), readPage(t, "../../config.toml")
	_, threats, _ := strings.Cut(page, "\n## Attackers and protections\n")
	threats, limits, found := strings.Cut(threats, "\n## Limits\n")
	if !found {
		t.Fatal("the page has lost its sections")
	}
	name := regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)\\w+)`")
	rows := 0
	for line := range strings.Lines(threats) {
		if !strings.HasPrefix(line, "| a") && !strings.HasPrefix(line, "| the") && !strings.HasPrefix(line, "| somebody") {
			continue
		}
		rows++
		named := name.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range named {
			if !strings.Contains(testsIn(t, m[1]), "\nfunc "+m[2]+"(") {
				t.Errorf("there is no test %s in %s", m[2], m[1])
			}
		}
	}
	defaults := map[string]string{}
	section := ""
	for line := range strings.Lines(config) {
		if m := regexp.MustCompile(`^\[(\w+)\]`).FindStringSubmatch(line); m != nil {
			section = m[1] + "."
		} else if m := regexp.MustCompile(`^(\w+) = (.*?) +#`).FindStringSubmatch(line); m != nil {
			defaults[section+m[1]] = m[2]
		}
	}
	shown := regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `(.*?)` \\|").FindAllStringSubmatch(limits, -1)
	for _, m := range shown {
		if defaults[m[1]] != m[2] {
			t.Errorf("%s is %s by default, and the page says %s", m[1], defaults[m[1]], m[2])
		}
		delete(defaults, m[1])
	}
	for key := range defaults {
		if strings.HasPrefix(key, "api.") && strings.Contains(key, "_per_") {
			t.Errorf("the page does not have the limit %s", key)
		}
	}
	if rows < 10 || len(shown) < 20 {
		t.Errorf("%d threats and %d limits were found", rows, len(shown))
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAlertsNameMetrics checks that each metric that the rules of docs/operating.md name is one
// that the program has.
func TestAlertsNameMetrics(t *testing.T) {
	t.Parallel()
	_, alerts, _ := strings.Cut(readPage(t, "../../docs/operating.md"), "\n## Alerts\n")
	alerts, _, found := strings.Cut(alerts, "\n## ")
	named := regexp.MustCompile(`\b(?:gazetteer|process)_\w+`).FindAllString(alerts, -1)
	if !found || len(named) < 20 {
		t.Fatalf("%d metrics are named", len(named))
	}
	metrics := metricsAddress(t)
	dir := t.TempDir()
	witness := ownKey(t, dir, "witness.key", "localhost/witness").PublicWitness() + " http://127.0.0.1:1/witness"
	p := startTroubledProgram(t, dir, "metrics_listen="+metrics, "crawler.seeds=", "registry.witnesses="+witness, "registry.lock_witness="+witness)
	if status, text := p.ask(http.MethodGet, "/readyz?work=sign", ""); status != 200 && status != 503 {
		t.Errorf("%d %s", status, text)
	}
	has := metricsOf(t, metrics)
	for _, name := range named {
		if !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(has) {
			t.Errorf("the program has no metric %s", name)
		}
	}
	for _, label := range regexp.MustCompile(`(\w+)="([^"]*[a-z]\.[a-z][^"]*)"`).FindAllStringSubmatch(has, -1) {
		if label[1] != "witness" { // the operator's own
			t.Errorf("a label looks like a host: %s", label[0])
		}
	}
}
