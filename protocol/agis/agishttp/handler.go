package agishttp

import (
	"context"
	"net/http"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// Options configure [New]. The zero value is usable.
type Options struct {
	// Required refuses requests without X-AGIS-Method. Otherwise they are passed on unchanged.
	Required bool
	// Document, if given, is the list of endpoints: a request that matches none of them is refused
	// with 404 and the verbs that exist. Its paths are those of the requests.
	Document *agis.Document
}

// New returns a handler that reads the binding of each request, refuses requests that break the
// grammar, and passes the others on to next with the binding in their context. The document must
// not change afterwards.
//
// An existing path without the verb is answered with 404, not 405: a 405 must list HTTP methods
// (RFC 9110 §15.5.6), and the HTTP method is not the mistake.
func New(next http.Handler, o Options) http.Handler {
	var routes *routes
	if o.Document != nil {
		routes = newRoutes(o.Document)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, problem := Read(r.Header)
		if problem == nil && b == nil {
			if !o.Required {
				next.ServeHTTP(w, r)
				return
			}
			problem = missingHeader("the request has no " + MethodHeader)
		}
		if problem == nil && routes != nil {
			problem = routes.findEndpoint(b, r.URL.EscapedPath())
		}
		if problem != nil {
			problem.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, b)))
	})
}

// findEndpoint completes b with the endpoint that the path and the method mean.
func (t *routes) findEndpoint(b *RequestHeaders, path string) *Problem {
	if b.Namespace != "" && t.namespace != "" && b.Namespace != t.namespace {
		p := newProblem(http.StatusNotFound, "other-namespace", "The verb belongs to another service",
			"this service has the namespace "+protocol.Quote(t.namespace)+", not "+protocol.Quote(b.Namespace),
			"send "+NamespaceHeader+": "+t.namespace+", or leave it out").inHeader(NamespaceHeader)
		p.Section = "AGIS §8.2(d), §10.1"
		return p
	}
	endpoint, values, verbs := t.matchPath(b.Method, path)
	if endpoint != nil {
		b.Endpoint, b.Parameters = endpoint, values
		return nil
	}
	var p *Problem
	if len(verbs) == 0 {
		p = newProblem(http.StatusNotFound, "unknown-path", "No endpoint has this path",
			"no endpoint of the service has the path "+protocol.Quote(path), "the AGIS document of the service lists its paths")
		p.Declared = t.verbs
	} else {
		p = newProblem(http.StatusNotFound, "undeclared-verb", "The path does not have this verb",
			"the path "+protocol.Quote(path)+" has no "+protocol.Quote(b.Method), "use one of "+strings.Join(verbs, ", ")).inHeader(MethodHeader)
		p.Declared = verbs
	}
	p.Section = "AGIS §8.1"
	return p
}
