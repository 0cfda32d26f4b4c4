package httpsig_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"gazetteer/protocol/httpsig"
)

func Example() {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // a key that everybody knows
	body := []byte(`{"endpoint": "https://agent.example/inbox"}`)

	// The client signs its request.
	r, err := http.NewRequest(http.MethodPut, "https://registry.example/api/v1/agents/AIR-7G3K-M9JQ-X2PT", bytes.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := httpsig.Sign(r, body, key, httpsig.SignOptions{KeyID: "key-1", Created: now, Nonce: rand.Text()}); err != nil {
		fmt.Println(err)
		return
	}

	// The server finds the key by its name and verifies what it requires.
	m := httpsig.FromRequest(r, body)
	signatures, err := httpsig.Read(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := httpsig.Requirements{Require: httpsig.WriteComponents(), Now: now, MaxAge: time.Minute, MaxAhead: time.Minute, Nonce: true}
	fmt.Println(signatures[0].KeyID, signatures[0].Verify(m, key.Public().(ed25519.PublicKey), policy))

	m.Body = []byte(`{"endpoint": "https://evil.example/inbox"}`)
	fmt.Println(signatures[0].Verify(m, key.Public().(ed25519.PublicKey), policy) != nil)
	// Output:
	// key-1 <nil>
	// true
}
