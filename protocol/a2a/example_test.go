package a2a_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// keyPair is a key of an example; a program makes one with ed25519.GenerateKey and
// registers it.
func keyPair(n byte) (ed25519.PrivateKey, ed25519.PublicKey) {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	key := ed25519.NewKeyFromSeed(seed)
	return key, key.Public().(ed25519.PublicKey)
}

// documents is a resolver of documents that are at hand. A program that asks the
// network hands in gazetteer/registry/resolve.
type documents map[string]did.Document

func (d documents) Resolve(_ context.Context, id string) (did.Document, error) {
	document, ok := d[id]
	if !ok {
		return did.Document{}, a2a.ErrUnknownSender
	}
	return document, nil
}

func exampleDocuments() documents {
	d := documents{}
	for n, id := range map[byte]string{1: "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6", 2: "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0"} {
		_, public := keyPair(n)
		d[id] = did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Controller: id, PublicKeyMultibase: did.FormatMultikey(public)}}}
	}
	return d
}

// Write an offer, and judge it where it arrives.
func ExampleSign() {
	key, _ := keyPair(1)
	envelope, err := a2a.Sign(a2a.Message{
		From: "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6",
		To:   "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0",
		Body: a2a.Offer{
			Description: "Translate 500 words from English to Korean",
			Price:       a2a.Money{AmountCents: 500, Currency: "USD"},
			ExpiresAt:   time.Now().Add(time.Hour),
		},
	}, a2a.Strict, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier := a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: exampleDocuments()}}
	verified, err := verifier.Verify(context.Background(), envelope.Text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verified.Body.Type(), "by", verified.From)
	// Output: Offer by did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6
}

// Why an envelope is refused, as the error body of the draft.
func ExampleVerifier_Verify() {
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: exampleDocuments()}}
	_, err := verifier.Verify(context.Background(), []byte(`{"id": "1", "id": "2"}`))
	if refusal, ok := err.(*a2a.Refusal); ok {
		fmt.Println(refusal.Status, refusal.Reason, "by rule", refusal.Rule)
	}
	// Output: 400 Bad Request by rule duplicate-key
}

// A body that only the recipient can read.
func ExampleMessage_Seal() {
	senderKey, _ := keyPair(1)
	recipientKey, recipientPublic := keyPair(2)
	message := a2a.Message{
		From:      "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6",
		To:        "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0",
		InReplyTo: "018fde3a-1234-4abc-8def-aabbccddeeff",
		Body:      a2a.Decline{Reason: "We have no time."},
	}
	if err := message.Seal(recipientPublic); err != nil {
		fmt.Println(err)
		return
	}
	envelope, err := a2a.Sign(message, a2a.Strict, senderKey)
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier := a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: exampleDocuments()}}
	verified, err := verifier.Verify(context.Background(), envelope.Text)
	if err != nil {
		fmt.Println(err)
		return
	}
	opened, err := verified.Open(recipientKey)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verified.Body.Type(), "holds", string(opened.Plaintext))
	// Output: encrypted holds {"reason":"We have no time.","type":"Decline"}
}

// An inbox: what arrives twice counts once, and the thread has a state.
func ExampleReceiver() {
	aliceKey, _ := keyPair(1)
	bobKey, _ := keyPair(2)
	inbox := a2a.Receiver{
		Verifier: a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: exampleDocuments()}},
		Store:    &a2a.MemoryStore{},
		Self:     "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0",
		Keys:     []ed25519.PrivateKey{bobKey},
	}
	offer, err := a2a.Sign(a2a.Message{
		From: "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6",
		To:   "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0",
		Body: a2a.Offer{Description: "A table for two", Price: a2a.Money{AmountCents: 0, Currency: "EUR"}, ExpiresAt: time.Now().Add(time.Hour)},
	}, a2a.Strict, aliceKey)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // a relay delivers until it hears that it arrived
		received, err := inbox.Receive(context.Background(), offer.Text, a2a.Arrival{Pulled: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		if received.AlreadyProcessed {
			fmt.Println("received before: acknowledge it again")
			continue
		}
		fmt.Println(received.Body.Type(), "makes the thread", received.Thread.State)
		answer, err := a2a.Sign(received.Reply(a2a.Accept{AcceptedPrice: received.Thread.Outstanding.Price}), a2a.Strict, bobKey)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("answered with", answer.Body.Type())
	}
	// Output:
	// Offer makes the thread offered
	// answered with Accept
	// received before: acknowledge it again
}

// Which rules an envelope breaks, in both profiles.
func ExampleCheck() {
	report := a2a.Check([]byte(`{"id":"1","from":"did:wba:a.example","to":"did:wba:b.example","timestamp":"2026-05-28T09:00:00Z",
		"thread_id":"018fde3a-5678-4abc-9012-aabbccddeeff","nonce":"n","body":{"type":"text"},"signature":"z2"}`))
	for _, f := range report.Findings {
		if f.Strict == a2a.Broken || f.Wire == a2a.Broken {
			fmt.Printf("%s %s §%s: %s\n", f.Strict, f.Wire, f.Rule.Section, f.Detail)
		}
	}
	// Output:
	// no ok §4.2: id is no UUID of version 4 in lowercase
	// no ok §4.3: body.type is not one of Offer, Counter, Accept, Decline, Withdraw, encrypted
	// no no §5.4: an Ed25519 signature has 64 bytes (got 1): write 'z' and base58btc of the 64 bytes
}

// The state of a thread is a function of its messages.
func ExampleThread_Next() {
	const alice, bob = "did:wba:a.example", "did:wba:b.example"
	price := a2a.Money{AmountCents: 500, Currency: "USD"}
	var thread a2a.Thread
	for _, e := range []a2a.Event{
		{ID: "1", From: alice, To: bob, Body: a2a.Offer{Price: price}},
		{ID: "2", From: alice, To: bob, InReplyTo: "1", Body: a2a.Accept{AcceptedPrice: price}},
		{ID: "3", From: bob, To: alice, InReplyTo: "1", Body: a2a.Accept{AcceptedPrice: price}},
	} {
		next, err := thread.Next(e)
		if err != nil {
			fmt.Println(err)
		}
		thread = next
		fmt.Println(e.Body.Type(), "→", thread.State)
	}
	// Output:
	// Offer → offered
	// Conflict: the outstanding proposal is the sender's own; the thread is offered
	// Accept → offered
	// Accept → closed_accepted
}
