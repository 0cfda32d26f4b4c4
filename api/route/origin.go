package route

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
)

// newOriginCheck returns the check of which pages may write through a browser: those of this
// server, by the requested host or by the public URL.
func newOriginCheck(public *url.URL) (*http.CrossOriginProtection, error) {
	check := http.NewCrossOriginProtection()
	if public.Host == "" {
		return check, nil
	}
	if err := check.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("api: the public URL: %w", err)
	}
	return check, nil
}

// refuseForeignPages refuses a request that changes something, or that causes requests to others,
// if a page of another site made the browser send it, because the reader's address would be charged
// for it. Programs send neither Origin nor Sec-Fetch-Site and are not affected. Routes that only
// read, and those of the relay, which require a signature, are open to every page. The pages with
// forms and the MCP server have their own checks.
func (a *Mux) refuseForeignPages(c *gin.Context) {
	row, known := a.rows[c.Request.Method+" "+c.FullPath()]
	if !known || row.Relay || a.readsOnly(c) {
		return
	}
	if a.origins.Check(c.Request) != nil {
		a.sendError(c, NewProblem(foreignPage, "a page of another site has sent this request", "send it from a page of this server, or from a program without Origin"))
	}
}
