package a2ahttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
)

// An Inbox reads the mail of one agent at a relay (§7.3). Each request is signed with the agent's key
// (RFC 9421). Its methods may be called from any goroutine.
type Inbox struct {
	Address string // the inbox of the agent's DID document, an absolute URL
	Key     ed25519.PrivateKey
	KeyID   string // names the key to the relay: the agent's DID and #key-1
	// Host is the authority that the relay expects. It is needed for connections that no name leads
	// to, such as a socket. "" means the host of Address.
	Host string
	// HTTP and Timeout are those of [Client]; a long poll may take its own time in addition.
	HTTP    *http.Client
	Timeout time.Duration
	Now     func() time.Time // the time of signatures; time.Now when nil
}

// Mail is an envelope that waits in an inbox, with the relay's receipt (nil for none).
type Mail struct {
	Text, Receipt []byte
}

// A Page is the mail that one request returns.
type Page struct {
	Mail   []Mail
	Cursor string // for the next request
	More   bool   // there is more mail behind Cursor
}

// PageSize is the number of envelopes that one request asks for.
const PageSize = 200

// maxPage is the largest page in bytes: relays send at most 4 MiB of envelopes, and their receipts.
const maxPage = 16 << 20

// PollInterval returns the time from one pull to the next at a relay that answers at once although
// there is no mail: 5 s, a fifth more or less at random (§7.5).
func PollInterval() time.Duration { return 4*time.Second + rand.N(2*time.Second) }

// Pull returns the mail after a cursor, "" for the beginning. While there is none, the relay waits
// for up to wait, in whole seconds; relays allow at most 25. The draft has no such parameter, so a
// relay may also answer at once: see [PollInterval]. The error is an [*InboxError] or a transient one:
// see [IsTransient].
func (b *Inbox) Pull(ctx context.Context, cursor string, wait time.Duration) (Page, error) {
	q := url.Values{"limit": {strconv.Itoa(PageSize)}}
	if cursor != "" {
		q.Set("since", cursor)
	}
	if wait >= time.Second {
		q.Set("wait", strconv.Itoa(int(wait.Seconds())))
	}
	var in struct {
		Envelopes []json.RawMessage `json:"envelopes"`
		Receipts  []json.RawMessage `json:"receipts"`
		Cursor    any               `json:"cursor"`
		More      bool              `json:"has_more"`
	}
	if err := b.do(ctx, http.MethodGet, "/pull?"+q.Encode(), nil, wait, &in); err != nil {
		return Page{}, err
	}
	out := Page{Cursor: cursor, More: in.More}
	switch c := in.Cursor.(type) {
	case string:
		out.Cursor = c
	case json.Number:
		out.Cursor = c.String()
	}
	for i, text := range in.Envelopes {
		m := Mail{Text: text}
		if i < len(in.Receipts) && string(in.Receipts[i]) != "null" {
			m.Receipt = in.Receipts[i]
		}
		out.Mail = append(out.Mail, m)
	}
	return out, nil
}

// maxAcknowledged is the number of ids that relays accept in one request.
const maxAcknowledged = 500

// Acknowledge asks the relay to delete the envelopes with these ids. Ids that the relay does not
// have are not an error. The errors are those of [Inbox.Pull].
func (b *Inbox) Acknowledge(ctx context.Context, ids ...string) error {
	for len(ids) > 0 {
		n := min(len(ids), maxAcknowledged)
		body, err := json.Marshal(map[string][]string{"envelope_ids": ids[:n]})
		if err != nil {
			return fmt.Errorf("encode an acknowledgement: %w", err)
		}
		if err := b.do(ctx, http.MethodPost, "/ack", body, 0, new(json.RawMessage)); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// RelayKey returns the key that signs the relay's receipts, and the relay's DID. Both come from
// #relay-1 in the DID document of the inbox's host.
func (b *Inbox) RelayKey(ctx context.Context) (ed25519.PublicKey, string, error) {
	u, err := url.Parse(b.Address)
	if err != nil {
		return nil, "", fmt.Errorf("the inbox %.100q is no URL", b.Address)
	}
	u.Path, u.RawPath, u.RawQuery = "/.well-known/did.json", "", ""
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", err
	}
	text, err := b.read(request, 0)
	if err != nil {
		return nil, "", fmt.Errorf("read the key of the relay: %w", err)
	}
	var document did.Document
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, "", fmt.Errorf("read the key of the relay: its DID document: %w", err)
	}
	key, err := a2a.RelayKeyOf(document)
	if err != nil {
		return nil, "", fmt.Errorf("read the key of the relay: %s: %w", u, err)
	}
	return key, document.ID, nil
}

// An InboxError is the refusal of a request to read an inbox. Texts are the relay's, untrusted.
type InboxError struct {
	Address    string
	Status     int
	Reason     string
	Detail     string
	RetryAfter time.Duration // 0 when the relay does not say
}

func (e *InboxError) Error() string {
	text := fmt.Sprintf("inbox %s: the relay answers %d", e.Address, e.Status)
	for _, part := range []string{e.Reason, e.Detail} {
		if part != "" {
			text += fmt.Sprintf(" %.300q", part)
		}
	}
	return text
}

// IsTransient reports whether the same request may succeed later: there was no answer, or one of
// status 429, 500, 502, 503 or 504.
func IsTransient(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	e, ok := errors.AsType[*InboxError](err)
	if !ok {
		_, network := errors.AsType[*url.Error](err)
		return network
	}
	return answer{status: e.Status}.isTransient()
}

// do makes a signed request to a route below the inbox and decodes the answer.
func (b *Inbox) do(ctx context.Context, method, below string, body []byte, wait time.Duration, v any) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(b.Address, "/")+below, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set(VersionHeader, Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.Host != "" {
		request.Host = b.Host
	}
	o := httpsig.SignOptions{KeyID: b.KeyID}
	if b.Now != nil {
		o.Created = b.Now()
	}
	if err := httpsig.Sign(request, body, b.Key, o); err != nil {
		return err
	}
	text, err := b.read(request, wait)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("read the inbox %s: the answer is not that of a relay: %w", b.Address, err)
	}
	return nil
}

// read returns the body of an answer of status 200.
func (b *Inbox) read(request *http.Request, wait time.Duration) ([]byte, error) {
	request.Header.Set("Accept", "application/json")
	response, err := sendWithoutRedirects(b.HTTP, request, b.Timeout, wait)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if response.StatusCode == http.StatusOK {
		return text, err
	}
	e := &InboxError{Address: b.Address, Status: response.StatusCode}
	e.Reason, e.Detail, _ = readProblem(text)
	e.RetryAfter, _ = parseRetryAfter(response.Header.Get("Retry-After"), time.Now())
	return nil, e
}

// readProblem returns what an error body says, in either dialect.
func readProblem(text []byte) (reason, detail string, retryAfter time.Duration) {
	var in struct {
		Error   string  `json:"error"`
		Detail  string  `json:"detail"`
		Message string  `json:"message"`
		Retry   float64 `json:"retry_after_seconds"`
	}
	if json.Unmarshal(text, &in) != nil {
		return "", "", 0
	}
	if in.Retry > 0 && in.Retry < 1e6 {
		retryAfter = time.Duration(in.Retry * float64(time.Second))
	}
	return in.Error, cmp.Or(in.Detail, in.Message), retryAfter
}

// InboxOf returns the address of the inbox in a DID document, absolute (§3.4). The error matches
// [ErrNoInbox]. Addresses are https; http is for loopback alone, where it is allowed.
func InboxOf(document did.Document, allowLoopback bool) (string, error) {
	c := Client{AllowLoopback: allowLoopback}
	return c.inboxOf(document)
}
