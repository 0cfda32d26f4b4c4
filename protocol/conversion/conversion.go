package conversion

import (
	"time"
)

// Options give a conversion information that the text lacks. The zero value is usable.
type Options struct {
	// URL is the address of the service, or of the text. It gives the host of an agtp address and
	// the base of relative addresses.
	URL string
	// Name is the name of the service. It replaces a missing or unusable name in the text.
	Name string
	// Today is the date of the last change in documents that state one. A zero date writes none.
	Today time.Time
	// Format is "yaml" or "json" for outputs that may be either; "" means YAML.
	Format string
	// Extended adds to MCP tools what appendix C.2 of AGIS does not map: outputSchema and
	// annotations.
	Extended bool
}

// Output is a converted document.
type Output struct {
	Text []byte
	// Reviews lists the guesses and the omissions, in the order of the output.
	Reviews []Review
}

// A Review asks a person to check one place of an output.
type Review struct {
	// Pointer is the RFC 6901 JSON Pointer of the value in the output; "" is the whole document.
	Pointer string `json:"pointer"`
	// Message describes a guess or an omission, with the reason. It may quote the input: escape it
	// on output.
	Message string `json:"message"`
}
