// Package a2ahttp sends and reads envelopes of A2A draft-1 over HTTP. It finds the inbox in
// the recipient's DID document (§3), signs, posts (§7.2) and tries again (§7.4).
//
// Begin with [Client.Send]:
//
//	client := a2ahttp.Client{From: self, Key: key, Directory: directory}
//	sent, err := client.Send(ctx, a2a.Message{To: other, Body: offer}, a2ahttp.Options{Seal: true})
//
//	POST {A2AInbox}                     what the client does
//	  200, 202                          done
//	  500 502 503 504, no answer        again after 1, 2, 4 and 8 s, or Retry-After
//	  429                               again after Retry-After
//	  403 Stale Key                     resolve anew, seal and sign anew, once
//	  409 Replay after no answer        done: an earlier attempt arrived
//	  any other                         refused; not tried again
//
// [Inbox] reads the mail that waits for an agent at a relay: [Inbox.Pull], then
// [Inbox.Acknowledge] for what was stored.
//
// The client keeps nothing. How DIDs resolve and how long documents are kept is for
// the [Directory] that is handed in; which addresses may be connected to, for the
// transport.
package a2ahttp
