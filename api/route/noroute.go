package route

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"gazetteer/internal/nearest"
)

// answerNoRoute answers at addresses without a route.
func (a *Mux) answerNoRoute(c *gin.Context) {
	if isReferenceOperatorRoute(c.Request.Method, c.Request.URL.Path) {
		a.sendError(c, operatorOnly())
		return
	}
	if a.notFound != nil && !ownsPath(c.Request.URL.Path) {
		c.Header("Vary", "Accept")
		if acceptsPages(c.Request) {
			a.notFound(c)
			return
		}
	}
	if part, key := a.absentPart(c.Request.URL.Path); part != "" {
		a.sendError(c, NewProblem(problemNoRoute, "this server runs no "+part, "its operator has "+key+" = false; if it is true, the log of the server says why it does not run"))
		return
	}
	help := "the routes are listed in /openapi.json"
	if address := a.withoutSlash(c.Request.URL.Path); address != "" {
		help = "did you mean " + address + "? " + help
	} else if address := nearRoute(c.Request.URL); address != "" {
		help = "did you mean " + address + "? " + help
	} else if question := nearest.Question(c.Request.URL.EscapedPath(), append(slices.Sorted(maps.Keys(a.Fixed)), fillRoutes(c.Request.URL)...)); question != "" {
		help = question + " " + help
	}
	a.sendError(c, NewProblem(problemNoRoute, "nothing is served at this address", help))
}

// withoutSlash returns a path without the slash at its end if that is the path of a route, "" otherwise.
// Pages add routes after the API, so that Fixed does not have them all.
func (a *Mux) withoutSlash(path string) string {
	short := strings.TrimSuffix(path, "/")
	if short == path || short == "" || !slices.ContainsFunc(a.Public.Routes(), func(r gin.RouteInfo) bool { return r.Path == short }) {
		return ""
	}
	return short
}

// absentPart returns the part of a server that serves a path, and the key that enables it, if this server
// does not have that part; "" for any other path.
func (a *Mux) absentPart(path string) (part, key string) {
	for _, p := range []struct {
		absent    bool
		part, key string
		prefixes  []string
	}{
		{a.NoRelay, "relay", "relay.enabled", []string{"/inbox/", "/pull/", "/ack/"}},
		{a.NoTools, "tool host", "altar.enabled", []string{"/altar/", "/admin/altar/"}},
	} {
		if p.absent && slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			return p.part, p.key
		}
	}
	return "", ""
}

// operatorOnly refuses requests that only the operator may make.
func operatorOnly() *Error {
	r := NewProblem(unauthorized, "Unauthorized", "the operator's routes answer only on the Unix socket in the data directory; owners of an agent use /deactivate and /erase")
	r.Plain = true
	return r
}

// acceptsPages reports whether a request names HTML among the types that it accepts, as browsers
// do. Programs that name no type send "*/*", or nothing.
func acceptsPages(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "text/html") || strings.Contains(accept, "application/xhtml+xml")
}

// wrongPrefix matches what stands before the route in an address with another prefix or version of
// the API.
var wrongPrefix = regexp.MustCompile(`^/(?:api/)?(?:v[0-9]+/)?`)

// nearRoute returns the address of the API with the same route as one with a wrong prefix, "" if
// there is none: /api/v1/search for /v1/search.
func nearRoute(u *url.URL) string {
	const root = "/api/v1/"
	prefix := wrongPrefix.FindString(u.Path)
	address := root + strings.TrimPrefix(u.EscapedPath(), prefix)
	path := root + strings.TrimPrefix(u.Path, prefix)
	if path == u.Path || len(address) > maxNearRoute || !slices.ContainsFunc(Table, func(r Route) bool { return !r.Operator && r.matchesPath(path) }) {
		return ""
	}
	return address
}

// fillRoutes returns the public routes with variable parts, each with the parts of an address in
// their places: /api/v1/services/hotel.example/similar for /api/v1/services/hotel.example/similiar.
func fillRoutes(u *url.URL) []string {
	var filled []string
	asked := strings.Split(u.EscapedPath(), "/")
	for _, r := range Table {
		if r.Operator || !strings.Contains(r.Path, "{") {
			continue
		}
		parts := strings.Split(r.Path, "/")
		for i, part := range parts {
			if i < len(asked) && strings.HasPrefix(part, "{") && asked[i] != "" {
				parts[i] = asked[i]
			}
		}
		filled = append(filled, strings.Join(parts, "/"))
	}
	slices.Sort(filled)
	return slices.Compact(filled)
}

// maxNearRoute is the longest address, in bytes, that is suggested.
const maxNearRoute = 100
