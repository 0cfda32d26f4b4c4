package crawlerpages

import (
	"maps"
	"slices"
	"strings"

	"gazetteer/crawler/owner"
	"gazetteer/fetch"
)

// exampleHost stands for the host of a reader who has not named one.
const exampleHost = "www.example.com"

// program is a text to be copied.
type program struct{ Language, Text string }

// signing has the programs with which the owner of a host signs a request, to be copied.
type signing struct {
	DocumentURL              string // of the DID document with the key
	Action                   string // the signed request: recrawl, opt-out or opt-in
	SignedAction             string // the same in words
	OtherActions             []string
	Publish, Signed, Command []program // Command is the same with gazetteer
}

// publishKey makes a key, and the DID document that publishes it.
const publishKey = `openssl genpkey -algorithm ed25519 -out owner.pem
x=$(openssl pkey -in owner.pem -pubout -outform DER | tail -c 32 |
  openssl base64 -A | tr '+/' '-_' | tr -d =)
cat > did.json <<END
{"@context": ["https://www.w3.org/ns/did/v1"], "id": "did:web:HOST", "authentication": ["#owner"],
 "verificationMethod": [{"id": "#owner", "type": "JsonWebKey2020", "controller": "did:web:HOST",
   "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": "$x"}}]}
END
`

// signRequest signs a request without a body, and sends it.
const signRequest = `url=BASE/api/v1/services/HOST/ACTION
parameters="(\"@method\" \"@target-uri\");created=$(date +%s);nonce=\"$(openssl rand -hex 16)\""
parameters="$parameters;keyid=\"did:web:HOST#owner\""
printf '"@method": POST\n"@target-uri": %s\n"@signature-params": %s' "$url" "$parameters" > signed.txt
signature=$(openssl pkeyutl -sign -rawin -inkey owner.pem -in signed.txt | openssl base64 -A)
curl -sS -X POST "$url" -H "Signature-Input: sig1=$parameters" -H "Signature: sig1=:$signature:"
`

// makeKeyCommand makes a key and its DID document with gazetteer.
const makeKeyCommand = `ssh-keygen -q -t ed25519 -N '' -f owner.key
gazetteer crawler recrawl HOST --key owner.key --print > did.json
`

// signCommands sign and send the requests with gazetteer, by their names in the API.
var signCommands = map[string]program{
	"recrawl":            {"Request a new visit", "gazetteer --server BASE crawler recrawl HOST --key owner.key\n"},
	string(owner.OptOut): {"Opt out", "gazetteer --server BASE opt-out HOST --key owner.key\n"},
	string(owner.OptIn):  {"Opt in again", "gazetteer --server BASE opt-in HOST --key owner.key\n"},
}

// signedActions describes the requests that can be signed, by their names in the API.
var signedActions = map[string]string{
	"recrawl":            "a request for a new visit",
	string(owner.OptOut): "an opt-out: visits stop, and what the host published is removed",
	string(owner.OptIn):  "an opt-in: visits begin again",
}

// signingOf returns the programs for a request and a host as the reader wrote them, and those for a new
// visit and for an opt-out if the reader has sent no request.
func (p *Pages) signingOf(w ownerRequestView) signing {
	action, host := w.Request, w.Host
	switch {
	case p.bot.Disabled && action != string(owner.OptIn):
		action = string(owner.OptOut) // no visit can be requested
	case !w.Sent || signedActions[action] == "":
		action = "recrawl"
	}
	name, err := fetch.CheckHost(host)
	if err != nil {
		name = exampleHost
	}
	fill := func(language, text string) []program {
		return []program{{language, strings.NewReplacer("HOST", name, "ACTION", action, "BASE", p.BaseAddress).Replace(text)}}
	}
	sign := func(action string) []program { return fill(signCommands[action].Language, signCommands[action].Text) }
	s := signing{
		DocumentURL: "https://" + name + "/.well-known/did.json",
		Action:      action, SignedAction: signedActions[action],
		Publish: fill("Make a key and its DID document (openssl 3)", publishKey), Signed: fill("Sign and send (openssl 3, curl)", signRequest),
	}
	for _, other := range slices.Sorted(maps.Keys(signedActions)) {
		if other != action && !(p.bot.Disabled && other == "recrawl") {
			s.OtherActions = append(s.OtherActions, other)
		}
	}
	s.Command = append(fill("Make a key and its DID document", makeKeyCommand), sign(action)...)
	if !w.Sent && action == "recrawl" {
		s.Command = append(s.Command, sign(string(owner.OptOut))...)
	}
	return s
}
