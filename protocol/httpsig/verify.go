package httpsig

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"

	"github.com/dunglas/httpsfv"
)

// algorithm is the only supported algorithm (RFC 9421 §3.3.6).
const algorithm = "ed25519"

// Limits on untrusted headers.
const (
	maxHeader     = 8 << 10 // bytes of Signature-Input and of Signature
	maxSignatures = 4
	maxComponents = 32
)

// A Signature is a signature of a request. Nothing in it is verified before [Signature.Verify] has
// returned nil.
type Signature struct {
	Label      string
	KeyID      string    // "" when none is given
	Nonce      string    // "" when none is given
	Tag        string    // "" when none is given
	Created    time.Time // zero when none is given
	Expires    time.Time // zero when none is given
	Components []string  // as the base has them, without quotes where they have no parameters

	list  httpsfv.InnerList
	value []byte
}

// Read returns the signatures of a request in their order. It skips an unreadable signature, such
// as that of a proxy of another kind, if another one is readable. If there is none, the error has
// [CodeMissing]; every error is an [*Error].
func Read(m Message) ([]Signature, error) {
	inputs, values := m.Header.Values("Signature-Input"), m.Header.Values("Signature")
	if len(inputs) == 0 && len(values) == 0 {
		return nil, &Error{Code: CodeMissing, Message: "the request is not signed",
			Help: "sign it according to RFC 9421: headers Signature-Input and Signature"}
	}
	input, err := readDictionary("Signature-Input", inputs)
	if err != nil {
		return nil, err
	}
	value, err := readDictionary("Signature", values)
	if err != nil {
		return nil, err
	}
	if n := len(input.Names()); n > maxSignatures {
		return nil, &Error{Code: CodeSyntax, Message: fmt.Sprintf("the request carries %d signatures, at most %d are looked at", n, maxSignatures)}
	}
	var out []Signature
	var first error // what is wrong with the first that cannot be read
	for _, label := range input.Names() {
		s, err := readOne(label, input, value)
		switch {
		case err == nil:
			out = append(out, s)
		case first == nil:
			first = err
		}
	}
	if len(out) == 0 {
		return nil, first
	}
	return out, nil
}

func readDictionary(name string, values []string) (*httpsfv.Dictionary, error) {
	refuse := func(message string) (*httpsfv.Dictionary, error) {
		return nil, &Error{Code: CodeSyntax, Message: message, Help: `it looks like sig1=("@method" "@path");created=1700000000;keyid="…" in Signature-Input and sig1=:…: in Signature (RFC 9421 §4)`}
	}
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if size == 0 {
		return refuse("the request has no header " + name)
	}
	if size > maxHeader {
		return refuse(fmt.Sprintf("the header %s has %d bytes, at most %d are read", name, size, maxHeader))
	}
	d, err := httpsfv.UnmarshalDictionary(values)
	if err != nil || len(d.Names()) == 0 {
		return refuse("the header " + name + " cannot be read as a dictionary (RFC 9651)")
	}
	return d, nil
}

// readOne reads the signature with a label.
func readOne(label string, input, value *httpsfv.Dictionary) (Signature, error) {
	refuse := func(code, message, help string) (Signature, error) {
		return Signature{}, &Error{Code: code, Message: message, Help: help}
	}
	member, _ := input.Get(label)
	list, ok := member.(httpsfv.InnerList)
	if !ok {
		return refuse(CodeSyntax, fmt.Sprintf("%s in Signature-Input is no list of components", label), `write them as ("@method" "@path")`)
	}
	if len(list.Items) > maxComponents {
		return refuse(CodeSyntax, fmt.Sprintf("%s covers %d components, at most %d are looked at", label, len(list.Items), maxComponents), "")
	}
	s := Signature{Label: label, list: list}
	for _, item := range list.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return refuse(CodeSyntax, fmt.Sprintf("%s covers a component that cannot be written", label), "")
		}
		if len(item.Params.Names()) == 0 {
			id = strings.Trim(id, `"`)
		}
		s.Components = append(s.Components, id)
	}
	if err := s.readParams(list.Params); err != nil {
		return Signature{}, err
	}
	given, _ := value.Get(label)
	item, _ := given.(httpsfv.Item)
	if s.value, ok = item.Value.([]byte); !ok {
		return refuse(CodeSyntax, fmt.Sprintf("the header Signature has no bytes for %s", label), "each label of Signature-Input needs its own in Signature, as sig1=:…:")
	}
	if len(s.value) != ed25519.SignatureSize {
		return Signature{}, &Error{Code: CodeSyntax, Message: fmt.Sprintf("the signature %s has the wrong length", label),
			Help: "write all of an Ed25519 signature in base64 between two colons", Expected: "64 bytes", Got: fmt.Sprintf("%d bytes", len(s.value))}
	}
	return s, nil
}

// readParams reads the parameters of a signature (RFC 9421 §2.3). Unknown ones
// are covered by the signature and mean nothing here.
func (s *Signature) readParams(params *httpsfv.Params) error {
	for _, name := range params.Names() {
		value, _ := params.Get(name)
		var ok bool
		switch name {
		case "created":
			s.Created, ok = parseSeconds(value)
		case "expires":
			s.Expires, ok = parseSeconds(value)
		case "keyid":
			s.KeyID, ok = value.(string)
		case "nonce":
			s.Nonce, ok = value.(string)
		case "tag":
			s.Tag, ok = value.(string)
		case "alg":
			var alg string
			if alg, ok = value.(string); ok && alg != algorithm {
				return &Error{Code: CodeAlgorithm, Message: "the signature is of another kind than is used here", Expected: algorithm, Got: protocol.ClipBytes(alg, maxQuoted),
					Help: "sign with an Ed25519 key"}
			}
		default:
			ok = true
		}
		if !ok {
			return &Error{Code: CodeSyntax, Message: fmt.Sprintf("the parameter %s of %s is of the wrong type", name, s.Label),
				Help: `times are whole seconds since 1970, the others texts in double quotes`}
		}
	}
	return nil
}

// parseSeconds reads a number of seconds.
func parseSeconds(value any) (time.Time, bool) {
	n, ok := value.(int64)
	if !ok || n <= 0 || n > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(n, 0).UTC(), true
}

// Requirements are what a signature has to satisfy.
type Requirements struct {
	// Require lists components that must be covered, without parameters. "content-digest" is
	// required only if there is a body; if covered, it is always compared with the body. "@query"
	// is required only if there is a query. A part of @target-uri or of @request-target counts as
	// covered with it.
	Require []string
	// Now is the time against which created and expires are checked.
	Now time.Time
	// MaxAge is the greatest age of created, MaxAhead the greatest time by which it may be in the
	// future.
	MaxAge, MaxAhead time.Duration
	// Nonce requires a nonce of 8 to 128 characters.
	Nonce bool
}

// The length of a nonce in bytes.
const (
	minNonce = 8
	maxNonce = 128
)

// Verify reports whether the signature was made over m with the private half of key and meets the
// policy. Every error is an [*Error].
func (s Signature) Verify(m Message, key ed25519.PublicKey, p Requirements) error {
	if err := s.checkCoverage(m, p.Require); err != nil {
		return err
	}
	if err := s.checkTime(p); err != nil {
		return err
	}
	if n := len(s.Nonce); p.Nonce && (n < minNonce || n > maxNonce) {
		return &Error{Code: CodeNonce, Message: "the signature has no usable nonce", Expected: fmt.Sprintf("%d to %d characters", minNonce, maxNonce),
			Got: fmt.Sprintf("%d", n), Help: `add ;nonce="…" with at least 64 random bits, another one for every request`}
	}
	if slices.Contains(s.Components, "content-digest") {
		if err := checkDigest(m.Header, m.Body); err != nil {
			return err
		}
	}
	text, shown, err := signatureBase(m, s.list)
	if err != nil {
		return err
	}
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte(text), s.value) {
		return &Error{Code: CodeInvalid, Message: "the signature does not verify under the key", Base: shown,
			Help: "compare this signature base with the one that was signed, line by line; if they are alike, another key signed"}
	}
	return nil
}

// checkCoverage reports whether the signature covers all required components.
func (s Signature) checkCoverage(m Message, required []string) error {
	var missing []string
	for _, name := range required {
		absent := name == "content-digest" && len(m.Body) == 0 || name == "@query" && m.Query == ""
		if !absent && !slices.ContainsFunc(componentsContaining(name), func(whole string) bool { return slices.Contains(s.Components, whole) }) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Error{Code: CodeCoverage, Message: "the signature does not cover " + strings.Join(missing, ", "),
		Expected: strings.Join(required, ", "), Got: protocol.ClipBytes(strings.Join(s.Components, ", "), maxQuoted),
		Help: "what is not covered could be changed on the way, or the signature carried to another request; @target-uri covers host, path and query"}
}

// componentsContaining returns the components that include a component: itself and, for parts of an
// address, longer parts of it (RFC 9421 §2.2).
func componentsContaining(name string) []string {
	switch name {
	case "@scheme", "@authority":
		return []string{name, "@target-uri"}
	case "@path", "@query":
		return []string{name, "@target-uri", "@request-target"}
	}
	return []string{name}
}

// checkTime reports whether now is within the validity of the signature.
func (s Signature) checkTime(p Requirements) error {
	const form = time.RFC3339
	refuse := func(code, message, help string) error {
		e := &Error{Code: code, Message: message, Help: help,
			Expected: p.Now.Add(-p.MaxAge).UTC().Format(form) + " to " + p.Now.Add(p.MaxAhead).UTC().Format(form)}
		if !s.Created.IsZero() {
			e.Got = s.Created.Format(form)
		}
		return e
	}
	switch age := p.Now.Sub(s.Created); {
	case s.Created.IsZero():
		return refuse(CodeCreated, "the signature does not say when it was created", "add ;created= and the time in seconds since 1970")
	case age > p.MaxAge:
		return refuse(CodeCreated, "the signature is too old", "sign the request again; if it is new, the signer's clock is slow")
	case age < -p.MaxAhead:
		return refuse(CodeCreated, "the signature was created in the future", "the signer's clock is fast")
	case !s.Expires.IsZero() && !p.Now.Before(s.Expires):
		return &Error{Code: CodeExpired, Message: "the signature has expired", Expected: "a time after " + p.Now.UTC().Format(form), Got: s.Expires.Format(form),
			Help: "sign the request again"}
	}
	return nil
}

// Base returns the signature base of m and the bytes of the signature. Together they prove to
// others later who signed what. The base is "" if it contains the value of a header that carries a
// secret.
func (s Signature) Base(m Message) (text string, signature []byte, err error) {
	text, shown, err := signatureBase(m, s.list)
	if err != nil {
		return "", nil, err
	}
	if text != shown {
		text = ""
	}
	return text, s.value, nil
}
