package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// agentPath is the path of an agent in the API, and of what lies below it.
func agentPath(airID, below string) string {
	return "/api/v1/agents/" + url.PathEscape(airID) + below
}

// A signer signs requests for an agent.
type signer struct {
	key   ed25519.PrivateKey
	keyID string
	// host is what the registry calls itself. Over the socket, where no name of a
	// host leads to it, a request is signed for this one.
	host string
}

// signerOf signs as an agent with the key that is in use.
func signerOf(owner did.Web, key ed25519.PrivateKey) *signer {
	return &signer{key: key, keyID: owner.String() + did.KeyFragment, host: owner.Authority()}
}

// write sends a JSON body and decodes the answer into v; raw is the answer as
// sent. A nil signer sends it unsigned, a nil body sends none.
func (c *client) write(ctx context.Context, method, path string, body any, by *signer, v any) (raw []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	request, err := c.request(ctx, method, path, text, by)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.do(request)
	if err != nil {
		return nil, err
	}
	return c.answer(response, v)
}

// request makes a request that accepts JSON, signed unless the signer is nil.
func (c *client) request(ctx context.Context, method, path string, body []byte, by *signer) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("ask %s: %v", c.base, err)
	}
	request.Header.Set("Accept", "application/json")
	if by == nil {
		return request, nil
	}
	if c.local {
		request.Host = by.host
	}
	return request, httpsig.Sign(request, body, by.key, httpsig.SignOptions{KeyID: by.keyID})
}

// answer reads an answer in JSON into v, and closes it; raw is what came.
func (c *client) answer(response *http.Response, v any) (raw []byte, err error) {
	defer response.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return nil, networkf("read the answer of %s: %v", c.base, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, refusalError(response.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, networkf("%s did not answer as Gazetteer would: %v", c.base, err)
	}
	return raw, nil
}

// refusal is what the registry says beside the words that every problem has.
type refusal struct {
	Code     string `json:"code"`
	Rule     string `json:"rule"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Base     string `json:"signature_base"`
}

// A refusedError is an answer that says no, with the rule behind it.
type refusedError struct {
	status int
	code   string // the sort of problem
	rule   string
	err    error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// refusalError is statusError with what was expected and what came.
func refusalError(status int, body []byte) error {
	var r refusal
	json.Unmarshal(body, &r) // what does not parse has nothing to add
	err := statusError(status, body)
	var e *exitError
	if !errors.As(err, &e) {
		return err
	}
	text := e.err.Error()
	if r.Expected != "" {
		text += "\n  expected: " + format.Visible(r.Expected)
	}
	if r.Got != "" {
		text += "\n  got:      " + format.Visible(r.Got)
	}
	return &exitError{e.code, &refusedError{status: status, code: r.Code, rule: r.Rule, err: errors.New(text)}}
}

// refusedBy reports whether an error is an answer that names a rule.
func refusedBy(err error, rule string) bool {
	var e *refusedError
	return errors.As(err, &e) && e.rule == rule
}

// refusedWith reports whether an error is an answer of that status.
func refusedWith(err error, status int) bool {
	var e *refusedError
	return errors.As(err, &e) && e.status == status
}

// keysOf asks which keys an agent has and had.
func (c *client) keysOf(ctx context.Context, airID string) (registry.KeysView, error) {
	var v registry.KeysView
	_, err := c.write(ctx, http.MethodGet, agentPath(airID, "/keys"), nil, nil, &v)
	if err != nil || len(v.Keys) > 0 {
		return v, err
	}
	// Whether it is erased or never had one its record says.
	var record registry.RecordView
	if _, err := c.write(ctx, http.MethodGet, agentPath(airID, ""), nil, nil, &record); err != nil {
		return v, err
	}
	return v, notFoundf("%s has no key: it was registered with a DID of its creator alone", airID)
}

// mine returns the agent whose key is in the file, its key, and its keys as the
// registry has them. Before that it puts the key in its place that a rotation or
// a recovery has brought into force meanwhile.
func (a *app) mine(ctx context.Context, c *client, k *keyring) (did.Web, ed25519.PrivateKey, registry.KeysView, error) {
	owner, keys, err := a.known(ctx, c, k)
	if err != nil {
		return did.Web{}, nil, registry.KeysView{}, err
	}
	key, _, err := k.read(a, k.path)
	return owner, key, keys, err
}

// known returns whose key the file holds and what the registry knows of it, for
// which no passphrase is needed; an error when the key is not the current one.
func (a *app) known(ctx context.Context, c *client, k *keyring) (did.Web, registry.KeysView, error) {
	fail := func(err error) (did.Web, registry.KeysView, error) { return did.Web{}, registry.KeysView{}, err }
	owner, err := k.owner(a)
	if err != nil {
		return fail(err)
	}
	airID, _ := owner.AirID()
	keys, err := c.keysOf(ctx, airID)
	if err != nil {
		return fail(err)
	}
	if owner, err = ownerThere(owner, keys); err != nil {
		return fail(err)
	}
	if err := a.settle(k, keys); err != nil {
		return fail(err)
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return fail(keyError(err, k.path))
	}
	return owner, keys, current(k.path, f.Public, keys)
}

// ownerThere returns the agent's DID in the registry that was asked: in one that has
// imported it, it is another than where its key was made.
func ownerThere(owner did.Web, keys registry.KeysView) (did.Web, error) {
	if keys.DID == owner.String() {
		return owner, nil
	}
	there, err := did.ParseWeb(keys.DID)
	mine, _ := owner.AirID()
	if airID, ok := there.AirID(); err != nil || !ok || airID != mine {
		return did.Web{}, networkf("the registry answers with the keys of %q when it is asked for those of %s", keys.DID, mine)
	}
	return there, nil
}

// owner says whose key the file holds, or the recovery key when the other is
// lost.
func (k *keyring) owner(a *app) (did.Web, error) {
	path := k.path
	if !exists(path) && (exists(keyfile.Next(path)) || exists(k.recoveryPath())) {
		path = k.recoveryPath()
	}
	f, err := keyfile.Open(path)
	if err != nil {
		return did.Web{}, keyError(err, path)
	}
	owner, err := ownerOf(f, path)
	if err != nil {
		return did.Web{}, err
	}
	if _, ok := owner.AirID(); !ok {
		return did.Web{}, usagef("%s does not say whose key it is. If its agent was never registered, register it: gazetteer agent new NAME. If it was, tell once which it is: %s", path, a.again(k, "show AIR-…"))
	}
	return owner, nil
}

// settle moves keys into their place that the registry knows as current.
func (a *app) settle(k *keyring, keys registry.KeysView) error {
	next := keyfile.Next(k.path)
	if f, err := keyfile.Open(next); err == nil && did.FormatMultikey(f.Public) == keys.Keys[0].PublicKeyMultibase {
		if err := keyfile.Promote(k.path); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "The new key is in force: %s is now it.\n", format.Visible(k.path))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyError(err, next)
	}
	recovery := k.recoveryPath()
	if f, err := keyfile.Open(keyfile.Next(recovery)); err == nil && keys.Commitment != "" && registry.RecoveryCommitment(f.Public) == keys.Commitment {
		if err := keyfile.Promote(recovery); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "The new recovery key is in force: %s is now it.\n", format.Visible(recovery))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyError(err, keyfile.Next(recovery))
	}
	return nil
}

// current reports whether a key is the one that the registry has as current.
func current(path string, key ed25519.PublicKey, keys registry.KeysView) error {
	mine := did.FormatMultikey(key)
	if keys.Keys[0].PublicKeyMultibase == mine {
		return nil
	}
	for _, old := range keys.Keys[1:] {
		if old.PublicKeyMultibase == mine && old.Until != nil {
			return usagef("the key in %s was retired on %s by a %s and signs nothing any more; the current one is %s", path, *old.Until, old.RetiredBy, keys.Keys[0].PublicKeyMultibase)
		}
	}
	return usagef("the key in %s is not that of %s, whose current one is %s", path, keys.AirID, keys.Keys[0].PublicKeyMultibase)
}

// stampText writes a time of an answer for a person, or as it came.
func stampText(now time.Time, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	if t.After(now) {
		return text + " (" + until(now, t) + ")"
	}
	return text + " (" + ago(now, t) + ")"
}
