package conversion

import (
	"time"
)

// Options tell a conversion what the text alone does not. The zero value is
// fine.
type Options struct {
	// URL is where the service is, or where the text comes from. It gives the
	// host of an agtp address and the base of relative addresses.
	URL string
	// Name is the name of the service, for texts that have none or a bad one.
	Name string
	// Today is written where a document says when it was last changed; nothing
	// is written when it is zero.
	Today time.Time
	// Format is "yaml" or "json" where an output may be either; "" is YAML.
	Format string
	// Extended adds to MCP tools what MCP has and appendix C.2 of AGIS does not
	// map: outputSchema and annotations.
	Extended bool
}

// Output is a converted document.
type Output struct {
	Text []byte
	// Reviews lists what was guessed or left out, in the order of the output.
	Reviews []Review
}

// A Review asks a person to look at one thing in an output.
type Review struct {
	// Pointer is the RFC 6901 JSON Pointer of the value in the output; "" is
	// the document as a whole.
	Pointer string `json:"pointer"`
	// Message says what was guessed or left out and why. It may quote the
	// input: escape it on output.
	Message string `json:"message"`
}
