package format

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// jsonResult is one line of the format "json". All members are always present.
type jsonResult struct {
	Input      string        `json:"input"`
	Kind       document.Kind `json:"kind"`
	Valid      bool          `json:"valid"`
	Level      int           `json:"level"`
	Findings   []jsonFinding `json:"findings"`
	Groups     []lint.Group  `json:"groups"`
	Operations int           `json:"operations"`
	Tokens     lint.Tokens   `json:"tokens"`
}

type jsonFinding struct {
	Code     string            `json:"code"`
	Severity protocol.Severity `json:"severity"`
	Pointer  string            `json:"pointer"`
	Line     int               `json:"line"`
	Column   int               `json:"column"`
	Message  string            `json:"message"`
	Help     string            `json:"help"`
	Section  string            `json:"section"`
}

// writeJSON writes one object a line for each input.
func writeJSON(w *bytes.Buffer, reports []Report, _ Options) error {
	for _, r := range reports {
		out := jsonResult{Input: r.Input, Kind: r.Kind, Valid: r.Valid, Level: r.Level,
			Findings: []jsonFinding{}, Groups: lint.GroupFindings(r.Findings), Operations: r.Operations, Tokens: r.Tokens}
		for _, f := range r.Findings {
			out.Findings = append(out.Findings, jsonFinding(f))
		}
		if err := encodeJSON(w, out, ""); err != nil {
			return err
		}
	}
	return nil
}

// encodeJSON writes v as JSON and a line feed, with every hidden character escaped. The characters
// that encoding/json does not escape (C1, DEL, bidi controls) occur in strings only, where \uXXXX
// means the same.
func encodeJSON(w *bytes.Buffer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	for _, r := range b.String() {
		switch {
		case !Hidden(r) || r == '\n':
			w.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(w, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(w, `\u%04x`, r)
		}
	}
	return nil
}
