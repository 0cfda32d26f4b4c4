// Package did holds the identity forms of the Agent Identity Registry (AIR):
// the AIR ID of an agent, its readable handle, the did:wba and did:web texts
// that lead to it, its Ed25519 key in the three spellings that clients use, and
// the DID document that others read to write to it.
//
// Begin with [Document], which is what a registry serves and a sender resolves
// (A2A draft-1 §3), and [Document.Inbox], the address it is resolved for. A key
// comes in through [ParsePublicKey] (base64url, as registration takes it) or
// [ParseMultikey] ("z6Mk…", as DID documents carry it); both refuse keys that
// lie outside what a verifier can rely on, see [CheckKey]. A document that
// somebody else publishes comes in through [ParseDocument].
//
// Everything here is text and arithmetic: nothing resolves, stores or waits.
// Every refusal is an [*Error] that names the rule and the repair.
package did

// An Error says which rule a text breaks and how to fix it. Message and Help
// may quote the text, so they are untrusted: escape them on output.
type Error struct {
	// Code names the rule, for example "key-small-order".
	Code    string
	Message string
	Help    string
}

// Error returns the message and the repair.
func (e *Error) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ": " + e.Help
}
