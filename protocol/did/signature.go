package did

import (
	"crypto/ed25519"
	"fmt"

	"github.com/mr-tron/base58"
)

// CodeSignature is the code of errors about a signature as text.
const CodeSignature = "signature"

// A signature of 64 bytes takes at most 88 characters of base58.
const maxSignatureText = 1 + 88

// FormatSignature writes a signature as "z" and base58btc.
func FormatSignature(signature []byte) string { return "z" + base58.Encode(signature) }

// ParseSignature reads what [FormatSignature] writes. The length is checked
// before anything is decoded. The error is an [*Error].
func ParseSignature(text string) ([]byte, error) {
	if text == "" || text[0] != 'z' {
		return nil, &Error{CodeSignature, "a signature begins with 'z' (base58btc)", "write 'z' and base58btc of the 64 bytes"}
	}
	if len(text) > maxSignatureText {
		return nil, &Error{CodeSignature, fmt.Sprintf("a signature has at most %d characters (got %d)", maxSignatureText, len(text)), "write 'z' and base58btc of the 64 bytes"}
	}
	b, err := base58.Decode(text[1:])
	if err != nil {
		return nil, &Error{CodeSignature, "the signature is not base58btc", "the alphabet has no 0, O, I and l"}
	}
	if len(b) != ed25519.SignatureSize {
		return nil, &Error{CodeSignature, fmt.Sprintf("an Ed25519 signature has 64 bytes (got %d)", len(b)), "write 'z' and base58btc of the 64 bytes"}
	}
	return b, nil
}
