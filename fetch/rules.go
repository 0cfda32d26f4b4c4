package fetch

import (
	"slices"

	"gazetteer/protocol"
)

// Severities and sections of rules that no draft names but people need to know.
var transportRules = []protocol.Rule{
	{
		Code: "FETCH101", Slug: "address", Severity: protocol.Error, Section: "RFC 9110 §4.2.2",
		Text: "The address of a document is an https address of a public host on port 443, without user information.",
		Bad:  "http://192.0.2.7:8080/.well-known/agis.json", Good: "https://www.example.com/.well-known/agis.json",
	},
	{
		Code: "FETCH102", Slug: "unreachable", Severity: protocol.Error, Section: "RFC 9110 §4.3.3",
		Text: "The name of the host resolves to public addresses, and a server there accepts connections and answers in HTTP.",
		Bad:  "curl: (6) Could not resolve host: www.exmaple.com", Good: "HTTP/1.1 200 OK",
	},
	{
		Code: "FETCH103", Slug: "tls", Severity: protocol.Error, Section: "RFC 9110 §4.3.4",
		Text: "The server supports TLS 1.2 or later and sends a valid certificate for the requested name from a public authority, with its chain.",
		Bad:  "X509v3 Subject Alternative Name: DNS:example.org", Good: "X509v3 Subject Alternative Name: DNS:example.com, DNS:www.example.com",
	},
	{
		Code: "FETCH104", Slug: "redirect", Severity: protocol.Error, Section: "RFC 9110 §15.4",
		Text: "A redirect names an https address of a public host in Location, and at most five follow each other.",
		Bad:  "HTTP/1.1 301 Moved Permanently\nLocation: http://example.com/agis.json", Good: "HTTP/1.1 301 Moved Permanently\nLocation: https://example.com/agis.json",
	},
	{
		Code: "FETCH105", Slug: "status", Severity: protocol.Error, Section: "RFC 9110 §15",
		Text: "The address answers 200 with the document.",
		Bad:  "HTTP/1.1 404 Not Found", Good: "HTTP/1.1 200 OK",
	},
	{
		Code: "FETCH106", Slug: "authentication", Severity: protocol.Error, Section: "RFC 9110 §15.5.2",
		Text: "The document can be read by everybody: an agent learns from it how to authenticate, so it cannot have done so yet.",
		Bad:  "HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Bearer", Good: "HTTP/1.1 200 OK",
	},
	{
		Code: "FETCH107", Slug: "robots", Severity: protocol.Error, Section: "RFC 9309 §2.3.1",
		Text: "robots.txt is available, or absent with a 404, and does not forbid the address of the document. A robots.txt that answers with a server error closes the whole host.",
		Bad:  "User-agent: *\nDisallow: /.well-known/", Good: "User-agent: *\nAllow: /.well-known/\nDisallow: /private/",
	},
	{
		Code: "FETCH108", Slug: "media-type", Severity: protocol.Error, Section: "RFC 9110 §8.3",
		Text: "Content-Type names the format of the document.",
		Bad:  "Content-Type: text/html", Good: "Content-Type: application/agis+yaml",
	},
	{
		Code: "FETCH109", Slug: "encoding", Severity: protocol.Error, Section: "RFC 9110 §8.4",
		Text: "The body is sent completely and once, uncompressed or with gzip: no other coding was requested.",
		Bad:  "Content-Encoding: br", Good: "Content-Encoding: gzip",
	},
	{
		Code: "FETCH110", Slug: "slow", Severity: protocol.Warning, Section: "RFC 9110 §15.5.9",
		Text: "The answer arrives within 3 seconds. After 10 seconds clients stop waiting, and this becomes an error.",
		Bad:  "the first byte after 4.2 s", Good: "the first byte after 0.1 s",
	},
	{
		Code: "FETCH111", Slug: "size", Severity: protocol.Error, Section: "RFC 9110 §15.5.14",
		Text: "The document is at most 262,144 bytes long, unpacked, and the header of the answer at most 65,536.",
		Bad:  "Content-Length: 1048576", Good: "Content-Length: 16384",
	},
	{
		Code: "FETCH112", Slug: "other-host", Severity: protocol.Warning, Section: "RFC 9110 §4.3.1",
		Text: "The requested host serves the document. If a redirect leads to another host, the document still applies to the requested host.",
		Bad:  "Location: https://cdn.example.net/agis.json", Good: "Location: /agis.json",
	},
	{
		Code: "FETCH113", Slug: "caching", Severity: protocol.Info, Section: "RFC 9111 §4.2",
		Text: "The answer says how long it may be cached, or has a validator, so that a visit need not transfer it again.",
		Bad:  "HTTP/1.1 200 OK\nContent-Type: application/json", Good: "HTTP/1.1 200 OK\nContent-Type: application/json\nCache-Control: public, max-age=86400\nETag: \"5f2a\"",
	},
	{
		Code: "FETCH114", Slug: "certificate-ends", Severity: protocol.Warning, Section: "RFC 5280 §4.1.2.5",
		Text: "The certificate is renewed at least a week before it expires, so that a renewal that fails is noticed in time.",
		Bad:  "notAfter=Apr  3 12:00:00 2026 GMT, two days ahead", Good: "notAfter=Jun 30 12:00:00 2026 GMT",
	},
	{
		Code: "FETCH115", Slug: "charset", Severity: protocol.Warning, Section: "RFC 8259 §8.1",
		Text: "A charset in Content-Type is utf-8: JSON and the YAML of these formats are always UTF-8.",
		Bad:  "Content-Type: application/json; charset=iso-8859-1", Good: "Content-Type: application/json; charset=utf-8",
	},
}

// Rules returns the rules of this package by code: problems that no draft of a format names, but
// that publishers need to know. Where the draft of a format has a rule for the same problem, that
// one is reported instead.
func Rules() []protocol.Rule {
	rules := slices.Clone(transportRules)
	for i := range rules {
		rules[i].Basis = "own"
	}
	return rules
}
