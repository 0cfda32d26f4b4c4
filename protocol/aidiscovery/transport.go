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
	// MaxRedirects is the number of successive redirects that a reader follows.
	MaxRedirects = 5
	// SlowAnswer is the time within which a server should answer.
	SlowAnswer = 3 * time.Second
	// LateAnswer is the time after which a reader may treat the document as unavailable.
	LateAnswer = 10 * time.Second
)

// A Failure is the reason why an exchange ended without a complete answer. Only failures for which
// the draft has a rule make a finding; a name that does not resolve, for example, breaks no rule.
type Failure uint8

// The failures of an exchange.
const (
	// NoFailure: an answer arrived, with any status.
	NoFailure Failure = iota
	// Cleartext: the requested address is plain http; nothing was sent.
	Cleartext
	// BadCertificate: the certificate of a host on the way is not valid for it.
	BadCertificate
	// Downgrade: a redirect led from https to http and was not followed.
	Downgrade
	// TooManyRedirects: a redirect after [MaxRedirects] of them.
	TooManyRedirects
	// BadRedirect: a redirect without a usable address. Status is its status.
	BadRedirect
	// TimedOut: no complete answer arrived in time.
	TimedOut
	// TooLarge: the body continued after [HardSize] decoded bytes.
	TooLarge
	// NothingToKeep: the status is 304 although the request had no condition.
	NothingToKeep
	// Unreachable: any other reason for a missing answer, such as a name that does not resolve or
	// an address that must not be contacted.
	Unreachable
)

// An Exchange describes the request for a document: everything that [Transport] checks. The code
// that fetched the document fills it in.
type Exchange struct {
	// Asked is the address of the first request, for example "https://example.com/.well-known/ai".
	// Identity and relative endpoints of the document belong to its host.
	Asked string
	// Hops are the resolved addresses of the redirects, in order, including a last one that was not
	// followed.
	Hops []string
	// Status and Header are those of the last answer; 0 and nil without one.
	Status int
	Header http.Header
	// Took is the duration of the slowest request, without waits for politeness.
	Took time.Duration
	// Size is the number of decoded bytes of the body that were read.
	Size int
	// Failure is the reason for a missing answer; Detail describes it for people ("the certificate
	// has expired").
	Failure Failure
	Detail  string
	// Alias says that the answer is from /ai, which is requested after /.well-known/ai answered 404
	// (§4.1).
	Alias bool
	// Body is the decoded body, and AliasBody the decoded body of a document at /ai, if both were
	// requested. They are compared if both are set.
	Body, AliasBody []byte
}

// Transport applies the rules about how a document was served (AI101 to AI116), the most important
// first. It leaves AI115 to [Parse], which sees the same bytes, and reports AI116 because a body of
// that size is refused before parsing. The findings have no line and column.
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

// judgeAddress checks the requested address of the document and the address it was found at (§2.1).
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

// judgeFailure reports the failure that ended the exchange early.
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

// judgeHosts checks the host at which redirects ended.
func (t transport) judgeHosts() []protocol.Finding {
	hops := t.Hops
	if t.Failure == BadRedirect && len(hops) > 0 {
		hops = hops[:len(hops)-1] // the last one was not followed
	}
	if len(hops) == 0 {
		return nil
	}
	from, to := authorityOf(t.Asked), authorityOf(hops[len(hops)-1])
	if from == to {
		return nil
	}
	return []protocol.Finding{newFinding("AI105", "redirects go from "+protocol.Quote(from)+" to "+protocol.Quote(to)+"; the document still belongs to "+protocol.Quote(from)+", and its relative endpoints are resolved there",
		"serve the document on the host that it belongs to, or write endpoints as absolute addresses")}
}

// judgeTime checks the duration of the exchange (§2.2).
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

// judgeStatus reports a status that does not carry a document.
func (t transport) judgeStatus() []protocol.Finding {
	said := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", t.Status, http.StatusText(t.Status)))
	help := "answer 200 with the document"
	switch {
	case t.Failure == NothingToKeep:
		said += " to a request without a condition"
	case t.Status == http.StatusOK || t.Status == http.StatusNotModified:
		return nil
	case t.Status == http.StatusUnauthorized || t.Status == http.StatusForbidden:
		return []protocol.Finding{newFinding("AI107", said+", but the document itself must be readable without authentication", "make this one path public; the document describes the authentication of the service")}
	case t.Status == http.StatusNotFound || t.Status == http.StatusGone:
		said += ": no document is published"
		help = "serve the document at /.well-known/ai, without a file extension, with status 200"
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

// judgeMediaType checks Content-Type (§2.3): one media type, in any letter case.
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

// judgeCaching checks whether a reader can cache the document or request it conditionally (§4.2).
func (t transport) judgeCaching() []protocol.Finding {
	for _, name := range []string{"Cache-Control", "Expires", "ETag", "Last-Modified"} {
		if t.Header.Get(name) != "" {
			return nil
		}
	}
	return []protocol.Finding{newFinding("AI111", "the answer has neither Cache-Control nor a validator, so every visit transfers it again", "send Cache-Control: public, max-age=86400, and an ETag")}
}

// judgeAliasCopy compares the document at /ai with the one at /.well-known/ai.
func (t transport) judgeAliasCopy() []protocol.Finding {
	if t.Alias {
		return []protocol.Finding{AliasOnly()}
	}
	if t.Body == nil || t.AliasBody == nil || SameDocument(t.Body, t.AliasBody) {
		return nil
	}
	return []protocol.Finding{newFinding("AI112", "/ai and /.well-known/ai answer with different documents; the one at /.well-known/ai counts", "serve the same document at both, or only /.well-known/ai")}
}

// AliasOnly returns the finding for a document that only /ai serves. The bytes do not show it; the
// code that fetched them knows.
func AliasOnly() protocol.Finding {
	return newFinding("AI113", "only /ai serves this document, so it is not authoritative", "serve the same document at /.well-known/ai")
}

// SameDocument reports whether two texts are copies of one document (§2.1): the same bytes, or the
// same JSON value with other white space, escapes and order of members. Unreadable texts are the
// same only if their bytes are.
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

// authorityOf returns host and port of an address in lower case, without the default port of https.
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
