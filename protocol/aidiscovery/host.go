package aidiscovery

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// isPrivateHost reports whether a host can only be reached from inside some network,
// or not at all: an address that the IANA special-purpose registries do not
// call global, in any spelling that an HTTP client takes, or a name that no
// public DNS has.
func isPrivateHost(host string) bool {
	// Clients map full-width digits and dots to plain ones (UTS #46).
	host = strings.ToLower(norm.NFKC.String(host))
	host = strings.ReplaceAll(host, "。", ".")
	host = strings.TrimSuffix(host, ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return !isGlobalAddress(addr)
	}
	labels := strings.Split(host, ".")
	if endsInNumber(labels[len(labels)-1]) {
		addr, ok := looseIPv4(labels)
		return !ok || !isGlobalAddress(addr)
	}
	return len(labels) == 1 || slices.Contains(localNames, labels[len(labels)-1]) || strings.HasSuffix(host, ".home.arpa")
}

// localNames are top-level names for use inside a network (RFC 6761, RFC 6762 with its appendix G,
// RFC 8375 (home.arpa), and "internal", which ICANN reserved).
var localNames = []string{"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan"}

// notGlobal holds the networks of the IANA special-purpose address registries (RFC 6890) that are
// not globally reachable and that package netip does not report, including the reserved and
// documentation ones.
var notGlobal = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b:1::/48", "100::/64", "2001:2::/48", "2001:10::/28", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// embeds holds the IPv6 networks whose addresses contain an IPv4 address, with the byte at which it
// begins: the mapped and compatible forms, NAT64 (RFC 6052), 6to4.
var embeds = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12},
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// isGlobalAddress reports whether an address can be reached from everywhere.
func isGlobalAddress(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false // an address of one link
	}
	addr = addr.Unmap()
	if addr.Is6() {
		b := addr.As16()
		for _, e := range embeds {
			if e.prefix.Contains(addr) {
				return isGlobalAddress(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
			}
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(notGlobal, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// endsInNumber is the URL standard's test for "this is an IPv4 address in some
// spelling": the last label is decimal, octal or hexadecimal.
func endsInNumber(label string) bool {
	if label == "" {
		return false
	}
	if consistsOf(label, isDigit) {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && consistsOf(hex, func(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' })
}

// looseIPv4 reads an IPv4 address like inet_aton: one to four numbers, each decimal, octal or
// hexadecimal; the last one fills the remaining bytes.
func looseIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, label := range labels {
		n, ok := looseNumber(label)
		width := 8
		if i == len(labels)-1 {
			width = 8 * (5 - len(labels))
		}
		if !ok || n >= 1<<width {
			return netip.Addr{}, false
		}
		value = value<<width | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func looseNumber(label string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(label, "0x"):
		label, base = label[2:], 16
		if label == "" {
			return 0, true // as inet_aton reads it
		}
	case len(label) > 1 && label[0] == '0':
		label, base = label[1:], 8
	}
	n, err := strconv.ParseUint(label, base, 32)
	return n, err == nil
}
