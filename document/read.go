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
	p, err := f.Parse(in.Bytes, ParseOptions{Host: in.Host, Today: in.FetchedAt})
	d := &Document{
		Kind: in.Kind, Host: in.Host, URL: in.URL, Digest: Digest(in.Bytes), Size: len(in.Bytes),
		MediaType: in.MediaType, Source: in.Source, FetchedAt: in.FetchedAt, ChangedAt: in.FetchedAt,
		Findings: p.Findings,
	}
	if err != nil {
		return d, fmt.Errorf("read %s of %s: %w", in.Kind, in.Host, err)
	}
	f.translate(d, p)
	if d.Valid() {
		d.Level = p.Level()
	}
	return d, nil
}

// ParseOptions say how [Format.Parse] reads a text. The zero value is usable.
type ParseOptions struct {
	// Host is the host that publishes the text, "" for unknown: rules about other hosts are skipped.
	Host string
	// Today is compared with the dates of the document, unless it is zero.
	Today time.Time
	// Level 2 turns the absence of what that level requires into an error.
	Level  int
	Limits protocol.Limits
}

// Parsed is a text as the reader of its draft sees it.
type Parsed struct {
	Findings []protocol.Finding
	// Document is the document in the words of its draft, for example an [*agis.Document]. It is nil
	// for a text that cannot be read.
	Document any
	// Root is the tree of the text without its byte order mark; nil for a text that cannot be read
	// and for formats without a tree.
	Root *protocol.Node
	// Operations is the number of operations of the service, those above the limits included.
	Operations int
}

// Parse reads a text with the reader of its draft. The error wraps [ErrUnreadable] or
// [ErrOtherFormat]; the findings then say why.
func (f Format) Parse(text []byte, o ParseOptions) (Parsed, error) { return f.parse(text, o) }

// Level returns the level of conformance that the document has if its findings are not errors.
func (p Parsed) Level() int {
	if leveled, ok := p.Document.(interface{ LevelTwo() bool }); ok && leveled.LevelTwo() {
		return 2
	}
	return 1
}

// Digest returns "sha256:" and the lowercase hex SHA-256 of b.
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
