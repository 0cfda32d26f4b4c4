package did

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
)

// maxDID is the longest accepted DID text, in bytes.
const maxDID = 500

// The methods whose DIDs lead to a document on a web host.
const (
	MethodWBA = "wba"
	MethodWeb = "web"
)

// A Web is a DID whose document is on a web host: did:wba, the method that AIR uses, or did:web,
// which has the same text form. [ParseWeb] reads one from text; [AgentDID] returns that of an agent
// in a registry.
type Web struct {
	Method string // [MethodWBA] or [MethodWeb]
	Host   string // DNS name, lower case
	Port   uint16 // 0: none is written, HTTPS on 443 is meant
	Path   []string
}

// ParseWeb reads "did:wba:example.com:agents:AIR-…". The host is a DNS name
// (IP addresses are excluded by both methods) and may carry a port, percent
// encoded: "localhost%3A8443". Path segments are letters, digits, "-", "_" and
// ".". The error is an [*Error] whose message continues "Invalid did:wba: ".
func ParseWeb(text string) (Web, error) {
	method, rest, ok := cutMethod(text)
	if !ok {
		return Web{}, webError("must begin with did:wba: or did:web:", "example: did:wba:example.com:agents:alice")
	}
	if len(text) > maxDID {
		return Web{}, webError(fmt.Sprintf("must not be longer than %d characters", maxDID), "")
	}
	if i := strings.IndexAny(rest, "#?/"); i >= 0 {
		return Web{}, webError("is a DID URL, not a DID", "leave out everything from "+strconv.Quote(rest[i:i+1])+" on")
	}
	parts := strings.Split(rest, ":")
	w := Web{Method: method, Path: parts[1:]}
	host := parts[0]
	if before, port, found := cutPort(host); found {
		n, err := parsePort(port)
		if err != nil {
			return Web{}, err
		}
		host, w.Port = before, n
	}
	w.Host = lowerASCII(host)
	if err := CheckDomain(w.Host); err != nil {
		return Web{}, err
	}
	for _, segment := range w.Path {
		if !isSegment(segment) {
			return Web{}, webError(fmt.Sprintf("path segment '%s' has invalid characters", protocol.ClipBytes(segment, maxQuoted)),
				"use letters, digits, '-', '_' and '.'")
		}
	}
	return w, nil
}

// AgentDID returns the DID of an agent of a registry, the path "agents:{air id}"
// below the registry's DID host.
func AgentDID(host Web, airID string) Web {
	return Web{Method: MethodWBA, Host: host.Host, Port: host.Port, Path: []string{"agents", airID}}
}

// AirID returns the AIR ID in the path "agents:{air id}", and false when the
// DID has another path.
func (w Web) AirID() (string, bool) {
	if len(w.Path) != 2 || w.Path[0] != "agents" || !isAirID(w.Path[1]) {
		return "", false
	}
	return w.Path[1], true
}

// Addresses returns the https URLs at which the document of the DID may be, in the order in which
// to try them: /.well-known/did.json of the host, or did.json below the path. A did:wba without a
// path has a second one, which AIR requires.
func (w Web) Addresses() []string {
	base := "https://" + w.Authority()
	if len(w.Path) > 0 {
		return []string{base + "/" + strings.Join(w.Path, "/") + "/did.json"}
	}
	out := []string{base + "/.well-known/did.json"}
	if w.Method == "wba" {
		out = append(out, base+"/.well-known/agent.json")
	}
	return out
}

// Authority returns the host, and the port if the DID has one, as in a URL.
func (w Web) Authority() string {
	if w.Port == 0 {
		return w.Host
	}
	return w.Host + ":" + strconv.Itoa(int(w.Port))
}

// SameHost reports whether two DIDs lie on the same host and port.
func (w Web) SameHost(v Web) bool { return w.Host == v.Host && w.Port == v.Port }

// String returns the DID as text. For a value that [ParseWeb] returned, this is the canonical
// spelling: lowercase host, port as "%3A" and number.
func (w Web) String() string {
	var b strings.Builder
	b.WriteString("did:" + w.Method + ":" + w.Host)
	if w.Port != 0 {
		b.WriteString("%3A" + strconv.Itoa(int(w.Port)))
	}
	for _, segment := range w.Path {
		b.WriteString(":" + segment)
	}
	return b.String()
}

// privateNames are names below which nothing is public (RFC 6761, RFC 6762,
// RFC 7686, RFC 8375, RFC 9476, ICANN's reservation of "internal").
var privateNames = []string{"localhost", "local", "internal", "onion", "alt", "home.arpa"}

// IsPrivateName reports whether a lowercase name belongs to a private namespace, which differs
// between networks.
func IsPrivateName(host string) bool {
	return slices.ContainsFunc(privateNames, func(n string) bool { return host == n || strings.HasSuffix(host, "."+n) })
}

// IsLoopback reports whether a host of a URL, a name or an address, is this machine.
func IsLoopback(host string) bool {
	host = strings.ToLower(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// CheckPublic refuses hosts whose meaning depends on the network: localhost, other names of private
// networks, and names without a dot. ParseWeb accepts localhost, because a registry under test may
// use it as its own DID host.
func (w Web) CheckPublic() error {
	if w.Host == "localhost" || strings.HasSuffix(w.Host, ".localhost") {
		return webError("domain cannot be localhost", "use a name that others can resolve")
	}
	if !strings.Contains(w.Host, ".") {
		return webError("domain must include at least one dot (e.g. example.com)", "")
	}
	if IsPrivateName(w.Host) {
		return webError("domain is a name of a private network", "use a name that others can resolve")
	}
	return nil
}

// CheckDomain reports whether host is a lowercase DNS name in ASCII: labels of
// a-z, 0-9 and "-", at most 63 characters each and 253 together. A name whose
// last label is a number is refused, since browsers and resolvers read it as an
// IPv4 address ("127.1", "0x7f.1"). The error is an [*Error].
func CheckDomain(host string) error {
	if host == "" {
		return webError("missing domain", "a DNS name must follow, for example example.com")
	}
	if len(host) > 253 {
		return webError("domain length must be 4-253 chars", "")
	}
	labels := strings.Split(host, ".")
	if slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) }) {
		return webError("domain has invalid characters (ASCII letters/digits/dots/hyphens only)",
			"each part between dots has 1 to 63 characters and no '-' at its ends; write international names as xn--…")
	}
	if isNumber(labels[len(labels)-1]) {
		return webError("domain cannot be a raw IPv4 address", "use a DNS name")
	}
	return nil
}

// CheckSyntax reports whether text is a DID of any method, by the grammar of
// DID Core §3.1 and within 500 characters. Texts of did:wba, did:web and of
// did:key with an Ed25519 key are checked in full. The error is an [*Error].
func CheckSyntax(text string) error {
	malformed := &Error{"did", fmt.Sprintf("%q is not a DID", protocol.ClipBytes(text, maxQuoted)),
		"a DID is did:{method}:{identifier}, for example did:wba:example.com or did:key:z6Mk…"}
	if len(text) > maxDID {
		return malformed
	}
	if _, _, ok := cutMethod(text); ok {
		_, err := ParseWeb(text)
		return err
	}
	if multikey, ok := strings.CutPrefix(text, "did:key:"); ok && strings.HasPrefix(multikey, "z6Mk") {
		_, err := ParseMultikey(multikey)
		return err
	}
	rest, ok := strings.CutPrefix(text, "did:")
	method, id, found := strings.Cut(rest, ":")
	if !ok || !found || method == "" || strings.ContainsFunc(method, notMethodChar) || !isMethodID(id) {
		return malformed
	}
	return nil
}

func webError(message, help string) *Error { return &Error{"did-web", message, help} }

// cutMethod splits off the method of the two web methods.
func cutMethod(text string) (method, rest string, ok bool) {
	for _, method := range []string{MethodWBA, MethodWeb} {
		if rest, ok := strings.CutPrefix(text, "did:"+method+":"); ok {
			return method, rest, true
		}
	}
	return "", "", false
}

func cutPort(host string) (before, port string, found bool) {
	if i := strings.Index(host, "%"); i >= 0 && len(host) >= i+3 && strings.EqualFold(host[i:i+3], "%3A") {
		return host[:i], host[i+3:], true
	}
	return host, "", false
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, webError(fmt.Sprintf("port '%s' is not a number from 1 to 65535", protocol.ClipBytes(text, maxQuoted)), "write it as %3A and the number: example.com%3A8443")
	}
	return uint16(n), nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(label, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// isNumber implements the "ends in a number" rule of the WHATWG URL standard.
func isNumber(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// isSegment checks a path segment. It refuses "." and "..", which would change the path of the
// DID's URL.
func isSegment(segment string) bool {
	return strings.Trim(segment, ".") != "" && !strings.ContainsFunc(segment, func(r rune) bool { return !isIDChar(r) })
}

// isIDChar reports whether a byte is an idchar of DID Core without the percent escape.
func isIDChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

func notMethodChar(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// isMethodID reports whether a text is a method-specific-id of DID Core: it may contain colons but
// not end in one.
func isMethodID(id string) bool {
	if id == "" || strings.HasSuffix(id, ":") {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case isIDChar(rune(c)), c == ':':
		case c == '%' && i+2 < len(id) && isHex(id[i+1]) && isHex(id[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
