package aidiscovery

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

func (c *checker) readAuth(root *protocol.Node) {
	if root.Member("auth") == nil {
		c.Add("AI506", root, "auth is missing, so callers assume that authentication may be needed", helpForMissing(root, "auth", `add "auth": {"type": "none"} if no authentication is needed`))
		return
	}
	n := c.readObject(root, "auth")
	if n == nil {
		return
	}
	c.checkNestedMembers(n, "/auth")
	a := &Auth{Type: c.authType(n), Header: c.authHeader(n), Docs: c.readURI(n, "docs", "AI505")}
	c.doc.Auth = a
	header := n.Member("header")
	switch {
	case a.Type == "apikey" && header == nil:
		c.Add("AI507", n, "type apikey without header", "name the header for the key")
	case a.Type == "bearer" && header != nil && !strings.EqualFold(a.Header, "Authorization"):
		c.Add("AI508", header, "type bearer uses the header Authorization", "leave header out")
	case a.Type == "none" && header != nil:
		c.Add("AI508", header, "type none needs no header", "leave header out")
	}
	if a.Type == "none" {
		c.openWrites(root)
	}
}

func (c *checker) authType(parent *protocol.Node) string {
	n := parent.Member("type")
	const help = "use none, apikey, bearer or oauth2"
	if n == nil {
		c.Add("AI501", parent, "auth has no type", help)
		return ""
	}
	switch n.Str() {
	case "none", "apikey", "bearer", "oauth2":
		return n.Text
	}
	what := "auth.type is " + describeKind(n.Kind) + ", not a string"
	if n.Kind == protocol.String {
		what = "the auth.type " + protocol.Quote(n.Text) + " is not one of the four types of the draft"
	}
	c.Add("AI502", n, what, english.DidYouMean(n.Str(), []string{"none", "apikey", "bearer", "oauth2"})+help)
	return n.Str()
}

func (c *checker) authHeader(parent *protocol.Node) string {
	n := parent.Member("header")
	if n == nil {
		return ""
	}
	if n.Kind != protocol.String {
		c.Add("AI503", n, "auth.header is "+describeKind(n.Kind)+", not a string", `write a header name, for example "X-API-Key"`)
		return ""
	}
	if !fieldName(n.Text) {
		c.Add("AI504", n, "auth.header is not the name of a header", `write the name only, for example "X-API-Key"; no colon, space or value`)
	}
	if isRandom(n.Text) && !strings.Contains(n.Text, "-") {
		c.Add("AI901", n, "auth.header holds what looks like a key", "write the name of the header, for example \"X-API-Key\", and revoke the key")
	}
	return n.Text
}

// fieldName reports whether s is an HTTP field name (RFC 9110 §5.1).
func fieldName(s string) bool {
	return s != "" && consistsOf(s, func(b byte) bool {
		return isAlphanumeric(b) || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
	})
}

// openWrites reports capabilities that change something without authentication (§6.2): one finding,
// at the first.
func (c *checker) openWrites(root *protocol.Node) {
	for _, item := range root.Member("capabilities").Elements() {
		if m := item.Member("method"); m != nil && m.Kind == protocol.String && m.Text != "GET" && slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, m.Text) {
			c.Add("AI902", m, "auth.type is none, yet a capability is called with "+m.Text, "ask for authentication where something is written, costs money or is private")
			return
		}
	}
}

// readURI reads an optional member that must be an absolute URI.
func (c *checker) readURI(parent *protocol.Node, name, code string) string {
	n := parent.Member(name)
	if n == nil {
		return ""
	}
	if !absoluteURI(n.Str()) {
		c.Add(code, n, name+" is not an absolute URI", "write the absolute URL, beginning with https://")
	}
	return n.Str()
}

func absoluteURI(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !u.IsAbs() || strings.Contains(s, " ") || !isPort(u.Port()) {
		return false
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.Hostname() != ""
	}
	return u.Host != "" || u.Opaque != "" || u.Path != ""
}

// readBoolean reads an optional boolean member.
func (c *checker) readBoolean(parent *protocol.Node, name, code string) bool {
	n := parent.Member(name)
	if n != nil && n.Kind != protocol.Bool {
		c.Add(code, n, name+" is "+describeKind(n.Kind)+", not true or false", "write true or false without quotes")
	}
	return n.True()
}

func (c *checker) tokenHints(root *protocol.Node) {
	n := c.readObject(root, "token_hints")
	if n == nil {
		return
	}
	c.checkNestedMembers(n, "/token_hints")
	c.doc.TokenHints = TokenHints{
		CompactMode:    c.readBoolean(n, "compact_mode", "AI601"),
		FieldFiltering: c.readBoolean(n, "field_filtering", "AI601"),
		DeltaSupport:   c.readBoolean(n, "delta_support", "AI601"),
	}
}

func (c *checker) rateLimits(root *protocol.Node) {
	n := c.readObject(root, "rate_limits")
	if n == nil {
		return
	}
	c.checkNestedMembers(n, "/rate_limits")
	if m := n.Member("requests_per_minute"); m != nil {
		if m.Kind != protocol.Number || !positiveInteger(m.Text) {
			c.Add("AI701", m, "requests_per_minute is not a positive whole number", "write a number such as 60, without quotes")
		} else if v, err := strconv.ParseFloat(m.Text, 64); err == nil && v < 1e9 {
			c.doc.RateLimits.RequestsPerMinute = int(v)
		}
	}
	c.doc.RateLimits.AgentTierAvailable = c.readBoolean(n, "agent_tier_available", "AI702")
	if c.doc.RateLimits.AgentTierAvailable && root.Member("auth").Member("docs") == nil {
		c.Add("AI703", n.Member("agent_tier_available"), "a tier for agents is offered, but auth.docs does not say how to get it", "add auth.docs")
	}
}

// positiveInteger reports whether a JSON number literal is exactly a whole number above zero: 60.0
// and 6e1 are, 0 and 60.5 are not. It does not compute the value, because a short literal can stand
// for a very long number.
func positiveInteger(literal string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits := strings.TrimLeft(whole+fraction, "0")
	if strings.HasPrefix(literal, "-") || digits == "" {
		return false
	}
	zeros := -len(fraction) // zeros to the right of the digits, before the exponent
	if fraction == "" {
		zeros = len(digits) - len(strings.TrimRight(digits, "0"))
	}
	if exponent == "" {
		return zeros >= 0
	}
	e, err := strconv.Atoi(exponent)
	if err != nil { // an exponent beyond any integer type
		return !strings.HasPrefix(exponent, "-")
	}
	return e >= -zeros
}

// ReviewMember is the member of meta in which our conversions list the places that they guessed.
const ReviewMember = "review"

// namesAgent reports whether a value is a DID, an AIR ID or an address with one: registries take a whole
// value of this form as the name of an agent of the service.
func namesAgent(n *protocol.Node) bool {
	text := n.Str()
	return strings.HasPrefix(text, "did:wba:") || strings.HasPrefix(text, "did:web:") || strings.HasPrefix(text, "AIR-") ||
		strings.HasPrefix(text, "agtp://AIR-") || strings.HasPrefix(text, "https://") && strings.Contains(text, "/agents/AIR-")
}

func (c *checker) readMeta(root *protocol.Node) {
	n := c.readObject(root, "meta")
	if n == nil {
		return
	}
	for _, m := range n.Items {
		if c.strict && !slices.Contains(memberNames["/meta"], m.Key) {
			help := "leave it out unless agents need it: the text of the draft allows it, its JSON Schema does not"
			if m.Key == ReviewMember && n.Member(m.Key).Kind == protocol.Array {
				help = "gazetteer init and convert write it: it lists what they guessed; check each place, then delete it"
			} else if namesAgent(n.Member(m.Key)) {
				help = "it names an agent of the service, for which the draft has no member; registries can link the two"
			}
			c.AddKey("AI805", m, protocol.Quote(m.Key)+" is a custom member of meta", help)
		}
	}
	c.doc.Meta = Meta{
		LastUpdated: c.lastUpdated(n),
		Changelog:   c.readURI(n, "changelog", "AI802"),
		Status:      c.readURI(n, "status", "AI803"),
	}
}

// dateForm is the form of last_updated in the draft, which also accepts days that do not exist.
var dateForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$`)

func (c *checker) lastUpdated(parent *protocol.Node) string {
	n := parent.Member("last_updated")
	if n == nil {
		return ""
	}
	at, ok := parseTime(n.Str())
	if !ok {
		what := "last_updated is " + describeKind(n.Kind) + ", not a string"
		if n.Kind == protocol.String {
			what = "last_updated " + protocol.Quote(n.Text) + " is not a date in the form of the draft"
			if dateForm.MatchString(n.Text) {
				what = "last_updated " + protocol.Quote(n.Text) + " is not a date that exists"
			}
		}
		c.Add("AI801", n, what, "write YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ")
		return n.Str()
	}
	if !c.o.Now.IsZero() && at.After(c.o.Now.Add(24*time.Hour)) {
		c.Add("AI804", n, fmt.Sprintf("last_updated %s is in the future", n.Text), "write the day of the last change")
	}
	return n.Text
}

// parseTime reads the two forms of §3.7. The length is checked because time.Parse
// takes fractions of a second that the layout does not name.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04:05Z"} {
		if at, err := time.Parse(layout, s); err == nil && len(s) == len(layout) {
			return at, true
		}
	}
	return time.Time{}, false
}
