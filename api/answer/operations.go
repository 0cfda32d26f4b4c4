package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/store"
)

// ErrNoOperation: no document has that operation now. Test with errors.Is.
var ErrNoOperation = errors.New("no such operation")

// Offer finds an operation by its id, host/kind/id. The error is [ErrNoOperation]
// when there is none.
func (a *Answers) Offer(ctx context.Context, id string) (call.ToolSource, error) {
	name, kind, operation, ok := splitOperationID(id)
	host, err := fetch.CheckHost(name)
	if !ok || err != nil {
		return call.ToolSource{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	d, found, err := a.readDocument(ctx, host, kind)
	if err != nil {
		return call.ToolSource{}, err
	}
	find := func(id string) int {
		return slices.IndexFunc(d.Operations, func(o document.Operation) bool { return o.ID == id })
	}
	at := find(operation)
	if decoded, err := url.PathUnescape(operation); at < 0 && err == nil {
		operation, at = decoded, find(decoded) // the MCP server encodes ids, so that each is one word
	}
	if !found || at < 0 {
		return call.ToolSource{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	summary, err := a.readSummary(ctx, host)
	if err != nil {
		return call.ToolSource{}, err
	}
	o, service := d.Operations[at], d.Service
	service.Name = summary.Name
	return call.ToolSource{ID: operationID(host, kind, operation), Host: host, Service: service, Operation: o, Ends: index.EffectOf(&o).Destructive}, nil
}

// readDocument reads the current document of a kind; false when there is none.
func (a *Answers) readDocument(ctx context.Context, host string, kind document.Kind) (document.Document, bool, error) {
	record, err := a.Store.Get(ctx, store.DocumentKey(host, string(kind)))
	if errors.Is(err, store.ErrNotFound) {
		return document.Document{}, false, nil
	}
	if err != nil {
		return document.Document{}, false, fmt.Errorf("read %s of %s: %w", kind, host, err)
	}
	d, err := decodeRecord[document.Document](record)
	return d, true, err
}

// AddSchemas adds schemas to the offers where their documents have some: a full AGIS document has
// one for each operation.
func (a *Answers) AddSchemas(ctx context.Context, offers []call.ToolSource) error {
	schemas := map[string]map[string]json.RawMessage{} // by host and pointer
	for i := range offers {
		o := &offers[i]
		host, kind, _, _ := splitOperationID(o.ID)
		if !kind.HasSchemas() {
			continue
		}
		if _, read := schemas[host]; !read {
			raw, err := a.Document(ctx, host, kind, "")
			if errors.Is(err, ErrNoDocument) || errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrCorrupt) {
				schemas[host] = nil // what the operation itself says has to do
				continue
			}
			if err != nil {
				return err
			}
			schemas[host] = call.InputSchemas(raw.Bytes)
		}
		o.Input = schemas[host][o.Operation.Pointer]
	}
	return nil
}

// LogPath is the path of the transparency log.
const LogPath = "/log"
