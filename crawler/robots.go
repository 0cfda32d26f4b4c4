package crawler

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RobotsToken is the product token that a robots.txt file addresses us by
// (RFC 9309 §2.2.1).
const RobotsToken = "Gazetteer"

const (
	// robotsBytes is how much of a robots.txt file is read: the least that
	// RFC 9309 §2.5 asks for.
	robotsBytes = 500 << 10
	// robotsLine is how much of one line counts; longer lines are cut there, as
	// Google's parser does (eight times the longest URL it knows).
	robotsLine = 2083*8 - 1
	// robotsAge is how long a robots.txt answer is used (RFC 9309 §2.4).
	robotsAge = 24 * time.Hour
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

// parseRobots reads a robots.txt file for the crawler with that product token.
// It cannot fail: what is not a rule is skipped (RFC 9309 §2.2).
func parseRobots(text []byte, token string) *robotsRules {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	p := robotsParser{token: token}
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text = cutLine(text)
		p.line(string(line[:min(len(line), robotsLine)]), number)
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

// robotsParser is the state between the lines of a file.
type robotsParser struct {
	token string
	// own are the rules of all groups that name us, all those of the groups
	// for "*"; named says that some group names us, and then all is void.
	own, all robotsRules
	named    bool
	// inOwn and inAll say which groups the current line belongs to; rules says
	// that the group has had a rule, so a user-agent line begins the next one.
	inOwn, inAll, rules bool
}

func (p *robotsParser) line(line string, number int) {
	key, value, ok := robotsField(line)
	if !ok {
		return
	}
	switch strings.ToLower(key) {
	case "user-agent", "useragent", "user agent":
		p.agent(value)
	case "allow":
		p.rule(true, value, number)
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		p.rule(false, value, number)
	case "crawl-delay", "crawldelay", "crawl delay":
		p.crawlDelay(value)
	}
	// Anything else, Sitemap too, neither belongs to a group nor ends one.
}

// robotsField splits "key: value # comment". A missing colon is forgiven when
// exactly two words are left.
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

func (p *robotsParser) agent(value string) {
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

func (p *robotsParser) rule(allow bool, value string, number int) {
	p.rules = true
	if value == "" {
		return // "Disallow:" forbids nothing
	}
	pattern := upperEscapes(escapeForeign(value))
	p.add(robotsRule{allow, pattern, number})
	// A directory's index file stands for the directory, as Google reads it.
	if i := strings.LastIndexByte(pattern, '/'); allow && i >= 0 && strings.HasPrefix(pattern[i:], "/index.htm") {
		p.add(robotsRule{allow, pattern[:i+1] + "$", number})
	}
}

func (p *robotsParser) add(r robotsRule) {
	if p.inOwn {
		p.own.rules = append(p.own.rules, r)
		p.own.bytes += len(r.pattern)
	}
	if p.inAll {
		p.all.rules = append(p.all.rules, r)
		p.all.bytes += len(r.pattern)
	}
}

// crawlDelay keeps the longest delay asked of us. It is no part of RFC 9309,
// but hosts mean it.
func (p *robotsParser) crawlDelay(value string) {
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

// allows reports whether the path (with its query, escaped as it goes over the
// wire) may be asked for, and the
// rule that decided, "" when none did. The longest matching pattern wins, and
// Allow wins a tie (RFC 9309 §2.2.2).
func (r *robotsRules) allows(path string) (bool, string) {
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

// matchRobots matches a pattern against the beginning of a path: "*" stands
// for anything, a final "$" for the end. Taking the leftmost place for each
// piece is enough, so the work is linear in the path for each piece.
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

// open reports that no rule forbids anything.
func (r *robotsRules) open() bool {
	for _, rule := range r.rules {
		if !rule.allow {
			return false
		}
	}
	return true
}

// ourPaths are the fixed paths that are asked for, for which a host's record
// keeps the verdict.
var ourPaths = []string{pathAI, pathAlias, pathSummary}

// everything, as the one member of Robots.Disallowed, forbids all paths.
const everything = "*"

// judgeRobots turns an answer for robots.txt into what it allows (RFC 9309
// §2.3.1): a 4xx allows all, a server error, 429 or failure to get an answer
// forbids all until it is asked again. The rules are nil when there are none.
func judgeRobots(f Fetch, now time.Time, maxDelay time.Duration) (Robots, *robotsRules) {
	r := Robots{FetchedAt: now, Status: f.Status}
	forbid := func(why string) (Robots, *robotsRules) {
		r.Disallowed, r.Why = []string{everything}, why
		return r, nil
	}
	switch {
	case f.Outcome == OK:
	case f.Outcome == TooManyRedirects:
		r.Open, r.Why = true, "robots.txt redirects too often, which counts as having none (RFC 9309 §2.3.1.2)"
		return r, nil
	case f.Outcome == Throttled:
		return forbid("robots.txt answered 429, so nothing is asked for now")
	case f.Status >= 500:
		return forbid(fmt.Sprintf("robots.txt answered %d, which forbids everything (RFC 9309 §2.3.1.4)", f.Status))
	case f.Status >= 400:
		r.Open = true
		return r, nil
	default:
		return forbid(fmt.Sprintf("robots.txt could not be had, which forbids everything (RFC 9309 §2.3.1.4): %s %s", f.Outcome, f.Detail))
	}
	rules := parseRobots(f.Body, RobotsToken)
	r.Open = rules.open()
	r.Delay = min(rules.delay, maxDelay)
	for _, path := range ourPaths {
		if ok, rule := rules.allows(path); !ok {
			r.Disallowed = append(r.Disallowed, path)
			if r.Why == "" {
				r.Why = rule
			}
		}
	}
	if len(r.Disallowed) == len(ourPaths) {
		if ok, _ := rules.allows("/"); !ok {
			r.Disallowed = []string{everything}
		}
	}
	return r, rules
}

// A verdict is what the robots.txt of a host allows, until when.
type verdict struct {
	Robots
	rules *robotsRules // nil when only the verdict of the record is known
	until time.Time
}

// allows reports whether a path may be asked for, and known false when the
// verdict does not settle it.
func (v *verdict) allows(path string) (allowed, known bool, why string) {
	switch {
	case slices.Contains(v.Disallowed, everything):
		return false, true, v.Why
	case v.Open:
		return true, true, ""
	case v.rules != nil:
		allowed, why = v.rules.allows(path)
		return allowed, true, why
	case slices.Contains(ourPaths, path):
		return !slices.Contains(v.Disallowed, path), true, v.Why
	}
	return false, false, ""
}

// robotsCache remembers verdicts with their rules for as long as they hold, so
// that many hosts that redirect to one do not ask for its robots.txt each. The
// record of a visited host keeps its verdict for our paths across restarts.
type robotsCache struct {
	mu       sync.Mutex // guards following
	verdicts map[string]*verdict
}

const (
	mostVerdicts     = 1024
	mostVerdictBytes = 16 << 10 // of patterns; longer files are read again
)

// verdict returns what is remembered of a host, nil when nothing is.
func (c *robotsCache) verdict(host string, now time.Time) *verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.verdicts[host]
	if v == nil || !now.Before(v.until) {
		delete(c.verdicts, host)
		return nil
	}
	return v
}

func (c *robotsCache) keep(host string, v *verdict) {
	if v.rules != nil && v.rules.bytes > mostVerdictBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.verdicts[host]; !known && len(c.verdicts) >= mostVerdicts {
		for other := range c.verdicts { // any one: it can be asked for again
			delete(c.verdicts, other)
			break
		}
	}
	c.verdicts[host] = v
}
