package diff

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
)

// isLimitName reports whether a member limits how often callers may call.
func isLimitName(name string) bool {
	switch strings.ToLower(name) {
	case "rate_limits", "rate_limit", "ratelimit", "ratelimits", "limits", "quota", "quotas":
		return true
	}
	return false
}

// rate is a limit: a number of something in a time, or at once if window is 0.
type rate struct {
	node   *protocol.Node
	key    string
	count  *big.Rat
	window int64 // seconds
}

// perSecond returns the number per second that a rate allows.
func (r rate) perSecond() *big.Rat {
	if r.window == 0 {
		return r.count
	}
	return new(big.Rat).Quo(r.count, big.NewRat(r.window, 1))
}

func (r rate) noun() string { return nounOf(r.key) }

// compareLimits compares two sets of limits (AI Discovery §3.6). Either may be nil. It compares
// limits over the same time with each other, and the others by the number per second: 60 a minute
// is one a second.
func (c *comparison) compareLimits(operation string, na, nb *protocol.Node) {
	a, b := newLimitList(na), newLimitList(nb)
	left := b.rates
	var gone []rate
	for _, x := range a.rates {
		i := slices.IndexFunc(left, func(y rate) bool { return x.window == y.window && x.noun() == y.noun() })
		if i < 0 {
			gone = append(gone, x)
			continue
		}
		c.compareRates(operation, x, left[i])
		left = append(left[:i:i], left[i+1:]...)
	}
	for _, x := range gone {
		i := slices.IndexFunc(left, func(y rate) bool { return x.noun() == y.noun() && x.window != 0 && y.window != 0 })
		if i < 0 {
			c.addChange(LimitRaised, operation, valueOf(x.node), value{})
			continue
		}
		c.compareRates(operation, x, left[i])
		left = append(left[:i:i], left[i+1:]...)
	}
	for _, y := range left {
		c.addChange(LimitLowered, operation, value{}, valueOf(y.node))
	}
	a.others.eachWith(b.others, func(key string, x, y *protocol.Node) { c.compareLimitText(operation, key, x, y) })
}

func (c *comparison) compareRates(operation string, x, y rate) {
	switch x.perSecond().Cmp(y.perSecond()) {
	case 1:
		c.addChange(LimitLowered, operation, valueOf(x.node), valueOf(y.node))
	case -1:
		c.addChange(LimitRaised, operation, valueOf(x.node), valueOf(y.node))
	}
}

// compareLimitText compares a member of a set of limits that is not a number. The removal of a tier for agents lowers the limit.
func (c *comparison) compareLimitText(operation, key string, x, y *protocol.Node) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if equalValues(x, y) || isDefault(name, x) && isDefault(name, y) {
		return
	}
	kind := kindOfMember(name, x, y)
	if name == "agent_tier_available" {
		kind = LimitLowered
		if y.True() {
			kind = LimitRaised
		}
	}
	c.addChange(kind, operation, valueOf(x), valueOf(y))
}

// limitList holds the limits in one place of a document, and the other members there.
type limitList struct {
	rates  []rate
	others namedNodes
}

func newLimitList(n *protocol.Node) limitList {
	var l limitList
	l.readLimit(n, "")
	return l
}

func (l *limitList) readLimit(n *protocol.Node, key string) {
	if n = nilIfNull(n); n == nil {
		return
	}
	switch n.Kind {
	case protocol.Object:
		if r, ok := readWindow(n); ok {
			r.key = key
			l.rates = append(l.rates, r)
			return
		}
		for _, m := range n.Items {
			l.readLimit(m, key+"/"+m.Key)
		}
		return
	case protocol.Number:
		if count := parseNumber(n.Text); count != nil {
			l.rates = append(l.rates, rate{node: n, key: key, count: count, window: windowOf(key)})
			return
		}
	case protocol.String:
		if r, ok := parseRate(n.Text); ok {
			r.node, r.key = n, key
			if r.window == 0 {
				r.window = windowOf(key)
			}
			l.rates = append(l.rates, r)
			return
		}
	}
	l.others.addNode(key, n)
}

// readWindow reads a limit of two members: {"requests": 60, "per": "minute"}.
func readWindow(n *protocol.Node) (rate, bool) {
	r := rate{node: n}
	for _, m := range n.Items {
		switch strings.ToLower(m.Key) {
		case "requests", "limit", "count", "calls", "max":
			r.count = numberOf(m)
		case "per", "window", "interval", "period", "unit", "window_seconds", "seconds":
			r.window = windowOf(m.Text)
			if seconds := numberOf(m); seconds != nil && seconds.IsInt() {
				r.window = seconds.Num().Int64()
			}
		}
	}
	return r, r.count != nil && r.window > 0
}

var rateText = regexp.MustCompile(`^([0-9][0-9.,]*)\s*(?:[a-z]+\s*)?(?:(?:/|per|an|a)\s*([0-9]*\s*[a-z]+))?$`)

// parseRate reads a limit as people write it: "60/minute", "100 requests per hour".
func parseRate(text string) (rate, bool) {
	m := rateText.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return rate{}, false
	}
	count := parseNumber(strings.ReplaceAll(m[1], ",", ""))
	return rate{count: count, window: windowOf(m[2])}, count != nil
}

// windows are the names of times, in seconds. Longer names come first.
var windows = []struct {
	names   []string
	seconds int64
}{
	{[]string{"second", "_sec", "rps", "per_s", "/s", "1s"}, 1},
	{[]string{"minute", "_min", "rpm", "per_m", "/m", "1m"}, 60},
	{[]string{"hour", "rph", "/h", "1h"}, 3600},
	{[]string{"day", "daily", "rpd", "/d", "1d", "24h"}, 86400},
	{[]string{"week"}, 7 * 86400},
	{[]string{"month"}, 30 * 86400},
}

// windowOf returns the time that a name speaks of, 0 for none.
func windowOf(name string) int64 {
	name = strings.ToLower(name)
	switch name {
	case "s", "sec":
		return 1
	case "m", "min":
		return 60
	case "h":
		return 3600
	case "d":
		return 86400
	}
	for _, w := range windows {
		if containsAny(name, w.names...) {
			return w.seconds
		}
	}
	return 0
}

// nounOf returns the noun that a limit counts, without its time: "requests" of
// "/requests_per_minute".
func nounOf(key string) string {
	key = strings.ToLower(key)
	for _, w := range windows {
		for _, name := range w.names {
			key = strings.ReplaceAll(key, name, "")
		}
	}
	key = strings.NewReplacer("_per", "", "per_", "", "max_", "", "calls", "requests", "_", "", "limit", "requests").Replace(key)
	if key == "" || strings.HasSuffix(key, "/") {
		key += "requests"
	}
	return strings.TrimPrefix(key, "/")
}
