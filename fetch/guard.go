package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// A BlockedError says that an address must not be dialed. Nothing was sent to it.
type BlockedError struct {
	Host string // the name that led there, or the address itself
	Why  string
}

func (e *BlockedError) Error() string { return fmt.Sprintf("%s is blocked: %s", e.Host, e.Why) }

// A Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// GuardOptions configure a [Guard]. The zero value is the strictest.
type GuardOptions struct {
	// Ports that may be dialed; only 443 when empty.
	Ports []uint16
	// Deny adds networks ("198.51.100.0/24") or addresses that must never be
	// reached: the operator's own public ones, for instance.
	Deny []string
	// Allow removes networks from the built-in list (not from Deny), such as loopback in a test.
	Allow []string
	// NAT64 are the prefixes by which the network of this machine reaches IPv4
	// (RFC 6052): 64:ff9b::/96 and its like, of 32, 40, 48, 56, 64 or 96 bits. An
	// address below one may be dialed when the IPv4 address inside it may be.
	NAT64 []string
	// Resolver defaults to the machine's name servers, without waiting long for a silent one.
	Resolver Resolver
}

// A Guard dials names on behalf of strangers. It refuses every address of the IANA special-purpose
// registries, embedded IPv4 forms included, the metadata hosts of clouds, and what the operator
// adds. It refuses a name when any of its addresses is forbidden, so that a mixed answer cannot
// smuggle one in. A name is resolved once for each dial, the checked addresses are dialed, and
// each is checked again when its socket exists, so that a changed DNS answer has no effect. Proxy
// variables of the environment are ignored.
type Guard struct {
	list     *ssrf.Guardian
	ports    []uint16
	deny     []netip.Prefix
	nat64    []netip.Prefix
	resolver Resolver
	dialer   net.Dialer
}

// azureMetadata is a metadata host of a large cloud, on an address that no IANA registry lists as
// special.
var azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

// Networks whose addresses hold IPv4 addresses (RFC 6052, RFC 8215).
var (
	wellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64     = netip.MustParsePrefix("64:ff9b:1::/48")
)

// maxDialed bounds how many addresses of one name are tried.
const maxDialed = 4

// NewGuard returns a guard with these options, or an error that names the network that cannot be
// read.
func NewGuard(o GuardOptions) (*Guard, error) {
	if len(o.Ports) == 0 {
		o.Ports = []uint16{443}
	}
	if o.Resolver == nil {
		o.Resolver = newResolver(resolverTimeout, new(net.Dialer).DialContext)
	}
	deny, err := parseNetworks(o.Deny)
	if err != nil {
		return nil, fmt.Errorf("denied networks: %w", err)
	}
	allow, err := parseNetworks(o.Allow)
	if err != nil {
		return nil, fmt.Errorf("allowed networks: %w", err)
	}
	nat64, err := parseNAT64(o.NAT64)
	if err != nil {
		return nil, fmt.Errorf("NAT64 prefixes: %w", err)
	}
	allow4, allow6 := []netip.Prefix(nil), slices.Clone(nat64)
	for _, p := range allow {
		switch {
		case p.Addr().Is4():
			allow4 = append(allow4, p)
		case p.Overlaps(wellKnownNAT64) || p.Overlaps(localNAT64):
			return nil, fmt.Errorf("allowed networks: %s contains IPv4 addresses; configure it as a NAT64 prefix, so that they are checked", p)
		default:
			allow6 = append(allow6, p)
		}
	}
	g := &Guard{
		ports:    o.Ports,
		deny:     append(deny, azureMetadata),
		nat64:    nat64,
		resolver: o.Resolver,
		list: ssrf.New(ssrf.WithPorts(o.Ports...),
			ssrf.WithAllowedV4Prefixes(allow4...), ssrf.WithAllowedV6Prefixes(allow6...)),
	}
	g.dialer = net.Dialer{Control: g.Control, KeepAlive: -1}
	return g, nil
}

// parseNetworks reads networks and single addresses.
func parseNetworks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q: want an address or a network such as 198.51.100.0/24", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// parseNAT64 reads the prefixes of RFC 6052.
func parseNAT64(texts []string) ([]netip.Prefix, error) {
	prefixes, err := parseNetworks(texts)
	if err != nil {
		return nil, err
	}
	for _, p := range prefixes {
		if !p.Addr().Is6() || !slices.Contains([]int{32, 40, 48, 56, 64, 96}, p.Bits()) {
			return nil, fmt.Errorf("%s: want an IPv6 network of 32, 40, 48, 56, 64 or 96 bits (RFC 6052, section 2.2)", p)
		}
	}
	return prefixes, nil
}

// embeddedIPv4 returns the IPv4 address in an address below a NAT64 prefix, and false
// when there is none (RFC 6052 §2.2).
func embeddedIPv4(addr netip.Addr, prefix netip.Prefix) (netip.Addr, bool) {
	const reserved = 8 // the octet that must be zero, and is passed over
	octets := addr.As16()
	if prefix.Bits() < 96 && octets[reserved] != 0 {
		return netip.Addr{}, false
	}
	var v4 [4]byte
	from := prefix.Bits() / 8
	for i := range v4 {
		if from == reserved {
			from++
		}
		v4[i] = octets[from]
		from++
	}
	return netip.AddrFrom4(v4), true
}

// checkEmbedded returns a *[BlockedError] if an address embeds an IPv4 address that must not be
// dialed.
func (g *Guard) checkEmbedded(addr netip.Addr) error {
	for _, p := range g.nat64 {
		if !p.Contains(addr.WithZone("")) {
			continue
		}
		v4, ok := embeddedIPv4(addr, p)
		if !ok {
			return &BlockedError{Host: addr.String(), Why: "it is no address of the NAT64 prefix " + p.String() + ", below which it lies"}
		}
		if err := g.CheckAddr(v4); err != nil {
			if blocked, ok := errors.AsType[*BlockedError](err); ok {
				blocked.Host, blocked.Why = addr.String(), "it stands for "+v4.String()+", and "+blocked.Why
			}
			return err
		}
	}
	return nil
}

// CheckAddr returns a *[BlockedError] when the address must not be dialed.
func (g *Guard) CheckAddr(addr netip.Addr) error {
	// An operator who denies 192.0.2.0/24 means it in every spelling.
	for _, p := range g.deny {
		if p.Contains(addr.Unmap().WithZone("")) {
			return &BlockedError{Host: addr.String(), Why: "it is in the denied network " + p.String()}
		}
	}
	if err := g.list.SafeAddr(addr); err != nil {
		return &BlockedError{Host: addr.String(), Why: err.Error()}
	}
	return g.checkEmbedded(addr)
}

// Control is for net.Dialer.Control: it checks the address of the socket that is about to connect.
func (g *Guard) Control(network, address string, c syscall.RawConn) error {
	if err := g.list.Safe(network, address, c); err != nil {
		return &BlockedError{Host: address, Why: err.Error()}
	}
	dialed, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Host: address, Why: "it is not an address and a port"}
	}
	return g.CheckAddr(dialed.Addr())
}

// DialContext connects to "name:port" over TCP, for the field of that name in http.Transport and
// similar types. Errors are *[BlockedError], *net.DNSError or those of connecting.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", address, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || !slices.Contains(g.ports, uint16(port)) {
		return nil, &BlockedError{Host: address, Why: "port " + portText + " is not allowed"}
	}
	addrs, err := g.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	return g.dialFirst(ctx, network, addrs[:min(len(addrs), maxDialed)], uint16(port))
}

// Resolve returns the addresses of a host, at least one. The error is a *[BlockedError] when one of
// them must not be dialed, and may be a *net.DNSError.
func (g *Guard) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := resolveHost(ctx, g.resolver, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err := g.CheckAddr(a); err != nil {
			if blocked, ok := errors.AsType[*BlockedError](err); ok {
				blocked.Host = host + " (" + a.String() + ")"
			}
			return nil, err
		}
	}
	return addrs, nil
}

// resolveHost returns at least one address of the host.
func resolveHost(ctx context.Context, r Resolver, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	// The final dot disables the search list of the local network.
	found, err := r.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, findFailure(ctx, r, host, err)
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	// The standard resolver may return IPv4 addresses in their mapped form, which the list refuses
	// as such. The slice belongs to the resolver, which may return it to others at the same time.
	addrs := make([]netip.Addr, len(found))
	for i, a := range found {
		addrs[i] = a.Unmap()
	}
	return addrs, nil
}

// findFailure returns the failure behind an answer that says that a name has no address. The standard
// resolver asks for both kinds of addresses and says so too if one question failed and the other one
// was answered with nothing. The failure is temporary, the absence is not.
func findFailure(ctx context.Context, r Resolver, host string, err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		return err
	}
	for _, network := range []string{"ip4", "ip6"} {
		var failed *net.DNSError
		_, again := r.LookupNetIP(ctx, network, host+".")
		if errors.As(again, &failed) && !failed.IsNotFound {
			return again
		}
	}
	return err
}

// dialFirst tries the addresses in turn, each with its share of the time that
// is left, and returns the first connection or the first error.
func (g *Guard) dialFirst(ctx context.Context, network string, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var first error
	for i, a := range addrs {
		turn, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok {
			share := time.Until(deadline) / time.Duration(len(addrs)-i)
			turn, cancel = context.WithTimeout(ctx, share)
		}
		conn, err := g.dialer.DialContext(turn, network, netip.AddrPortFrom(a, port).String())
		cancel()
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}
