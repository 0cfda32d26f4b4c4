package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
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
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	request, err := c.newRequest(ctx, method, path, text, by)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	return c.DecodeAnswer(response, v)
}

// newRequest creates a request that accepts JSON. It is signed unless the signer is nil.
func (c *Client) newRequest(ctx context.Context, method, path string, body []byte, by *Signer) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, exit.Usagef("ask %s: %v", c.Base, err)
	}
	request.Header.Set("Accept", "application/json")
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
	return request, httpsig.Sign(request, body, by.Key, o)
}

// DecodeAnswer decodes a JSON answer into v and closes it; raw is the unchanged body.
func (c *Client) DecodeAnswer(response *http.Response, v any) (raw []byte, err error) {
	defer response.Body.Close()
	if raw, err = c.ReadAnswer(response, 8<<20); err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, RefusalError(response, raw)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, exit.Networkf("%s did not answer as Gazetteer would: %v", c.Base, err)
	}
	return raw, nil
}

// GetText requests a text that is not JSON.
func (c *Client) GetText(ctx context.Context, path string) ([]byte, error) {
	request, err := c.newRequest(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := c.ReadAnswer(response, 1<<20)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, RefusalError(response, raw)
	}
	return raw, nil
}
