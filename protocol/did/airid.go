package did

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/jcs"
)

// crockford is the alphabet of a minted AIR ID: without I, L, O and U, which are read as 1, 1, 0
// and V.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// DeriveAirID returns the AIR ID that the reference registry assigns to an identity document, a
// flat JSON object of name, description, creator_did or public_key, and timestamp in milliseconds.
// Its groups have 20 bits each: from the first and the second four bytes of the SHA-256 of the
// sorted document, and from the CRC-32 of that hash. Our registry mints random IDs instead
// ([MintAirID]), because only the reference knows the timestamp and can derive an ID again. The
// error is an [*Error].
func DeriveAirID(identity []byte) (string, error) {
	refuse := func(message string) (string, error) {
		return "", &Error{CodeIdentity, message, "send one JSON object of name, description, creator_did or public_key, and timestamp"}
	}
	var d jcs.Document
	if err := d.Parse(identity, jcs.Options{Numbers: jcs.Doubles, KeepForm: true, Bytes: MaxDocument}); err != nil {
		return refuse("the identity document cannot be read: " + err.Error())
	}
	root := d.Root()
	if root.Kind() != jcs.Object {
		return refuse("the identity document is no JSON object")
	}
	for name, v := range root.Members() {
		if holdsObject(v) {
			return refuse(fmt.Sprintf("member %q of the identity document is an object", protocol.ClipBytes(name, maxQuoted)))
		}
	}
	hash := sha256.Sum256(root.Append(nil))
	id := []byte("AIR-")
	for i, bits := range []uint32{binary.BigEndian.Uint32(hash[:4]), binary.BigEndian.Uint32(hash[4:8]), crc32.ChecksumIEEE(hash[:])} {
		if i > 0 {
			id = append(id, '-')
		}
		for shift := 27; shift >= 12; shift -= 5 {
			id = append(id, crockford[bits>>shift&31])
		}
	}
	return string(id), nil
}

func holdsObject(v jcs.Value) bool {
	for e := range v.Elements() {
		if holdsObject(e) {
			return true
		}
	}
	return v.Kind() == jcs.Object
}

// CodeIdentity is the code of errors about an identity document.
const CodeIdentity = "air-identity"

// airIDShape is the length of "AIR-XXXX-XXXX-XXXX"; its dashes stand at 3, 8
// and 13.
const airIDShape = len("AIR-XXXX-XXXX-XXXX")

// MintAirID returns a new AIR ID of 60 random bits in Crockford's alphabet, for example
// "AIR-7G3K-M9JQ-X2PT". A nil random means crypto/rand. An AIR ID has no check digit: only a lookup
// shows whether it was mistyped.
//
// Two IDs of 60 bits can collide, so the registry must store an ID only on the condition that it is
// new.
func MintAirID(random io.Reader) (string, error) {
	random = cmp.Or(random, rand.Reader)
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("mint an AIR ID: %w", err)
	}
	bits := binary.BigEndian.Uint64(b[:])
	id := []byte("AIR-XXXX-XXXX-XXXX")
	for i := range id {
		if id[i] != 'X' {
			continue
		}
		id[i] = crockford[bits>>59]
		bits <<= 5
	}
	return string(id), nil
}

// maxQuoted is the number of bytes of a foreign text that a message quotes.
const maxQuoted = 60

// CheckAirID reports whether id can be looked up: "AIR-" and three groups of four characters of A
// to Z and 0 to 9, upper case only. It accepts more than MintAirID makes, because registered IDs
// with letters outside Crockford's alphabet exist. The error is an [*Error].
func CheckAirID(id string) error {
	if isAirID(id) {
		return nil
	}
	e := &Error{
		Code:    "air-id",
		Message: fmt.Sprintf("%q is not an AIR ID", protocol.ClipBytes(id, maxQuoted)),
		Help:    "an AIR ID looks like AIR-7G3K-M9JQ-X2PT: uppercase, three groups of four letters or digits",
	}
	if upper := strings.ToUpper(strings.TrimSpace(id)); isAirID(upper) {
		e.Help = "AIR IDs are uppercase and have nothing around them: write " + upper
	}
	return e
}

func isAirID(id string) bool {
	if len(id) != airIDShape || id[:4] != "AIR-" {
		return false
	}
	for i := 4; i < len(id); i++ {
		switch c := id[i]; {
		case i == 8 || i == 13:
			if c != '-' {
				return false
			}
		case (c < 'A' || c > 'Z') && (c < '0' || c > '9'):
			return false
		}
	}
	return true
}
