package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"gazetteer/protocol/did"
)

// FormatStatement returns the text that keys sign: its kind and version on the first line, then one
// "name: value" a line, in a fixed order. People can read it, programs in any language can build
// it, and no kind can be mistaken for another.
func FormatStatement(kind string, lines ...[2]string) []byte {
	var b strings.Builder
	b.WriteString("gazetteer " + kind + " 1\n")
	for _, l := range lines {
		b.WriteString(l[0] + ": " + l[1] + "\n")
	}
	return []byte(b.String())
}

// RecoveryCommitment returns what an agent publishes about its recovery key in advance: "sha-256:"
// and base64url of the digest of the 32 bytes. The key itself stays secret until it is needed.
func RecoveryCommitment(recovery ed25519.PublicKey) string {
	sum := sha256.Sum256(recovery)
	return "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// checkCommitment checks a text that [RecoveryCommitment] returns; "" is none.
func checkCommitment(field, text string) error {
	digest, ok := strings.CutPrefix(text, "sha-256:")
	b, err := base64.RawURLEncoding.Strict().DecodeString(digest)
	if text == "" || ok && err == nil && len(b) == sha256.Size && !strings.ContainsAny(digest, "\r\n") {
		return nil
	}
	return &Error{Field: field, Code: "value", Message: fmt.Sprintf("Field '%s' is no commitment to a recovery key", field),
		Help: "write sha-256: and base64url of the SHA-256 of the 32 bytes of the recovery key"}
}

// A Rotation replaces the current key of an agent. Both keys sign its [Rotation.Statement]: the old
// key shows that the owner wants it, the new key that the owner holds it. It stays in the agent's
// history, so that anyone can follow the chain of keys without trusting the registry.
type Rotation struct {
	Agent   string    // its DID
	From    string    // the current key, as a multikey
	To      string    // the new one
	Created time.Time // whole seconds
	Nonce   string
	// Commitment is that to a recovery key, for an agent that has none yet.
	Commitment string

	OldSignature string // by From, over Statement, as "z…"
	NewSignature string // by To

	// Client is where the rotation came from; without an address it is not counted.
	Client netip.Addr
}

// Statement returns the text that both keys sign.
func (x Rotation) Statement() []byte {
	return FormatStatement("rotation",
		[2]string{"agent", x.Agent}, [2]string{"from", x.From}, [2]string{"to", x.To},
		[2]string{"created", FormatSecond(x.Created)}, [2]string{"nonce", x.Nonce}, [2]string{"recovery", textOrNone(x.Commitment)})
}

// NewRotation returns a rotation of the agent with that DID, created now and
// signed by both keys. Commitment is "" when none is to be added.
func NewRotation(agent string, old, next ed25519.PrivateKey, commitment string, now time.Time) Rotation {
	x := Rotation{Agent: agent, From: MultikeyOf(old), To: MultikeyOf(next), Created: now.UTC().Truncate(time.Second), Nonce: rand.Text(), Commitment: commitment}
	x.OldSignature = did.FormatSignature(ed25519.Sign(old, x.Statement()))
	x.NewSignature = did.FormatSignature(ed25519.Sign(next, x.Statement()))
	return x
}

// A Recovery replaces a key that is lost or stolen. It is signed by the recovery key, to which the
// agent committed before, and by the new key. Without a new key it withdraws the pending recovery.
type Recovery struct {
	Agent   string // its DID
	From    string // the current key, as a multikey
	To      string // the new one; "" to withdraw
	Key     string // the recovery key itself, now shown
	Next    string // the commitment to the next recovery key; "" for none
	Created time.Time
	Nonce   string

	RecoverySignature string // by Key, over Statement
	NewSignature      string // by To; "" to withdraw

	Client netip.Addr // as that of a Rotation
}

// Statement returns the text that the keys sign.
func (x Recovery) Statement() []byte {
	return FormatStatement("recovery",
		[2]string{"agent", x.Agent}, [2]string{"from", x.From}, [2]string{"to", textOrNone(x.To)}, [2]string{"recovery key", x.Key},
		[2]string{"next recovery", textOrNone(x.Next)}, [2]string{"created", FormatSecond(x.Created)}, [2]string{"nonce", x.Nonce})
}

// NewRecovery returns a recovery, created now and signed, of the agent with that DID whose current
// key is from. A nil next key withdraws the pending recovery.
func NewRecovery(agent, from string, recovery, next ed25519.PrivateKey, commitment string, now time.Time) Recovery {
	x := Recovery{Agent: agent, From: from, Key: MultikeyOf(recovery), Next: commitment, Created: now.UTC().Truncate(time.Second), Nonce: rand.Text()}
	if next != nil {
		x.To = MultikeyOf(next)
	}
	x.RecoverySignature = did.FormatSignature(ed25519.Sign(recovery, x.Statement()))
	if next != nil {
		x.NewSignature = did.FormatSignature(ed25519.Sign(next, x.Statement()))
	}
	return x
}

// registrationStatement returns the text that proves possession of a key for a registration by
// challenge. Host is the DID host of the registry, canonical the registration without its proof.
func registrationStatement(host, challenge, multikey string, canonical []byte) []byte {
	sum := sha256.Sum256(canonical)
	return FormatStatement("registration",
		[2]string{"registry", host}, [2]string{"challenge", challenge}, [2]string{"key", multikey},
		[2]string{"registration", "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])})
}

func textOrNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// FormatSecond writes a time as statements have it.
func FormatSecond(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func MultikeyOf(key ed25519.PrivateKey) string {
	return did.FormatMultikey(key.Public().(ed25519.PublicKey))
}

// CheckSigned checks that a key, given as a multikey, signed a text. Field is the member that holds
// the signature.
func CheckSigned(field, multikey string, text []byte, signature string) error {
	key, err := did.ParseMultikey(multikey)
	if err != nil {
		return FieldError(field, "Invalid key: ", err)
	}
	b, err := did.ParseSignature(signature)
	if err != nil {
		return FieldError(field, "Invalid "+field+": ", err)
	}
	if !ed25519.Verify(key, text, b) {
		return &Refusal{Kind: ErrUnauthorized, Code: "statement-signature", Message: fmt.Sprintf("the signature %s does not verify under %s", field, multikey),
			Help: "sign exactly the shown text, with its last line end, by the key that it names", Base: string(text)}
	}
	return nil
}

// checkFresh compares the time of a statement with the clock.
func checkFresh(created, now time.Time) error {
	if age := now.Sub(created); age <= maxSignatureAge && age >= -MaxSignatureAhead {
		return nil
	}
	return &Refusal{Kind: ErrUnauthorized, Code: "statement-created", Message: "the statement is not of this time", Got: FormatSecond(created),
		Expected: FormatSecond(now.Add(-maxSignatureAge)) + " to " + FormatSecond(now.Add(MaxSignatureAhead)), Help: "sign it again; the signer's clock may be wrong"}
}

// CheckNonce requires a nonce that is long enough not to occur twice by chance.
func CheckNonce(nonce string) error {
	if len(nonce) >= 8 && len(nonce) <= 128 && IsURIText(nonce) {
		return nil
	}
	return &Error{Field: "nonce", Code: "value", Message: "Field 'nonce' must be 8 to 128 characters of ASCII", Help: "use at least 64 random bits"}
}

// A SignedStatement is a statement that the current key of an agent signed.
type SignedStatement struct {
	Kind      string // what the statement asks for, for messages
	Agent     string // the DID in the statement
	Key       string // the multikey that signed
	Text      []byte // of the whole statement
	Field     string // the member of the body that holds Signature
	Signature string
	Created   time.Time
	Nonce     string
	Client    netip.Addr // where it came from; a failure without an address is not counted
}

// VerifyStatement reports whether the current key of the agent signed a statement that is fresh and
// new, and counts it as a write. A signature proves the key. A recovery under way forbids
// statements.
func (c *Change) VerifyStatement(ctx context.Context, s SignedStatement) (err error) {
	defer func() { err = c.registry.guard.RefuseFailure(ctx, s.Client, err) }()
	if err := c.checkStatementTarget(s.Agent, s.Key, s.Kind); err != nil {
		return err
	}
	if err := CheckSigned(s.Field, s.Key, s.Text, s.Signature); err != nil {
		return err
	}
	if err := c.Agent.CheckNoRecovery(); err != nil {
		return err
	}
	if err := checkFresh(s.Created, c.Now); err != nil {
		return err
	}
	if err := c.Agent.useNonce(s.Nonce, c.Now, s.Created); err != nil {
		return err
	}
	if err := c.registry.admitWrite(ctx, s.Client, &c.Agent, ByKey, c.Now); err != nil {
		return err
	}
	c.proof = &chargedProof{s.Client, ByKey}
	if c.Agent.KeyProof != "" {
		return nil
	}
	return c.proveKey(ctx, ProofStatement)
}

// NormalizeMultikey turns a key in base64url into a multikey. It returns other texts unchanged;
// they are refused when they are checked.
func NormalizeMultikey(text string) string {
	if key, err := did.ParsePublicKey(text); err == nil {
		return did.FormatMultikey(key)
	}
	return text
}
