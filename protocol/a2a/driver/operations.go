package driver

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// input is the member "input" of a case.
type input struct{ members map[string]jsontext.Value }

func (c *input) readText(name string) (string, error) {
	text, ok := textOf(c.members[name])
	if !ok {
		return "", fmt.Errorf("input.%s is no string", name)
	}
	return text, nil
}

func (c *input) readBytes(name string) ([]byte, error) {
	text, err := c.readText(name)
	if err != nil {
		return nil, err
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, fmt.Errorf("input.%s is no standard base64", name)
	}
	return b, nil
}

func (c *input) readHex(name string, length int) ([]byte, error) {
	text, err := c.readText(name)
	if err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != length {
		return nil, fmt.Errorf("input.%s is not %d bytes in hexadecimal", name, length)
	}
	return b, nil
}

// readJSON returns JSON that is given as a string or as a value, and which of the two.
func (c *input) readJSON(name string) (text []byte, quoted bool, err error) {
	v := c.members[name]
	if v.Kind() == '"' {
		inner, _ := textOf(v)
		return []byte(inner), true, nil
	}
	if v == nil {
		return nil, false, fmt.Errorf("input.%s is missing", name)
	}
	return v, false, nil
}

// readTime reads RFC 3339, or seconds or milliseconds since 1970.
func (c *input) readTime(name string) (time.Time, error) {
	if text, ok := textOf(c.members[name]); ok {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t, nil
		}
	} else if n, err := strconv.ParseFloat(string(c.members[name]), 64); err == nil && math.Abs(n) < 1e15 {
		if math.Abs(n) > 1e11 {
			n /= 1000
		}
		return time.UnixMilli(int64(math.Round(n * 1000))).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("input.%s is no time", name)
}

func (c *input) answerCanonicalize() Result {
	text, err := c.readBytes("json_b64")
	if err != nil {
		return rejectedResult(err)
	}
	canonical, err := jcs.Canonicalize(text, jcs.Options{})
	if err != nil {
		return rejectedResult(err)
	}
	r := acceptedResult()
	r.CanonicalB64, r.CanonicalSHA256 = base64.StdEncoding.EncodeToString(canonical), digestOf(canonical)
	return r
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (c *input) answerDecodeKey() Result {
	text, err := c.readText("public_key_multibase")
	if err != nil {
		return rejectedResult(err)
	}
	return keyResult(did.ParseMultikey(text))
}

func (c *input) answerRegisterKey() Result {
	text, err := c.readText("public_key_base64url")
	if err != nil {
		return rejectedResult(err)
	}
	r := keyResult(did.ParsePublicKey(text))
	if r.Verdict == Accept {
		r.Status = http.StatusCreated
	}
	return r
}

func keyResult(key ed25519.PublicKey, err error) Result {
	if err != nil {
		return rejectedResult(err)
	}
	r := acceptedResult()
	r.PublicKeyHex = hex.EncodeToString(key)
	return r
}

func (c *input) answerSeal() Result {
	sealed, quoted, err := c.sealBody()
	if err != nil {
		return rejectedResult(err)
	}
	r := acceptedResult()
	r.SealedBodyJSON = sealed
	if quoted {
		if r.SealedBodyJSON, err = json.Marshal(string(sealed)); err != nil {
			return rejectedResult(err)
		}
	}
	return r
}

func (c *input) sealBody() (sealed []byte, quoted bool, err error) {
	env, err := membersOf(c.members["env"])
	if err != nil {
		return nil, false, fmt.Errorf("input.env: %w", err)
	}
	var b a2a.Binding
	for name, field := range map[string]*string{"from": &b.From, "to": &b.To, "id": &b.ID, "thread_id": &b.ThreadID} {
		var ok bool
		if *field, ok = textOf(env[name]); !ok {
			return nil, false, fmt.Errorf("input.env.%s is no string", name)
		}
	}
	body, quoted, err := c.readJSON("body_json")
	if err != nil {
		return nil, false, err
	}
	text, err := c.readText("recipient_public_multibase")
	if err != nil {
		return nil, false, err
	}
	recipient, err := did.ParseMultikey(text)
	if err != nil {
		return nil, false, err
	}
	var secret a2a.SealSecret
	ephemeral, err := c.readHex("eph_secret_hex", len(secret.Ephemeral))
	if err != nil {
		return nil, false, err
	}
	nonce, err := c.readHex("nonce_hex", len(secret.Nonce))
	if err != nil {
		return nil, false, err
	}
	copy(secret.Ephemeral[:], ephemeral)
	copy(secret.Nonce[:], nonce)
	box, err := a2a.Seal(body, b, recipient, secret)
	if err != nil {
		return nil, false, err
	}
	return box.JSON(), quoted, nil
}

func (c *input) answerDeriveAirID() Result {
	text, _, err := c.readJSON("identity_document_json")
	if err != nil {
		return rejectedResult(err)
	}
	id, err := did.DeriveAirID(text)
	if err != nil {
		return rejectedResult(err)
	}
	r := acceptedResult()
	r.AirID = id
	return r
}

func (c *input) answerParseAirID() Result {
	id, err := c.readText("air_id")
	if err == nil {
		err = did.CheckAirID(id)
	}
	if err != nil {
		return rejectedResult(err)
	}
	r := acceptedResult()
	r.AirID = id
	return r
}

// world resolves the DIDs of one case and no others. It reads each document once.
type world struct {
	texts map[string]jsontext.Value
	mu    sync.Mutex // guards read
	read  map[string]resolved
}

type resolved struct {
	document did.Document
	err      error
}

// readWorld reads did_documents; without any, no DID resolves.
func (c *input) readWorld() (*world, error) {
	if c.members["did_documents"] == nil {
		return &world{}, nil
	}
	texts, err := membersOf(c.members["did_documents"])
	if err != nil {
		return nil, fmt.Errorf("input.did_documents: %w", err)
	}
	return &world{texts: texts, read: map[string]resolved{}}, nil
}

// Resolve implements [a2a.Resolver].
func (w *world) Resolve(_ context.Context, id string) (did.Document, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.read[id]; ok {
		return d.document, d.err
	}
	text, ok := w.texts[id]
	if !ok {
		return did.Document{}, a2a.ErrUnknownSender
	}
	d, err := did.ParseDocument(text, id)
	if err != nil {
		err = fmt.Errorf("%w: %v", a2a.ErrUnknownSender, err)
	}
	w.read[id] = resolved{d, err}
	return d, err
}

// judged is an envelope whose signature was verified in the wire profile. An envelope that is
// well-formed in the strict profile is also well-formed in the wire profile, with the same
// canonical form, so one verification is enough.
type judged struct {
	verified *a2a.Verified
	strict   error // of the form
	wire     error // of the form or the signature
}

func judgeText(ctx context.Context, w *world, text []byte) judged {
	var j judged
	_, j.strict = a2a.Read(text, a2a.Strict)
	j.verified, j.wire = a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: w}}.Authenticate(ctx, text)
	return j
}

// inProfile returns the envelope, or the refusal, in a profile.
func (j judged) inProfile(p a2a.Profile) (*a2a.Verified, error) {
	if p == a2a.Strict && j.strict != nil {
		return nil, j.strict
	}
	return j.verified, j.wire
}

// freshInProfile does the same and then checks the clock.
func (j judged) freshInProfile(p a2a.Profile, now time.Time) (*a2a.Verified, error) {
	v, err := j.inProfile(p)
	if err == nil {
		err = v.CheckFresh(now)
	}
	return v, err
}

// judgeEnvelope reads and verifies the envelope of a case.
func (c *input) judgeEnvelope(ctx context.Context) (j judged, w *world, now time.Time, err error) {
	text, err := c.readBytes("envelope_b64")
	if err != nil {
		return j, nil, now, err
	}
	if now, err = c.readTime("now"); err != nil {
		return j, nil, now, err
	}
	if w, err = c.readWorld(); err != nil {
		return j, nil, now, err
	}
	return judgeText(ctx, w, text), w, now, nil
}

// inBoth returns the answer in each profile.
func inBoth(answer func(p a2a.Profile) Result) (results [2]Result) {
	for i, p := range profiles {
		results[i] = answer(p)
	}
	return results
}

func (c *input) answerVerify(ctx context.Context) [2]Result {
	j, _, now, err := c.judgeEnvelope(ctx)
	if err != nil {
		return inBoth(func(a2a.Profile) Result { return rejectedResult(err) })
	}
	return inBoth(func(p a2a.Profile) Result {
		v, err := j.freshInProfile(p, now)
		if err != nil {
			return rejectedResult(err)
		}
		r := acceptedResult()
		r.CanonicalSHA256, r.SignatureForm = digestOf(v.Canonical()), v.Form.String()
		return r
	})
}

func (c *input) answerOpen(ctx context.Context) [2]Result {
	j, w, now, err := c.judgeEnvelope(ctx)
	seed, wrongSeed := c.readHex("recipient_seed_hex", ed25519.SeedSize)
	if err = errors.Join(err, wrongSeed); err != nil {
		return inBoth(func(a2a.Profile) Result { return rejectedResult(err) })
	}
	key := ed25519.NewKeyFromSeed(seed)
	return inBoth(func(p a2a.Profile) Result {
		v, err := j.freshInProfile(p, now)
		if err != nil {
			return rejectedResult(err)
		}
		if v.Body.Type() != a2a.TypeEncrypted {
			return rejectedResult(errors.New("the body is not sealed"))
		}
		recipient := a2a.Receiver{Keys: []ed25519.PrivateKey{key}, Rotated: w.hasOtherKeys(ctx, v.To, key)}
		opened, err := recipient.Open(v)
		if err != nil {
			return rejectedResult(err)
		}
		r := acceptedResult()
		r.PlaintextB64 = base64.StdEncoding.EncodeToString(opened.Plaintext)
		if !opened.Canonical {
			r.Warning = "the content of the sealed body is not canonical (A2A §14.4)"
		}
		return r
	})
}

// answerReceive delivers the steps to one new recipient in each profile.
func (c *input) answerReceive(ctx context.Context) [2]Result {
	w, err := c.readWorld()
	var steps []step
	if err == nil {
		steps, err = c.readSteps()
	}
	if err != nil {
		return inBoth(func(a2a.Profile) Result { return rejectedResult(err) })
	}
	judgeAll(ctx, w, steps)
	return inBoth(func(p a2a.Profile) Result {
		var now time.Time
		recipient := a2a.Receiver{Verifier: a2a.Verifier{Profile: p, Now: func() time.Time { return now }}, Store: &a2a.MemoryStore{}}
		r := acceptedResult()
		for _, s := range steps {
			now = s.now
			o := s.receiveStep(ctx, &recipient, p)
			if o.Verdict == Reject && r.Verdict == Accept {
				r.Outcome = o // the first that is rejected stands for the case
			}
			r.Steps = append(r.Steps, o)
		}
		return r
	})
}

// step is one delivery of receive_all.
type step struct {
	text   []byte
	now    time.Time
	pulled bool
	wrong  error // why the step itself cannot be read
	same   *step // an earlier one of the same bytes
	judged judged
}

// Limits of a case, which must be answered within 2 seconds: a step costs up to four verifications,
// and normalizes its text. maxSteps is more than the replay window of a thread holds.
const (
	maxSteps     = 12_000
	maxStepBytes = 16 << 20 // of all steps
)

func (c *input) readSteps() ([]step, error) {
	elements, err := elementsOf(c.members["steps"])
	if err != nil {
		return nil, fmt.Errorf("input.steps: %w", err)
	}
	if array := c.members["steps"]; len(elements) > maxSteps || len(array) > maxStepBytes {
		return nil, fmt.Errorf("input.steps: %d steps in %d bytes; a case has at most %d in %d", len(elements), len(array), maxSteps, maxStepBytes)
	}
	steps := make([]step, len(elements))
	for i, element := range elements {
		s := &steps[i]
		var one input
		if one.members, s.wrong = membersOf(element); s.wrong != nil {
			continue
		}
		if s.text, s.wrong = one.readBytes("envelope_b64"); s.wrong != nil {
			continue
		}
		s.now, s.wrong = one.readTime("now")
		via, _ := textOf(one.members["via"])
		s.pulled = via == "pull"
	}
	return steps, nil
}

// judgeAll verifies the signatures of all steps, which are independent of each other, on all
// processors. It verifies an envelope that occurs again only once.
func judgeAll(ctx context.Context, w *world, steps []step) {
	first := map[string]*step{}
	var distinct []*step
	for i := range steps {
		s := &steps[i]
		if s.wrong != nil {
			continue
		}
		if s.same = first[string(s.text)]; s.same == nil {
			first[string(s.text)] = s
			distinct = append(distinct, s)
		}
	}
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for n := range min(workers, len(distinct)) {
		group.Go(func() {
			for i := n; i < len(distinct); i += workers {
				distinct[i].judged = judgeText(ctx, w, distinct[i].text)
			}
		})
	}
	group.Wait()
	for i := range steps {
		if steps[i].same != nil {
			steps[i].judged = steps[i].same.judged
		}
	}
}

func (s *step) receiveStep(ctx context.Context, recipient *a2a.Receiver, p a2a.Profile) Outcome {
	if s.wrong != nil {
		return outcomeOf(s.wrong)
	}
	v, err := s.judged.inProfile(p)
	if err != nil {
		return outcomeOf(err)
	}
	received, err := recipient.Accept(ctx, v, a2a.Arrival{Pulled: s.pulled})
	o := outcomeOf(err)
	if received.AlreadyProcessed {
		o.Verdict = AlreadyProcessed
	}
	return o
}

// hasOtherKeys reports whether the document of a recipient has another Ed25519 key than the given one.
// A sealed body that does not open may then be sealed to that key.
func (w *world) hasOtherKeys(ctx context.Context, id string, key ed25519.PrivateKey) bool {
	d, err := w.Resolve(ctx, id)
	if err != nil {
		return false
	}
	own := key.Public().(ed25519.PublicKey)
	return slices.ContainsFunc(d.VerificationMethod, func(m did.VerificationMethod) bool {
		other, err := did.ParseMultikey(m.PublicKeyMultibase)
		return err == nil && !own.Equal(other)
	})
}
