package fakenet

import (
	"fmt"
	"net/netip"
)

// AddressForms are the notations of addresses that no document may lead the crawler to: of this
// machine, of its network, of a cloud's metadata, and those that embed them, in every spelling that
// some parser of addresses accepts. Each can be the host of a URL, and some can be a host name.
func AddressForms() []string {
	forms := []string{
		"localhost", "LOCALHOST", "localhost.", "x.localhost", "intranet", "router.local", "metadata.google.internal", "a.home.arpa", "x.onion",
		"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7f.0x0.0x0.0x1", "0177.1", "0177.0.0.01", "017700000001", "127.0.0.1.", "0x7F.0.0.1",
		"１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "0", "0.0.0.0", "00.0.0.0", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "168.63.129.16",
		"100.100.100.200", "1.2.3.0x", "256.256.256.256", "999999999999", "10.0.0.1", "10.1", "172.16.0.1", "192.168.0.1", "192.168.257", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"[fe80::1%25lo]", "[::1%25lo]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2001:0:7f00:1::]", "[fd00:ec2::254]", "[fc00::1]", "[fec0::1]", "[ff02::1]", "[::]", "[::1]",
	}
	for _, octets := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1"} {
		var a, b, c, d int
		fmt.Sscanf(octets, "%d.%d.%d.%d", &a, &b, &c, &d)
		forms = append(forms,
			fmt.Sprintf("%#x.%#x.%#x.%#x", a, b, c, d), fmt.Sprintf("0%o.0%o.0%o.0%o", a, b, c, d),
			fmt.Sprintf("%d", a<<24|b<<16|c<<8|d), fmt.Sprintf("%#x", a<<24|b<<16|c<<8|d), fmt.Sprintf("0%o", a<<24|b<<16|c<<8|d),
			fmt.Sprintf("%d.%d", a, b<<16|c<<8|d), fmt.Sprintf("%d.%d.%d", a, b, c<<8|d), fmt.Sprintf("%d.%d.%d.%d.", a, b, c, d),
			fmt.Sprintf("[::ffff:%s]", octets), fmt.Sprintf("[::%s]", octets), fmt.Sprintf("[64:ff9b::%s]", octets),
			fmt.Sprintf("[2002:%02x%02x:%02x%02x::1]", a, b, c, d))
	}
	return forms
}

// ForbiddenAddresses are addresses that must never be dialed, one or more of each kind in the IANA
// registries of special-purpose addresses, those that embed one, and a cloud's metadata. Each may
// appear in an A or an AAAA record.
func ForbiddenAddresses() []netip.Addr {
	var all []netip.Addr
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.0.0.53", "127.255.255.254",
		"168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.17.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1",
		"192.88.99.1", "192.168.0.1", "192.168.255.254", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "224.0.0.251",
		"239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255",
		"::", "::1", "::2", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::1", "64:ff9b:1:7f00:0:100::", "100::1", "100:0:0:1::1",
		"2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fd12:3456:789a::1", "fe80::1", "fe80::a9fe:a9fe", "febf::1", "fec0::1", "feff::1", "ff02::1", "ff05::2",
	} {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}
