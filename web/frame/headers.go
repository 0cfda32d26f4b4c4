package frame

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// policy lets a page load our own style sheet and icon, send our own forms, and
// nothing else: no script can run, no address of another host is asked. livePolicy
// is that of the search page: our own script file may run, and may ask us. Neither
// lets anything that is written into a page run.
const (
	policy     = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	livePolicy = policy + "; script-src 'self'; connect-src 'self'"
)

// setSecurityHeaders sets the headers that every answer of this package carries.
func setSecurityHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// writePage writes a page. A reader may keep one that was found, but asks whether
// it changed before showing it again; the tag is the engine's.
func writePage(c *gin.Context, v View, html []byte) {
	status := v.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := c.Writer.Header()
	setSecurityHeaders(h, policy)
	if v.Live {
		setSecurityHeaders(h, livePolicy)
	}
	h.Set("Cache-Control", "no-store")
	if status == http.StatusOK && len(v.Operator) == 0 {
		h.Set("Cache-Control", "no-cache")
	}
	c.Data(status, "text/html; charset=utf-8", html)
}
