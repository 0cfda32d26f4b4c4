package psl

import (
	"strings"
	"testing"
)

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.co.uk": "example.co.uk", "example.com": "example.com", "a.b.example.test": "example.test",
		"co.uk": "co.uk", "127.0.0.1": "127.0.0.1", "": "",
	} {
		if got := Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
	for host, want := range map[string]string{
		"a.netlify.app": "netlify.app", "netlify.app": "netlify.app", "b.a.github.io": "github.io", "b.s3.eu-west-1.amazonaws.com": "amazonaws.com",
		"www.example.co.uk": "example.co.uk", "co.uk": "co.uk", "a.b.example.test": "example.test", "test": "test", "127.0.0.1": "127.0.0.1", "::1": "::1", "": "", ".": ".", "a..com": "a..com",
	} {
		if got := Registered(host); got != want {
			t.Errorf("Registered(%q) = %q, want %q", host, got, want)
		}
	}
	for host, want := range map[string]string{"a.netlify.app": "a.netlify.app netlify.app", "example.com": "example.com", "co.uk": "co.uk", "b.s3.eu-west-1.amazonaws.com": "b.s3.eu-west-1.amazonaws.com s3.eu-west-1.amazonaws.com eu-west-1.amazonaws.com amazonaws.com"} {
		if got := strings.Join(Above(host), " "); got != want {
			t.Errorf("Above(%q) = %q, want %q", host, got, want)
		}
	}
	for name, want := range map[string]bool{"netlify.app": true, "github.io": true, "com": false, "co.uk": false, "test": false, "a.netlify.app": false, "example.com": false, "": false} {
		if IsProvider(name) != want {
			t.Errorf("IsProvider(%q) is %t", name, !want)
		}
	}
	if !SameDomain("a.example.com", "example.com") || SameDomain("a.co.uk", "b.co.uk") || SameDomain("co.uk", "a.co.uk") {
		t.Error("domains are compared wrongly")
	}
	if HasDomain("co.uk") || !HasDomain("a.co.uk") {
		t.Error("a public suffix has no registrable domain, a name below it has")
	}
}
