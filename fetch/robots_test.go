package fetch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// notFollowed lists the cases of kind "google" that are not followed, by line
// of testdata/robots.jsonl, with the reason.
var notFollowed = map[int]string{}

type robotsCase struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	UserAgent  string `json:"user_agent"`
	URL        string `json:"url"`
	Allowed    bool   `json:"allowed"`
	Robots     string `json:"robots"`
	Base64     string `json:"robots_base64"`
	ZlibBase64 string `json:"robots_zlib_base64"`
}

func (c robotsCase) text(t *testing.T) []byte {
	t.Helper()
	switch {
	case c.Base64 != "":
		text, err := base64.StdEncoding.DecodeString(c.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case c.ZlibBase64 != "":
		packed, err := base64.StdEncoding.DecodeString(c.ZlibBase64)
		if err != nil {
			t.Fatal(err)
		}
		r, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return []byte(c.Robots)
}

// pathOf returns the path and query of a URL unchanged, without escaping.
func pathOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
		i := strings.IndexAny(url, "/?")
		if i < 0 {
			return "/"
		}
		url = url[i:]
	}
	url, _, _ = strings.Cut(url, "#")
	if !strings.HasPrefix(url, "/") {
		url = "/" + url
	}
	return url
}

func TestRobotsCases(t *testing.T) {
	f, err := os.Open("testdata/robots.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	passed := map[string]int{}
	for number := 1; lines.Scan(); number++ {
		var c robotsCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got, rule := parseRobots(c.text(t), c.UserAgent).allowsPath(pathOf(c.URL))
		if reason, skip := notFollowed[number]; skip {
			if c.Kind != "google" || got == c.Allowed {
				t.Errorf("line %d is listed as not followed (%s) but is of kind %s and passes: %v", number, reason, c.Kind, got == c.Allowed)
			}
			continue
		}
		if got != c.Allowed {
			t.Errorf("line %d %s: %q may fetch %q: got %v (%s), want %v\n%.300s", number, c.Name, c.UserAgent, c.URL, got, rule, c.Allowed, c.text(t))
			continue
		}
		passed[c.Kind]++
	}
	if passed["rfc9309"] != 72 || passed["google"]+len(notFollowed) != 73 {
		t.Errorf("passed %v of 72 rfc9309 and 73 google cases, %d not followed", passed, len(notFollowed))
	}
}

func TestRobotsRulesForOurAgent(t *testing.T) {
	for _, c := range []struct {
		name, text, path string
		allowed          bool
	}{
		{"our group wins over the group for all", "User-agent: *\nDisallow: /\nUser-agent: Gazetteer\nDisallow:\n", "/.well-known/ai", true},
		{"a version after the token is ours too", "User-agent: Gazetteer/9.1\nDisallow: /\n", "/.well-known/ai", false},
		{"a longer token is not ours", "User-agent: GazetteerNews\nDisallow: /\n", "/.well-known/ai", true},
		{"a prefix of our token is not ours", "User-agent: Gazette\nDisallow: /\n", "/.well-known/ai", true},
		{"groups for us are merged", "User-agent: gazetteer\nDisallow: /ai\nUser-agent: x\nDisallow: /\nUser-agent: GAZETTEER\nDisallow: /.well-known\n", "/.well-known/ai", false},
		{"a bad crawl-delay spoils nothing", "User-agent: *\nCrawl-delay: soon\nDisallow: /ai\n", "/ai", false},
		{"CR alone ends a line", "User-agent: *\rDisallow: /ai\r", "/ai", false},
		{"a NUL is no end", "User-agent: *\nDisallow: /x\x00\nDisallow: /ai\n", "/ai", false},
		{"allow wins a tie", "User-agent: *\nDisallow: /a*\nAllow: /ai\n", "/ai", true},
		{"escapes match whatever their case", "User-agent: *\nDisallow: /%e3%83%84\n", "/%E3%83%84", false},
		{"HTML instead of robots allows all", "<!doctype html>\n<title>404</title><p>Disallow all hope</p>", "/.well-known/ai", true},
		{"many stars end soon", "User-agent: *\nDisallow: /" + strings.Repeat("*a", 8000) + "\n", "/" + strings.Repeat("a", 2000), true},
		{"robots.txt itself is always allowed", "User-agent: *\nDisallow: /\n", "/robots.txt", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, rule := parseRobots([]byte(c.text), RobotsToken).allowsPath(c.path); got != c.allowed {
				t.Errorf("allowed %v by %q, want %v", got, rule, c.allowed)
			}
		})
	}
}

func TestRobotsPolicies(t *testing.T) {
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		fetch      Fetch
		disallowed string
		open       bool
		delay      time.Duration
	}{
		{"200 without rules", Fetch{Outcome: OK, Status: 200}, "", true, 0},
		{"404 allows all", Fetch{Outcome: Absent, Status: 404}, "", true, 0},
		{"401 allows all", Fetch{Outcome: Forbidden, Status: 401}, "", true, 0},
		{"500 forbids all", Fetch{Outcome: ServerError, Status: 500}, "*", false, 0},
		{"503 forbids all", Fetch{Outcome: ServerError, Status: 503}, "*", false, 0},
		{"429 forbids all", Fetch{Outcome: Throttled, Status: 429}, "*", false, 0},
		{"timeout forbids all", Fetch{Outcome: Timeout}, "*", false, 0},
		{"redirect to http forbids all", Fetch{Outcome: InsecureRedirect, Status: 301}, "*", false, 0},
		{"too many redirects count as none", Fetch{Outcome: TooManyRedirects, Status: 302}, "", true, 0},
		{"one path", Fetch{Outcome: OK, Status: 200, Body: []byte("user-agent: *\ndisallow: /.well-known/ai$\n")}, "/.well-known/ai", false, 0},
		{"a long delay is cut", Fetch{Outcome: OK, Status: 200, Body: []byte("user-agent: *\ncrawl-delay: 1e9\n")}, "", true, 10 * time.Second},
		{"a delay of ours", Fetch{Outcome: OK, Status: 200, Body: []byte("user-agent: gazetteer\ncrawl-delay: 0.5\n")}, "", true, 500 * time.Millisecond},
		{"all", Fetch{Outcome: OK, Status: 200, Body: []byte("user-agent: *\ndisallow: /\n")}, "*", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := JudgeRobots(c.fetch, now, 10*time.Second)
			if got := strings.Join(r.Disallowed.Paths(), " "); got != c.disallowed || r.Open != c.open || r.Delay != c.delay {
				t.Errorf("got disallowed %q, open %v, delay %v", got, r.Open, r.Delay)
			}
			if (c.disallowed != "") != (r.Why != "" && !r.Open) {
				t.Errorf("a refusal has a reason: %q", r.Why)
			}
		})
	}
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\n"), "/axb")
	f.Add([]byte("\xef\xbb\xbfuser-agent gazetteer\rallow: /index.html\n"), "/")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		rules := parseRobots(text, RobotsToken)
		if ok, _ := rules.allowsPath(path); !ok && rules.allowsAll() {
			t.Error("open rules forbid a path")
		}
	})
}
