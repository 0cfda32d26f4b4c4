package frame

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// formTime is the time limit for receiving a form.
const formTime = 15 * time.Second

// ReadForm reads a posted form of at most maxBytes. It refuses a form that another site sent, which
// would act in the name of that site's visitors. For a form that is too large, the error wraps a
// *http.MaxBytesError.
func ReadForm(c *gin.Context, maxBytes int64) error {
	r := c.Request
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return BadRequest("the form was sent by another site", "Use the form on this site.")
	}
	// The server restores the deadline of the connection for the next request. A connection
	// without deadlines is a test's, and its body has arrived already.
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(formTime))
	r.Body = http.MaxBytesReader(c.Writer, r.Body, maxBytes)
	err := r.ParseForm()
	if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		err = r.ParseMultipartForm(maxBytes)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return BadRequest(fmt.Sprintf("the form is longer than %d bytes", maxBytes), "Send less text.")
	}
	if err != nil {
		return BadRequest("the form cannot be read", "Send it again from the page.")
	}
	return nil
}

// ClientOf returns the address of the reader, none for the owner's socket.
func ClientOf(c *gin.Context) netip.Addr {
	a, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// A Choice is one of the values that a form offers.
type Choice struct {
	Value, Name string
	Chosen      bool
}

// An UnknownFilter says that a filter of a list has a value that does not exist, with links to the list
// with similar values. Template "unknown" shows a list of them.
type UnknownFilter struct {
	Text string
	Near []Link
}
