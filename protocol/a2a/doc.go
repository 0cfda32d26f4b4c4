// Package a2a holds the Agent-to-Agent messaging protocol, draft-1: signed
// envelopes with five kinds of negotiation message, sealed bodies, the state of a
// thread, and what a recipient must remember so that nothing counts twice.
//
// To write, fill a [Message] and call [Sign]; [Message.Seal] encrypts its body
// first. To read, give a [Verifier] a way to find keys and call
// [Verifier.Verify]; what it returns can be opened with [Verified.Open]. An agent
// that keeps its inbox uses a [Receiver], which adds replay protection and the
// thread's state to that. [Check] explains rule by rule what is wrong with an
// envelope.
//
//	Message ──Sign──▶ bytes ──Read──▶ Envelope ──Verifier──▶ Verified ──Open──▶ Body
//	                                                │
//	                                   Receiver: freshness, replay, Thread.Next
//
// An envelope is judged in the order of the draft (§6.2), up to the first rule that
// it breaks: 400 for its form, 401 for its signature, 404 for its sender, 409 for its
// time, a repetition or its thread. Each refusal is a [*Refusal] with the status and
// the error text of §9.
//
// # Two profiles
//
// The published schema refuses all published vectors, and neither matches what
// deployed clients send. [Strict] is the schema. [Wire] is what clients send: any
// type of body, identifiers that are not UUIDs, more members, and in_reply_to as
// null. Everything that protects the signature holds in both: exact integers, no
// duplicate names, UTF-8, normalization. What we write is always strict, except
// bodies of a type that the draft does not have.
//
// # Where the draft contradicts itself
//
// The signature covers the envelope without its member "signature": so do the
// published vectors, while the text says that it is null. A signature over the
// null form is accepted too, and [Verified.Form] says which it was. The other
// decisions are in docs/a2a.md.
//
//	envelope.go  reading an envelope, in two profiles
//	rules.txt    the rules, with their sections and refusals
//	body.go      the five kinds of body, and others
//	sign.go      writing and signing
//	verify.go    signature and freshness
//	seal.go      sealed bodies (§14)
//	thread.go    the state of a negotiation (§8), a pure function
//	replay.go    what was seen before (§8.4)
//	receive.go   the recipient's whole procedure (§6.2)
//	receipt.go   a relay's signed statement of when it received an envelope
//	refusal.go   the error texts of §9
//	check.go     every rule at once, for people
//
// Nothing here resolves, stores or waits. Package a2ahttp sends envelopes.
package a2a
