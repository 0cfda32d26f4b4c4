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

// Grammar is the one version of the grammar that is spoken here.
const Grammar = "AGIS/1.0"

// maxValue is how long a header's value may be, in bytes. No verb and no
// namespace comes near it.
const maxValue = 128

// A Binding is what a request says by its headers, and the endpoint that it
// means.
type Binding struct {
	// Method is the verb in upper case: methods compare without letter case
	// (§4.1(e)).
	Method string
	// Namespace is "" when the request names none.
	Namespace string
	// Warnings are what passes 2 and 3 say of the method without refusing it.
	Warnings []protocol.Finding
	// Endpoint is the endpoint of [Options.Document] that the request means,
	// nil when no document was given.
	Endpoint *agis.Endpoint
	// Parameters are the values that the request's path has for the {name}
	// segments of the endpoint's path, unescaped.
	Parameters map[string]string
}

// Read reads the headers of a request. It returns nil and no problem when the
// request has none of them, and a problem when they break a rule.
func Read(h http.Header) (*Binding, *Problem) {
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
	// The grammar comes first: it says how to read the other two.
	if problem := checkGrammar(grammar); problem != nil {
		return nil, problem
	}
	if method == nil {
		return nil, missingHeader("the request has headers of the AGIS binding, but no " + MethodHeader)
	}
	b := &Binding{Method: strings.ToUpper(*method)}
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

// singleValue returns the one value of a header, nil when it is absent. A header
// given twice is refused: two readers could each follow another one.
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

// checkNamespace asks for the form that namespace has in a document, so that
// namespace.VERB can be read again (§8.2(d)).
func checkNamespace(s string) *Problem {
	if agis.WellFormedNamespace(s) {
		return nil
	}
	p := newProblem(http.StatusBadRequest, "AGIS706", "The namespace has no readable form",
		NamespaceHeader+" "+protocol.Quote(s)+" is not a short lower-case token",
		"use small letters, digits and hyphens, beginning with a letter, for example acme-reservations").inHeader(NamespaceHeader)
	p.Section = "AGIS §8.2(d), §10.1"
	return p
}

type contextKey struct{}

// FromContext returns the binding of the request that the context belongs to,
// and false when the request had none.
func FromContext(ctx context.Context) (Binding, bool) {
	b, ok := ctx.Value(contextKey{}).(*Binding)
	if !ok {
		return Binding{}, false
	}
	return *b, true
}
