package httpsig

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// SignOptions configure [Sign]. With only KeyID set, they are what a registry requires for a write.
type SignOptions struct {
	// KeyID identifies the key to the server: a DID URL or a multikey.
	KeyID string
	// Components are the names of the components to cover; empty means [WriteComponents], without
	// content-digest if the request has no body.
	Components []string
	Created    time.Time // time.Now when zero; whole seconds are sent
	Expires    time.Time // none when zero
	Nonce      string    // 16 random bytes when ""
	Tag        string    // none when ""
	Label      string    // "sig1" when ""
}

// WriteComponents returns the components that a signature of a write must cover: method, target and
// body.
func WriteComponents() []string {
	return []string{"@method", "@authority", "@path", "@query", "content-digest"}
}

// ReadComponents returns the components that a signature of a read must cover.
func ReadComponents() []string { return []string{"@method", "@authority", "@path", "@query"} }

// Sign adds Signature-Input and Signature to a request, and Content-Digest if there is a body and
// no digest yet. Body is the body that the request will send. The error is for components that the
// request lacks and for texts that a header cannot hold.
func Sign(r *http.Request, body []byte, key ed25519.PrivateKey, o SignOptions) error {
	o.Label = cmp.Or(o.Label, "sig1")
	if o.Created.IsZero() {
		o.Created = time.Now()
	}
	if o.Nonce == "" {
		o.Nonce = rand.Text()
	}
	if len(o.Components) == 0 {
		o.Components = WriteComponents()
		if len(body) == 0 {
			o.Components = ReadComponents()
		}
	}
	if len(body) > 0 && r.Header.Get("Content-Digest") == "" {
		r.Header.Set("Content-Digest", ContentDigest(body))
	}
	list := httpsfv.InnerList{Params: httpsfv.NewParams()}
	for _, name := range o.Components {
		list.Items = append(list.Items, httpsfv.NewItem(name))
	}
	list.Params.Add("created", o.Created.Unix())
	if !o.Expires.IsZero() {
		list.Params.Add("expires", o.Expires.Unix())
	}
	list.Params.Add("nonce", o.Nonce)
	list.Params.Add("keyid", o.KeyID)
	list.Params.Add("alg", algorithm)
	if o.Tag != "" {
		list.Params.Add("tag", o.Tag)
	}
	text, _, err := signatureBase(FromRequest(r, body), list)
	if err != nil {
		return fmt.Errorf("sign %s %s: %w", r.Method, r.URL, err)
	}
	input, err := httpsfv.Marshal(list)
	if err != nil {
		return fmt.Errorf("sign %s %s: %w", r.Method, r.URL, err)
	}
	r.Header.Set("Signature-Input", o.Label+"="+input)
	r.Header.Set("Signature", o.Label+"=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))+":")
	return nil
}
