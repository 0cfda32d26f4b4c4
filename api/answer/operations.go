package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/mcp"
	"gazetteer/store"
	"slices" // ErrNoOperation: no document has that operation now. Test with errors.Is.
)

var ErrNoOperation = errors.New("no such operation")

// Offer finds an operation by its id, host/kind/id. The error is [ErrNoOperation]
// when there is none.
func (a *Answers) Offer(ctx context.Context, id string) (call.Offer, error) {
	name, kind, operation, ok := splitOperationID(id)
	host, err := fetch.CheckHost(name)
	if !ok || err != nil {
		return call.Offer{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	d, found, err := a.readDocument(ctx, host, kind)
	if err != nil {
		return call.Offer{}, err
	}
	at := slices.IndexFunc(d.Operations, func(o document.Operation) bool { return o.ID == operation })
	if !found || at < 0 {
		return call.Offer{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	o := d.Operations[at]
	return call.Offer{ID: operationID(host, kind, operation), Host: host, Service: d.Service, Operation: o, Ends: index.EffectOf(&o).Destructive}, nil
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

// AddSchemas gives the offers the schemas of their documents, as far as these have
// some: a full AGIS document has one for each operation.
func (a *Answers) AddSchemas(ctx context.Context, offers []call.Offer) error {
	schemas := map[string]map[string]json.RawMessage{} // by host and pointer
	for i := range offers {
		o := &offers[i]
		host, kind, _, _ := splitOperationID(o.ID)
		if kind != document.AGIS {
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
			schemas[host] = inputSchemas(raw.Bytes)
		}
		o.Input = schemas[host][o.Operation.Pointer]
	}
	return nil
}

// inputSchemas are the schemas of the inputs of an AGIS document, by the pointers
// of its endpoints; references are resolved.
func inputSchemas(text []byte) map[string]json.RawMessage {
	converted, err := mcp.FromAGIS(text, conversion.Options{})
	if err != nil {
		return nil // the parameters have to do
	}
	var list struct {
		Tools []struct {
			Input json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	d, _, parseErr := agis.Parse(text, agis.Options{})
	if json.Unmarshal(converted.Text, &list) != nil || parseErr != nil || len(d.Endpoints) != len(list.Tools) {
		return nil
	}
	schemas := map[string]json.RawMessage{}
	for i, e := range d.Endpoints {
		var b bytes.Buffer
		if json.Compact(&b, list.Tools[i].Input) == nil {
			schemas[e.Pointer] = b.Bytes()
		}
	}
	return schemas
}

// LogPath is where the transparency log lies.
const LogPath = "/log"
