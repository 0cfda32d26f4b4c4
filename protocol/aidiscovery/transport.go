package aidiscovery

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
)

// Limits of §2.2.
const (
	// MaxRedirects is how many redirects in a row a reader follows.
	MaxRedirects = 5
	// SlowAnswer is how soon a server should have answered.
	SlowAnswer = 3 * time.Second
	// LateAnswer is when a reader may take the document for unavailable.
	LateAnswer = 10 * time.Second
)

// A Failure is why an exchange ended without a whole answer. Only what the
// draft has a rule for makes a finding; a name that does not resolve, say,
// breaks no rule of the draft.
type Failure uint8

// The failures of an exchange.
const (
	// NoFailure: an answer came, of whatever status.
	NoFailure Failure = iota
	// Cleartext: the address asked is plain http; nothing was sent.
	Cleartext
	// BadCertificate: the certificate of a host on the way is not valid for it.
	BadCertificate
	// Downgrade: a redirect led from https to http and was not followed.
	Downgrade
	// TooManyRedirects: a redirect after [MaxRedirects] of them.
	TooManyRedirects
	// BadRedirect: a redirect without an address that can be asked. Status is
	// its status.
	BadRedirect
	// TimedOut: no whole answer before the reader gave up.
	TimedOut
	// TooLarge: the body went on after [HardSize] decoded bytes.
	TooLarge
	// Unreachable: anything else that kept an answer away, such as a name that
	// does not resolve or an address that must not be asked.
	Unreachable
)

// An Exchange is what happened when a document was asked for: all that
// [Transport] judges. The code that fetched it fills it in.
type Exchange struct {
	// Asked is the address of the first request, for example
	// "https://example.com/.well-known/ai". Identity and relative endpoints of
	// the document stay with its host.
	Asked string
	// Hops are the addresses that redirects led to, in order and resolved, the
	// last one also when it was not followed.
	Hops []string
	// Status and Header are those of the last answer; 0 and nil without one.
	Status int
	Header http.Header
	// Took is how long the slowest request took, waits for politeness left out.
	Took time.Duration
	// Size is the size of the decoded body in bytes, as far as it was read.
	Size int
	// Failure says why there is no whole answer, Detail in what way ("the
	// certificate has expired"); Detail is shown to people.
	Failure Failure
	Detail  string
	// Alias is set when the answer is that of /ai, which is asked after
	// /.well-known/ai answered 404 (§4.1).
	Alias bool
	// Body is the decoded body, and AliasBody that of a document at /ai, where
	// a reader asked for both. They are compared when both are there.
	Body, AliasBody []byte
}

// Transport applies the rules that can be judged from an answer but not from
// its bytes (AI101 to AI116), in the order in which they matter. AI115 is left
// to [Parse], which sees the same bytes; AI116 is reported here because a body
// that large is refused without parsing. The findings have no place in a text.
func Transport(x Exchange) []protocol.Finding {
	t := transport{x}
	if stopped := t.judgeFailure(); len(stopped) > 0 || x.Failure == Unreachable {
		return append(t.judgeAddress(), stopped...)
	}
	found := t.judgeAddress()
	found = append(found, t.judgeHosts()...)
	found = append(found, t.judgeTime()...)
	if status := t.judgeStatus(); len(status) > 0 {
		return append(found, status...)
	}
	if x.Status == http.StatusNotModified {
		return found // the headers of the stored answer still hold
	}
	found = append(found, t.judgeMediaType()...)
	found = append(found, t.judgeCaching()...)
	return append(found, t.judgeAliasCopy()...)
}

type transport struct{ Exchange }

// newFinding makes a finding without a place in a text.
func newFinding(code, message, help string) protocol.Finding {
	r := rules[code]
	return protocol.Finding{Code: r.Code, Severity: r.Severity, Section: r.Section, Message: message, Help: help}
}

// appendDetail adds the detail to a message, where there is one.
func (t transport) appendDetail(message string) string {
	if t.Detail == "" {
		return message
	}
	return message + ": " + t.Detail
}

// judgeAddress judges the addresses of the document: the one asked, and the one it
// was found at (§2.1).
func (t transport) judgeAddress() []protocol.Finding {
	places := []string{t.Asked}
	if t.Failure == NoFailure {
		places = append(places, t.Hops...)
		places = slices.Compact([]string{places[0], places[len(places)-1]})
	}
	for _, place := range places {
		if strings.ContainsAny(place, "?#") {
			return []protocol.Finding{newFinding("AI114", "the address "+protocol.Quote(place)+" has a query or a fragment",
				"serve the document at /.well-known/ai, or redirect to a plain path")}
		}
	}
	return nil
}

// judgeFailure judges what ended the exchange before a whole answer came.
func (t transport) judgeFailure() []protocol.Finding {
	one := func(code, message, help string) []protocol.Finding {
		return []protocol.Finding{newFinding(code, message, help)}
	}
	if t.Failure == Cleartext || schemeOf(t.Asked) == "http" {
		return one("AI101", "the address "+protocol.Quote(t.Asked)+" is plain http, which anybody on the way can change",
			"serve the document over https and ask for it there")
	}
	if i := slices.IndexFunc(t.Hops, func(hop string) bool { return schemeOf(hop) == "http" }); i >= 0 || t.Failure == Downgrade {
		to := ""
		if i >= 0 {
			to = " (" + protocol.Quote(t.Hops[i]) + ")"
		}
		return one("AI103", "a redirect leads from https to plain http"+to+" and is not followed", "redirect to an https address, or serve the document at the requested address")
	}
	switch {
	case t.Failure == BadCertificate:
		return one("AI102", t.appendDetail("the certificate of the server is not valid"), "install a certificate for this host name from a public authority, with its chain")
	case t.Failure == TooManyRedirects || len(t.Hops) > MaxRedirects:
		return one("AI104", fmt.Sprintf("more than %d redirects in a row", MaxRedirects), "redirect to the last address at once; a redirect loop never ends")
	case t.Failure == TimedOut:
		f := newFinding("AI110", t.appendDetail("no complete answer arrived in time"), "answer within 3 seconds; a static file is enough")
		f.Severity = protocol.Error
		return []protocol.Finding{f}
	case t.Failure == TooLarge || t.Size > HardSize:
		return one("AI116", fmt.Sprintf("the document is larger than %d bytes and is refused", HardSize), "split the service into smaller services, each with its own document")
	}
	return nil
}

// judgeHosts judges where redirects ended.
func (t transport) judgeHosts() []protocol.Finding {
	if len(t.Hops) == 0 {
		return nil
	}
	from, to := authorityOf(t.Asked), authorityOf(t.Hops[len(t.Hops)-1])
	if from == to {
		return nil
	}
	return []protocol.Finding{newFinding("AI105", "redirects go from "+protocol.Quote(from)+" to "+protocol.Quote(to)+"; the document still belongs to "+protocol.Quote(from)+", and its relative endpoints are resolved there",
		"serve the document on the host that it belongs to, or write endpoints as absolute addresses")}
}

// judgeTime judges how long the answer took (§2.2).
func (t transport) judgeTime() []protocol.Finding {
	if t.Took <= SlowAnswer {
		return nil
	}
	f := newFinding("AI110", fmt.Sprintf("the answer took %.1f seconds; the recommended maximum is 3", t.Took.Seconds()), "answer within 3 seconds; a static file is enough")
	if t.Took > LateAnswer {
		f.Severity = protocol.Error
	}
	return []protocol.Finding{f}
}

// judgeStatus judges an answer that is no document.
func (t transport) judgeStatus() []protocol.Finding {
	said := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", t.Status, http.StatusText(t.Status)))
	help := "answer 200 with the document"
	switch {
	case t.Status == http.StatusOK || t.Status == http.StatusNotModified:
		return nil
	case t.Status == http.StatusUnauthorized || t.Status == http.StatusForbidden:
		return []protocol.Finding{newFinding("AI107", said+", but the document itself must be readable without authentication", "make this one path public; the document describes the authentication of the service")}
	case t.Status == http.StatusNotFound || t.Status == http.StatusGone:
		said += ": no document is published"
		help = "serve the document at /.well-known/ai with status 200"
	case t.Status == http.StatusTooManyRequests:
		help = "let readers fetch this one small document; say in Retry-After when they may try again"
	case t.Status >= 500:
		help = "look into the server's log, then answer 200 with the document"
	case t.Failure == BadRedirect:
		said = t.appendDetail(said + ", a redirect that leads nowhere")
		help = "give an https address in Location"
	}
	return []protocol.Finding{newFinding("AI106", said, help)}
}

// judgeMediaType judges Content-Type (§2.3): one media type, whatever its letter case.
func (t transport) judgeMediaType() []protocol.Finding {
	const help = "send Content-Type: application/json; charset=utf-8"
	value := t.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(value)
	if err != nil { // a bad parameter does not make the type another
		media, _, _ = strings.Cut(value, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	charset, given := params["charset"]
	switch {
	case value == "":
		return []protocol.Finding{newFinding("AI108", "the answer has no Content-Type", help)}
	case media != "application/json":
		return []protocol.Finding{newFinding("AI108", "the document is served as "+protocol.Quote(value)+", not as application/json", help)}
	case !given:
		return []protocol.Finding{newFinding("AI109", "Content-Type does not say charset=utf-8", help)}
	case !strings.EqualFold(charset, "utf-8"):
		return []protocol.Finding{newFinding("AI109", "Content-Type has the charset "+protocol.Quote(charset)+", but JSON is always utf-8", help)}
	}
	return nil
}

// judgeCaching judges whether a reader can keep the document or ask for changes only
// (§4.2).
func (t transport) judgeCaching() []protocol.Finding {
	for _, name := range []string{"Cache-Control", "Expires", "ETag", "Last-Modified"} {
		if t.Header.Get(name) != "" {
			return nil
		}
	}
	return []protocol.Finding{newFinding("AI111", "the answer has neither Cache-Control nor a validator, so every visit transfers it again", "send Cache-Control: public, max-age=86400, and an ETag")}
}

// judgeAliasCopy judges the document at /ai beside the one at /.well-known/ai.
func (t transport) judgeAliasCopy() []protocol.Finding {
	if t.Alias {
		return []protocol.Finding{AliasOnly()}
	}
	if t.Body == nil || t.AliasBody == nil || SameDocument(t.Body, t.AliasBody) {
		return nil
	}
	return []protocol.Finding{newFinding("AI112", "/ai and /.well-known/ai answer with different documents; the one at /.well-known/ai counts", "serve the same document at both, or only /.well-known/ai")}
}

// AliasOnly is the finding for a document that only /ai serves. The bytes do
// not tell; the code that fetched them does.
func AliasOnly() protocol.Finding {
	return newFinding("AI113", "only /ai serves this document, so it is not authoritative", "serve the same document at /.well-known/ai")
}

// SameDocument reports whether two texts are copies of one document (§2.1): the
// same bytes, or the same JSON value in another spelling of white space,
// escapes and order of members. Texts that cannot be read are the same only
// byte by byte.
func SameDocument(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := protocol.ReadJSON(trimBOM(a), protocol.Limits{})
	if err != nil {
		return false
	}
	two, err := protocol.ReadJSON(trimBOM(b), protocol.Limits{})
	return err == nil && sameValue(one, two)
}

func trimBOM(text []byte) []byte {
	text, _ = protocol.TrimBOM(text)
	return text
}

func sameValue(a, b *protocol.Node) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items) {
		return false
	}
	if a.Kind == protocol.Array {
		return slices.EqualFunc(a.Items, b.Items, sameValue)
	}
	byName := make(map[string]*protocol.Node, len(b.Items))
	for _, m := range b.Items {
		byName[m.Key] = m
	}
	for _, m := range a.Items {
		other, ok := byName[m.Key]
		if !ok || !sameValue(m, other) {
			return false
		}
	}
	return true
}

// schemeOf returns the scheme of an address in lower case.
func schemeOf(address string) string {
	s, _, ok := strings.Cut(address, ":")
	if !ok {
		return ""
	}
	return strings.ToLower(s)
}

// authorityOf returns host and port of an address in lower case, without the port
// that https has anyway.
func authorityOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != "443" {
		return host + ":" + port
	}
	return host
}
