package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// A Directory resolves DIDs through a server. It implements a2a.Resolver and a2ahttp.Directory.
type Directory struct{ Server *Client }

// Resolve implements a2a.Resolver. The name may also be an AIR ID or a handle.
func (d Directory) Resolve(ctx context.Context, name string) (did.Document, error) {
	var found struct {
		DID      string          `json:"did"`
		Document json.RawMessage `json:"did_document"`
	}
	if _, err := d.Server.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {name}}.Encode(), &found); err != nil {
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

// Forget implements a2ahttp.Directory. It does nothing: the server caches the documents, those of
// other registries for only one minute.
func (Directory) Forget(string) {}
