package fetch

import (
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
)

// FuzzRobotsAgainstGoogles compares our matcher with a port of Google's, which
// plays no part outside of tests. Where both are known to differ, the input is
// brought to where they must not:
//
//   - the port corrupts escapes with digits in lower case;
//   - it takes "*" and a rest of a user-agent line for everybody in ways of its
//     own, and knows a crawler by its bare token only;
//   - we read 500 KiB, and know Crawl-delay.
func FuzzRobotsAgainstGoogles(f *testing.F) {
	for _, text := range []string{
		"User-agent: *\nDisallow: /a\nAllow: /a/b\n", "user-agent: Gazetteer\ndisallow: /*.json$\n\nuser-agent: *\nallow: /",
		"User-agent: a\nUser-agent: *\nDisallow: /\n", "disallow: /\nuser-agent: *\nallow: /x", "user-agent:*\rdisallow:/ai\r",
		"User-agent: *\nDisallow: /a*b*c$\nAllow: /a$\n", "User-agent Gazetteer\nDisallow /ai\n", "user-agent: *\nallow: /index.html\ndisallow: /",
		"User-agent: *\nSitemap: x\nUser-agent: Gazetteer\nDisallow: /\n", "# x\n\n: /\nuser-agent: *\ndisallow", "user-agent: *\ndisallow: /é\n",
	} {
		f.Add(text, "/.well-known/ai")
		f.Add(text, "/a/b/index.html")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		if len(text) > 10_000 || !isPlainPath(path) {
			return // the two need not agree on these
		}
		text = strings.ReplaceAll(text, "%", "")
		ours, rule := parseRobots([]byte(text), RobotsToken).allowsPath(path)
		theirs := grobotstxt.AgentAllowed(text, RobotsToken, "https://a.test"+path)
		if ours != theirs && path != "/robots.txt" {
			t.Errorf("%q may be asked for: we say %v (%s), the other says %v, by\n%q", path, ours, rule, theirs, text)
		}
	})
}

// isPlainPath reports whether a path is sent unchanged.
func isPlainPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && len(path) < 1000 &&
		strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-*$=&") == ""
}
