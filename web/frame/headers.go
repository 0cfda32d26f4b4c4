package frame

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"
)

// policy allows a page to load the style sheet, the icon and the scripts of this server, to send
// forms to it and to request data from it. It allows no other host, and no inline script.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// discoveryLinks lead programs from any page to what describes the API: RFC 9727, RFC 8631, OpenSearch.
const discoveryLinks = `</.well-known/api-catalog>; rel="api-catalog", </openapi.json>; rel="service-desc"; type="application/openapi+json", ` +
	`</docs>; rel="service-doc"; type="text/html", </opensearch.xml>; rel="search"; type="application/opensearchdescription+xml"`

// setSecurityHeaders sets the headers that every answer of this package carries.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// writePage writes a page. A browser may store a successful page, but must check with the engine's
// tag whether it has changed before it shows it again.
func writePage(c *gin.Context, v WebPage, html []byte) {
	status := cmp.Or(v.Status, http.StatusOK)
	h := c.Writer.Header()
	setSecurityHeaders(h)
	h.Set("Cache-Control", "no-store")
	if len(v.Operator) == 0 {
		h.Set("Link", discoveryLinks)
	}
	if status == http.StatusOK && len(v.Operator) == 0 {
		h.Set("Cache-Control", "no-cache")
	}
	c.Data(status, "text/html; charset=utf-8", html)
}
