package a2ahttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
)

// Write to an agent whose inbox its DID document names.
func ExampleClient_Send() {
	inbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, `{"status":"queued"}`)
	}))
	defer inbox.Close()
	documents := &directory{source: map[string]did.Document{}, kept: map[string]did.Document{}}
	documents.publish(bob, keyOf(2), inbox.URL+"/inbox/"+bob)

	client := a2ahttp.Client{From: alice, Key: keyOf(1), Directory: documents, AllowLoopback: true}
	sent, err := client.Send(context.Background(), a2a.Message{
		To:   bob,
		Body: a2a.Offer{Description: "A table for two", Price: a2a.Money{AmountCents: 0, Currency: "EUR"}, ExpiresAt: time.Now().Add(time.Hour)},
	}, a2ahttp.Options{Seal: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sent.Status, string(sent.Answer), "after", sent.Attempts, "attempt")
	// Output: 202 {"status":"queued"} after 1 attempt
}
