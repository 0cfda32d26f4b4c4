package resolve_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/registry/resolve"
)

func TestDirectory(t *testing.T) {
	status := http.StatusOK
	w := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/did+json")
		rw.WriteHeader(status)
		rw.Write(document(asked))
	})
	for code, unknown := range map[int]bool{http.StatusOK: false, http.StatusNotFound: true, http.StatusGone: true, http.StatusForbidden: true, http.StatusServiceUnavailable: false} {
		status = code
		var d a2ahttp.Directory = resolve.Directory{Resolver: w.resolver(t, nil)}
		document, err := d.Resolve(context.Background(), asked)
		if (err == nil) != (code == http.StatusOK) || errors.Is(err, a2a.ErrUnknownSender) != unknown || err == nil && document.ID != asked {
			t.Errorf("%d: %v", code, err)
		}
		if err == nil {
			before := w.asked.Load()
			d.Forget(asked)
			if _, err := d.Resolve(context.Background(), asked); err != nil || w.asked.Load() != before+1 {
				t.Errorf("after it was forgotten: %v, asked %d times", err, w.asked.Load()-before)
			}
		}
	}
	if _, err := (resolve.Directory{Resolver: w.resolver(t, nil)}).Resolve(context.Background(), "did:key:z6Mk"); !errors.Is(err, a2a.ErrUnknownSender) {
		t.Errorf("a DID of another method: %v", err)
	}
}
