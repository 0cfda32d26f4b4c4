package config

import (
	"errors"
	"os"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/exit"
)

func TestConfigFileShowsTheDefaults(t *testing.T) {
	text, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	var c Config // zero, so that a key missing in the file is seen
	if unknown, err := c.decodeTOML("config.toml", text); err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("config.toml differs from the defaults:\n file    %+v\n program %+v", c, want)
	}
}

func TestConfigPrecedence(t *testing.T) {
	file := t.TempDir() + "/c.toml"
	os.WriteFile(file, []byte("listen = \"file:1\"\nlog_level = \"warn\"\n[crawler]\nworkers = 3\n"), 0o600)
	environ := []string{"GAZETTEER_CONFIG=" + file, "GAZETTEER_CRAWLER_WORKERS=4", "GAZETTEER_LISTEN=env:1", "GAZETTEER_CRAWLER_HOST_INTERVAL=3s", "PATH=/bin"}
	c, err := Load("", environ, []string{"listen=flag:1", "crawler.seeds=a.example, b.example"})
	if err != nil {
		t.Fatal(err)
	}
	if c.LogLevel != "warn" || c.Crawler.Workers != 4 || c.Listen != "flag:1" ||
		time.Duration(c.Crawler.HostInterval) != 3*time.Second || !reflect.DeepEqual(c.Crawler.Seeds, []string{"a.example", "b.example"}) {
		t.Errorf("got %+v", c)
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file     string
		environ  []string
		settings []string
		want     []string // all in the message
	}{
		"an unknown key, with its line":    {file: "listen = \"x:1\"\nlissen = \"x:2\"\n", want: []string{"c.toml:2:1: unknown key", "2| lissen = \"x:2\"", "did you mean listen?"}},
		"an unknown key in a table":        {file: "[crawler]\nworker = 1\n", want: []string{"2| worker = 1"}},
		"a key below the wrong table":      {file: "rate = 1.0\n", want: []string{"c.toml:1:1: unknown key \"rate\": did you mean crawler.rate?\n1| rate = 1.0"}},
		"a wrong value, with its place":    {file: "\n[crawler]\nrate = -1.0\n", want: []string{"c.toml:3: crawler.rate -1: want"}},
		"a wrong value of two keys":        {file: "[crawler]\nhost_concurrency = 1\ndomain_concurrency = 0\n", want: []string{"c.toml:2, ", "c.toml:3: crawler.host_concurrency, crawler.domain_concurrency and"}},
		"a wrong value by the environment": {file: "log_level = \"info\"\n", environ: []string{"GAZETTEER_LOG_LEVEL=loud"}, want: []string{`environment GAZETTEER_LOG_LEVEL: log_level "loud"`}},
		"every fault": {file: "rat = 1\n\"log_level\" = \"loud\"\nchanges.keep = 1\n", environ: []string{"GAZETTEER_LISSEN=1"}, settings: []string{"crawler.worker=1", "search.timeout=0s"},
			want: []string{"c.toml:1:1: unknown key", "\nenvironment GAZETTEER_LISSEN: unknown", "\n--set crawler.worker=1: unknown", "c.toml:2: log_level", "c.toml:3: changes.keep 1", "\nsearch.timeout"}},
		"a wrong type, with its place": {file: "[crawler]\nworkers = \"many\"\n", want: []string{":2:11:", "workers = \"many\""}},
		"a number for a text":          {file: "\nlisten = 8080\n", want: []string{":2:10: want a text in quotes, not a whole number\n2| listen = 8080"}},
		"a text for a list":            {file: "[crawler]\nseeds = \"a.example\"\n", want: []string{"want a list of texts, not a text in quotes"}},
		"an inline table for a text":   {file: "[registry]\nadmission = {mode = \"open\"}\n", want: []string{":2:13: want a text in quotes, not a table\n2| admission"}},
		"a number for true":            {file: "[crawler]\nenabled = 1\n", want: []string{"want true or false, not a whole number"}},
		"several faults of a file": {file: "listen = 8080\ncrawler = { workers = \"x\" }\n[api]\nfoo = [\n 1,\n]\ntrusted_proxies = [\n 5,\n]\nreports_per_day = -5\n[relay]\nenabled = \"yes\"\nkeep = 5\nbogus = 1\n", want: []string{
			":1:10: want a text in quotes, not a whole number\n1| listen = 8080\n", ":2:23: want a whole number, not a text in quotes\n", `:4:1: unknown key "api.foo"`, ":8:2: want ",
			":10: api.changes_per_hour", ":12:11: want true or false, not a text in quotes\n", ":13:8: want a time with its unit", `:14:1: unknown key "relay.bogus"`,
		}},
		"a number for a table":            {file: "relay = 5\n", want: []string{":1:9: want a table, not a whole number"}},
		"a table for a text":              {file: "[listen]\na = 1\n", want: []string{":1:2: "}},
		"a repeated key":                  {file: "listen = \"a\"\nlisten = \"b\"\n", want: []string{"listen"}},
		"a server by the environment":     {environ: []string{"GAZETTEER_SERVER=http://127.0.0.1:1"}, want: []string{"GAZETTEER_SERVER", "use --server URL"}},
		"a broken line":                   {file: "listen = \n", want: []string{":1:"}},
		"curly quotation marks":           {file: "\nlisten = “a:1”\n", want: []string{":2:10: a text needs straight quotation marks", "2| listen = “a:1”"}},
		"no quotation marks":              {file: "listen = localhost:1\n", want: []string{":1:10: a text needs quotation marks", "1| listen"}},
		"a path in the public address":    {file: "public_url = \"https://registry.example/names\"\n", want: []string{`:1: public_url "https://registry.example/names"`, `leave "/names" out`}},
		"every client as a proxy":         {file: "[api]\ntrusted_proxies = [\"10.0.0.0/8\", \"0.0.0.0/0\"]\n", want: []string{`:2: api.trusted_proxies: with "0.0.0.0/0"`}},
		"unread mail waits too briefly":   {file: "[relay]\nkeep_unread = \"1h\"\n", want: []string{":2: relay.keep_unread is 1h0m0s: want at least relay.keep"}},
		"a negative limit":                {file: "[api]\nreports_per_day = -5\n", want: []string{":2: api.changes_per_hour", "or -1 for no limit"}},
		"an inbox without room":           {file: "[relay]\nmail_per_inbox = 0\n", want: []string{":2: relay.mail_per_inbox and relay.bytes_per_inbox: want 1 or more"}},
		"a negative limit of the relay":   {file: "[relay]\nsender_per_minute = -2\n", want: []string{":2: relay.sender_per_minute"}},
		"a duration in words":             {file: "shutdown_grace = \"soon\"\n", want: []string{"soon", "10s"}},
		"a log level":                     {file: "log_level = \"loud\"\n", want: []string{"log_level", "debug, info, warn or error"}},
		"one address for two keys":        {settings: []string{"listen=127.0.0.1:9000", "metrics_listen=127.0.0.1:9000"}, want: []string{`listen "127.0.0.1:9000" and metrics_listen "127.0.0.1:9000"`, "another port"}},
		"all addresses, and one of them":  {settings: []string{"listen=:9000", "admin_listen=127.0.0.1:9000"}, want: []string{`listen ":9000" and admin_listen`}},
		"no workers":                      {file: "[crawler]\nworkers = 0\n", want: []string{"crawler.workers 0"}},
		"an unknown environment variable": {environ: []string{"GAZETTEER_LISSEN=1"}, want: []string{"GAZETTEER_LISSEN", "unknown key"}},
		"a wrong environment value":       {environ: []string{"GAZETTEER_CRAWLER_WORKERS=x"}, want: []string{"GAZETTEER_CRAWLER_WORKERS", "whole number"}},
		"an unknown setting":              {settings: []string{"crawler.worker=1"}, want: []string{"crawler.worker", "unknown key"}},
		"a setting without a value":       {settings: []string{"listen"}, want: []string{"KEY=VALUE"}},
		"a time without a unit":           {file: "[crawler]\n\ntimeout = 10\n", want: []string{":3:11:", "with its unit, in quotes", "timeout = 10"}},
		"a time in quotes without one":    {file: "shutdown_grace = \"10\"\n", want: []string{":1:18:", `"10" is not a duration such as "10s"`}},
		"a negative interval":             {file: "[crawler]\nhost_interval = \"-1s\"\n", want: []string{":2:17:", "want 0s or more"}},
		"a negative time as a setting":    {settings: []string{"relay.keep=-1h"}, want: []string{"relay.keep", "want 0s or more"}},
		"a table as a setting":            {settings: []string{"crawler=1"}, want: []string{"table"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := t.TempDir() + "/c.toml"
			if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(file, c.environ, c.settings)
			if err == nil {
				t.Fatal("accepted")
			}
			if e, ok := errors.AsType[*exit.Error](err); !ok || e.Code != exit.Usage {
				t.Errorf("the error %v is not one of usage", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// Listeners with other ports, on other addresses, or on any free port do not collide.
func TestListenersDoNotCollide(t *testing.T) {
	for _, settings := range [][]string{
		{"listen=127.0.0.1:0", "metrics_listen=127.0.0.1:0"},
		{"listen=127.0.0.2:9000", "metrics_listen=127.0.0.1:9000"},
		{"listen=:9000", "metrics_listen=:9001", "admin_listen=127.0.0.1:9002"},
		{"listen=", "metrics_listen="},
	} {
		if _, err := Load("", nil, settings); err != nil {
			t.Errorf("%q: %v", settings, err)
		}
	}
}

// TestConfigIsARegularFile checks that the configuration is neither waited for nor read without a limit.
func TestConfigIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"huge": 200 << 20, "large": maxFile + 1, "full": maxFile} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(dir+"/"+name, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/usual", []byte("log_level = \"warn\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usual", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"pipe": "no regular file", ".": "no regular file", "huge": "more than 1 MiB", "large": "more than 1 MiB",
		"full": "full:1:1", "missing": "no such file", "usual": "", "link": "",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Load(dir+"/"+file, nil, nil)
		runtime.ReadMemStats(&after)
		switch {
		case want == "" && (err != nil || c.LogLevel != "warn"):
			t.Errorf("%s: %v", file, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", file, err, want)
		case want != "" && exitCode(err) != exit.Usage:
			t.Errorf("%s: the error %v is not one of usage", file, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("%s: %d bytes were allocated", file, took)
		}
	}
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exit.Error](err); ok {
		return e.Code
	}
	return -1
}

// TestConfigWithByteOrderMark reads a file as some editors write it.
func TestConfigWithByteOrderMark(t *testing.T) {
	file := t.TempDir() + "/c.toml"
	if err := os.WriteFile(file, []byte("\ufefflog_level = \"warn\"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, nil, nil)
	if err != nil || c.LogLevel != "warn" {
		t.Errorf("%q, %v", c.LogLevel, err)
	}
	if c.FileChanged() {
		t.Error("the file counts as changed")
	}
}
