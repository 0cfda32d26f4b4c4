// Package httpsig signs HTTP requests with Ed25519 and verifies such signatures, as RFC 9421 (HTTP
// Message Signatures) and RFC 9530 (Content-Digest) define. With a signature, an agent proves that
// a request is its own without sending a secret.
//
// A client calls [Sign]. A server makes a [Message] from the request, calls [Read] to learn which
// key the signature names, finds that key, and calls [Signature.Verify] with [Requirements], which
// name the components that must be covered and how old a signature may be. Only the named
// components are verified: the requirements, not the signer, decide what is enough.
//
//	message.go	  what a signature is made over
//	base.go	     the signature base, line by line (RFC 9421 §2)
//	sign.go	     what a client does
//	verify.go	   what a server does
//	digest.go	   Content-Digest
//
// The package keeps no nonces: the caller, who has a store, checks whether one was used before.
// Responses, trailers, the parameters sf, req and tr of RFC 9421, and keys of other kinds than
// Ed25519 are refused by name.
package httpsig

import "strings"

// Codes of an [Error].
const (
	CodeMissing   = "signature-missing"   // the request carries no signature
	CodeSyntax    = "signature-syntax"    // Signature-Input or Signature cannot be read
	CodeAlgorithm = "signature-algorithm" // another algorithm than ed25519
	CodeComponent = "signature-component" // a component that the request lacks or this package does not know
	CodeCoverage  = "signature-coverage"  // a component that the policy asks for is not covered
	CodeCreated   = "signature-created"   // created is missing, too old or in the future
	CodeExpired   = "signature-expired"   // the time in expires is over
	CodeNonce     = "signature-nonce"     // the nonce is missing, too short or too long
	CodeDigest    = "signature-digest"    // Content-Digest does not match the body
	CodeInvalid   = "signature-invalid"   // the signature does not verify under the key
)

// An Error says why a signature is refused. All texts may quote the request, so they are untrusted;
// none of them contains the value of a header that carries a secret.
type Error struct {
	Code    string // one of the Code constants
	Message string
	Help    string // how to fix it
	// Expected and Got are the required and the received value, "" if there is nothing to compare.
	Expected string
	Got      string
	// Base is the signature base that the server computed, for a signature that does not verify: a
	// comparison with the client's base shows the line that differs. Secret header values are
	// replaced by "(hidden)".
	Base string
}

// Error returns the message, the expected and the received value, and the correction.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	if e.Expected != "" {
		b.WriteString("; expected " + e.Expected)
	}
	if e.Got != "" {
		b.WriteString("; got " + e.Got)
	}
	if e.Help != "" {
		b.WriteString(": " + e.Help)
	}
	return b.String()
}
