// Package relayhttp serves the mail of a [relay.Relay] over HTTP, in both dialects over one queue.
// Start with [New].
//
//	the draft (A2A draft-1 §7)              the deployed reference
//	POST /inbox/{inbox}                     POST /inbox/{inbox}
//	GET  /inbox/{inbox}/pull?since=         GET  /pull/{inbox}?since=&limit=
//	GET  /inbox/{inbox}/stream              GET  /pull/{inbox}?stream=1, or Accept: text/event-stream
//	POST /inbox/{inbox}/ack                 POST /ack/{inbox}
//
// {inbox} is an AIR ID or a DID; both name one inbox. On the push route, which both share, a request
// with the header X-A2A-Version gets error bodies of the draft (§9.3), any other those of the
// reference. Pulling, streaming and acknowledging need a signature (RFC 9421) of the inbox's key; the
// operator can leave the reference's routes open for clients that cannot sign.
//
// Answers with mail are no-store and no-transform, and the bytes of envelopes never change.
package relayhttp
