package diff

import (
	"cmp"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"gazetteer/document"
	"gazetteer/protocol"
)

// address is an endpoint in a form that can be compared.
type address struct {
	scheme, host, port string
	// rest is path and query, without the names of path parameters.
	rest string
}

// resolveEndpoint reads an endpoint as written. If it is not an address, only its text is set.
func (v *version) resolveEndpoint(written string) address {
	written = strings.TrimSpace(written)
	u, err := url.Parse(written)
	if err != nil || u.Host == "" && !strings.HasPrefix(written, "/") {
		return address{rest: written}
	}
	if u.Host == "" && v.base != nil {
		u = v.base.ResolveReference(u)
	}
	a := address{scheme: strings.ToLower(u.Scheme), host: canonicalHost(u.Hostname()), port: u.Port()}
	if a.port == defaultPorts[a.scheme] {
		a.port = ""
	}
	a.rest = stripParameterNames(u.Path)
	a.rest = cmp.Or(a.rest, "/")
	if u.RawQuery != "" {
		a.rest += "?" + u.RawQuery
	}
	return a
}

// canonicalLink returns an address of any scheme, or of mail, so that letter case and default port of
// its host do not count; "" for a text that is none.
func canonicalLink(text string) string {
	text = strings.TrimSpace(text)
	if local, host, found := strings.Cut(text, "@"); found && !strings.ContainsAny(text, "/ ") && !strings.Contains(host, "@") {
		return local + "@" + strings.ToLower(host)
	}
	if !strings.Contains(text, "://") {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	u.Scheme = strings.ToLower(u.Scheme)
	port := u.Port()
	if u.Host = canonicalHost(u.Hostname()); port != "" && port != defaultPorts[u.Scheme] {
		u.Host += ":" + port
	}
	u.Path = cmp.Or(u.Path, "/")
	return u.String()
}

// equalLinks reports whether two texts are one address.
func equalLinks(a, b *protocol.Node) bool {
	if a == nil || b == nil || a.Kind != protocol.String || b.Kind != protocol.String {
		return false
	}
	link := canonicalLink(a.Text)
	return link != "" && link == canonicalLink(b.Text)
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "wss": "443", "ws": "80"}

// canonicalHost returns a host name in ASCII lower case.
func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// inPlainText holds the unencrypted schemes.
var inPlainText = map[string]bool{"http": true, "ws": true, "ftp": true}

// callOf returns method and address of a capability.
func (v *version) callOf(o *operation) string {
	a := v.resolveEndpoint(o.node.Member("endpoint").Str())
	return strings.ToUpper(o.node.Member("method").Str()) + " " + a.scheme + "://" + a.host + ":" + a.port + a.rest
}

// origins is where an endpoint lies in both versions.
type origins struct{ from, to string }

func (a address) origin() string {
	switch {
	case a.host == "":
		return ""
	case a.port == "":
		return a.scheme + "://" + a.host
	default:
		return a.scheme + "://" + a.host + ":" + a.port
	}
}

// compareAddresses compares two endpoints of an operation, or of the service.
func (c *comparison) compareAddresses(operation string, na, nb *protocol.Node) {
	na, nb = nilIfNull(na), nilIfNull(nb)
	if strings.TrimSpace(na.Str()) == "" || strings.TrimSpace(nb.Str()) == "" {
		if na.Str() != nb.Str() {
			c.addChange(EndpointChanged, operation, valueOf(na), valueOf(nb))
		}
		return
	}
	a, b := c.a.resolveEndpoint(na.Str()), c.b.resolveEndpoint(nb.Str())
	if a == b {
		return
	}
	if operation != "" {
		c.moves[operation] = origins{a.origin(), b.origin()}
	}
	told := false
	if a.host != b.host {
		c.addChange(EndpointHostChanged, operation, valueOf(na), valueOf(nb))
		told = true
	}
	if inPlainText[b.scheme] && !inPlainText[a.scheme] && a.scheme != "" {
		c.addChange(TransportWeakened, operation, valueOf(na), valueOf(nb))
		told = told || a.rest == b.rest && a.port == b.port
	}
	if !told {
		c.addChange(EndpointChanged, operation, valueOf(na), valueOf(nb))
	}
}

// compareCalls compares how a capability is called.
func (c *comparison) compareCalls(p pair) {
	if c.a.kind != document.AI {
		return
	}
	before := len(c.changes)
	c.paired++
	c.compareAddresses(p.a.name, p.a.node.Member("endpoint"), p.b.node.Member("endpoint"))
	ma, mb := nilIfNull(p.a.node.Member("method")), nilIfNull(p.b.node.Member("method"))
	if strings.EqualFold(ma.Str(), mb.Str()) {
		return
	}
	for _, change := range c.changes[before:] {
		if change.Kind == EndpointChanged { // method and path changed: the call did
			return
		}
	}
	c.addChange(EndpointChanged, p.a.name, valueOf(ma), valueOf(mb))
}
