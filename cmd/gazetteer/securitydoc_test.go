package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/config"
)

// TestSecurityPage checks that docs/security.md names tests that exist, in each row of its table of
// threats, and every limit of the configuration with its default.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page := readPage(t, "../../docs/security.md")
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
	defaults := listLimits("", reflect.ValueOf(config.Default()))
	shown := regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `(.*?)` \\|").FindAllStringSubmatch(limits, -1)
	for _, m := range shown {
		if defaults[m[1]] != m[2] {
			t.Errorf("%s is %q by default, and the page says %q", m[1], defaults[m[1]], m[2])
		}
		delete(defaults, m[1])
	}
	for key := range defaults {
		t.Errorf("the page does not have the limit %s", key)
	}
	if rows < 10 || len(shown) < 20 {
		t.Errorf("%d threats and %d limits were found", rows, len(shown))
	}
}

// listLimits returns each key of the configuration with a number or a time, and its value as
// config.toml has it. Such a key limits something, except the hour of the daily compaction.
func listLimits(prefix string, c reflect.Value) map[string]string {
	limits := map[string]string{}
	for field, value := range c.Fields() {
		if !field.IsExported() {
			continue
		}
		key := prefix + field.Tag.Get("toml")
		switch v := value.Interface().(type) {
		case int, int64:
			limits[key] = fmt.Sprint(v)
		case float64:
			limits[key] = fmt.Sprintf("%.1f", v)
		case config.Duration:
			text := strings.Replace(time.Duration(v).String(), "m0s", "m", 1)
			limits[key] = fmt.Sprintf("%q", strings.Replace(text, "h0m", "h", 1))
		default:
			if value.Kind() == reflect.Struct {
				maps.Copy(limits, listLimits(key+".", value))
			}
		}
	}
	delete(limits, "store.compact_hour")
	return limits
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAlertsNameMetrics checks that each metric that docs/operating.md names, in its list and in the
// alert rules, is one that the program has, and that the program has no metric without help.
func TestAlertsNameMetrics(t *testing.T) {
	t.Parallel()
	_, page, _ := strings.Cut(readPage(t, "../../docs/operating.md"), "\n## Monitoring\n")
	page, _, found := strings.Cut(page, "\n## Running a registry\n")
	named := regexp.MustCompile(`\b(?:gazetteer|process)_\w+`).FindAllString(page, -1)
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
	for _, line := range regexp.MustCompile(`(?m)^# HELP \w+ $`).FindAllString(has, -1) {
		t.Errorf("a metric has no help: %q", line)
	}
	for _, label := range regexp.MustCompile(`(\w+)="([^"]*[a-z]\.[a-z][^"]*)"`).FindAllStringSubmatch(has, -1) {
		if label[1] != "witness" { // the operator's own
			t.Errorf("a label looks like a host: %s", label[0])
		}
	}
}
