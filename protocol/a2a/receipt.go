package a2a

import (
	"crypto/ed25519"
	"crypto/rand"
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

// A Receipt is a relay's signed statement that it received an envelope at a time. The draft has no
// receipts, so by the draft all mail that waits longer than five minutes is refused. With a receipt
// the timestamp is checked once, against the time when the relay received the envelope. As JSON it
// is an object with the members below in lower case, "type" and "signature".
//
// There are two formats, which "type" names. The signature of an "A2AReceipt" covers the canonical
// JSON of the other members, like that of an envelope. An "A2ABatchReceipt" also has the member
// "batch": the position of the receipt in a Merkle tree (RFC 9162 §2.1) of receipts that the relay
// signed together, and the hashes that lead to its root; and a random "salt". See [SignReceipts].
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

// RelayFragment is the fragment of the key that signs receipts, in the DID document of the registry
// that runs the relay.
const RelayFragment = "#relay-1"

// RelayKeyOf returns the key that signs receipts, from the DID document of a registry. The error is
// a [*Refusal] if there is none.
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

// ReadReceipt reads a receipt in either format that [Receipt.Sign] and [SignReceipts] write. The
// error is a [*Refusal].
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

// Verify reports whether the receipt belongs to the envelope and is signed with the relay's key.
// The error is a [*Refusal].
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

// A batchPlace is the position of a receipt in its batch: the path from its leaf to the root of the
// Merkle tree.
type batchPlace struct {
	index, size uint64
	path        [][]byte // hashes, from the leaf up
}

// An UnsignedReceipt is a receipt that waits for [SignReceipts].
type UnsignedReceipt struct {
	receipt       Receipt
	before, after []byte // the JSON of a batch receipt, around the signature
	leaf          []byte
}

// Prepare computes everything about a receipt that does not depend on the rest of its batch. A random
// member keeps others from guessing it: of a receipt in the batch that the relay does not hand out,
// because it refused the envelope after all, a receipt beside it shows the hash.
func (r Receipt) Prepare() UnsignedReceipt {
	before, after := r.appendMembers(batchReceiptType)
	before = appendText(append(before, ','), "salt", rand.Text())
	return UnsignedReceipt{r, before, after, rfc6962.DefaultHasher.HashLeaf(slices.Concat(before, after))}
}

// A ReceiptBatch has receipts that are signed together.
type ReceiptBatch struct {
	receipts  []UnsignedReceipt
	levels    [][][]byte // of the Merkle tree, nil for a single receipt
	signature []byte     // the member of that name, or the whole single receipt
}

// SignReceipts signs receipts of one relay, with one signature for all of them: over the canonical JSON
//
//	{"relay": "did:…", "root": "hex", "size": 64, "type": "A2AReceiptBatch"}
//
// where root is that of a Merkle tree (RFC 9162 §2.1) whose leaves are the canonical JSON of the
// receipts without "signature" and "batch". A single receipt is signed by itself.
func SignReceipts(receipts []UnsignedReceipt, key ed25519.PrivateKey) ReceiptBatch {
	switch len(receipts) {
	case 0:
		return ReceiptBatch{}
	case 1:
		return ReceiptBatch{receipts: receipts, signature: receipts[0].receipt.Sign(key)}
	}
	levels := hashLevels(receipts)
	root := levels[len(levels)-1][0]
	text := formatBatch(receipts[0].receipt.Relay, root, uint64(len(receipts)))
	return ReceiptBatch{receipts, levels, appendText([]byte{','}, "signature", did.FormatSignature(ed25519.Sign(key, text)))}
}

// Receipt returns the receipt at an index as JSON.
func (b ReceiptBatch) Receipt(index int) []byte {
	if b.levels == nil {
		return b.signature
	}
	r := b.receipts[index]
	out := appendPlace(make([]byte, 0, 128+70*len(b.levels)+len(r.before)+len(b.signature)+len(r.after)), index, b.levels)
	out = append(append(out, ','), r.before[1:]...)
	return append(append(out, b.signature...), r.after...)
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

// formatBatch returns the text that the relay signs for a batch.
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

// signedText returns the text that the relay signed, if the path leads from the leaf to its root.
func (p *batchPlace) signedText(relay string, leaf []byte) ([]byte, error) {
	root, err := proof.RootFromInclusionProof(rfc6962.DefaultHasher, p.index, p.size, rfc6962.DefaultHasher.HashLeaf(leaf), p.path)
	if err != nil {
		return nil, err
	}
	return formatBatch(relay, root, p.size), nil
}
