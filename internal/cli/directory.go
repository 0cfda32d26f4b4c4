package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// A Directory resolves DIDs through a server, which caches the documents of other registries for a
// minute. It implements a2a.Refresher and a2ahttp.Directory.
type Directory struct {
	Server *Client
	// Retrying is called before a lookup is tried again that a proxy or an overloaded server refused, or
	// whose connection was dropped. With nil, no lookup is tried again.
	Retrying  func(failed error, pause time.Duration)
	forgotten sync.Map    // DIDs that are resolved anew the next time
	exhausted atomic.Bool // all attempts of the last lookup failed: the next one has only one
}

// lookupPauses are the pauses before further attempts of a lookup, as those of a delivery.
var lookupPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// Resolve implements a2a.Resolver. The name may also be an AIR ID or a handle.
func (d *Directory) Resolve(ctx context.Context, name string) (document did.Document, err error) {
	pauses := lookupPauses
	if d.Retrying == nil || d.exhausted.Load() {
		pauses = nil
	}
	document, err = d.resolveOnce(ctx, name)
	for _, pause := range pauses {
		if !isPassing(err) {
			break
		}
		d.Retrying(err, pause)
		if wait.For(ctx, pause) != nil {
			return document, err
		}
		document, err = d.resolveOnce(ctx, name)
	}
	d.exhausted.Store(isPassing(err))
	return document, err
}

// isPassing reports whether an error is the answer of a proxy whose server does not answer, of a server that
// cannot answer at the moment, or a connection that was dropped.
func isPassing(err error) bool {
	if _, dropped := errors.AsType[*droppedError](err); dropped || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && (refused.Status == http.StatusBadGateway || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusGatewayTimeout)
}

func (d *Directory) resolveOnce(ctx context.Context, name string) (did.Document, error) {
	request, err := d.Server.NewRequest(ctx, http.MethodGet, "/api/v1/resolve?"+url.Values{"name": {name}}.Encode(), nil)
	if err != nil {
		return did.Document{}, err
	}
	if _, again := d.forgotten.LoadAndDelete(name); again {
		request.Header.Set("Cache-Control", "no-cache")
	}
	var found struct {
		DID      string          `json:"did"`
		Document json.RawMessage `json:"did_document"`
	}
	if _, err := d.Server.sendAndDecode(request, &found); err != nil {
		return did.Document{}, err
	}
	if len(found.Document) == 0 {
		return did.Document{}, fmt.Errorf("%w: %s names no agent", a2a.ErrUnknownSender, name)
	}
	asked := name
	if !strings.HasPrefix(name, "did:") {
		asked = found.DID
	}
	return did.ParseDocument(found.Document, asked)
}

// Forget implements a2ahttp.Directory.
func (d *Directory) Forget(id string) { d.forgotten.Store(id, true) }

// Refresh implements a2a.Refresher.
func (d *Directory) Refresh(ctx context.Context, id string) (did.Document, bool, error) {
	d.Forget(id)
	document, err := d.Resolve(ctx, id)
	return document, true, err
}
