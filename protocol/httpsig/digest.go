package httpsig

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"net/http"

	"gazetteer/protocol"

	"github.com/dunglas/httpsfv"
)

// ContentDigest returns the value of Content-Digest for a body (RFC 9530 §2),
// with SHA-256.
func ContentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// checkDigest compares Content-Digest with the body. All given digests by SHA-256 and SHA-512 must
// match, and at least one must be given; outdated algorithms are ignored.
func checkDigest(header http.Header, body []byte) error {
	values := header.Values("Content-Digest")
	refuse := func(message string) error {
		return &Error{Code: CodeDigest, Message: message, Expected: ContentDigest(body), Got: protocol.ClipBytes(header.Get("Content-Digest"), maxQuoted),
			Help: "compute the digest over the very bytes of the body that are sent"}
	}
	if len(values) == 0 {
		return refuse("the request has no Content-Digest")
	}
	digests, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return refuse("Content-Digest cannot be read (RFC 9530)")
	}
	known := 0
	for _, name := range digests.Names() {
		var sum []byte
		switch name {
		case "sha-256":
			s := sha256.Sum256(body)
			sum = s[:]
		case "sha-512":
			s := sha512.Sum512(body)
			sum = s[:]
		default:
			continue
		}
		known++
		member, _ := digests.Get(name)
		item, _ := member.(httpsfv.Item)
		if given, ok := item.Value.([]byte); !ok || !bytes.Equal(given, sum) {
			return refuse("Content-Digest does not match the body")
		}
	}
	if known == 0 {
		return refuse("Content-Digest has neither sha-256 nor sha-512")
	}
	return nil
}

// maxQuoted is the number of bytes of a foreign text that a message quotes.
const maxQuoted = 200
