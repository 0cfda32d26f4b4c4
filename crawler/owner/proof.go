package owner

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
)

// proofFile is the path of the file that can replace a TXT record.
const proofFile = "/.well-known/gazetteer-crawler"

const maxFile = 16 << 10 // bytes

// publishedValue returns the value that an owner publishes for a request.
func publishedValue(kind RequestKind, host string, subdomains bool) string {
	if subdomains && kind == OptOut {
		host = "*." + host
	}
	return "gazetteer-" + string(kind) + "=" + host
}

// recordNames returns the names that are queried for TXT records: the host and its registrable
// domain, each first with the label of this program, because a host that is an alias (CNAME) cannot
// have other records.
func recordNames(host string) []string {
	all := []string{evidence.DomainLabel + "." + host, host}
	if domain := psl.Domain(host); domain != host {
		all = append(all, evidence.DomainLabel+"."+domain, domain)
	}
	return all
}

func newPublication(kind RequestKind, host string, subdomains bool) Publication {
	p := Publication{Value: publishedValue(kind, host, subdomains), Key: "did:web:" + host}
	for _, name := range recordNames(host) {
		p.At = append(p.At, "TXT "+name)
	}
	p.At = append(p.At, "https://"+host+proofFile)
	if domain := psl.Domain(host); domain != host {
		p.Key += " or did:web:" + domain
	}
	return p
}

// proveRequest looks for a proof of the request in a and sets a.Proof, which is "" if there is
// none.
func (o *Owners) proveRequest(ctx context.Context, a *RequestResult, e Evidence) (err error) {
	if a.Proof, err = o.checkSignature(ctx, a.Host, e); err != nil || a.Proof != "" {
		return err
	}
	want := a.Publish.Value
	if o.options.DNS != nil {
		for _, name := range recordNames(a.Host) {
			probe, _ := evidence.ProbeTXT(ctx, o.options.DNS, name, want, judgeValues)
			if a.noteProbe(ctx, probe) {
				return ctx.Err()
			}
		}
	}
	if o.options.Web != nil {
		probe, _ := evidence.ProbeFile(ctx, o.options.Web, "https://"+a.Host+proofFile, maxFile, want, judgeValues)
		if a.noteProbe(ctx, probe) {
			return ctx.Err()
		}
	}
	if len(a.Probes) == 0 {
		a.Probes = append(a.Probes, registry.Probe{Query: registry.NoProbe, Expected: want, Problem: "this server asks no other hosts; sign the request"})
	}
	return ctx.Err()
}

// noteProbe records a check and reports whether it is sufficient.
func (a *RequestResult) noteProbe(ctx context.Context, l registry.Probe) (enough bool) {
	a.Probes = append(a.Probes, l)
	if l.Found {
		a.Proof = l.Query
	}
	return l.Found || ctx.Err() != nil
}

// judgeValues compares the published values with the expected one. A value that says the opposite
// counts against it: owners who change their mind remove the old value.
func judgeValues(l *registry.Probe, values []string, none string) {
	kind, host := parseValue(l.Expected)
	var about, others []string // values about requests are shown first
	for _, v := range values {
		gotKind, gotHost := parseValue(v)
		if gotKind == "" {
			others = append(others, v)
			continue
		}
		about = append(about, v)
		switch bare := strings.TrimPrefix(gotHost, "*."); {
		case gotKind == kind && coversHost(gotHost, host):
			l.Found = true
		case gotKind != kind && bare == strings.TrimPrefix(host, "*."):
			l.Problem = "another value says the opposite; remove it"
		}
	}
	switch {
	case l.Problem != "":
		l.Found = false
	case len(values) == 0:
		l.Problem = none
	case !l.Found:
		l.Problem = "no value is the one that is expected"
	default: // only the decisive value is shown
		about = slices.DeleteFunc(about, func(v string) bool { w, h := parseValue(v); return w != kind || !coversHost(h, host) })[:1]
		others = nil
		l.OmittedValues = len(values) - 1
	}
	omitted := l.OmittedValues
	evidence.ShowValues(l, append(about, others...))
	l.OmittedValues += omitted
}

// coversHost reports whether got holds for want: "*.example.com" covers that host and all below.
func coversHost(got, want string) bool {
	below, all := strings.CutPrefix(got, "*.")
	return got == want || all && (want == below || strings.HasSuffix(want, "."+below))
}

// parseValue reads a published value; it returns "" for any other text.
func parseValue(text string) (kind RequestKind, host string) {
	name, rest, ok := strings.Cut(strings.TrimSpace(text), "=")
	if !ok || len(rest) > 300 {
		return "", ""
	}
	for _, w := range []RequestKind{OptOut, OptIn} {
		if strings.EqualFold(strings.TrimSpace(name), "gazetteer-"+string(w)) {
			kind = w
		}
	}
	star, rest := "", strings.TrimSpace(rest)
	if below, ok := strings.CutPrefix(rest, "*."); ok {
		star, rest = "*.", below
	}
	host, err := fetch.CheckHost(rest)
	if e := (*fetch.HostError)(nil); kind == "" || errors.As(err, &e) {
		return "", ""
	}
	return kind, star + host
}
