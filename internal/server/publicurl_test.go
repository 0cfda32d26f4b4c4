package server

import (
	"strings"
	"testing"

	"gazetteer/internal/config"
)

// TestLocalDIDs checks that a public server without registry.did_host warns of the DIDs that its agents
// would get, and that no other server does.
func TestLocalDIDs(t *testing.T) {
	for _, c := range []struct {
		public, host string
		warns        bool
	}{
		{"https://registry.example", "localhost", true},
		{"https://registry.example:8443/", "127.0.0.1", true},
		{"https://registry.example", "registry.example", false},
		{"http://127.0.0.1:8080", "localhost", false},
		{"", "localhost", false},
	} {
		var settings config.Config
		settings.PublicURL, settings.Registry.DIDHost = c.public, c.host
		warning := describeLocalDIDs(settings)
		if (warning != "") != c.warns || c.warns && !strings.Contains(warning, `registry.did_host to "registry.example"`) {
			t.Errorf("%s, %s: %q", c.public, c.host, warning)
		}
	}
}

// TestPublicAddressThatDoesNotFit checks that a server warns of a public address without https, or with
// another host than the DIDs of its agents, and that a server to try things out does not.
func TestPublicAddressThatDoesNotFit(t *testing.T) {
	for _, c := range []struct{ public, host, want string }{
		{"http://registry.example", "registry.example", "over https only"},
		{"https://www.example.org", "registry.example", "at https://registry.example, which must lead to this server"},
		{"https://registry.example:8443", "registry.example:8443", ""},
		{"https://Registry.example", "registry.example", ""},
		{"http://127.0.0.1:8080", "registry.example", ""},
		{"http://localhost:8080", "localhost", ""},
		{"", "registry.example", ""},
	} {
		var settings config.Config
		settings.PublicURL, settings.Registry.DIDHost = c.public, c.host
		if text := strings.Join(Warnings(settings), "; "); (text != "") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s: %q", c.public, c.host, text)
		}
	}
}

// TestWrongAddressesAreNamed checks that the refusal of an address names its key.
func TestWrongAddressesAreNamed(t *testing.T) {
	for key, set := range map[string]func(*config.Config){
		"crawler.denied_addresses: ": func(c *config.Config) { c.Crawler.DeniedAddresses = []string{"198.51.100.700"} },
		"crawler.own_addresses: ":    func(c *config.Config) { c.Crawler.OwnAddresses = []string{"198.51.100.700"} },
		"crawler.nat64_prefixes: ":   func(c *config.Config) { c.Crawler.NAT64Prefixes = []string{"64:ff9b::"} },
	} {
		var settings config.Config
		set(&settings)
		if _, err := newGuard(settings); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%v, want %s", err, key)
		}
	}
}
