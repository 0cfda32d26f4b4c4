package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

func TestCheckHost(t *testing.T) {
	for in, want := range map[string]string{
		"example.com":                        "example.com",
		" Example.COM. ":                     "example.com",
		"https://example.com/a/b?c#d":        "example.com",
		"agtp://reservations.example.com":    "reservations.example.com",
		"HTTP://example.com":                 "example.com",
		"bücher.example":                     "xn--bcher-kva.example",
		"BÜCHER。example":                     "xn--bcher-kva.example",
		"xn--bcher-kva.example":              "xn--bcher-kva.example",
		"a.test":                             "a.test",
		"example.com:443":                    "example.com",
		"https://example.com:443/a":          "example.com",
		"someone.github.io":                  "someone.github.io",
		"example.co.uk":                      "example.co.uk",
		"1.example.com":                      "1.example.com",
		"straße.example":                     "xn--strae-oqa.example",
		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		got, err := fetch.CheckHost(in)
		if err != nil || got != want {
			t.Errorf("CheckHost(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, c := range []struct {
		in      string
		address bool
	}{
		{"", false}, {".", false}, {"https://", false}, {"..", false}, {"a..test", false}, {".a.test", false},
		{"localhost", true}, {"intranet", true}, {"x.localhost", true}, {"printer.local", true},
		{"metadata.google.internal", true}, {"router.home.arpa", true}, {"x.onion", true},
		{"127.0.0.1", true}, {"127.1", true}, {"2130706433", true}, {"0x7f.1", true}, {"0x7f000001", true},
		{"0177.0.0.1", true}, {"127.0.0.1.", true}, {"１２７.0.0.1", true}, {"127。0。0。1", true}, {"1.2.3.0x", true},
		{"[::1]", true}, {"::1", true}, {"[::ffff:127.0.0.1]", true}, {"fe80::1%25lo", true},
		{"http://example.com:443", false}, {"example.com:22", false}, {"u@example.com", false}, {"u:p@example.com", false},
		{"file:///etc/passwd", false}, {"gopher://example.com", false},
		{"com", true}, {"co.uk", false}, {"github.io", false},
		{"exa mple.com", false}, {"exam\tple.com", false}, {"exam%70le.com", false}, {`a\b.test`, false}, {"a_b.test", false},
		{"-a.test", false}, {"a\x00.test", false}, {strings.Repeat("a", 64) + ".test", false},
		{strings.Repeat("a.", 130) + "test", false}, {"\xff.test", false},
	} {
		got, err := fetch.CheckHost(c.in)
		var wrong *fetch.HostError
		if !errors.As(err, &wrong) {
			t.Errorf("CheckHost(%q) = %q, %v; want a HostError", c.in, got, err)
			continue
		}
		if wrong.Address != c.address || wrong.Problem == "" || wrong.Help == "" {
			t.Errorf("CheckHost(%q): address %v, want %v (%v)", c.in, wrong.Address, c.address, err)
		}
	}
}

// People paste the address that they know.
func TestCheckHostNamesEmailAddress(t *testing.T) {
	for in, want := range map[string]string{
		"info@pottery.example":          "it is an email address",
		"https://me@pottery.example/":   "it carries user information",
		"me:secret@pottery.example:443": "it carries user information",
	} {
		_, err := fetch.CheckHost(in)
		if e, ok := errors.AsType[*fetch.HostError](err); !ok || e.Problem != want {
			t.Errorf("CheckHost(%q): %v, want %q", in, err, want)
		}
	}
}

func FuzzCheckHost(f *testing.F) {
	for _, seed := range []string{"https://a.test/", "127.0.0.1", "bücher.example", "[::1]:443", "a.b.co.uk."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		name, err := fetch.CheckHost(in)
		if err != nil {
			return
		}
		if again, err := fetch.CheckHost(name); err != nil || again != name {
			t.Errorf("%q became %q, which becomes %q, %v", in, name, again, err)
		}
		if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
			t.Errorf("%q became the address %q", in, name)
		}
	})
}

// forbidden are addresses that must never be dialed, and two in forms that
// stand in no record.
func forbidden() []string {
	all := []string{"::ffff:8.8.8.8", "fe80::1%lo"}
	for _, a := range fakenet.ForbiddenAddresses() {
		all = append(all, a.String())
	}
	return all
}

func TestGuardForbidsAddresses(t *testing.T) {
	g, err := fetch.NewGuard(fetch.GuardOptions{Deny: []string{"9.9.9.0/24", "2620:fe::fe"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append([]string{"9.9.9.9", "::ffff:9.9.9.9", "2620:fe::fe"}, forbidden()...) {
		a := netip.MustParseAddr(text)
		var blocked *fetch.BlockedError
		if err := g.CheckAddr(a); !errors.As(err, &blocked) {
			t.Errorf("CheckAddr(%s) = %v, want it blocked", text, err)
		}
		network := "tcp4"
		if a.Is6() {
			network = "tcp6"
		}
		if err := g.Control(network, netip.AddrPortFrom(a, 443).String(), nil); !errors.As(err, &blocked) {
			t.Errorf("Control(%s) = %v, want it blocked", text, err)
		}
		if _, err := g.DialContext(t.Context(), "tcp", netip.AddrPortFrom(a, 443).String()); !errors.As(err, &blocked) {
			t.Errorf("DialContext(%s) = %v, want it blocked", text, err)
		}
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "100.128.0.1", "168.63.129.17"} {
		if err := g.CheckAddr(netip.MustParseAddr(text)); err != nil {
			t.Errorf("CheckAddr(%s) = %v", text, err)
		}
	}
	for _, port := range []string{"22", "25", "80", "6379", "8443", "0", "99999", "https"} {
		var blocked *fetch.BlockedError
		if _, err := g.DialContext(t.Context(), "tcp", "8.8.8.8:"+port); !errors.As(err, &blocked) {
			t.Errorf("port %s: %v, want it blocked", port, err)
		}
	}
	for _, network := range []string{"udp4", "unix", "tcp"} {
		if err := g.Control(network, "8.8.8.8:443", nil); err == nil {
			t.Errorf("Control lets %s through", network)
		}
	}
	if _, err := fetch.NewGuard(fetch.GuardOptions{Deny: []string{"here"}}); err == nil || !strings.Contains(err.Error(), `"here"`) {
		t.Errorf("a network that cannot be read: %v", err)
	}
}

// answers is a resolver of fixed answers, which counts the questions.
type answers struct {
	addrs map[string][]netip.Addr

	mu    sync.Mutex // guards the following fields
	asked []string
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	a.asked = append(a.asked, host)
	a.mu.Unlock()
	if addrs, ok := a.addrs[host]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, t := range texts {
		out = append(out, netip.MustParseAddr(t))
	}
	return out
}

// TestResolveLeavesTheAnswerAlone checks that the slice of a resolver, which others may read at the
// same time, is not written to.
func TestResolveLeavesTheAnswerAlone(t *testing.T) {
	mapped := addrs("::ffff:127.0.0.1")
	guard, err := fetch.NewGuard(fetch.GuardOptions{
		Resolver: &answers{addrs: map[string][]netip.Addr{"mapped.example.": mapped}},
		Allow:    []string{"127.0.0.0/8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := guard.Resolve(t.Context(), "mapped.example")
	if err != nil || !slices.Equal(got, addrs("127.0.0.1")) {
		t.Errorf("Resolve = %v, %v", got, err)
	}
	if !slices.Equal(mapped, addrs("::ffff:127.0.0.1")) {
		t.Errorf("the resolver's slice was changed to %v", mapped)
	}
}

func TestGuardResolvesOnceAndChecksEveryAddress(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	here := listener.Addr().(*net.TCPAddr).AddrPort()
	resolver := &answers{addrs: map[string][]netip.Addr{
		"good.example.":  addrs("127.0.0.1"),
		"later.example.": addrs("127.0.0.2", "::ffff:127.0.0.1"), // nobody listens at the first
		"mixed.example.": addrs("127.0.0.1", "10.0.0.1"),
		"empty.example.": {},
		"many.example.":  append(addrs(strings.Split(strings.Repeat("127.0.0.1 ", 120), " ")[:120]...), netip.MustParseAddr("192.168.1.1")),
	}}
	g, err := fetch.NewGuard(fetch.GuardOptions{Allow: []string{"127.0.0.0/8"}, Ports: []uint16{here.Port()}, Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	port := netip.AddrPortFrom(here.Addr(), here.Port()).String()[len("127.0.0.1"):]
	for _, name := range []string{"good.example", "later.example"} {
		c, err := g.DialContext(t.Context(), "tcp", name+port)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.RemoteAddr().String() != here.String() {
			t.Errorf("%s led to %s", name, c.RemoteAddr())
		}
		c.Close()
	}
	for _, name := range []string{"mixed.example", "many.example"} {
		var blocked *fetch.BlockedError
		if _, err := g.DialContext(t.Context(), "tcp", name+port); !errors.As(err, &blocked) || !strings.Contains(blocked.Host, name) {
			t.Errorf("%s: %v; want it blocked whole", name, err)
		}
	}
	for _, name := range []string{"empty.example", "unknown.example"} {
		var dns *net.DNSError
		if _, err := g.DialContext(t.Context(), "tcp", name+port); !errors.As(err, &dns) {
			t.Errorf("%s: %v; want a DNS error", name, err)
		}
	}
	// A name without an address is queried for each kind of address, to distinguish a failure from
	// an absence.
	counts := map[string]int{}
	for _, name := range resolver.asked {
		counts[name]++
	}
	for name, n := range counts {
		if !strings.HasSuffix(name, ".") || n > 1 && name != "empty.example." && name != "unknown.example." {
			t.Errorf("resolved %q %d times: want each name with an address once, with a final dot", name, n)
		}
	}
	if len(counts) != 6 {
		t.Errorf("resolved %v", resolver.asked)
	}
}

func TestGuardDecodesNAT64(t *testing.T) {
	// The examples of RFC 6052 §2.4, for 8.8.4.4 in place of 192.0.2.33.
	prefixes := []string{"2001:470::/32", "2001:471:100::/40", "2001:472:122::/48", "2001:473:122:300::/56", "2001:474:122:344::/64", "64:ff9b::/96", "64:ff9b:1:fffe::/96"}
	g, err := fetch.NewGuard(fetch.GuardOptions{NAT64: prefixes, Deny: []string{"9.9.9.9"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"2001:470:808:404::", "2001:471:108:804:4::", "2001:472:122:808:4:400::", "2001:473:122:308:8:404::",
		"2001:474:122:344:8:804:400::", "64:ff9b::808:404", "64:ff9b:1:fffe::808:404", "2606:4700::1",
	} {
		if err := g.CheckAddr(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"2001:470:7f00:1::", "2001:471:10a:0:1::", "2001:472:122:c0a8:1:100::", "2001:473:122:3a9:fe:a9fe::",
		"2001:474:122:344:7f:0:100::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1:fffe::a00:1", "64:ff9b::909:909", "64:ff9b::a83f:8110",
		"64:ff9b:1:ffff::808:404", "2001:470:808:404:100::",
	} {
		var blocked *fetch.BlockedError
		if err := g.CheckAddr(netip.MustParseAddr(text)); !errors.As(err, &blocked) {
			t.Errorf("%s: %v, want it blocked", text, err)
		}
	}
	for _, o := range []fetch.GuardOptions{
		{NAT64: []string{"64:ff9b::/95"}}, {NAT64: []string{"192.0.2.0/32"}}, {NAT64: []string{"here"}},
		{Allow: []string{"64:ff9b::/96"}}, {Allow: []string{"64:ff9b:1::/64"}}, {Allow: []string{"::/0"}},
	} {
		if _, err := fetch.NewGuard(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
