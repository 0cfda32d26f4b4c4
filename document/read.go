package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"gazetteer/protocol"
)

// Errors that [Read] wraps. Problems inside a document are findings.
var (
	// ErrUnreadable: the bytes are not a document of that format at all.
	ErrUnreadable = protocol.ErrUnreadable
	// ErrOtherFormat: the bytes are a document of another published format.
	ErrOtherFormat = protocol.ErrOtherFormat
)

// Input is one fetched document and how it was fetched.
type Input struct {
	Kind Kind
	// Host is the requested authority, in ASCII lower case; relative addresses resolve against it,
	// even after a redirect.
	Host string
	// URL is where the bytes finally came from.
	URL       string
	MediaType string
	Source    Source
	FetchedAt time.Time
	Bytes     []byte
}

// Read converts the bytes of one document to a [Document]. The error wraps [ErrUnreadable] or
// [ErrOtherFormat], or is an [UnknownKindError]. With the first two, the Document is returned as
// well with the findings that give the reason, but without service and operations.
func Read(in Input) (*Document, error) {
	f, ok := FormatOf(in.Kind)
	if !ok {
		return nil, fmt.Errorf("read document of %s: %w", in.Host, &UnknownKindError{in.Kind})
	}
	d := &Document{
		Kind: in.Kind, Host: in.Host, URL: in.URL, Digest: Digest(in.Bytes), Size: len(in.Bytes),
		MediaType: in.MediaType, Source: in.Source, FetchedAt: in.FetchedAt, ChangedAt: in.FetchedAt,
	}
	if err := f.read(d, in); err != nil {
		return d, fmt.Errorf("read %s of %s: %w", in.Kind, in.Host, err)
	}
	return d, nil
}

// Digest returns "sha256:" and the lower-case hex SHA-256 of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ids assigns each operation of a document a unique id.
type ids map[string]int

// uniqueID returns id, followed by a number if the id is in use.
func (s ids) uniqueID(id string) string {
	unique := id
	for s[unique] > 0 {
		s[id]++
		unique = fmt.Sprintf("%s#%d", id, s[id])
	}
	s[unique]++
	return unique
}
