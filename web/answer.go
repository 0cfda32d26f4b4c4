package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// policy lets a page load our own style sheet and icon, send our own forms, and
// nothing else: no script can run, no address of another host is asked.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers that every answer of this package carries.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// answer writes a page with its tag, or 304 when the caller has it.
func answer(c *gin.Context, status int, html []byte) {
	if status == 0 {
		status = http.StatusOK
	}
	h := c.Writer.Header()
	secure(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if status == http.StatusOK {
		tag := tagOf(html)
		h.Set("Cache-Control", "no-cache") // keep it, ask before using it
		h.Set("ETag", tag)
		if tagListed(c.GetHeader("If-None-Match"), tag) {
			c.Writer.WriteHeader(http.StatusNotModified)
			c.Writer.WriteHeaderNow()
			return
		}
	}
	write(c, status, html)
}

// write sends body, or with HEAD only what it would have been.
func write(c *gin.Context, status int, body []byte) {
	c.Writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.Writer.WriteHeader(status)
	c.Writer.WriteHeaderNow()
	if c.Request.Method == http.MethodHead {
		return
	}
	// The error is the reader's going away; there is nobody left to tell.
	_, _ = c.Writer.Write(body)
}

// tagOf returns a strong entity tag for body.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// tagListed reports whether an If-None-Match header names tag. The comparison
// is weak, as RFC 9110 §13.1.2 asks.
func tagListed(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}
