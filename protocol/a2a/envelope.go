package a2a

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// A Profile says which envelopes are well-formed.
type Profile uint8

const (
	// Strict is the published schema of draft-1.
	Strict Profile = iota
	// Wire is what deployed clients and the published vectors send: bodies of any
	// type, identifiers that are not UUIDs, further members, in_reply_to as null.
	Wire
)

// String returns "strict" or "wire".
func (p Profile) String() string {
	if p == Wire {
		return "wire"
	}
	return "strict"
}

// Limits of an envelope.
const (
	// MaxEnvelope is the longest envelope, in bytes: that of the deployed relay.
	MaxEnvelope = 65536

	maxDepth      = 512
	maxValues     = 4096
	maxIdentifier = 128 // bytes of an identifier in the wire profile
	maxDID        = 500
)

// An Envelope is an envelope that was read; its signature is not checked. All texts come from the
// sender. They are untrusted until a [Verifier] has accepted the envelope, and must be escaped on
// output even then.
type Envelope struct {
	ID        string
	From      string
	To        string
	Timestamp time.Time
	InReplyTo string // "" when the member is absent or null
	ThreadID  string
	Nonce     string
	Body      Body
	Signature string // "" when the member is absent or null
	// Text is the envelope as it was read.
	Text []byte

	document  jcs.Document
	canonical []byte // without the signature
}

// Canonical returns the bytes that the signature covers: the canonical JSON of
// the envelope without its member "signature". The caller must not change them.
func (e *Envelope) Canonical() []byte { return e.canonical }

// Digest returns the SHA-256 of [Envelope.Canonical]. Envelopes that differ only in white space,
// order of members and escapes have the same digest.
func (e *Envelope) Digest() [sha256.Size]byte { return sha256.Sum256(e.canonical) }

// canonicalWithNull returns the other bytes that a signature may cover by the text of §5.3: the
// envelope with "signature":null.
func (e *Envelope) canonicalWithNull() []byte {
	return e.document.Root().AppendWith(make([]byte, 0, len(e.canonical)+20), "signature", []byte("null"))
}

// Read reads an envelope and checks its form (§6.2 step 1), but not its signature. Text must not
// change as long as the envelope is in use. The error is a [*Refusal] of status 400 or 413.
func Read(text []byte, p Profile) (*Envelope, error) {
	e := &Envelope{Text: text}
	if err := parseJSON(&e.document, text, jcs.ExactIntegers); err != nil {
		return nil, err
	}
	c := checker{profile: p}
	c.checkEnvelope(e.document.Root())
	if len(c.found) > 0 {
		return nil, c.found[0].toRefusal()
	}
	e.setFields()
	return e, nil
}

// parseJSON reads JSON under the limits of an envelope.
func parseJSON(d *jcs.Document, text []byte, numbers jcs.Numbers) error {
	if len(text) > MaxEnvelope {
		return newRefusal("size", fmt.Sprintf("the envelope has %d bytes, more than %d", len(text), MaxEnvelope))
	}
	err := d.Parse(text, jcs.Options{Numbers: numbers, Depth: maxDepth, Values: maxValues})
	if e, ok := err.(*jcs.Error); ok {
		return newRefusal(string(e.Problem), e.Error()).withCause(e)
	}
	return err
}

// setFields sets the fields from a document that was checked.
func (e *Envelope) setFields() {
	root := e.document.Root()
	e.ID, e.From, e.To = root.Member("id").Text(), root.Member("from").Text(), root.Member("to").Text()
	e.InReplyTo, e.ThreadID, e.Nonce = root.Member("in_reply_to").Text(), root.Member("thread_id").Text(), root.Member("nonce").Text()
	e.Signature = root.Member("signature").Text()
	e.Timestamp, _ = parseTime(root.Member("timestamp").Text())
	e.Body = parseBody(root.Member("body"))
	e.canonical = root.AppendWith(make([]byte, 0, len(e.Text)), "signature", nil)
}

// A violation is a rule that an envelope breaks, and where.
type violation struct{ rule, path, detail string }

func (v violation) toRefusal() *Refusal { return newRefusal(v.rule, v.text()) }

func (v violation) text() string {
	if v.path == "" {
		return v.detail
	}
	return v.path + " " + v.detail
}

// A checker collects the violations in the form of an envelope.
type checker struct {
	profile Profile
	found   []violation
}

// maxViolations is the number of violations collected for one envelope.
const maxViolations = 100

func (c *checker) addViolation(rule, path, detail string) {
	if len(c.found) < maxViolations {
		c.found = append(c.found, violation{rule, path, detail})
	}
}

var envelopeMembers = []string{"id", "from", "to", "timestamp", "in_reply_to", "thread_id", "nonce", "body", "signature"}

func (c *checker) checkEnvelope(root jcs.Value) {
	if root.Kind() != jcs.Object {
		c.addViolation("object", "", "the envelope is a JSON "+root.Kind().String())
		return
	}
	for _, name := range [...]string{"id", "thread_id"} {
		if v, ok := c.checkString(root, name); ok {
			c.checkIdentifier(v, name)
		}
	}
	for _, name := range [...]string{"from", "to"} {
		if v, ok := c.checkString(root, name); ok {
			c.checkDID(v.Text(), name)
		}
	}
	if v, ok := c.checkString(root, "timestamp"); ok {
		c.checkTime(v, "timestamp")
	}
	if v, ok := c.checkString(root, "nonce"); ok && v.Text() == "" {
		c.addViolation("nonce", "nonce", "is empty")
	}
	c.checkReply(root.Member("in_reply_to"))
	switch body := root.Member("body"); body.Kind() {
	case jcs.Object:
		c.checkBody(body)
	case jcs.Absent:
		c.addViolation("required", "body", "is missing")
	case jcs.Null:
		c.addViolation("null", "body", "is null")
	default:
		c.addViolation("type", "body", "is a "+body.Kind().String()+", not an object")
	}
	for name, v := range root.Members() {
		known := slices.Contains(envelopeMembers, name)
		switch {
		case !known && c.profile == Strict:
			c.addViolation("unknown-member", quoteShort(name), "is no member of an envelope")
		case !known && v.Kind() == jcs.Null:
			c.addViolation("null", quoteShort(name), "is null")
		}
	}
}

// checkString returns the member of that name if it is a string, and reports it otherwise.
func (c *checker) checkString(object jcs.Value, name string) (jcs.Value, bool) {
	v := object.Member(name)
	switch v.Kind() {
	case jcs.String:
		return v, true
	case jcs.Absent:
		c.addViolation("required", name, "is missing")
	case jcs.Null:
		c.addViolation("null", name, "is null")
	default:
		c.addViolation("type", name, "is a "+v.Kind().String()+", not a string")
	}
	return v, false
}

// checkReply checks in_reply_to, which deployed clients send as null in the first message of a
// thread.
func (c *checker) checkReply(v jcs.Value) {
	switch v.Kind() {
	case jcs.Absent:
	case jcs.String:
		c.checkIdentifier(v, "in_reply_to")
	case jcs.Null:
		if c.profile == Strict {
			c.addViolation("null", "in_reply_to", "is null; leave it out")
		}
	default:
		c.addViolation("type", "in_reply_to", "is a "+v.Kind().String()+", not a string")
	}
}

func (c *checker) checkIdentifier(v jcs.Value, path string) {
	text := v.Text()
	switch {
	case c.profile == Strict && !isUUID4(text):
		c.addViolation("identifier", path, "is no UUID of version 4 in lowercase")
	case text == "":
		c.addViolation("identifier", path, "is empty")
	case c.profile == Wire && len(text) > maxIdentifier:
		c.addViolation("identifier", path, fmt.Sprintf("has more than %d bytes", maxIdentifier))
	}
}

func (c *checker) checkDID(text, path string) {
	switch {
	case c.profile == Strict && !strings.HasPrefix(text, "did:wba:"):
		c.addViolation("did", path, "does not begin with did:wba:")
	case !strings.HasPrefix(text, "did:"):
		c.addViolation("did", path, "does not begin with did:")
	case len(text) > maxDID:
		c.addViolation("did", path, fmt.Sprintf("has more than %d bytes", maxDID))
	}
}

func (c *checker) checkTime(v jcs.Value, path string) {
	if _, ok := parseTime(v.Text()); !ok {
		c.addViolation("timestamp", path, "is no time such as 2026-05-28T09:00:00.000Z")
	}
}

// isUUID4 is the pattern of the published schema: lower case, version 4.
func isUUID4(text string) bool {
	if len(text) != 36 || text[14] != '4' || strings.IndexByte("89ab", text[19]) < 0 {
		return false
	}
	for i := 0; i < len(text); i++ {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if c := text[i]; dash != (c == '-') || !dash && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

// timeFormat is the format of times in messages: milliseconds, as §4.2 requires.
const timeFormat = "2006-01-02T15:04:05.000Z"

// parseTime reads YYYY-MM-DDTHH:MM:SSZ with any number of decimals of a second; only the first nine
// count.
func parseTime(text string) (time.Time, bool) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(text) < len(shape)+1 || text[len(text)-1] != 'Z' {
		return time.Time{}, false
	}
	for i := range shape {
		if c := text[i]; shape[i] == 'd' && (c < '0' || c > '9') || shape[i] != 'd' && c != shape[i] {
			return time.Time{}, false
		}
	}
	number := func(from, to int) int {
		n := 0
		for _, c := range []byte(text[from:to]) {
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), time.Month(number(5, 7)), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	nanos, ok := parseDecimals(text[len(shape) : len(text)-1])
	t := time.Date(year, month, day, hour, minute, second, nanos, time.UTC)
	// time.Date normalizes values out of range (32 January), so a date that differs afterwards is
	// invalid.
	return t, ok && t.Month() == month && t.Day() == day && hour < 24 && minute < 60 && second < 60
}

// parseDecimals reads "" or a point and digits as nanoseconds.
func parseDecimals(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != '.' || len(text) == 1 {
		return 0, false
	}
	nanos, unit := 0, 100_000_000
	for _, c := range []byte(text[1:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		nanos += int(c-'0') * unit
		unit /= 10
	}
	return nanos, true
}

// quoteShort returns a foreign text in quotes, shortened.
func quoteShort(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// airIDOf returns the AIR ID in a DID, and "" when there is none.
func airIDOf(id string) string {
	w, err := did.ParseWeb(id)
	if err != nil {
		return ""
	}
	airID, _ := w.AirID()
	return airID
}
