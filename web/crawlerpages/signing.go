package crawlerpages

import (
	"strings"

	"gazetteer/fetch"
)

// exampleHost stands for the host of a reader who has not named one.
const exampleHost = "www.example.com"

// program is a text to be copied.
type program struct{ Language, Text string }

// signing has the programs with which the owner of a host signs a request, to be copied.
type signing struct {
	DocumentURL              string // of the DID document with the key
	Publish, Signed, Command []program
}

// publishKey makes a key, and the DID document that publishes it.
const publishKey = `openssl genpkey -algorithm ed25519 -out owner.pem
x=$(openssl pkey -in owner.pem -pubout -outform DER | tail -c 32 | openssl base64 -A | tr '+/' '-_' | tr -d =)
cat > did.json <<END
{"@context": ["https://www.w3.org/ns/did/v1"], "id": "did:web:HOST", "authentication": ["#owner"],
 "verificationMethod": [{"id": "#owner", "type": "JsonWebKey2020", "controller": "did:web:HOST",
   "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": "$x"}}]}
END
`

// signRecrawl signs a request without a body, and sends it.
const signRecrawl = `url=BASE/api/v1/services/HOST/recrawl
parameters="(\"@method\" \"@target-uri\");created=$(date +%s);nonce=\"$(openssl rand -hex 16)\";keyid=\"did:web:HOST#owner\""
printf '"@method": POST\n"@target-uri": %s\n"@signature-params": %s' "$url" "$parameters" > signed.txt
signature=$(openssl pkeyutl -sign -rawin -inkey owner.pem -in signed.txt | openssl base64 -A)
curl -sS -X POST "$url" -H "Signature-Input: sig1=$parameters" -H "Signature: sig1=:$signature:"
`

// signCommand does all of it with gazetteer.
const signCommand = `ssh-keygen -q -t ed25519 -N '' -f owner.key
gazetteer crawler recrawl HOST --key owner.key --print > did.json
# publish did.json, then:
gazetteer --server BASE crawler recrawl HOST --key owner.key
`

// signingOf returns the programs for a host as the reader wrote it.
func (p *Pages) signingOf(host string) signing {
	name, err := fetch.CheckHost(host)
	if err != nil {
		name = exampleHost
	}
	fill := func(language, text string) []program {
		return []program{{language, strings.NewReplacer("HOST", name, "BASE", p.BaseAddress).Replace(text)}}
	}
	return signing{
		DocumentURL: "https://" + name + "/.well-known/did.json",
		Publish:     fill("Make a key and its DID document (openssl 3)", publishKey), Signed: fill("Sign and send (openssl 3, curl)", signRecrawl), Command: fill("Command line", signCommand),
	}
}
