package fetch

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gazetteer/document"
)

// RobotsToken is our product token in robots.txt files (RFC 9309 §2.2.1).
const RobotsToken = "Gazetteer"

// RobotsAge is how long a robots.txt is used (RFC 9309 §2.4).
const RobotsAge = 24 * time.Hour

const (
	// robotsBytes is how much of a robots.txt file is read: the minimum of RFC 9309 §2.5.
	// robotsLine is how much of a line counts; longer lines are cut there, as Google's parser does
	// (eight times the longest URL it accepts).
	robotsBytes = 500 << 10
	// robotsLine is how much of one line counts; longer lines are cut there, as
	// Google's parser does (eight times the longest URL it knows).
	robotsLine = 2083*8 - 1
)

// robotsRules are the rules of a robots.txt file that apply to one crawler.
type robotsRules struct {
	rules []robotsRule
	delay time.Duration // Crawl-delay, 0 when there is none
	bytes int           // length of all patterns: what keeping them costs
}

type robotsRule struct {
	allow   bool
	pattern string // with escapes in upper case; never empty
	line    int
}

func (r robotsRule) String() string {
	word := "Disallow"
	if r.allow {
		word = "Allow"
	}
	return fmt.Sprintf("%s: %.100s (line %d)", word, r.pattern, r.line)
}

// parseRobots reads a robots.txt file for the crawler with that product token. It cannot fail:
// lines that are not rules are skipped (RFC 9309 §2.2).
func parseRobots(text []byte, token string) *robotsRules {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	p := robotsParser{token: token}
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text = cutLine(text)
		p.parseLine(string(line[:min(len(line), robotsLine)]), number)
	}
	if p.named {
		return &p.own
	}
	return &p.all
}

// cutLine splits text after its first line end: LF, CR or CRLF.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return text, nil
	}
	end := i + 1
	if text[i] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return text[:i], text[end:]
}

// robotsParser is the state of the parser between lines.
type robotsParser struct {
	token string
	// own are the rules of all groups that name us, all those of the groups for "*". named is set
	// when a group names us; all then has no effect.
	own, all robotsRules
	named    bool
	// inOwn and inAll say which groups the current line belongs to. rules is set when the group has
	// had a rule, so that a user-agent line starts the next group.
	inOwn, inAll, rules bool
}

func (p *robotsParser) parseLine(line string, number int) {
	key, value, ok := robotsField(line)
	if !ok {
		return
	}
	switch strings.ToLower(key) {
	case "user-agent", "useragent", "user agent":
		p.parseAgent(value)
	case "allow":
		p.parseRule(true, value, number)
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		p.parseRule(false, value, number)
	case "crawl-delay", "crawldelay", "crawl delay":
		p.parseCrawlDelay(value)
	}
	// Anything else, Sitemap too, neither belongs to a group nor ends one.
}

// robotsField splits "key: value # comment". A missing colon is tolerated when exactly two words
// are left.
func robotsField(line string) (key, value string, ok bool) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimSpace(line)
	if key, value, ok = strings.Cut(line, ":"); ok {
		return strings.TrimSpace(key), strings.TrimSpace(value), true
	}
	words := strings.Fields(line)
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

func (p *robotsParser) parseAgent(value string) {
	if p.rules {
		p.inOwn, p.inAll, p.rules = false, false, false
	}
	if value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t") {
		p.inAll = true
		return
	}
	end := 0
	for end < len(value) && isTokenByte(value[end]) {
		end++
	}
	if end > 0 && strings.EqualFold(value[:end], p.token) {
		p.inOwn, p.named = true, true
	}
}

// isTokenByte: RFC 9309 §2.2.1 product tokens.
func isTokenByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' || b == '-'
}

func (p *robotsParser) parseRule(allow bool, value string, number int) {
	p.rules = true
	if value == "" {
		return // "Disallow:" forbids nothing
	}
	pattern := upperEscapes(escapeForeign(value))
	p.addRule(robotsRule{allow, pattern, number})
	// A directory's index file means the directory, as in Google's implementation.
	if i := strings.LastIndexByte(pattern, '/'); allow && i >= 0 && strings.HasPrefix(pattern[i:], "/index.htm") {
		p.addRule(robotsRule{allow, pattern[:i+1] + "$", number})
	}
}

func (p *robotsParser) addRule(r robotsRule) {
	if p.inOwn {
		p.own.rules = append(p.own.rules, r)
		p.own.bytes += len(r.pattern)
	}
	if p.inAll {
		p.all.rules = append(p.all.rules, r)
		p.all.bytes += len(r.pattern)
	}
}

// parseCrawlDelay keeps the longest delay requested of us. It is not part of RFC 9309, but hosts
// mean it.
func (p *robotsParser) parseCrawlDelay(value string) {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) {
		return
	}
	delay := time.Duration(min(seconds, 86400) * float64(time.Second))
	if p.inOwn {
		p.own.delay = max(p.own.delay, delay)
	}
	if p.inAll {
		p.all.delay = max(p.all.delay, delay)
	}
}

// escapeForeign writes bytes outside ASCII as percent escapes: the form of a
// path on the wire (RFC 9309 §2.2.2).
func escapeForeign(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 0x80 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// upperEscapes writes the hexadecimal digits of percent escapes in upper case,
// so that %e3 and %E3 are the same.
func upperEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' && isHex(b[i+1]) && isHex(b[i+2]) {
			copy(b[i:], bytes.ToUpper(b[i:i+3]))
			i += 2
		}
	}
	return string(b)
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// allowsPath reports whether the path (with its query, escaped as it is sent) may be requested, and
// the rule that decided, "" when none did. The longest matching pattern wins, and Allow wins a tie
// (RFC 9309 §2.2.2).
func (r *robotsRules) allowsPath(path string) (bool, string) {
	if path == "/robots.txt" {
		return true, "" // RFC 9309 §2.2.2: implicitly allowed
	}
	path = upperEscapes(path)
	var best *robotsRule
	for i := range r.rules {
		rule := &r.rules[i]
		if !matchRobots(rule.pattern, path) {
			continue
		}
		if best == nil || len(rule.pattern) > len(best.pattern) ||
			len(rule.pattern) == len(best.pattern) && rule.allow {
			best = rule
		}
	}
	if best == nil {
		return true, ""
	}
	return best.allow, best.String()
}

// matchRobots matches a pattern against the beginning of a path: "*" matches anything, a final "$"
// the end. Matching each piece at its leftmost place is sufficient, so the work is linear in the
// path for each piece.
func matchRobots(pattern, path string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	pieces := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, pieces[0])
	if !ok {
		return false
	}
	if len(pieces) == 1 {
		return !anchored || rest == ""
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return false
		}
		rest = rest[i+len(piece):]
	}
	if anchored {
		return strings.HasSuffix(rest, pieces[last])
	}
	return strings.Contains(rest, pieces[last])
}

// allowsAll reports that no rule forbids anything.
func (r *robotsRules) allowsAll() bool {
	return !slices.ContainsFunc(r.rules, func(rule robotsRule) bool { return !rule.allow })
}

// ourPaths are the fixed paths that we request, for which a [Robots] keeps the policy.
var ourPaths = sync.OnceValue(func() []string {
	var paths []string
	for _, f := range document.Formats {
		if f.WellKnown != "" {
			paths = append(paths, f.WellKnown)
		}
	}
	return paths
})

// A PathSet is a set of the fixed paths that we request from every host: one bit for each, in the
// order of [document.Formats].
type PathSet uint8

// EveryPath is the set of all possible paths, not only ours.
const EveryPath PathSet = 1 << 7

// Has reports whether a path is in the set.
func (s PathSet) Has(path string) bool {
	i := slices.Index(ourPaths(), path)
	return s&EveryPath != 0 || i >= 0 && s&(1<<i) != 0
}

// Paths returns the paths of the set, and "*" for every one.
func (s PathSet) Paths() []string {
	if s&EveryPath != 0 {
		return []string{"*"}
	}
	var paths []string
	for _, path := range ourPaths() {
		if s.Has(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Robots is what a host's robots.txt says about the paths that we request.
type Robots struct {
	FetchedAt  time.Time     `json:"fetched_at"`
	Status     int           `json:"status,omitempty"`
	Disallowed PathSet       `json:"disallowed,omitempty"`
	Delay      time.Duration `json:"delay_ns,omitempty"` // crawl-delay, within our limit
	// Open is set when no path at all is forbidden, so that other paths (of a redirect, of an AGIS
	// document) need no second look at the file.
	Open bool   `json:"open,omitempty"`
	Why  string `json:"why,omitempty"` // the rule or the failure, for a person
}

// Closed reports that nothing of the host may be requested.
func (r *Robots) Closed() bool { return r.Disallowed&EveryPath != 0 }

// A RobotsPolicy is what the robots.txt of a host allows, and until when.
type RobotsPolicy struct {
	Robots
	Until time.Time
	rules *robotsRules // nil when only what Robots says is known
}

// Bytes returns approximately how much memory the policy takes.
func (v *RobotsPolicy) Bytes() int {
	if v.rules == nil {
		return 0
	}
	return v.rules.bytes
}

// Allows reports whether a path (with its query, as it is sent) may be requested, and why; known is
// false when the policy does not settle it.
func (v *RobotsPolicy) Allows(path string) (allowed, known bool, why string) {
	switch {
	case v.Closed():
		return false, true, v.Why
	case v.Open:
		return true, true, ""
	case v.rules != nil:
		allowed, why = v.rules.allowsPath(path)
		return allowed, true, why
	case slices.Contains(ourPaths(), path):
		return !v.Disallowed.Has(path), true, v.Why
	}
	return false, false, ""
}

// JudgeRobots converts a settled fetch of robots.txt, with its Body, into a policy (RFC 9309
// §2.3.1): a 4xx allows everything; a server error, 429 or a failure forbids everything until the
// next try. A Crawl-delay counts up to maxDelay. The caller sets Until.
func JudgeRobots(f Fetch, now time.Time, maxDelay time.Duration) *RobotsPolicy {
	v := &RobotsPolicy{Robots: Robots{FetchedAt: now, Status: f.Status}}
	forbid := func(why string) *RobotsPolicy {
		v.Disallowed, v.Why = EveryPath, why
		return v
	}
	switch {
	case f.Outcome == OK:
	case f.Outcome == TooManyRedirects:
		v.Open, v.Why = true, "robots.txt redirects too often, which counts as having none (RFC 9309 §2.3.1.2)"
		return v
	case f.Outcome == Throttled:
		return forbid("robots.txt answered 429, so nothing is requested now")
	case f.Status >= 500:
		return forbid(fmt.Sprintf("robots.txt answered %d, which forbids everything (RFC 9309 §2.3.1.4)", f.Status))
	case f.Status >= 400:
		v.Open = true
		return v
	default:
		return forbid(fmt.Sprintf("robots.txt was unavailable, which forbids everything (RFC 9309 §2.3.1.4): %s %s", f.Outcome, f.Detail))
	}
	v.rules = parseRobots(f.Body, RobotsToken)
	v.Open = v.rules.allowsAll()
	v.Delay = min(v.rules.delay, maxDelay)
	for i, path := range ourPaths() {
		if ok, rule := v.rules.allowsPath(path); !ok {
			v.Disallowed |= 1 << i
			v.Why = cmp.Or(v.Why, rule)
		}
	}
	if v.Disallowed == 1<<len(ourPaths())-1 {
		if ok, _ := v.rules.allowsPath("/"); !ok {
			v.Disallowed = EveryPath
		}
	}
	return v
}
