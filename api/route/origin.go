package route

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
)

// newOriginCheck returns the check of who may write by way of a browser: pages of this server, by the
// host that they were asked for or by the public URL.
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

// refuseForeignPages refuses a request that changes something, or that sends requests to others, when a
// page of another site made the browser send it: the address of the reader would pay for it. Programs
// send neither Origin nor Sec-Fetch-Site and are not concerned. Routes that only read, and those of the
// relay, which ask for a signature, are open to every page; the pages of forms and the MCP server have
// checks of their own.
func (a *Mux) refuseForeignPages(c *gin.Context) {
	row, known := a.rows[c.Request.Method+" "+c.FullPath()]
	if !known || row.Relay || a.readsOnly(c) {
		return
	}
	if a.origins.Check(c.Request) != nil {
		a.sendError(c, NewProblem(foreignPage, "a page of another site has sent this request", "send it from a page of this server, or from a program without Origin"))
	}
}
