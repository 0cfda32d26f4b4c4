package limit

import "net/netip"

// Network returns the network that a client is counted as: its IPv4 address or its IPv6 /64, which
// is the least that a customer of a provider gets. The zero Prefix represents a client without an
// address.
func Network(client netip.Addr) netip.Prefix { return Truncate(client, 32, 64) }

// WideNetwork returns the network around it: an IPv4 /24 or an IPv6 /48. A customer with a /48 has
// 65,536 networks of the other kind.
func WideNetwork(client netip.Addr) netip.Prefix { return Truncate(client, 24, 48) }

// Truncate keeps the first bits of an address: bits4 of IPv4, bits6 of IPv6.
func Truncate(client netip.Addr, bits4, bits6 int) netip.Prefix {
	client = client.Unmap().WithZone("")
	bits := bits6
	if client.Is4() {
		bits = bits4
	}
	p, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // not an address
	}
	return p
}
