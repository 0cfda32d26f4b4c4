package owner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"gazetteer/fetch"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/registry/resolve"
)

// File is the path of the file that can replace a TXT record.
const File = "/.well-known/gazetteer-crawler"

const (
	maxFile  = 16 << 10 // bytes
	maxShown = 10       // values that a look shows
	maxValue = 300      // bytes of one that it shows
)

// publishedValue returns what an owner publishes for a request.
func publishedValue(wish RequestKind, host string, subdomains bool) string {
	if subdomains && wish == OptOut {
		host = "*." + host
	}
	return "gazetteer-" + string(wish) + "=" + host
}

// recordNames returns the names that are searched for TXT records: the host and its registrable
// domain, each first with a label of ours, because a host that is an alias (CNAME) cannot have a
// record of its own.
func recordNames(host string) []string {
	all := []string{evidence.DomainLabel + "." + host, host}
	if domain := registrableDomain(host); domain != host {
		all = append(all, evidence.DomainLabel+"."+domain, domain)
	}
	return all
}

// registrableDomain returns the registrable domain of a host that CheckHost has accepted.
func registrableDomain(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

func newPublication(wish RequestKind, host string, subdomains bool) Publication {
	p := Publication{Value: publishedValue(wish, host, subdomains), Key: "did:web:" + host}
	for _, name := range recordNames(host) {
		p.At = append(p.At, "TXT "+name)
	}
	p.At = append(p.At, "https://"+host+File)
	if domain := registrableDomain(host); domain != host {
		p.Key += " or did:web:" + domain
	}
	return p
}

// proveRequest looks for proof of what a says and records it in a: Proof is "" when there is none.
func (o *Owners) proveRequest(ctx context.Context, a *Answer, request *httpsig.Message) error {
	if request != nil && isSigned(*request) {
		var err error
		a.Proof, err = o.proveBySignature(ctx, a.Host, *request)
		return err
	}
	want := a.Publish.Value
	if o.dns != nil {
		for _, name := range recordNames(a.Host) {
			if a.noteProbe(ctx, o.probeTXT(ctx, name, want)) {
				return ctx.Err()
			}
		}
	}
	if o.web != nil && a.noteProbe(ctx, o.probeFile(ctx, a.Host, want)) {
		return ctx.Err()
	}
	if len(a.Looks) == 0 {
		a.Looks = append(a.Looks, registry.Probe{Query: "nothing", Expected: want, Problem: "this server asks no other hosts; sign the request"})
	}
	return ctx.Err()
}

// noteProbe records a check and reports that no other is needed.
func (a *Answer) noteProbe(ctx context.Context, l registry.Probe) (enough bool) {
	a.Looks = append(a.Looks, l)
	if l.Found {
		a.Proof = l.Query
	}
	return l.Found || ctx.Err() != nil
}

func (o *Owners) probeTXT(ctx context.Context, name, want string) registry.Probe {
	l := registry.Probe{Query: "TXT " + name, Expected: want}
	values, server, err := o.dns.TXT(ctx, name)
	l.Server = server
	if err != nil {
		l.Problem = "the name server did not answer as it should: " + clipValue(err.Error())
		return l
	}
	judgeValues(&l, values, "the name has no TXT record")
	return l
}

func (o *Owners) probeFile(ctx context.Context, host, want string) registry.Probe {
	address := "https://" + host + File
	l := registry.Probe{Query: "GET " + address, Expected: want}
	page, err := o.web.Get(ctx, address, "text/plain", maxFile)
	l.Server = page.Remote
	large, tooLarge := errors.AsType[*resolve.TooLargeError](err)
	switch {
	case tooLarge:
		l.Problem = large.Error()
	case err != nil:
		l.Problem = "there was no whole answer: " + clipValue(fetch.Reason(err))
	case page.Location != "":
		l.Problem = fmt.Sprintf("it answered %d and leads to %s; redirects are not followed", page.Status, clipValue(page.Location))
	case page.Status != http.StatusOK:
		l.Problem = fmt.Sprintf("it answered %d", page.Status)
	default:
		lines := strings.FieldsFunc(string(page.Body), func(c rune) bool { return c == '\n' || c == '\r' })
		judgeValues(&l, lines, "the file is empty")
	}
	return l
}

// judgeValues compares the published values with the expected one. A value that says the opposite
// counts against it: owners who change their mind remove the old value.
func judgeValues(l *registry.Probe, values []string, none string) {
	wish, host := parseValue(l.Expected)
	var about, others []string // values that say something of wishes are shown first
	for _, v := range values {
		gotWish, gotHost := parseValue(v)
		if gotWish == "" {
			others = append(others, v)
			continue
		}
		about = append(about, v)
		switch bare := strings.TrimPrefix(gotHost, "*."); {
		case gotWish == wish && coversHost(gotHost, host):
			l.Found = true
		case gotWish != wish && bare == strings.TrimPrefix(host, "*."):
			l.Problem = "a value beside it says the opposite; take that away"
		}
	}
	switch {
	case l.Problem != "":
		l.Found = false
	case len(values) == 0:
		l.Problem = none
	case !l.Found:
		l.Problem = "no value is the one that is expected"
	default: // the one that counts is enough to show
		about = slices.DeleteFunc(about, func(v string) bool { w, h := parseValue(v); return w != wish || !coversHost(h, host) })[:1]
		others = nil
		l.OmittedValues = len(values) - 1
	}
	shown := append(about, others...)
	if !l.Found {
		l.OmittedValues = max(0, len(shown)-maxShown)
		shown = shown[:len(shown)-l.OmittedValues]
	}
	for _, v := range shown {
		l.Values = append(l.Values, clipValue(v))
	}
}

// coversHost reports whether got holds for want: "*.example.com" covers that host and all below.
func coversHost(got, want string) bool {
	below, all := strings.CutPrefix(got, "*.")
	return got == want || all && (want == below || strings.HasSuffix(want, "."+below))
}

// parseValue reads a published value; it returns "" for any other text.
func parseValue(text string) (wish RequestKind, host string) {
	name, rest, ok := strings.Cut(strings.TrimSpace(text), "=")
	if !ok || len(rest) > 300 {
		return "", ""
	}
	for _, w := range []RequestKind{OptOut, OptIn} {
		if strings.EqualFold(strings.TrimSpace(name), "gazetteer-"+string(w)) {
			wish = w
		}
	}
	star, rest := "", strings.TrimSpace(rest)
	if below, ok := strings.CutPrefix(rest, "*."); ok {
		star, rest = "*.", below
	}
	host, err := fetch.CheckHost(rest)
	if e := (*fetch.HostError)(nil); wish == "" || errors.As(err, &e) {
		return "", ""
	}
	return wish, star + host
}

// clipValue shortens a stranger's text.
func clipValue(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	if len(v) > maxValue {
		v = strings.ToValidUTF8(v[:maxValue], "") + "…"
	}
	return v
}
