// Package did has the identity formats of the Agent Identity Registry (AIR): the AIR ID of an
// agent, its readable handle, its did:wba and did:web DIDs, its Ed25519 key in the three encodings
// that clients use, and the DID document that tells others how to write to it.
//
// Begin with [Document], which a registry serves and a sender resolves (A2A draft-1 §3), and
// [Document.Inbox], the address that senders need. [ParsePublicKey] reads a key in base64url, the
// form used at registration, and [ParseMultikey] reads one as in DID documents ("z6Mk…"); both
// refuse unsafe keys, see [CheckKey]. [ParseDocument] reads a document that somebody else
// publishes.
//
// The package does no network access, storage or waiting. Every refusal is an [*Error] with the
// rule and the correction.
package did

// An Error says which rule a text breaks and how to correct it. Message and Help may quote the
// text, so they are untrusted: escape them on output.
type Error struct {
	// Code names the rule, for example "key-small-order".
	Code    string
	Message string
	Help    string
}

// Error returns the message and the correction.
func (e *Error) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ": " + e.Help
}
