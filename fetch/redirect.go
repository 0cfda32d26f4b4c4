package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
)

const (
	// maxRedirects is how many redirects of one fetch are followed (AI
	// Discovery §2.2; RFC 9309 §2.3.1.2 has the same number).
	maxRedirects  = 5
	locationBytes = 2048 // of a Location that is followed
)

func isRedirect(status int) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, status)
}

// followRedirect judges a Location and redirects the ask to the address it names.
func (t *Transport) followRedirect(a *Ask, location string) AskResult {
	hop := location
	if u, err := a.url.Parse(location); err == nil {
		hop = u.String()
	}
	a.Hops = append(a.Hops, protocol.ClipBytes(hop, locationBytes))
	if len(a.Fetch.Redirects) == maxRedirects {
		return AskResult{Outcome: TooManyRedirects, Detail: fmt.Sprintf("more than %d redirects", maxRedirects)}
	}
	a.Fetch.Redirects = append(a.Fetch.Redirects, protocol.ClipBytes(location, 500))
	next, end := t.parseTarget(a.url, location)
	if end.Outcome == "" {
		a.url, a.Host = next, next.Hostname()
	}
	return end
}

// parseTarget judges an address from a document or a redirect before anything is resolved or
// dialed, and returns it with its host in normal form. The result is set if the address must not
// be requested.
func (t *Transport) parseTarget(base *url.URL, location string) (*url.URL, AskResult) {
	bad := func(format string, args ...any) (*url.URL, AskResult) {
		return nil, AskResult{Outcome: BadRedirect, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case location == "":
		return bad("the redirect has no Location")
	case len(location) > locationBytes:
		return bad("the address is %d bytes long; at most %d are followed", len(location), locationBytes)
	case strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }):
		return bad("the address %.100q holds a blank, a control character or a backslash", location)
	}
	u, err := base.Parse(location)
	if err != nil {
		return bad("the address %.100q cannot be read", location)
	}
	switch {
	case u.Scheme == "http":
		return nil, AskResult{Outcome: InsecureRedirect, Detail: fmt.Sprintf("to %.200q; only https is followed", u.String())}
	case u.Scheme != "https" || u.Opaque != "":
		return bad("the address %.100q is not https", location)
	case u.User != nil:
		return bad("the address %.100q carries user information", location)
	}
	host, err := CheckHost(u.Hostname())
	if ipv6 := strings.HasPrefix(u.Host, "["); ipv6 || err != nil {
		var wrong *HostError
		if ipv6 || errors.As(err, &wrong) && wrong.Address {
			return nil, AskResult{Outcome: BlockedAddress, Detail: fmt.Sprintf("the address %.100q leads to no public host", location)}
		}
		return bad("the address %.100q: %v", location, err)
	}
	if !portAllowed(u.Port(), t.o.Ports) {
		return bad("port %s of the address %.100q is not requested", u.Port(), location)
	}
	port := u.Port()
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	if port != "" && port != "443" {
		u.Host = net.JoinHostPort(host, port)
	}
	u.Path = cmp.Or(u.Path, "/")
	return u, AskResult{}
}
