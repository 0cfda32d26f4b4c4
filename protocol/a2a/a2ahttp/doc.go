// Package a2ahttp sends and reads envelopes of A2A draft-1 over HTTP. It finds the inbox in the
// recipient's DID document (§3), signs, posts (§7.2) and retries (§7.4).
//
// Begin with [Client.Send]:
//
//	client := a2ahttp.Client{From: self, Key: key, Directory: directory}
//	sent, err := client.Send(ctx, a2a.Message{To: other, Body: offer}, a2ahttp.Options{Seal: true})
//
//	POST {A2AInbox}	                   what the client does
//		200, 202                          done
//		500 502 503 504, no answer        retry after 1, 2, 4 and 8 s, or Retry-After
//		429                               retry after Retry-After
//		403 Stale Key                     resolve, seal and sign again, once
//		409 Replay after no answer        done: an earlier attempt arrived
//		any other                         refused; no retry
//
// [Inbox] reads the mail that waits for an agent at a relay: [Inbox.Pull], then [Inbox.Acknowledge]
// after the mail is stored.
//
// The client stores nothing. The [Directory] decides how DIDs are resolved and how long documents
// are cached; the transport decides which addresses may be connected to.
package a2ahttp
