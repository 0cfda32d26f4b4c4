package route

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"gazetteer/internal/cache"
	"gazetteer/store"
)

// The largest total size of cached answers, and of their compressed forms.
const (
	maxCachedBytes = 160 << 20 // the DID documents of 100,000 agents
	maxGzipBytes   = 32 << 20
)

// entryOverhead is the approximate cost of a cached response besides path and body: its record, its
// tag and length, and its place in the cache. Headers are shared.
const entryOverhead = 512

// A responseCache holds whole responses to repeated requests, in each of their representations.
// Each belongs to one record of the store and is valid while that record has the same sequence, so
// a cached response is never older than one computed now.
type responseCache struct {
	store   store.Store
	answers *cache.Sized[representation, *cachedResponse]

	mu      sync.Mutex             // guards the following fields
	headers map[string]http.Header // sets that many answers have in common
}

// A representation is one form of an answer.
type representation struct {
	path string
	gzip bool
}

// A cachedResponse is a response that was sent before: headers and body.
type cachedResponse struct {
	key    string // of the record that it is made of
	seq    uint64
	header http.Header // shared, never changed
	tag    []string    // its ETag
	length []string    // its Content-Length
	body   []byte
	head   atomic.Uint64 // the store's sequence when the record was looked at last
}

func newResponseCache(s store.Store) *responseCache {
	return &responseCache{store: s, answers: cache.New[representation, *cachedResponse](maxCachedBytes), headers: map[string]http.Header{}}
}

// findFresh returns the cached response to a request, nil if there is none or the store has
// changed.
func (k *responseCache) findFresh(r *http.Request) *cachedResponse {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.RawQuery != "" || r.URL.RawPath != "" || r.URL.IsAbs() || len(r.TransferEncoding) > 0 {
		return nil
	}
	known := k.findRepresentation(r)
	if known == nil {
		return nil
	}
	// Read before the record: the cached response is valid for the store at this sequence.
	head := k.store.Head().Seq
	if known.head.Load() == head {
		return known
	}
	record, err := k.store.Get(r.Context(), known.key)
	if err != nil || record.Seq != known.seq {
		// Erased data must not stay in memory either. The handler that computes the answer reports
		// errors.
		for _, zip := range []bool{false, true} {
			k.answers.Delete(representation{r.URL.Path, zip})
		}
		return nil
	}
	known.head.Store(head)
	return known
}

// findRepresentation returns the cached response in the form that a request wants. An answer that
// is too short to compress has one form for all.
func (k *responseCache) findRepresentation(r *http.Request) *cachedResponse {
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		if known, ok := k.answers.Lookup(representation{r.URL.Path, true}); ok {
			return known
		}
		known, ok := k.answers.Lookup(representation{r.URL.Path, false})
		if !ok || known.header["Vary"] != nil {
			return nil
		}
		return known
	}
	known, ok := k.answers.Lookup(representation{r.URL.Path, false})
	if !ok {
		return nil
	}
	return known
}

// minExplicitLength is the size from which the cache sets Content-Length itself: net/http adds it
// to shorter bodies, which costs less than another header.
const minExplicitLength = 2048

// answerFromCache is the middleware that answers with cached responses.
func (a *Mux) answerFromCache(c *gin.Context) {
	known := a.responses.findFresh(c.Request)
	if known == nil {
		return
	}
	c.Abort()
	h := c.Writer.Header()
	setHeaders(h, known.header)
	h["Etag"] = known.tag
	if listsETag(c.Request.Header["If-None-Match"], known.tag[0]) {
		h.Del("Content-Type")
		h.Del("Content-Encoding")
		c.Writer.WriteHeader(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	if len(known.body) >= minExplicitLength || c.Request.Method == http.MethodHead {
		h["Content-Length"] = known.length
	}
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.WriteHeaderNow()
	if c.Request.Method != http.MethodHead {
		c.Writer.Write(known.body) // a client that left needs no answer
	}
}

// MarkCacheable allows caching the present answer while the record of key has that sequence. Every
// change of the answer's content must come with a write to that record: a visit writes its host's
// record, an update its agent's.
func MarkCacheable(ctx context.Context, key string, seq uint64) {
	if r, ok := ctx.Value(responseKey{}).(*bufferedResponse); ok {
		r.key, r.seq = key, seq
	}
}

// responseKey is the context key of the [bufferedResponse].
type responseKey struct{}

// addResponse caches an answer just before it is sent.
func (k *responseCache) addResponse(r *http.Request, key string, seq uint64, h http.Header, body []byte) {
	if key == "" || r.URL.RawQuery != "" || r.URL.RawPath != "" || strings.Contains(h.Get("Cache-Control"), "no-store") {
		return
	}
	known := &cachedResponse{key: key, seq: seq, header: k.shareHeaders(h), tag: []string{h.Get("ETag")}, length: []string{strconv.Itoa(len(body))}, body: bytes.Clone(body)}
	k.answers.Put(representation{r.URL.Path, h.Get("Content-Encoding") == "gzip"}, known, len(r.URL.Path)+len(body)+entryOverhead)
}

// maxHeaderSets is the largest number of shared header sets. A few are enough, unless each cached
// answer has a different header.
const maxHeaderSets = 64

// shareHeaders returns a shared set of headers equal to h without those of the one answer.
func (k *responseCache) shareHeaders(h http.Header) http.Header {
	header := h.Clone()
	for _, name := range []string{"Connection", "Etag", "Content-Length"} {
		delete(header, name)
	}
	var id strings.Builder
	header.Write(&id) // in order of names
	k.mu.Lock()
	defer k.mu.Unlock()
	if same, ok := k.headers[id.String()]; ok {
		return same
	}
	if len(k.headers) < maxHeaderSets {
		k.headers[id.String()] = header
	}
	return header
}

// A gzipCache compresses bodies and remembers the recent results.
type gzipCache struct {
	done *cache.Sized[[sha256.Size]byte, []byte]
}

func newGzipCache() *gzipCache {
	return &gzipCache{done: cache.New[[sha256.Size]byte, []byte](maxGzipBytes)}
}

// compressBody returns body, whose SHA-256 is sum, in gzip.
func (p *gzipCache) compressBody(sum [sha256.Size]byte, body []byte) []byte {
	if done, ok := p.done.Lookup(sum); ok {
		return done
	}
	zipped := gzipBytes(body)
	p.done.Put(sum, zipped, len(zipped)+sha256.Size)
	return zipped
}
