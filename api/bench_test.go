package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
)

// nowhere takes an answer and forgets it, at no cost of its own.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// emptyGin is what the routes are measured against: gin with one route of the
// same shape that answers nothing.
func emptyGin() *gin.Engine {
	e := gin.New()
	e.GET("/api/v1/agents/:air_id/did-document", func(c *gin.Context) { c.Status(http.StatusOK) })
	e.GET("/api/v1/services/:host", func(c *gin.Context) { c.Status(http.StatusOK) })
	return e
}

// benchmark times path twice, each in turn with the empty handler in the same
// loop: over a socket as a client sees it, and in the handler alone.
func benchmark(b *testing.B, path func(h *house) string) {
	h := newHouse(b, options{api: func(o *api.Options) {
		o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) // the lines are made, as in service
	}})
	h.furnish()
	address := path(h)
	b.Run("socket", func(b *testing.B) {
		empty := "http://" + serve(b, emptyGin(), nil)
		fetch := func(url string) time.Duration {
			begun := time.Now()
			response, err := plain.Get(url)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != 200 {
				b.Fatal(response.Status)
			}
			return time.Since(begun)
		}
		inTurn(b, func() time.Duration { return fetch(h.base + address) }, func() time.Duration { return fetch(empty + address) })
	})
	b.Run("handler", func(b *testing.B) {
		serveOnce := func(handler http.Handler) func() time.Duration {
			r, err := http.NewRequest("GET", address, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.RemoteAddr = "127.0.0.1:9"
			w := &nowhere{header: http.Header{}}
			return func() time.Duration {
				clear(w.header)
				begun := time.Now()
				handler.ServeHTTP(w, r)
				took := time.Since(begun)
				if w.status != 200 {
					b.Fatal(w.status)
				}
				return took
			}
		}
		inTurn(b, serveOnce(h.api.Handler()), serveOnce(emptyGin()))
	})
}

// inTurn reports the mean of ours, of theirs, and their ratio.
func inTurn(b *testing.B, ours, theirs func() time.Duration) {
	b.ReportAllocs()
	var a, e time.Duration
	for b.Loop() {
		a += ours()
		e += theirs()
	}
	b.ReportMetric(float64(a.Nanoseconds())/float64(b.N), "ours-ns/op")
	b.ReportMetric(float64(e.Nanoseconds())/float64(b.N), "empty-ns/op")
	b.ReportMetric(float64(a)/float64(e), "x-empty")
}

func BenchmarkDIDDocument(b *testing.B) {
	benchmark(b, func(h *house) string { return "/api/v1/agents/" + register(b, h).AirID + "/did-document" })
}

func BenchmarkService(b *testing.B) {
	benchmark(b, func(*house) string { return "/api/v1/services/ristorante.example" })
}
