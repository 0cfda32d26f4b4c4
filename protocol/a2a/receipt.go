package a2a

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// A Receipt is a relay's signed word that it received an envelope at a time. The
// draft has none, and so refuses all mail that waited for five minutes: with it the
// timestamp is judged once, when the relay receives the envelope. As JSON it is an
// object with the members below in lower case, "type" and "signature", which covers
// the canonical JSON of the others as that of an envelope does.
type Receipt struct {
	Relay      string            // the relay's DID
	From       string            // of the envelope, as are To and ID
	To         string            //
	ID         string            //
	Digest     [sha256.Size]byte // of what the sender signed
	ReceivedAt time.Time         // milliseconds

	signature string
	canonical []byte
}

const receiptType = "A2AReceipt"

// RelayFragment names the key of receipts in the DID document of the registry that runs the relay.
const RelayFragment = "#relay-1"

// RelayKeyOf returns the key of receipts in the DID document of a registry. The error is a [*Refusal]
// when there is none.
func RelayKeyOf(registry did.Document) (ed25519.PublicKey, error) {
	for _, method := range registry.VerificationMethod {
		if method.ID != registry.ID+RelayFragment {
			continue
		}
		key, err := did.ParseMultikey(method.PublicKeyMultibase)
		if err != nil {
			return nil, newRefusal(RuleReceipt, "the key of the relay cannot be read").withCause(err)
		}
		return key, nil
	}
	return nil, newRefusal(RuleReceipt, "the registry's DID document has no key "+RelayFragment)
}

// NewReceipt returns the receipt of an envelope, for [Receipt.Sign].
func NewReceipt(relay string, e *Envelope, at time.Time) Receipt {
	return Receipt{Relay: relay, From: e.From, To: e.To, ID: e.ID, Digest: e.Digest(), ReceivedAt: at.UTC().Truncate(time.Millisecond)}
}

// Sign returns the receipt as JSON, signed with the relay's key.
func (r Receipt) Sign(key ed25519.PrivateKey) []byte {
	out := appendText([]byte{'{'}, "envelope_sha256", hex.EncodeToString(r.Digest[:]))
	for _, member := range [...][2]string{{"from", r.From}, {"id", r.ID}, {"received_at", r.ReceivedAt.UTC().Format(timeFormat)}, {"relay", r.Relay}} {
		out = appendText(append(out, ','), member[0], member[1])
	}
	after := appendText([]byte{','}, "to", r.To)
	after = append(appendText(append(after, ','), "type", receiptType), '}')
	signed := append(out[:len(out):len(out)], after...)
	out = appendText(append(out, ','), "signature", did.FormatSignature(ed25519.Sign(key, signed)))
	return append(out, after...)
}

// ReadReceipt reads what [Receipt.Sign] writes. The error is a [*Refusal].
func ReadReceipt(text []byte) (Receipt, error) {
	var d jcs.Document
	if err := parseJSON(&d, text, jcs.ExactIntegers); err != nil {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt cannot be read").withCause(err)
	}
	root := d.Root()
	digest, err := hex.DecodeString(root.Member("envelope_sha256").Text())
	at, ok := parseTime(root.Member("received_at").Text())
	if err != nil || len(digest) != sha256.Size || !ok || root.Member("type").Text() != receiptType {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt lacks members")
	}
	return Receipt{
		Relay: root.Member("relay").Text(), From: root.Member("from").Text(), To: root.Member("to").Text(), ID: root.Member("id").Text(),
		Digest: [sha256.Size]byte(digest), ReceivedAt: at,
		signature: root.Member("signature").Text(), canonical: root.AppendWith(nil, "signature", nil),
	}, nil
}

// Verify reports whether a receipt that was read is that of an envelope and signed
// with the relay's key. The error is a [*Refusal].
func (r Receipt) Verify(e *Envelope, relay ed25519.PublicKey) error {
	if r.Digest != e.Digest() || r.From != e.From || r.To != e.To || r.ID != e.ID {
		return newRefusal(RuleReceipt, "the receipt is that of another envelope")
	}
	signature, err := did.ParseSignature(r.signature)
	if err != nil {
		return newRefusal(RuleReceipt, "the signature of the receipt cannot be read").withCause(err)
	}
	if len(relay) != ed25519.PublicKeySize || !ed25519.Verify(relay, r.canonical, signature) {
		return newRefusal(RuleReceipt, "the signature of the receipt does not verify")
	}
	return nil
}
