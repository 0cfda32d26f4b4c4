package agishttp

import (
	"context"
	"net/http"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// Options tell [New] what the headers alone do not. The zero value is fine.
type Options struct {
	// Required refuses requests without X-AGIS-Method; without it they are
	// passed on untouched.
	Required bool
	// Document, if it is given, is the table of what can be asked for: a
	// request that means none of its endpoints is refused with 404 and the
	// verbs that there are. Its paths are those of the requests.
	Document *agis.Document
}

// New returns a handler that reads the binding of each request, refuses what
// breaks the grammar and passes the rest on to next with the binding in its
// context. The document may not change afterwards.
//
// A verb that an existing path does not have is 404 too, not 405: that status
// must list HTTP methods (RFC 9110 §15.5.6), and the HTTP method of the request
// is not what is wrong.
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
func (t *routes) findEndpoint(b *Binding, path string) *Problem {
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
