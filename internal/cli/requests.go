package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"gazetteer/internal/exit"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
)

// AgentPath returns the path of an agent in the API, or of a resource below it.
func AgentPath(airID, below string) string {
	return "/api/v1/agents/" + url.PathEscape(airID) + below
}

// A Signer signs requests for an agent.
type Signer struct {
	Key   ed25519.PrivateKey
	KeyID string
	// Host is the registry's own host name. Requests over the socket, which has no host name, are
	// signed for it.
	Host string
	// Work is the solution of the proof of work of a registration, "" for none.
	Work string
}

// NewSigner returns a signer for an agent with its current key.
func NewSigner(owner did.Web, key ed25519.PrivateKey) *Signer {
	return &Signer{Key: key, KeyID: owner.String() + did.KeyFragment, Host: owner.Authority()}
}

// SendJSON sends a JSON body and decodes the answer into v; raw is the unchanged answer. With a nil
// signer the request is unsigned; with a nil body it has no body.
func (c *Client) SendJSON(ctx context.Context, method, path string, body any, by *Signer, v any) (raw []byte, err error) {
	request, err := c.newJSONRequest(ctx, method, path, body, by)
	if err != nil {
		return nil, err
	}
	return c.sendAndDecode(request, v)
}

// NewRequest creates a request that accepts JSON, for [Client.Send].
func (c *Client) NewRequest(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return nil, exit.Usagef("ask %s: %v", c.Base, err)
	}
	request.Header.Set("Accept", "application/json")
	return request, nil
}

// newJSONRequest creates a request with a JSON body, or without one if body is nil. It is signed
// unless the signer is nil.
func (c *Client) newJSONRequest(ctx context.Context, method, path string, body any, by *Signer) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	request, err := c.NewRequest(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if by == nil {
		return request, nil
	}
	if by.Work != "" {
		request.Header.Set("Registration-Work", by.Work)
	}
	if c.Local {
		request.Host = by.Host
	}
	o := httpsig.SignOptions{KeyID: by.KeyID}
	if c.clock != nil {
		o.Created = c.clock()
	}
	return request, httpsig.Sign(request, text, by.Key, o)
}

// GetText requests a text that is not JSON.
func (c *Client) GetText(ctx context.Context, path string) ([]byte, error) {
	request, err := c.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Send(request)
	if err != nil {
		return nil, err
	}
	return c.ReadAnswer(response)
}
