package registry

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"code.dny.dev/ssrf"

	"gazetteer/protocol/did"
)

const (
	maxEndpoints    = 20
	maxEndpointType = 100
	maxEndpointID   = 200
)

// AirIDVariable stands for the agent's AIR ID in the address of a service endpoint. A registration
// can so name an address that contains the AIR ID, which the registry assigns; the record has the
// AIR ID instead.
const AirIDVariable = "{air_id}"

// checkEndpoints checks the list of services of the agent with the DID self and returns it in the
// form of the DID document, with an id for each.
//
// The list is published under the agent's name and used by machines, so it allows less than the
// reference does: no scheme but https, no address inside a private network, no type that is
// reserved for the registry, no id that belongs to another DID or to the registry's own entries.
func (r *Registry) checkEndpoints(self string, given []ServiceEndpoint) ([]ServiceEndpoint, error) {
	airID := self[strings.LastIndexByte(self, ':')+1:]
	if len(given) > maxEndpoints {
		return nil, endpointsError("", "count", fmt.Sprintf(" exceeds max length of %d entries", maxEndpoints),
			fmt.Sprintf("the list has %d", len(given)))
	}
	out := make([]ServiceEndpoint, len(given))
	taken := map[string]bool{}
	for i, e := range given {
		at := fmt.Sprintf("[%d]", i)
		kind, err := checkEndpointType(at, e.Type)
		if err != nil {
			return nil, err
		}
		address, err := r.checkEndpointURL(at, strings.ReplaceAll(e.ServiceEndpoint, AirIDVariable, airID))
		if err != nil {
			return nil, err
		}
		out[i] = ServiceEndpoint{Type: kind, ServiceEndpoint: address}
		if e.ID == "" {
			continue
		}
		if out[i].ID, err = checkEndpointID(at, self, e.ID, taken); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if out[i].ID == "" {
			out[i].ID = self + "#" + freeFragment(out[i].Type, taken)
		}
	}
	return out, nil
}

func endpointsError(at, code, message, help string) *Error {
	return &Error{Field: "service_endpoints" + at, Code: code, Message: "Invalid service_endpoints: service_endpoints" + at + message, Help: help}
}

// The types of the reserved prefixes that an agent may use (A2A §12.2): the
// draft defines one A2A type, DIDComm one of its own, and the AIR types are the
// registry's.
var endpointTypes = []struct{ prefix, allowed string }{
	{"AIR", ""},
	{"A2A", did.TypeInbox},
	{"DIDComm", "DIDCommMessaging"},
}

func checkEndpointType(at, kind string) (string, error) {
	at += ".type"
	kind = strings.TrimSpace(kind)
	if kind == "" {
		return "", endpointsError(at, "required", " must be a non-empty string", "for an inbox write "+did.TypeInbox)
	}
	if utf8.RuneCountInString(kind) > maxEndpointType {
		return "", endpointsError(at, "length", fmt.Sprintf(" is longer than %d characters", maxEndpointType), "nothing is cut silently")
	}
	if !IsURIText(kind) {
		return "", endpointsError(at, "text", " contains characters that a type cannot have",
			"use letters, digits and '_', or an https URI (A2A draft-1 §12.3)")
	}
	if strings.EqualFold(kind, did.TypeInbox) && kind != did.TypeInbox {
		return "", endpointsError(at, "reserved", " differs from "+did.TypeInbox+" in case", "senders compare it exactly: write "+did.TypeInbox)
	}
	for _, t := range endpointTypes {
		if !strings.HasPrefix(kind, t.prefix) || kind == t.allowed {
			continue
		}
		help := "these types are the registry's own; choose another name"
		if t.allowed != "" {
			help = "of these only " + t.allowed + " is defined; choose it or another name"
		}
		return "", endpointsError(at, "reserved", " begins with "+t.prefix+", which is reserved (A2A draft-1 §12.2)", help)
	}
	return kind, nil
}

func (r *Registry) checkEndpointURL(at, text string) (string, error) {
	at += ".serviceEndpoint"
	refuse := func(code, message, help string) (string, error) { return "", endpointsError(at, code, message, help) }
	text = strings.TrimSpace(text)
	if text == "" {
		return refuse("required", " must be a non-empty string", "write the https URL for the requests")
	}
	if utf8.RuneCountInString(text) > maxURL {
		return refuse("length", fmt.Sprintf(" is longer than %d characters", maxURL), "nothing is cut silently")
	}
	u, err := url.Parse(text)
	if err != nil || !u.IsAbs() || !IsURIText(text) {
		return refuse("url", " is not a valid URL", "write an absolute https URL in ASCII: international host names as xn--…, other characters as %XX")
	}
	local := r.allowLoopback && did.IsLoopback(u.Hostname())
	if u.Scheme != "https" && !(local && u.Scheme == "http") {
		help := "senders treat any other scheme as invalid (A2A draft-1 §3.4)"
		if u.Scheme == "http" && did.IsLoopback(u.Hostname()) {
			help += "; to try things out on one machine, the operator sets registry.allow_loopback"
			if strings.HasPrefix(text, r.baseURL+"/") {
				help += ", and for others public_url, to an https address of this server"
			}
		}
		return refuse("scheme", " must be an https URL", help)
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return refuse("url", " is not a valid URL", "a host must follow https://")
	}
	if u.User != nil {
		return refuse("url", " contains a user name or password", "it would be published; remove everything before '@'")
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) || strings.HasSuffix(u.Host, ":") {
		return refuse("url", " has no valid port", "write a number from 1 to 65535, or none for 443")
	}
	if local {
		return text, nil
	}
	if err := checkPublicHost(u.Hostname()); err != nil {
		return refuse("private-address", " does not lead to a public host: "+err.Error(), "senders refuse addresses inside networks; use a public DNS name")
	}
	return text, nil
}

// checkPublicHost refuses addresses and names that are private by their form.
// An IPv4 address in IPv6 form is always refused. What a name
// resolves to is checked when a client connects.
func checkPublicHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return fmt.Errorf("%s is bound to a network interface", addr)
		}
		// One cloud serves its metadata at an address that is not registered as special.
		if err := ssrf.New().SafeAddr(addr); err != nil || addr == netip.AddrFrom4([4]byte{168, 63, 129, 16}) {
			return fmt.Errorf("%s is not a public address", addr)
		}
		return nil
	}
	host = strings.ToLower(host)
	if err := did.CheckDomain(host); err != nil {
		return err
	}
	if did.IsPrivateName(host) || strings.HasSuffix(host, ".intranet") || strings.HasSuffix(host, ".lan") {
		return fmt.Errorf("%s is a name of a private network", host)
	}
	if !strings.Contains(host, ".") {
		return fmt.Errorf("%s has no dot", host)
	}
	return nil
}

// checkEndpointID checks an id and marks its fragment as taken.
func checkEndpointID(at, self, id string, taken map[string]bool) (string, error) {
	at += ".id"
	refuse := func(code, message, help string) (string, error) { return "", endpointsError(at, code, message, help) }
	if utf8.RuneCountInString(id) > maxEndpointID {
		return refuse("length", fmt.Sprintf(" is longer than %d characters", maxEndpointID), "nothing is cut silently")
	}
	escaped, own := strings.CutPrefix(id, self+"#")
	if !own {
		return refuse("foreign-id", " does not begin with the agent's own DID", "write "+self+"#inbox, or leave id out")
	}
	fragment, err := url.PathUnescape(escaped)
	if err != nil || fragment == "" || !IsURIText(escaped) || strings.Contains(escaped, "#") {
		return refuse("text", " has no valid fragment", "after '#' use letters, digits, '-', '_' and '.'")
	}
	if "#"+strings.ToLower(fragment) == trustScoreFragment || strings.HasPrefix(strings.ToLower(fragment), "key-") ||
		strings.HasPrefix("#"+strings.ToLower(fragment), did.RetiredFragment) {
		return refuse("reserved", " is an id of the registry's own entries", "choose a fragment other than trust-score, key-… and retired-…")
	}
	if taken[fragment] {
		return refuse("duplicate", " is used twice in the list", "give each service its own id, or leave the ids out")
	}
	taken[fragment] = true
	return id, nil
}

// freeFragment makes a fragment of a service type, "A2AInbox" and then
// "A2AInbox-2" and so on, marks it as taken and returns it escaped. The same
// list always gets the same ids.
func freeFragment(kind string, taken map[string]bool) string {
	fragment := kind
	for n := 2; taken[fragment]; n++ {
		fragment = kind + "-" + strconv.Itoa(n)
	}
	taken[fragment] = true
	return escapeFragment(fragment)
}

// escapeFragment writes "#", "%" and brackets as %XX; a fragment may contain all other characters that
// [IsURIText] accepts.
func escapeFragment(text string) string {
	return strings.NewReplacer("%", "%25", "#", "%23", "[", "%5B", "]", "%5D").Replace(text)
}

// IsURIText reports whether a text contains only characters of RFC 3986.
func IsURIText(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	return true
}
