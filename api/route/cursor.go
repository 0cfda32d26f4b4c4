package route

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"time"

	"gazetteer/store"
)

// A Cursor is the position where the next page begins. Clients get it as opaque text: base64url of
// a 16-byte HMAC-SHA256 and of the authenticated content. The MAC also covers the route and the
// parameters of the request, which the text does not contain, so a cursor fits only the list that
// it was made for.
type Cursor struct {
	Log   store.Cursor `json:"log"` // of the answer that handed it out
	Until int64        `json:"until"`
	// Offset is for lists by rank, After for lists by key.
	Offset int    `json:"offset,omitempty"`
	After  string `json:"after,omitempty"`
	// Seq is the sequence that a page by rank was based on. It shows on the next page whether the
	// ranking may have changed.
	Seq uint64 `json:"seq,omitempty"`
	// Follow is the position in the feed of changes that the first page of a list was read after.
	Follow uint64 `json:"follow,omitempty"`
}

const (
	cursorLife = 24 * time.Hour // and up to an hour more
	cursorMAC  = 16
	// maxCursor bounds the text of a cursor: a key of 512 bytes plus the other members.
	maxCursor = 1200
)

// cursorCodec encodes and decodes cursors.
type cursorCodec struct {
	key []byte
	now func() time.Time
}

// boundParameters returns the parameters of a list without those that can differ from page to page:
// where it begins, how long it is, and its form.
func boundParameters(query url.Values) string {
	bound := url.Values{}
	for name, values := range query {
		if !slices.Contains(unboundParameters, name) {
			bound[name] = values
		}
	}
	return bound.Encode()
}

var unboundParameters = []string{"cursor", "limit", "within_tokens", "as", "fields", "explain"}

// EncodeCursor returns the text of c for the list at route with that query.
func (k cursorCodec) EncodeCursor(c Cursor, route string, query url.Values) string {
	// Rounded to the hour and without the sequence, so that an unchanged answer keeps its bytes and
	// its tag.
	c.Until = k.now().Add(cursorLife + time.Hour).Truncate(time.Hour).Unix()
	c.Log.Seq = 0
	payload, err := json.Marshal(c)
	if err != nil {
		panic("a cursor cannot be encoded: " + err.Error()) // it holds only strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(append(k.signPayload(payload, route, query), payload...))
}

// DecodeCursor returns the cursor in text. It refuses a cursor that this server did not make for
// this list (400), and one that is older than a day or belongs to another log (410), so that no
// such cursor becomes an empty page.
func (k cursorCodec) DecodeCursor(text, route string, query url.Values, head store.Cursor) (Cursor, error) {
	at := Location{Parameter: "cursor"}
	bad := NewProblem(badCursor, "the cursor was altered, or made for another request or by another server",
		"use the cursor of an answer unchanged, with the same path and parameters; leave it out to begin again").WithLocation(at)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > maxCursor || len(raw) < cursorMAC {
		return Cursor{}, bad
	}
	mac, payload := raw[:cursorMAC], raw[cursorMAC:]
	if !hmac.Equal(mac, k.signPayload(payload, route, query)) {
		return Cursor{}, bad
	}
	var c Cursor
	if err := json.Unmarshal(payload, &c); err != nil {
		return Cursor{}, bad
	}
	if c.Log.Store != head.Store || c.Log.Incarnation != head.Incarnation {
		return Cursor{}, NewProblem(cursorGone, "the data was restored since this cursor was handed out", "begin again without a cursor").WithLocation(at)
	}
	if k.now().Unix() > c.Until {
		return Cursor{}, NewProblem(cursorGone, "the cursor has expired; they last at least a day", "begin again without a cursor").WithLocation(at)
	}
	return c, nil
}

// signPayload authenticates payload for one list. The parts are joined by NUL, which neither a
// route nor an encoded query can contain.
func (k cursorCodec) signPayload(payload []byte, route string, query url.Values) []byte {
	m := hmac.New(sha256.New, k.key)
	m.Write(bytes.Join([][]byte{[]byte("cursor 1"), []byte(route), []byte(boundParameters(query)), payload}, []byte{0}))
	return m.Sum(nil)[:cursorMAC]
}

// MaxOffset is the largest offset of a search: beyond it, better words help more.
const MaxOffset = 10_000

// ReadCursor reads the cursor of a list; without one the list starts at the beginning.
func (a *Mux) ReadCursor(ctx context.Context, text, route string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	return a.Cursors.DecodeCursor(text, route, Query(ctx), a.Answers.Store.Head())
}

// NextPage returns the cursor and the Link of the page that starts at c.
func (a *Mux) NextPage(ctx context.Context, path, route string, c Cursor) (next, link string) {
	c.Log = a.Answers.Store.Head()
	query := Query(ctx)
	next = a.Cursors.EncodeCursor(c, route, query)
	to := url.Values{}
	maps.Copy(to, query)
	to.Set("cursor", next)
	return next, "<" + path + "?" + to.Encode() + `>; rel="next"`
}

// DefaultLimit is the number of entries on a page without a limit in the request.
const DefaultLimit = 20

// EncodeFeedCursor returns the cursor of a position in the feed of changes: its sequence and its
// store, authenticated like a [Cursor]. It does not expire and fits every filter and form of the
// feed.
func (k cursorCodec) EncodeFeedCursor(position store.Cursor) string {
	payload, err := json.Marshal(position)
	if err != nil {
		panic("a position cannot be encoded: " + err.Error()) // it holds only strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(append(k.signPayload(payload, feedRoute, nil), payload...))
}

// feedRoute represents all routes of the feed of changes in the MAC of a cursor. Cursors of the feed
// do not expire, so this text must not change.
const feedRoute = "a place in the feed of changes"

// DecodeFeedCursor returns the sequence of a cursor of the feed of changes. It refuses a cursor that
// this server did not make (400), and one of another store or of another incarnation of it (410).
func (k cursorCodec) DecodeFeedCursor(text string, head store.Cursor) (uint64, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > maxCursor || len(raw) < cursorMAC || !hmac.Equal(raw[:cursorMAC], k.signPayload(raw[cursorMAC:], feedRoute, nil)) {
		return 0, NewProblem(badCursor, "this is not a cursor of the feed of this server: it was altered, or another server made it",
			"use next of an earlier answer of this server unchanged, or leave it out")
	}
	var position store.Cursor
	if err := json.Unmarshal(raw[cursorMAC:], &position); err != nil {
		return 0, NewProblem(badCursor, "this is not a cursor of the feed of this server", "use next of an earlier answer unchanged, or leave it out")
	}
	switch {
	case position.Store != head.Store:
		return 0, ChangesGone("the cursor belongs to another store: this server's data was replaced since")
	case position.Incarnation != head.Incarnation:
		return 0, ChangesGone("the data was restored from an older state since this cursor was handed out")
	}
	return position.Seq, nil
}

// ChangesGone returns the refusal of a position that is older than the feed of changes. It links to
// the snapshot to start from instead.
func ChangesGone(detail string) *Error {
	e := NewProblem(cursorGone, detail, "read "+snapshotPath+" page by page to its end, which is how things stand now, and go on with its member follow as since; agents are at /api/v1/agents")
	e.Current = snapshotPath
	return e
}

// snapshotPath lists the present state of everything that the feed of changes reports.
const snapshotPath = "/api/v1/services"
