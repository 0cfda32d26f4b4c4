package a2a

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// A Receipt is a relay's signed word that it received an envelope at a time. The
// draft has none, and so refuses all mail that waited for five minutes: with it the
// timestamp is judged once, when the relay receives the envelope. As JSON it is an
// object with the members below in lower case, "type" and "signature".
//
// There are two formats, which "type" names. The signature of an "A2AReceipt" covers
// the canonical JSON of the other members, as that of an envelope does. An
// "A2ABatchReceipt" also has the member "batch": the place of the receipt in a Merkle
// tree (RFC 9162 §2.1) of receipts that the relay signed together, and the hashes that
// lead to its root. See [SignReceipts].
type Receipt struct {
	Relay      string            // the relay's DID
	From       string            // of the envelope, as are To and ID
	To         string            //
	ID         string            //
	Digest     [sha256.Size]byte // of what the sender signed
	ReceivedAt time.Time         // milliseconds

	signature string
	canonical []byte // without signature and batch
	batch     *batchPlace
}

// The formats of receipts and of the signed root of a batch.
const (
	receiptType      = "A2AReceipt"
	batchReceiptType = "A2ABatchReceipt"
	batchType        = "A2AReceiptBatch"
)

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
	before, after := r.appendMembers(receiptType)
	signed := slices.Concat(before, after)
	return slices.Concat(before, appendText([]byte{','}, "signature", did.FormatSignature(ed25519.Sign(key, signed))), after)
}

// appendMembers returns the canonical JSON of a receipt in two parts, before and after the place of the
// signature.
func (r Receipt) appendMembers(format string) (before, after []byte) {
	before = appendText([]byte{'{'}, "envelope_sha256", hex.EncodeToString(r.Digest[:]))
	for _, member := range [...][2]string{{"from", r.From}, {"id", r.ID}, {"received_at", r.ReceivedAt.UTC().Format(timeFormat)}, {"relay", r.Relay}} {
		before = appendText(append(before, ','), member[0], member[1])
	}
	after = appendText([]byte{','}, "to", r.To)
	return before, append(appendText(append(after, ','), "type", format), '}')
}

// ReadReceipt reads what [Receipt.Sign] and [SignReceipts] write. The error is a [*Refusal].
func ReadReceipt(text []byte) (Receipt, error) {
	var d jcs.Document
	if err := parseJSON(&d, text, jcs.ExactIntegers); err != nil {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt cannot be read").withCause(err)
	}
	root := d.Root()
	digest, err := hex.DecodeString(root.Member("envelope_sha256").Text())
	at, ok := parseTime(root.Member("received_at").Text())
	format := root.Member("type").Text()
	if err != nil || len(digest) != sha256.Size || !ok || format != receiptType && format != batchReceiptType {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt lacks members")
	}
	r := Receipt{
		Relay: root.Member("relay").Text(), From: root.Member("from").Text(), To: root.Member("to").Text(), ID: root.Member("id").Text(),
		Digest: [sha256.Size]byte(digest), ReceivedAt: at,
		signature: root.Member("signature").Text(), canonical: root.AppendWith(nil, "signature", nil),
	}
	if format == receiptType {
		return r, nil
	}
	if r.batch, err = readBatchPlace(root.Member("batch")); err != nil {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt has no place in a batch").withCause(err)
	}
	var unsigned jcs.Document
	if err := parseJSON(&unsigned, r.canonical, jcs.ExactIntegers); err != nil {
		return Receipt{}, newRefusal(RuleReceipt, "the receipt cannot be read").withCause(err)
	}
	r.canonical = unsigned.Root().AppendWith(nil, "batch", nil)
	return r, nil
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
	signed := r.canonical
	if r.batch != nil {
		if signed, err = r.batch.signedText(r.Relay, r.canonical); err != nil {
			return newRefusal(RuleReceipt, "the receipt is not in its batch").withCause(err)
		}
	}
	if len(relay) != ed25519.PublicKeySize || !ed25519.Verify(relay, signed, signature) {
		return newRefusal(RuleReceipt, "the signature of the receipt does not verify")
	}
	return nil
}

// A batchPlace leads from one receipt to the root of the Merkle tree of its batch.
type batchPlace struct {
	index, size uint64
	path        [][]byte // hashes, from the leaf up
}

// An UnsignedReceipt is a receipt that waits to be signed, alone or in a batch.
type UnsignedReceipt struct {
	receipt       Receipt
	before, after []byte // the JSON of a batch receipt, around the signature
	leaf          []byte
}

// Prepare does the part of signing that each receipt of a batch needs for itself.
func (r Receipt) Prepare() UnsignedReceipt {
	before, after := r.appendMembers(batchReceiptType)
	return UnsignedReceipt{r, before, after, rfc6962.DefaultHasher.HashLeaf(slices.Concat(before, after))}
}

// SignReceipts returns receipts of one relay as JSON, in their order, with one signature for all of
// them: over the canonical JSON
//
//	{"relay": "did:…", "root": "hex", "size": 64, "type": "A2AReceiptBatch"}
//
// where root is that of a Merkle tree (RFC 9162 §2.1) whose leaves are the canonical JSON of the
// receipts without "signature" and "batch". A single receipt is signed by itself.
func SignReceipts(receipts []UnsignedReceipt, key ed25519.PrivateKey) [][]byte {
	switch len(receipts) {
	case 0:
		return nil
	case 1:
		return [][]byte{receipts[0].receipt.Sign(key)}
	}
	levels := hashLevels(receipts)
	root := levels[len(levels)-1][0]
	text := formatBatch(receipts[0].receipt.Relay, root, uint64(len(receipts)))
	signature := appendText([]byte{','}, "signature", did.FormatSignature(ed25519.Sign(key, text)))
	out := make([][]byte, len(receipts))
	for i, r := range receipts {
		place := appendPlace(make([]byte, 0, 128+70*len(levels)+len(r.before)+len(signature)+len(r.after)), i, levels)
		place = append(append(place, ','), r.before[1:]...)
		out[i] = append(append(place, signature...), r.after...)
	}
	return out
}

// hashLevels returns the hashes of a Merkle tree, from the leaves to the root. A hash without a sibling
// is passed on to the next level.
func hashLevels(receipts []UnsignedReceipt) [][][]byte {
	level := make([][]byte, len(receipts))
	for i, r := range receipts {
		level[i] = r.leaf
	}
	levels := [][][]byte{level}
	for len(level) > 1 {
		next := make([][]byte, 0, (len(level)+1)/2)
		for pair := range slices.Chunk(level, 2) {
			if len(pair) == 1 {
				next = append(next, pair[0])
				continue
			}
			next = append(next, rfc6962.DefaultHasher.HashChildren(pair[0], pair[1]))
		}
		level = next
		levels = append(levels, level)
	}
	return levels
}

// appendPlace begins the JSON of a receipt with its place in a batch.
func appendPlace(out []byte, index int, levels [][][]byte) []byte {
	out = strconv.AppendInt(append(out, `{"batch":{"index":`...), int64(index), 10)
	out = append(out, `,"path":[`...)
	first := true
	for at, level := 0, index; at < len(levels)-1; at, level = at+1, level/2 {
		sibling := level ^ 1
		if sibling >= len(levels[at]) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(hex.AppendEncode(append(out, '"'), levels[at][sibling]), '"')
	}
	out = strconv.AppendInt(append(out, `],"size":`...), int64(len(levels[0])), 10)
	return append(out, '}')
}

// formatBatch is what the relay signs for a batch.
func formatBatch(relay string, root []byte, size uint64) []byte {
	out := appendText([]byte{'{'}, "relay", relay)
	out = appendText(append(out, ','), "root", hex.EncodeToString(root))
	out = strconv.AppendUint(append(out, `,"size":`...), size, 10)
	return append(appendText(append(out, ','), "type", batchType), '}')
}

// readBatchPlace reads the member "batch" of a receipt.
func readBatchPlace(batch jcs.Value) (*batchPlace, error) {
	var p batchPlace
	var ok [2]bool
	p.index, ok[0] = batch.Member("index").Uint64()
	p.size, ok[1] = batch.Member("size").Uint64()
	if !ok[0] || !ok[1] {
		return nil, errors.New("batch.index and batch.size must be numbers")
	}
	path := batch.Member("path")
	if path.Kind() != jcs.Array {
		return nil, errors.New("batch.path is no list")
	}
	for v := range path.Elements() {
		hash, err := hex.DecodeString(v.Text())
		if err != nil || len(hash) != sha256.Size {
			return nil, errors.New("batch.path has an element that is no SHA-256 in hexadecimal digits")
		}
		p.path = append(p.path, hash)
	}
	return &p, nil
}

// signedText returns what the relay signed, if the path leads from the leaf to it.
func (p *batchPlace) signedText(relay string, leaf []byte) ([]byte, error) {
	root, err := proof.RootFromInclusionProof(rfc6962.DefaultHasher, p.index, p.size, rfc6962.DefaultHasher.HashLeaf(leaf), p.path)
	if err != nil {
		return nil, err
	}
	return formatBatch(relay, root, p.size), nil
}
