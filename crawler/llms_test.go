package crawler_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
)

// llms.txt is requested only if the operator asks for it, and dropped when he no longer does.
func TestLLMSOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		file := page{body: "# Acme Notes\n\n> Notes.\n", header: map[string]string{"Content-Type": "text/plain"}}
		w.site("a.test", map[string]http.Handler{"/llms.txt": file})
		w.run()
		w.visit("a.test")
		w.wantAsked(0, "a.test /robots.txt", "a.test /.well-known/ai", "a.test /.well-known/agis.json", "a.test /ai")
		w.halt()

		w.opts.Formats = []document.Kind{document.LLMS}
		w.run()
		time.Sleep(27 * time.Hour) // the next visit
		synctest.Wait()
		if d := w.stored("a.test", document.LLMS); d == nil || d.Service.Name != "Acme Notes" || d.Source != document.OwnerPublished {
			t.Fatalf("stored %+v", d)
		}
		w.halt()

		w.opts.Formats = nil
		w.run()
		time.Sleep(27 * time.Hour) // the next visit
		synctest.Wait()
		if d := w.stored("a.test", document.LLMS); d != nil {
			t.Errorf("it is still stored: %+v", d)
		}
	})
}
