package crawl

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gazetteer/internal/cli"
)

// TestInterruptedCrawlOfAList checks that a crawl of a list that its user ends prints the results so far and
// how to go on.
func TestInterruptedCrawlOfAList(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Method != http.MethodPost {
			return
		}
		io.WriteString(w, `{"host":"a.test","state":"listed","documents":1,"operations":3,"requests":2,"summary":"3 operations"}`+"\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	var said bytes.Buffer
	a := &verbs{&cli.App{Streams: cli.Streams{Out: interruptingWriter{interrupt}, Err: &said}}}
	err := a.crawlHosts(ctx, &cli.Client{HTTP: server.Client(), Base: server.URL, Local: true}, crawlFlags{list: strings.NewReader("a.test\nb.test\n")})
	if err == nil || !strings.Contains(said.String(), "1 host: 1 listed with 3 operations; 2 requests in ") || !strings.Contains(said.String(), "run the same command again") {
		t.Errorf("%v: %s", err, said.String())
	}
}

// An interruptingWriter ends the crawl when the first result is printed.
type interruptingWriter struct{ interrupt context.CancelFunc }

func (w interruptingWriter) Write(p []byte) (int, error) {
	w.interrupt()
	return len(p), nil
}
