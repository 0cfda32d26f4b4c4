package evidence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/registry/resolve"
)

// A judgeValues compares the values that a host publishes with the expected one, and records in the
// probe whether it was found, or else the problem. None is the problem if there are no values.
type judgeValues func(p *registry.Probe, values []string, none string)

// ProbeTXT looks for an expected value in the TXT records of a name. Answered reports whether the name
// server said which there are.
func ProbeTXT(ctx context.Context, dns DNS, name, want string, judge judgeValues) (p registry.Probe, answered bool) {
	p = registry.Probe{Query: "TXT " + name, Expected: want}
	values, err := dns.TXT(ctx, name)
	if err != nil {
		p.Problem = "the name server did not answer as it should: " + protocol.ClipBytes(err.Error(), registry.MaxQuoted)
		return p, false
	}
	judge(&p, values, "the name has no TXT record")
	return p, true
}

// ProbeFile looks for an expected value in the lines of a file, which may have at most that many
// bytes. Answered reports whether the host sent the file or said that there is none.
func ProbeFile(ctx context.Context, web HTTPSClient, address string, most int, want string, judge judgeValues) (p registry.Probe, answered bool) {
	p = registry.Probe{Query: "GET " + address, Expected: want}
	page, err := web.Get(ctx, address, "text/plain", most)
	p.Server = page.Remote
	large, tooLarge := errors.AsType[*resolve.TooLargeError](err)
	switch {
	case tooLarge:
		p.Problem = large.Error()
	case err != nil:
		p.Problem = "there was no whole answer: " + protocol.ClipBytes(fetch.Reason(err), registry.MaxQuoted)
	case page.Location != "":
		p.Problem = fmt.Sprintf("it answered %d and leads to %s; redirects are not followed", page.Status, protocol.ClipBytes(page.Location, registry.MaxQuoted))
	case page.Status != http.StatusOK:
		answered = page.Status == http.StatusNotFound || page.Status == http.StatusGone
		p.Problem = fmt.Sprintf("it answered %d", page.Status)
	default:
		answered = true
		text := strings.ToValidUTF8(string(page.Body), "\uFFFD")
		judge(&p, strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), "the file is empty")
	}
	return p, answered
}

// A probe shows at most maxShown values, and of each at most maxValue bytes.
const (
	maxShown = 10
	maxValue = 300
)

// ShowValues copies the first of some values into a probe, and counts the others.
func ShowValues(p *registry.Probe, values []string) {
	p.OmittedValues = max(0, len(values)-maxShown)
	for _, v := range values[:len(values)-p.OmittedValues] {
		p.Values = append(p.Values, protocol.ClipBytes(strings.ToValidUTF8(v, "\uFFFD"), maxValue))
	}
}
