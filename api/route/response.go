package route

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"
)

// minGzip is the smallest body worth compressing: a shorter one fits with its headers into two
// packets, which a compressed one takes, too.
const minGzip = 2048

// A bufferedResponse buffers the output of a handler until it is done, so that the answer can get
// its tag, become a 304, be compressed, or be replaced by a problem. Answers are bounded by the
// limits of their routes; a handler without a bound flushes, and from then on its output is sent
// directly.
type bufferedResponse struct {
	gin.ResponseWriter
	gzips     *gzipCache
	responses *responseCache
	status    int
	body      bytes.Buffer
	streaming bool

	// The record that the answer is made of, "" for one that is not cached.
	key string
	seq uint64
}

func (r *bufferedResponse) WriteHeader(status int) { r.status = status }
func (r *bufferedResponse) WriteHeaderNow()        {}
func (r *bufferedResponse) Status() int            { return r.status }
func (r *bufferedResponse) Size() int              { return r.body.Len() }
func (r *bufferedResponse) Written() bool          { return r.streaming || r.body.Len() > 0 }

func (r *bufferedResponse) Write(p []byte) (int, error) {
	if r.streaming {
		return r.ResponseWriter.Write(p)
	}
	return r.body.Write(p)
}

func (r *bufferedResponse) WriteString(s string) (int, error) {
	if r.streaming {
		return r.ResponseWriter.WriteString(s)
	}
	return r.body.WriteString(s)
}

// Flush sends the buffered output. The answer is a stream from now on.
func (r *bufferedResponse) Flush() {
	if !r.streaming {
		r.streaming = true
		r.ResponseWriter.WriteHeader(r.status)
		r.ResponseWriter.WriteHeaderNow()
		r.ResponseWriter.Write(r.body.Bytes()) // a client that left is noticed by the next write
		r.body.Reset()
	}
	r.ResponseWriter.Flush()
}

// Hijack hands the connection over to another protocol, such as WebSocket (RFC 6455): the strict
// reader of header lines lets everything that follows pass. Nothing of the response may have been
// written.
func (r *bufferedResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := r.ResponseWriter.Hijack()
	if err != nil {
		return nil, nil, err
	}
	r.streaming = true // nothing is left to send
	markUpgraded(conn)
	return conn, buffered, nil
}

// Unwrap lets http.ResponseController find the connection's deadlines.
func (r *bufferedResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }

var responsePool = sync.Pool{New: func() any { return new(bufferedResponse) }}

// maxPooled is the largest buffer that is reused for the next answer.
const maxPooled = 256 << 10

// bufferResponse is the middleware that answers through a [reply].
func (a *Mux) bufferResponse(c *gin.Context) {
	if row := a.rows[c.Request.Method+" "+c.FullPath()]; row.Relay || row.Altar {
		c.Next()
		return
	}
	r := responsePool.Get().(*bufferedResponse)
	r.ResponseWriter, r.gzips, r.responses, r.status, r.streaming = c.Writer, a.gzips, a.responses, c.Writer.Status(), false
	r.key, r.seq = "", 0
	original := c.Writer
	c.Writer = r
	defer func() {
		c.Writer = original
		r.ResponseWriter, r.gzips, r.responses = nil, nil, nil
		if r.body.Cap() <= maxPooled {
			r.body.Reset()
			responsePool.Put(r)
		}
	}()
	// Handlers know only GET: HEAD is the same answer without its body.
	method := c.Request.Method
	if method == http.MethodHead {
		c.Request.Method = http.MethodGet
	}
	c.Next()
	c.Request.Method = method
	if r.streaming {
		return
	}
	if r.body.Len() >= largeAnswer {
		end, ok := a.transfers.begin(original, r.body.Cap())
		if ok {
			defer end()
		} else {
			r.body.Reset()
			r.Header().Del("ETag")
			a.sendProblem(c, NewProblem(Unavailable, "too many large answers wait for clients that do not read them", "try again after the time in Retry-After").WithRetry(minTransfer))
		}
	}
	r.sendBuffered(c.Request)
}

// sendBuffered sends the buffered output.
func (r *bufferedResponse) sendBuffered(request *http.Request) {
	w, h, body := r.ResponseWriter, r.Header(), r.body.Bytes()
	switch {
	case r.status >= http.StatusBadRequest:
		h.Set("Cache-Control", "no-store")
	case h.Get("Cache-Control") == "":
		h.Set("Cache-Control", "no-cache") // keep it, ask before using it
	}
	read := request.Method == http.MethodGet || request.Method == http.MethodHead
	if read && (r.status == http.StatusOK || r.status == http.StatusMultipleChoices) {
		body = r.chooseRepresentation(request, body)
		if r.status == http.StatusOK {
			r.responses.addResponse(request, r.key, r.seq, h, body)
		}
		if r.status == http.StatusOK && listsETag(request.Header["If-None-Match"], h.Get("ETag")) {
			h.Del("Content-Type")
			h.Del("Content-Length")
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			w.WriteHeaderNow()
			return
		}
	}
	if r.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(r.status)
	w.WriteHeaderNow()
	if request.Method != http.MethodHead {
		w.Write(body) // a client that left needs no answer
	}
}

// chooseRepresentation chooses between the plain and the compressed form of a body and sets the
// ETag. The two forms have different tags, because a strong tag identifies bytes (RFC 9110 §8.8.1).
func (r *bufferedResponse) chooseRepresentation(request *http.Request, body []byte) []byte {
	h := r.Header()
	sum := sha256.Sum256(body)
	tag := digestTag(sum)
	if len(body) >= minGzip && !strings.Contains(h.Get("Cache-Control"), "no-transform") {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(request.Header["Accept-Encoding"]) {
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+tag+gzipSuffix)
			return r.gzips.compressBody(sum, body)
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	return body
}

// gzipSuffix ends the tag of a form in gzip.
const gzipSuffix = `-gzip"`

// digestTag returns the tag of bytes with that digest, without quotes.
func digestTag(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:16]) }

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.DefaultCompression)
	if err != nil {
		panic("gzip: " + err.Error()) // the level is a constant
	}
	return w
}}

// gzipBytes returns body in gzip.
func gzipBytes(body []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(body)/4 + 64)
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&b)
	w.Write(body) // a buffer takes everything
	w.Close()
	return b.Bytes()
}

// acceptsGzip reads Accept-Encoding (RFC 9110 §12.5.3): gzip by name or by "*",
// unless its weight is 0.
func acceptsGzip(header []string) bool {
	accepted := false
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameters, _ := strings.Cut(item, ";")
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "gzip" && coding != "*" {
				continue
			}
			accepted = !hasZeroWeight(parameters)
			if coding == "gzip" {
				return accepted // the name outweighs "*"
			}
		}
	}
	return accepted
}

func hasZeroWeight(parameters string) bool {
	name, value, found := strings.Cut(strings.TrimSpace(parameters), "=")
	if !found || strings.TrimSpace(strings.ToLower(name)) != "q" {
		return false
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err != nil || weight <= 0
}

// listsETag reports whether If-None-Match names tag. The comparison is weak, as
// RFC 9110 §13.1.2 asks.
func listsETag(header []string, tag string) bool {
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			item = strings.TrimSpace(item)
			if item == "*" || strings.TrimPrefix(item, "W/") == tag {
				return true
			}
		}
	}
	return false
}
