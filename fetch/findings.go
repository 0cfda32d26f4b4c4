package fetch

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

const (
	slowTime = aidiscovery.SlowAnswer
	lateTime = aidiscovery.LateAnswer
	// soonExpired is how long before its expiry a certificate should have been renewed.
	soonExpired = 7 * 24 * time.Hour
)

// Findings returns what the publisher of the document should know about an ask with this result, at
// the time now: by the draft of its format where that has a rule, by [Rules] otherwise. There are
// none for robots.txt. Only the transfer is judged; the readers of the formats judge the bytes.
func (a *Ask) Findings(end AskResult, now time.Time) []protocol.Finding {
	j := transportJudge{ask: a, end: end, now: now}
	switch document.Kind(a.Kind) {
	case KindRobots:
		return nil
	case document.AI, document.AIAlias:
		return append(aidiscovery.Transport(a.aiExchange(end)), j.judgeBeyondAI()...)
	default:
		return j.judgeAll()
	}
}

// aiExchange describes the ask in the terms of AI Discovery.
func (a *Ask) aiExchange(end AskResult) aidiscovery.Exchange {
	x := aidiscovery.Exchange{
		Asked: a.asked, Hops: a.Hops, Status: a.Fetch.Status, Header: a.Header, Took: a.Slowest,
		Size: int(a.Fetch.Bytes), Detail: end.Detail, Alias: a.Kind == string(document.AIAlias),
		Body: a.Fetch.Body, AliasBody: a.AliasBody,
	}
	switch end.Outcome {
	case InsecureRedirect:
		x.Failure = aidiscovery.Downgrade
	case TooManyRedirects:
		x.Failure = aidiscovery.TooManyRedirects
	case BadRedirect:
		x.Failure = aidiscovery.BadRedirect
	case Timeout:
		x.Failure = aidiscovery.TimedOut
	case TooLarge:
		x.Failure = aidiscovery.TooLarge
	case BadAddress, BadHost, BlockedAddress, RefusedByRobots, DNSFailed, Unreachable, TLSFailed, Unreadable:
		x.Failure = aidiscovery.Unreachable
	}
	switch {
	case end.Outcome == TLSFailed && end.certificate:
		x.Failure = aidiscovery.BadCertificate
	case end.Outcome == BadAddress && strings.HasPrefix(strings.ToLower(a.asked), "http:"):
		x.Failure = aidiscovery.Cleartext
	case end.Outcome == TooLarge && a.Fetch.Status == 0: // the header; AI116 is about the body
		x.Failure = aidiscovery.Unreachable
	case end.Outcome == BadStatus && a.Fetch.Status == http.StatusNotModified:
		x.Failure = aidiscovery.NothingToKeep
	}
	return x
}

// A transportJudge derives the findings of one ask.
type transportJudge struct {
	ask *Ask
	end AskResult
	now time.Time
}

func (j transportJudge) newFinding(code, message, help string) []protocol.Finding {
	i := slices.IndexFunc(transportRules, func(r protocol.Rule) bool { return r.Code == code })
	r := transportRules[i]
	return []protocol.Finding{{Code: r.Code, Severity: r.Severity, Section: r.Section, Message: message, Help: help}}
}

// judgeBeyondAI judges what AI Discovery has no rule for.
func (j transportJudge) judgeBeyondAI() []protocol.Finding {
	insecure := j.ask.aiExchange(j.end).Failure == aidiscovery.Cleartext
	certificate := j.end.Outcome == TLSFailed && j.end.certificate
	header := j.end.Outcome == TooLarge && j.ask.Fetch.Status == 0
	switch j.end.Outcome {
	case BadAddress, BadHost, BlockedAddress, RefusedByRobots, DNSFailed, Unreachable, Unreadable, TLSFailed, TooLarge:
		if !insecure && !certificate && (j.end.Outcome != TooLarge || header) {
			return j.judgeFailure()
		}
		return nil
	}
	return j.judgeCertificateExpiry()
}

// judgeAll judges everything, for formats whose draft does not cover transport.
func (j transportJudge) judgeAll() []protocol.Finding {
	if failed := j.judgeFailure(); failed != nil {
		return failed
	}
	found := j.judgeRedirectHosts()
	found = append(found, j.judgeDuration()...)
	found = append(found, j.judgeCertificateExpiry()...)
	switch j.end.Outcome {
	case OK, BadMediaType:
		found = append(found, j.judgeMediaType()...)
		found = append(found, j.judgeCaching()...)
	case Unchanged:
	default:
		found = append(found, j.judgeStatus()...)
	}
	return found
}

// judgeFailure judges what prevented a complete answer; nil when one arrived.
func (j transportJudge) judgeFailure() []protocol.Finding {
	detail := j.end.Detail
	switch j.end.Outcome {
	case BadAddress, BadHost:
		return j.newFinding("FETCH101", detail, "publish the document at an https address of a public host, on port 443")
	case BlockedAddress:
		return j.newFinding("FETCH101", "this does not lead to a public address and is not requested: "+detail, "give the host public addresses only, in every record of its name")
	case DNSFailed:
		help := "check the spelling, and the A and AAAA records of the name"
		if strings.HasSuffix(j.ask.Host, ".test") { // RFC 6761 §6.2
			help = "no public name server knows names below .test; for a host of the demo, use the page /validate of the demo"
		}
		return j.newFinding("FETCH102", "the name of the host does not resolve: "+detail, help)
	case Unreachable:
		return j.newFinding("FETCH102", "the host gave no whole answer: "+detail, "check that a server listens on port 443, is open to everybody, and answers in HTTP/1.1")
	case TLSFailed:
		help := "let the server support TLS 1.2 or 1.3 on port 443"
		if j.end.certificate {
			help = "install a certificate for this host name from a public authority, with the certificates between, and let it renew itself"
		}
		return j.newFinding("FETCH103", detail, help)
	case InsecureRedirect, TooManyRedirects, BadRedirect:
		return j.newFinding("FETCH104", "the redirect is not followed: "+detail, "redirect to the last https address at once, or serve the document at the requested address")
	case RefusedByRobots:
		return j.newFinding("FETCH107", "robots.txt does not let us ask for this: "+detail, "allow the address for everybody, or for "+RobotsToken+"; answer 404 if there is no robots.txt")
	case Unreadable:
		return j.newFinding("FETCH109", "the body cannot be unpacked: "+detail, "send it uncompressed, or compressed with gzip once")
	case Timeout:
		f := j.newFinding("FETCH110", "no complete answer arrived in time: "+detail, "answer within 3 seconds; a static file is enough")
		f[0].Severity = protocol.Error
		return f
	case TooLarge:
		return j.newFinding("FETCH111", "the answer is refused for its size: "+detail, "leave out what an agent does not need, or split the service into several")
	}
	return nil
}

// judgeRedirectHosts judges where redirects ended.
func (j transportJudge) judgeRedirectHosts() []protocol.Finding {
	first, err := url.Parse(j.ask.asked)
	if err != nil || j.ask.Host == first.Hostname() {
		return nil
	}
	return j.newFinding("FETCH112", fmt.Sprintf("redirects go from %s to %s", protocol.Quote(first.Hostname()), protocol.Quote(j.ask.Host)),
		"serve the document on the requested host, or change the reference to the last address")
}

// judgeDuration judges how long the answer took.
func (j transportJudge) judgeDuration() []protocol.Finding {
	if j.ask.Slowest <= slowTime {
		return nil
	}
	f := j.newFinding("FETCH110", fmt.Sprintf("the answer took %.1f seconds; the recommended maximum is 3", j.ask.Slowest.Seconds()), "answer within 3 seconds; a static file is enough")
	if j.ask.Slowest > lateTime {
		f[0].Severity = protocol.Error
	}
	return f
}

// judgeStatus judges an answer that is neither a document nor a redirect.
func (j transportJudge) judgeStatus() []protocol.Finding {
	status := j.ask.Fetch.Status
	said := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", status, http.StatusText(status)))
	help := "answer 200 with the document"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return j.newFinding("FETCH106", said+", but the document must be readable without authentication", "make this one path public; the document describes the authentication of the service")
	case status == http.StatusNotFound || status == http.StatusGone:
		said += ": no document is published here"
	case status == http.StatusTooManyRequests:
		help = "let readers fetch this one small document; say in Retry-After when they may try again"
	case status >= 500:
		help = "look into the server's log, then answer 200 with the document"
	}
	return j.newFinding("FETCH105", said, help)
}

// judgeMediaType judges Content-Type.
func (j transportJudge) judgeMediaType() []protocol.Finding {
	if j.end.Outcome == BadMediaType {
		want := "that of the format"
		if format, ok := document.FormatOf(document.Kind(j.ask.Kind)); ok {
			want = format.MediaTypes[0]
		}
		return j.newFinding("FETCH108", j.end.Detail, "send Content-Type: "+want)
	}
	_, params, _ := mime.ParseMediaType(j.ask.Fetch.MediaType)
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return j.newFinding("FETCH115", "Content-Type has the charset "+protocol.Quote(charset)+", but the format is always utf-8", "say charset=utf-8, or nothing")
	}
	return nil
}

// judgeCaching judges whether a reader can keep the document or ask for changes only.
func (j transportJudge) judgeCaching() []protocol.Finding {
	for _, name := range []string{"Cache-Control", "Expires", "ETag", "Last-Modified"} {
		if j.ask.Header.Get(name) != "" {
			return nil
		}
	}
	return j.newFinding("FETCH113", "the answer has neither Cache-Control nor a validator, so every visit transfers it again", "send Cache-Control: public, max-age=86400, and an ETag")
}

// judgeCertificateExpiry warns of a certificate that seems not to be renewed.
func (j transportJudge) judgeCertificateExpiry() []protocol.Finding {
	if j.ask.TLS == nil || len(j.ask.TLS.PeerCertificates) == 0 {
		return nil
	}
	leaf := j.ask.TLS.PeerCertificates[0]
	left, life := leaf.NotAfter.Sub(j.now), leaf.NotAfter.Sub(leaf.NotBefore)
	// A certificate that is valid for days only is renewed later in its life.
	if left > soonExpired || left > life/3 {
		return nil
	}
	return j.newFinding("FETCH114", "the certificate of the host expires on "+leaf.NotAfter.UTC().Format("2 January 2006 15:04")+" UTC", "renew it now, and see why it was not renewed by itself")
}
