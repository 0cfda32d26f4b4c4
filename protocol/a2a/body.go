package a2a

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gazetteer/protocol/jcs"
)

// The types of body that the draft defines.
const (
	TypeOffer     = "Offer"
	TypeCounter   = "Counter"
	TypeAccept    = "Accept"
	TypeDecline   = "Decline"
	TypeWithdraw  = "Withdraw"
	TypeEncrypted = "encrypted"
)

// A Body is the content of an envelope: an [Offer], [Counter], [Accept], [Decline], [Withdraw],
// [Sealed] or [Other].
type Body interface {
	// Type returns the member "type".
	Type() string
	appendJSON(out []byte) []byte
}

// Money is an amount in the smallest unit of its currency (§4.3.1).
type Money struct {
	AmountCents uint64 `json:"amount_cents"`
	Currency    string `json:"currency"` // three capital letters, ISO 4217
}

// UnmarshalJSON also reads threads that were stored with the name AmountCents.
func (m *Money) UnmarshalJSON(text []byte) error {
	var in struct {
		AmountCents uint64 `json:"amount_cents"`
		Stored      uint64 `json:"AmountCents"`
		Currency    string `json:"currency"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*m = Money{AmountCents: max(in.AmountCents, in.Stored), Currency: in.Currency}
	return nil
}

// String returns the amount in minor units and the currency: "1000 USD minor".
func (m Money) String() string {
	return strconv.FormatUint(m.AmountCents, 10) + " " + m.Currency + " minor"
}

// An Offer begins a negotiation (§4.3.2).
type Offer struct {
	Description string // at most 2,048 characters
	Price       Money
	ExpiresAt   time.Time
}

// A Counter proposes other terms (§4.3.3).
type Counter struct {
	Description string // at most 2,048 characters
	Price       Money
	ExpiresAt   time.Time
}

// An Accept agrees to the outstanding proposal (§4.3.4).
type Accept struct {
	AcceptedPrice Money // that of the proposal
}

// A Decline ends the negotiation (§4.3.5).
type Decline struct {
	Reason string // at most 512 characters, "" for none
}

// A Withdraw withdraws the sender's own proposal (§4.3.6).
type Withdraw struct {
	WithdrawnID string // the id of the envelope that made it
	Reason      string // at most 512 characters, "" for none
}

// An Other is a body of a type that the draft does not define, or one that lacks members of its
// type. Only the [Wire] profile accepts it.
type Other struct {
	Kind string // the member "type"
	JSON []byte // the whole body, canonical
}

func (Offer) Type() string    { return TypeOffer }
func (Counter) Type() string  { return TypeCounter }
func (Accept) Type() string   { return TypeAccept }
func (Decline) Type() string  { return TypeDecline }
func (Withdraw) Type() string { return TypeWithdraw }
func (o Other) Type() string  { return o.Kind }

func (b Offer) appendJSON(out []byte) []byte {
	return appendProposal(out, TypeOffer, b.Description, b.Price, b.ExpiresAt)
}

func (b Counter) appendJSON(out []byte) []byte {
	return appendProposal(out, TypeCounter, b.Description, b.Price, b.ExpiresAt)
}

func appendProposal(out []byte, kind, description string, price Money, expires time.Time) []byte {
	out = appendText(append(out, '{'), "description", description)
	out = appendText(append(out, ','), "expires_at", expires.UTC().Format(timeFormat))
	out = append(out, `,"price":`...)
	out = price.appendJSON(out)
	out = appendText(append(out, ','), "type", kind)
	return append(out, '}')
}

func (b Accept) appendJSON(out []byte) []byte {
	out = b.AcceptedPrice.appendJSON(append(out, `{"accepted_price":`...))
	return append(out, `,"type":"Accept"}`...)
}

func (b Decline) appendJSON(out []byte) []byte {
	out = append(out, '{')
	if b.Reason != "" {
		out = append(appendText(out, "reason", b.Reason), ',')
	}
	return append(out, `"type":"Decline"}`...)
}

func (b Withdraw) appendJSON(out []byte) []byte {
	out = append(out, '{')
	if b.Reason != "" {
		out = append(appendText(out, "reason", b.Reason), ',')
	}
	out = append(out, `"type":"Withdraw",`...)
	return append(appendText(out, "withdrawn_id", b.WithdrawnID), '}')
}

func (o Other) appendJSON(out []byte) []byte { return append(out, o.JSON...) }

func (m Money) appendJSON(out []byte) []byte {
	out = strconv.AppendUint(append(out, `{"amount_cents":`...), m.AmountCents, 10)
	return append(appendText(append(out, ','), "currency", m.Currency), '}')
}

// appendText appends a member that is a string. It does not check UTF-8: the message is read again
// before it is signed, which finds invalid text.
func appendText(out []byte, name, text string) []byte {
	return jcs.AppendString(append(jcs.AppendString(out, name), ':'), text)
}

// FormatBody returns a body as canonical JSON, in the form it has in an envelope that is not
// sealed.
func FormatBody(b Body) []byte { return b.appendJSON(nil) }

// ReadBody reads a body, for example the plaintext of a sealed one. The error is a [*Refusal] of
// status 400.
func ReadBody(text []byte) (Body, error) {
	var d jcs.Document
	if err := parseJSON(&d, text, jcs.ExactIntegers); err != nil {
		return nil, err
	}
	if d.Root().Kind() != jcs.Object {
		return nil, newRefusal("type", "the body is no JSON object")
	}
	return parseBody(d.Root()), nil
}

// parseBody reads a body that is an object with a type.
func parseBody(v jcs.Value) Body {
	kind := v.Member("type").Text()
	if b, ok := parseKnown(v, kind); ok {
		return b
	}
	return Other{Kind: kind, JSON: v.Append(nil)}
}

// parseKnown reads a body of a type that the draft defines; ok is false if a required member is
// missing.
func parseKnown(v jcs.Value, kind string) (b Body, ok bool) {
	switch kind {
	case TypeOffer, TypeCounter:
		price, good := parseMoney(v.Member("price"))
		expires, isTime := parseTime(v.Member("expires_at").Text())
		description := v.Member("description")
		if !good || !isTime || description.Kind() != jcs.String {
			return nil, false
		}
		if kind == TypeOffer {
			return Offer{description.Text(), price, expires}, true
		}
		return Counter{description.Text(), price, expires}, true
	case TypeAccept:
		price, good := parseMoney(v.Member("accepted_price"))
		return Accept{price}, good
	case TypeDecline:
		return Decline{v.Member("reason").Text()}, true
	case TypeWithdraw:
		id := v.Member("withdrawn_id").Text()
		return Withdraw{id, v.Member("reason").Text()}, id != ""
	case TypeEncrypted:
		s := Sealed{Algorithm: v.Member("alg").Text(), EphemeralKey: v.Member("epk").Text(), Nonce: v.Member("nonce").Text(), Ciphertext: v.Member("ct").Text()}
		s.Version, _ = v.Member("v").Uint64()
		return s, true
	}
	return nil, false
}

func parseMoney(v jcs.Value) (Money, bool) {
	amount, ok := v.Member("amount_cents").Uint64()
	currency := v.Member("currency").Text()
	return Money{amount, currency}, ok && currency != ""
}

// checkBody checks the body. The wire profile accepts any type, so there only a sealed body is
// checked.
func (c *checker) checkBody(body jcs.Value) {
	kind := body.Member("type")
	if kind.Kind() != jcs.String || kind.Text() == "" {
		c.addViolation("body-type", "body.type", "is missing or no text")
		return
	}
	if kind.Text() == TypeEncrypted {
		c.checkSealed(body)
	}
	if c.profile == Wire {
		return
	}
	switch kind.Text() {
	case TypeOffer, TypeCounter:
		c.checkMembers(body, "description", "price", "expires_at")
		c.checkLength(body.Member("description"), "body.description", maxDescription)
		c.checkMoney(body.Member("price"), "body.price")
		if v := body.Member("expires_at"); v.Kind() == jcs.String {
			c.checkTime(v, "body.expires_at")
		}
	case TypeAccept:
		c.checkMembers(body, "accepted_price")
		c.checkMoney(body.Member("accepted_price"), "body.accepted_price")
	case TypeDecline:
		c.checkMembers(body)
		c.checkLength(body.Member("reason"), "body.reason", maxReason)
	case TypeWithdraw:
		c.checkMembers(body, "withdrawn_id")
		if v := body.Member("withdrawn_id"); v.Kind() == jcs.String {
			c.checkIdentifier(v, "body.withdrawn_id")
		}
		c.checkLength(body.Member("reason"), "body.reason", maxReason)
	case TypeEncrypted:
		c.checkMembers(body, "alg", "v", "epk", "nonce", "ct")
	default:
		c.addViolation("body-type", "body.type", "is not one of Offer, Counter, Accept, Decline, Withdraw, encrypted")
	}
	c.checkArrays(body, "body")
}

// checkMembers requires the members of the body's type and refuses all others. Prices are objects,
// v is a number, all others are strings.
func (c *checker) checkMembers(body jcs.Value, required ...string) {
	for _, name := range required {
		if body.Member(name).Kind() == jcs.Absent {
			c.addViolation("body-member", "body."+name, "is missing")
		}
	}
	optional := ""
	if kind := body.Member("type").Text(); kind == TypeDecline || kind == TypeWithdraw {
		optional = "reason"
	}
	for name, v := range body.Members() {
		want := jcs.String
		switch {
		case name == "price" || name == "accepted_price":
			want = jcs.Object
		case name == "v":
			want = jcs.Number
		}
		known := name == "type" || name == optional && optional != ""
		for _, r := range required {
			known = known || name == r
		}
		switch {
		case !known:
			c.addViolation("unknown-member", "body."+strings.Trim(quoteShort(name), `"`), "is no member of this type of body")
		case v.Kind() != want:
			c.addViolation("body-member", "body."+name, "is a "+v.Kind().String()+", not a "+want.String())
		}
	}
}

func (c *checker) checkLength(v jcs.Value, path string, most int) {
	if n := utf8.RuneCountInString(v.Text()); n > most {
		c.addViolation("length", path, "has "+strconv.Itoa(n)+" characters, more than "+strconv.Itoa(most))
	}
}

func (c *checker) checkMoney(v jcs.Value, path string) {
	if v.Kind() != jcs.Object {
		return // said by checkMembers
	}
	if _, ok := v.Member("amount_cents").Uint64(); !ok {
		c.addViolation("money", path+".amount_cents", "is no integer from 0 to 2^64-1")
	}
	if !isCurrency(v.Member("currency").Text()) {
		c.addViolation("money", path+".currency", "is not three capital letters")
	}
	for name := range v.Members() {
		if name != "amount_cents" && name != "currency" {
			c.addViolation("unknown-member", path+"."+strings.Trim(quoteShort(name), `"`), "is no member of a price")
		}
	}
}

// Limits of §4.3, in characters.
const (
	maxDescription = 2048
	maxReason      = 512
)

func isCurrency(text string) bool {
	return len(text) == 3 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// checkValues checks the values of a body of the draft's own types (§4.3), which also the wire profile and a
// seal can contain.
func checkValues(body Body) error {
	text, most := "", maxReason
	var price *Money
	switch b := body.(type) {
	case Offer:
		text, most, price = b.Description, maxDescription, &b.Price
	case Counter:
		text, most, price = b.Description, maxDescription, &b.Price
	case Accept:
		price = &b.AcceptedPrice
	case Decline:
		text = b.Reason
	case Withdraw:
		text = b.Reason
	}
	switch n := utf8.RuneCountInString(text); {
	case n > most:
		return newRefusal(RuleThreadBody, fmt.Sprintf("the text of the %s has %d characters, more than %d", body.Type(), n, most))
	case price != nil && !isCurrency(price.Currency):
		return newRefusal(RuleThreadBody, "the currency is not three capital letters")
	}
	return nil
}

// checkArrays refuses empty arrays (§5.2.2 R5) wherever they are in the body.
func (c *checker) checkArrays(v jcs.Value, path string) {
	if v.Kind() == jcs.Array && v.Len() == 0 {
		c.addViolation("empty-array", path, "contains an empty array")
	}
	for _, member := range v.Members() {
		c.checkArrays(member, path)
	}
	for element := range v.Elements() {
		c.checkArrays(element, path)
	}
}
