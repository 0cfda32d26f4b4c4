package fetch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// A HostError says why a name is not the name of a host that may be visited.
type HostError struct {
	Host    string // as given; untrusted text
	Problem string
	Help    string
	// Address is set when the name is an address, or a name of this machine or its network, in some
	// spelling. As the target of a redirect that is [BlockedAddress], not a mistake.
	Address bool
}

func (e *HostError) Error() string {
	return fmt.Sprintf("host %.100q: %s; %s", e.Host, e.Problem, e.Help)
}

const wantName = `give a public host name such as "www.example.com"`

// lookupProfile is IDNA2008 lookup (UTS #46 mapping, no transitional forms). It maps full-width
// digits and dots to plain ones, so all other checks of the name come after it.
var lookupProfile = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.StrictDomainName(true),
	idna.VerifyDNSLength(true),
)

// notPublic are top-level names that never lead to a public host (RFC 6761,
// RFC 6762, RFC 7686, RFC 9476, ICANN's reservation of "internal").
var notPublic = []string{"localhost", "local", "internal", "onion", "alt"}

// CheckHost normalizes the name of a host as a person or a document writes it: it drops https, http
// and agtp schemes, the port 443, a path and a final dot, and converts the rest to lowercase ASCII
// (IDNA). It returns a *[HostError] for anything that is not a public host name: IP addresses in
// any spelling, single labels, bare public suffixes, names with user information or another port.
func CheckHost(name string) (string, error) {
	refuse := func(problem string) (string, error) {
		return "", &HostError{Host: name, Problem: problem, Help: wantName}
	}
	refuseAddress := func(problem string) (string, error) {
		return "", &HostError{Host: name, Problem: problem, Help: wantName, Address: true}
	}
	host, secure := strings.TrimSpace(name), true
	if scheme, rest, ok := strings.Cut(host, "://"); ok {
		if !slices.Contains([]string{"https", "http", "agtp"}, strings.ToLower(scheme)) {
			return refuse("only https, http and agtp addresses name a host to visit")
		}
		host, secure = rest, !strings.EqualFold(scheme, "http")
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if bare, found := strings.CutSuffix(host, ":443"); found && secure && !strings.Contains(bare, ":") {
		host = bare
	}
	switch {
	case host == "":
		return refuse("it is empty")
	case !utf8.ValidString(host):
		return refuse("it is not UTF-8")
	case strings.ContainsAny(host, "[]"):
		return refuseAddress("it is an IPv6 address")
	case strings.Contains(host, "@") && !strings.Contains(name, ":"):
		return refuse("it is an email address")
	case strings.Contains(host, "@"):
		return refuse("it carries user information")
	case strings.Count(host, ":") > 1:
		return refuseAddress("it is an IPv6 address")
	case strings.Contains(host, ":"):
		return refuse("it has a port; only 443 is requested")
	}
	ascii, err := lookupProfile.ToASCII(trimFinalDot(host))
	if err != nil {
		return refuse(nameProblem(err))
	}
	labels := strings.Split(ascii, ".")
	last := labels[len(labels)-1]
	switch {
	case endsInNumber(last):
		return refuseAddress("it is an IP address")
	case slices.Contains(notPublic, last) || strings.HasSuffix(ascii, ".home.arpa"):
		return refuseAddress("names under ." + last + " are never public")
	case len(labels) == 1:
		return refuseAddress("it is a single label, which only a local network knows")
	}
	if suffix, _ := publicsuffix.PublicSuffix(ascii); suffix == ascii {
		return refuse("it is a public suffix, under which others register names")
	}
	return ascii, nil
}

// nameProblem explains why IDNA rejects a name.
func nameProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "idna: ")
	if character, ok := strings.CutPrefix(text, "disallowed rune "); ok {
		if character == "U+0020" {
			return "it contains a space"
		}
		return "it contains the character " + character + ", which a domain name must not contain"
	}
	if label, ok := strings.CutPrefix(text, "invalid label "); ok {
		return "its part " + label + " is not a label of a domain name"
	}
	return "it is not a valid domain name"
}

// trimFinalDot takes off one final dot, in any of the forms IDNA maps to a dot.
func trimFinalDot(host string) string {
	for _, dot := range []string{".", "。", "．", "｡"} {
		if rest, ok := strings.CutSuffix(host, dot); ok {
			return rest
		}
	}
	return host
}

// endsInNumber is the test of the URL standard for "this is an IPv4 address in
// some spelling": the last label is decimal, octal or hexadecimal.
func endsInNumber(label string) bool {
	if _, err := netip.ParseAddr(label); err == nil {
		return true
	}
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}
