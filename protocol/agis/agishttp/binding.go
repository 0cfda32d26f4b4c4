package agishttp

import (
	"context"
	"net/http"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// The headers of §10.1.
const (
	MethodHeader    = "X-AGIS-Method"
	GrammarHeader   = "X-AGIS-Grammar"
	NamespaceHeader = "X-AGIS-Namespace"
)

// Grammar is the only version of the grammar that this package supports.
const Grammar = "AGIS/1.0"

// maxValue is the longest header value in bytes, far more than any verb or namespace has.
const maxValue = 128

// RequestHeaders is the content of a request's AGIS headers, and the endpoint that they mean.
type RequestHeaders struct {
	// Method is the verb in upper case; methods compare case-insensitively (§4.1(e)).
	Method string
	// Namespace is "" when the request names none.
	Namespace string
	// Warnings are findings of passes 2 and 3 about a method that they accept.
	Warnings []protocol.Finding
	// Endpoint is the endpoint of [Options.Document] that the request means, nil if no document was
	// given.
	Endpoint *agis.Endpoint
	// Parameters are the unescaped values in the request's path of the endpoint's {name} segments.
	Parameters map[string]string
}

// Read reads the headers of a request. It returns no binding and no problem if the request has none
// of them, and a problem if they break a rule.
func Read(h http.Header) (*RequestHeaders, *Problem) {
	method, problem := singleValue(h, MethodHeader)
	if problem != nil {
		return nil, problem
	}
	grammar, problem := singleValue(h, GrammarHeader)
	if problem != nil {
		return nil, problem
	}
	namespace, problem := singleValue(h, NamespaceHeader)
	if problem != nil {
		return nil, problem
	}
	if method == nil && grammar == nil && namespace == nil {
		return nil, nil
	}
	// The grammar is checked first: it determines how to read the other two.
	if problem := checkGrammar(grammar); problem != nil {
		return nil, problem
	}
	if method == nil {
		return nil, missingHeader("the request has headers of the AGIS binding, but no " + MethodHeader)
	}
	b := &RequestHeaders{Method: strings.ToUpper(*method)}
	for _, f := range agis.CheckMethod(*method) {
		if f.Severity == protocol.Error {
			return nil, methodProblem(MethodHeader, f)
		}
		if f.Severity == protocol.Warning {
			b.Warnings = append(b.Warnings, f)
		}
	}
	if namespace != nil {
		if problem := checkNamespace(*namespace); problem != nil {
			return nil, problem
		}
		b.Namespace = *namespace
	}
	return b, nil
}

// singleValue returns the value of a header, nil if the header is absent. It refuses a repeated
// header: two readers could follow different values.
func singleValue(h http.Header, name string) (*string, *Problem) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, newProblem(http.StatusBadRequest, "repeated-header", "A header of the AGIS binding is given twice",
			"the request has "+name+" more than once", "send it once").inHeader(name)
	case len(values[0]) > maxValue:
		return nil, newProblem(http.StatusBadRequest, "long-header", "A header of the AGIS binding is too long",
			name+" is longer than 128 bytes", "send one verb, one version or one namespace").inHeader(name)
	}
	value := strings.TrimSpace(values[0])
	return &value, nil
}

func missingHeader(detail string) *Problem {
	return newProblem(http.StatusBadRequest, "method-header-missing", "The AGIS method is missing", detail,
		"add "+MethodHeader+" with one imperative verb, for example "+MethodHeader+": BOOK").inHeader(MethodHeader)
}

func checkGrammar(grammar *string) *Problem {
	// The draft does not say that the grammar is required, and there is one
	// version only.
	if grammar == nil || strings.EqualFold(*grammar, Grammar) {
		return nil
	}
	return newProblem(http.StatusBadRequest, "unknown-grammar", "The version of the grammar is not known",
		GrammarHeader+" is "+protocol.Quote(*grammar)+", and only "+Grammar+" is known", "write "+GrammarHeader+": "+Grammar).inHeader(GrammarHeader)
}

// checkNamespace requires the form that a namespace has in a document, so that namespace.VERB can
// be parsed again (§8.2(d)).
func checkNamespace(s string) *Problem {
	if agis.WellFormedNamespace(s) {
		return nil
	}
	p := newProblem(http.StatusBadRequest, "AGIS706", "The namespace has no readable form",
		NamespaceHeader+" "+protocol.Quote(s)+" is not one short word of lowercase letters",
		"use lowercase letters, digits and hyphens, beginning with a letter, for example acme-reservations").inHeader(NamespaceHeader)
	p.Section = "AGIS §8.2(d), §10.1"
	return p
}

type contextKey struct{}

// FromContext returns the binding of the request to which the context belongs, and false if the
// request has none.
func FromContext(ctx context.Context) (RequestHeaders, bool) {
	b, ok := ctx.Value(contextKey{}).(*RequestHeaders)
	if !ok {
		return RequestHeaders{}, false
	}
	return *b, true
}
