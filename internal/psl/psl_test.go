package psl

import "testing"

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.co.uk": "example.co.uk", "example.com": "example.com", "a.b.example.test": "example.test",
		"co.uk": "co.uk", "127.0.0.1": "127.0.0.1", "": "",
	} {
		if got := Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
	if !SameDomain("a.example.com", "example.com") || SameDomain("a.co.uk", "b.co.uk") || SameDomain("co.uk", "a.co.uk") {
		t.Error("domains are compared wrongly")
	}
	if HasDomain("co.uk") || !HasDomain("a.co.uk") {
		t.Error("a public suffix has no registrable domain, a name below it has")
	}
}
