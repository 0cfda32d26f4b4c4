package checkpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"gazetteer/protocol"

	"golang.org/x/mod/sumdb/note"
)

// A cosignature states that at a given time the checkpoint was the largest head of its log that the
// witness knew, and that it is consistent with all earlier heads (C2SP tlog-cosignature,
// cosignature/v1):
//
//	signature = time 8 bytes | Ed25519 signature of "cosignature/v1\ntime {time}\n" and the checkpoint's text
const (
	algEd25519     = 1
	algCosignature = 4

	cosignatureBytes = 8 + ed25519.SignatureSize
)

// cosignedMessage returns the bytes that an Ed25519 cosigner signs.
func cosignedMessage(seconds uint64, text []byte) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", seconds), text...)
}

// keyHash returns the key hash for signature lines.
func keyHash(name string, alg byte, public ed25519.PublicKey) uint32 {
	sum := sha256.Sum256(append([]byte(name+"\n"+string(alg)), public...))
	return binary.BigEndian.Uint32(sum[:])
}

// PublicWitness returns the key with which clients of a witness are configured: as [Key.Public],
// with the signature type of cosignatures.
func (k *Key) PublicWitness() string {
	public := append([]byte{algCosignature}, k.publicKey()...)
	return fmt.Sprintf("%s+%08x+%s", k.name, keyHash(k.name, algCosignature, k.publicKey()), base64.StdEncoding.EncodeToString(public))
}

// NewCosigner returns the note.Signer of a witness, which signs with the time of a clock.
func NewCosigner(key *Key, now func() time.Time) note.Signer { return cosigner{key, now} }

type cosigner struct {
	key *Key
	now func() time.Time
}

func (c cosigner) Name() string    { return c.key.name }
func (c cosigner) KeyHash() uint32 { return keyHash(c.key.name, algCosignature, c.key.publicKey()) }

func (c cosigner) Sign(text []byte) ([]byte, error) {
	seconds := uint64(max(c.now().Unix(), 0))
	signature := binary.BigEndian.AppendUint64(nil, seconds)
	return append(signature, ed25519.Sign(c.key.private, cosignedMessage(seconds, text))...), nil
}

// NewVerifier reads a public key in the form "{name}+{hash}+{base64}": one of a
// log (Ed25519, type 1) or of a witness (cosignature/v1, type 4).
func NewVerifier(public string) (note.Verifier, error) {
	if v, err := note.NewVerifier(public); err == nil {
		return v, CheckName(v.Name())
	}
	name, rest, _ := strings.Cut(public, "+")
	number, text, _ := strings.Cut(rest, "+")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) != 1+ed25519.PublicKeySize || data[0] != algEd25519 && data[0] != algCosignature {
		return nil, fmt.Errorf("%q is not a public key: want name+hash+base64 of an Ed25519 key, as the log's file \"key\" has it", protocol.ClipBytes(public, MaxQuoted))
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	v := cosignatureVerifier{name, data[1:]}
	if number != fmt.Sprintf("%08x", keyHash(name, data[0], v.public)) {
		return nil, fmt.Errorf("the public key of %s has a typing error: its parts do not fit the number %s", name, protocol.ClipBytes(number, MaxQuoted))
	}
	return v, nil
}

// A cosignatureVerifier is the note.Verifier of a witness.
type cosignatureVerifier struct {
	name   string
	public ed25519.PublicKey
}

func (v cosignatureVerifier) Name() string    { return v.name }
func (v cosignatureVerifier) KeyHash() uint32 { return keyHash(v.name, algCosignature, v.public) }

func (v cosignatureVerifier) Verify(text, signature []byte) bool {
	if len(signature) != cosignatureBytes {
		return false
	}
	seconds := binary.BigEndian.Uint64(signature)
	return seconds < 1<<63 && ed25519.Verify(v.public, cosignedMessage(seconds, text), signature[8:])
}

// CheckCosignature checks that a checkpoint has a cosignature of a witness, and returns its time.
// It does not check the log's own signature: use [Parse].
func CheckCosignature(signed []byte, witness note.Verifier) (time.Time, error) {
	_, n, err := Open(signed, witness)
	if err != nil {
		return time.Time{}, err
	}
	for _, s := range n.Sigs { // only valid ones
		if at := CosignatureTime(s); !at.IsZero() {
			return at, nil
		}
	}
	return time.Time{}, errors.New("the checkpoint is not cosigned by " + witness.Name())
}

// CosignatureTime returns the time of a valid cosignature, zero for another kind of signature.
func CosignatureTime(s note.Signature) time.Time {
	data, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil || len(data) != 4+cosignatureBytes {
		return time.Time{}
	}
	return time.Unix(int64(binary.BigEndian.Uint64(data[4:])), 0).UTC()
}
