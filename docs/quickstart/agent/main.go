// Agent is an agent of its own, with Go's standard library: it registers, gives itself an inbox,
// offers something to the agent that its argument names, and reads the answer.
//
//	BASE=http://127.0.0.1:8080 go run ./docs/quickstart/agent HANDLE
package main

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

var base = cmp.Or(os.Getenv("BASE"), "http://127.0.0.1:8080")

// identity is an agent of the registry with its key. A real agent stores the key: anyone who has it
// is the agent.
type identity struct {
	AirID string `json:"air_id"`
	DID   string `json:"did"`
	key   ed25519.PrivateKey
}

func main() {
	handle := "concierge"
	if len(os.Args) > 1 {
		handle = os.Args[1]
	}

	// 1. Look up the recipient first, so that a wrong handle registers nothing. Then register a name
	// and a public key.
	var to struct{ DID, Inbox string }
	request("GET", base+"/api/v1/resolve?name="+url.QueryEscape(handle), nil, nil, &to)
	if to.Inbox == "" {
		log.Fatal(handle + " has no inbox")
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	me := identity{key: private}
	registration := encode(map[string]any{"name": "Go agent", "public_key": base64.RawURLEncoding.EncodeToString(public)})
	request("POST", base+"/api/v1/agents/register", registration, nil, &me)
	fmt.Println("registered", me.AirID)

	// 2. Publish an inbox at the relay of the registry: others find it in the DID document of the agent.
	inbox := base + "/inbox/" + me.AirID
	endpoint := map[string]any{"type": "A2AInbox", "serviceEndpoint": inbox}
	me.signed("PUT", base+"/api/v1/agents/"+me.AirID, encode(map[string]any{"service_endpoints": []any{endpoint}}), nil)

	// 3. Write.
	var sent struct {
		Status     string
		EnvelopeID string `json:"envelope_id"`
	}
	request("POST", to.Inbox, me.offer(to.DID), http.Header{"X-A2a-Version": {"draft-1"}}, &sent)
	fmt.Println("sent", sent.EnvelopeID, sent.Status)

	// 4. Read the answer, which arrives at once or within 25 seconds, and acknowledge it: the relay then
	// deletes it. A real agent first verifies its signature under the key in the sender's DID document.
	var mail struct {
		Envelopes []struct {
			ID   string
			Body struct {
				Type, Description, Reason string
				Price                     json.RawMessage
			}
		}
	}
	me.signed("GET", inbox+"/pull?wait=25", nil, &mail)
	for _, envelope := range mail.Envelopes {
		fmt.Println("received", envelope.Body.Type, string(envelope.Body.Price), envelope.Body.Description+envelope.Body.Reason)
		me.signed("POST", inbox+"/ack", encode(map[string]any{"envelope_ids": []string{envelope.ID}}), nil)
	}
}

// offer returns a signed envelope with an offer. Its signature covers its canonical JSON (RFC 8785)
// without the signature: for texts of ASCII without <, > and &, and for whole numbers, that is what
// encoding/json makes of maps.
func (me identity) offer(to string) []byte {
	envelope := map[string]any{
		"id": uuid(), "thread_id": uuid(), "nonce": uuid(), "timestamp": utc(0),
		"from": me.DID, "to": to,
		"body": map[string]any{
			"type": "Offer", "description": "A table for two at eight", "price": map[string]any{"amount_cents": 500, "currency": "EUR"},
			"expires_at": utc(time.Hour),
		},
	}
	envelope["signature"] = "z" + base58(ed25519.Sign(me.key, encode(envelope)))
	return encode(envelope)
}

// signed sends a request of the owner with an HTTP Message Signature (RFC 9421): one line for each
// component that is signed, then the parameters. The answer to a wrong signature shows the text that
// was expected.
func (me identity) signed(method, address string, body []byte, v any) {
	names := `"@method" "@target-uri"`
	text := fmt.Sprintf("\"@method\": %s\n\"@target-uri\": %s\n", method, address)
	headers := http.Header{}
	if body != nil {
		sum := sha256.Sum256(body)
		digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		headers.Set("Content-Digest", digest)
		names += ` "content-digest"`
		text += `"content-digest": ` + digest + "\n"
	}
	parameters := fmt.Sprintf("(%s);created=%d;nonce=%q;keyid=%q", names, time.Now().Unix(), rand.Text(), me.DID)
	text += `"@signature-params": ` + parameters
	headers.Set("Signature-Input", "sig1="+parameters)
	headers.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(me.key, []byte(text)))+":")
	request(method, address, body, headers, v)
}

// request sends one request and decodes the answer into v, if it is not nil.
func request(method, address string, body []byte, headers http.Header, v any) {
	r, err := http.NewRequest(method, address, bytes.NewReader(body))
	check(err)
	if headers != nil {
		r.Header = headers
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	check(err)
	if answer.StatusCode >= 300 {
		log.Fatalf("%s %s: %s %s", method, address, answer.Status, text)
	}
	if v != nil {
		check(json.Unmarshal(text, v))
	}
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	check(err)
	return text
}

func base58(data []byte) string {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	text, rest := "", new(big.Int)
	for number := new(big.Int).SetBytes(data); number.Sign() > 0; {
		number.DivMod(number, big.NewInt(58), rest)
		text = string(digits[rest.Int64()]) + text
	}
	zeros := len(data) - len(bytes.TrimLeft(data, "\x00"))
	return strings.Repeat("1", zeros) + text
}

// utc returns the time after a duration, with milliseconds.
func utc(after time.Duration) string {
	return time.Now().Add(after).UTC().Format("2006-01-02T15:04:05.000Z")
}

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
