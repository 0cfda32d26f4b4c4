package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"gazetteer/protocol"
)

// A Baseline is a list of accepted findings, so that only new ones are shown. The zero value
// accepts none.
//
// A finding is recognized by its input, code, pointer and message. Lines and columns do not matter,
// so text may move. A repaired finding stays in the list until the list is written again.
type Baseline struct {
	known map[acceptedFinding]bool
}

// baselineVersion is the version of the file format.
const baselineVersion = 1

// acceptedFinding is one accepted finding in the file.
type acceptedFinding struct {
	Input   string `json:"input"`
	Code    string `json:"code"`
	Pointer string `json:"pointer"`
	// Message is the beginning of the SHA-256 of the message in hex, enough to distinguish two
	// findings of one rule at one place.
	Message string `json:"message"`
}

type baselineFile struct {
	Version  int               `json:"version"`
	Findings []acceptedFinding `json:"findings"`
}

// ReadBaseline reads what [Baseline.Write] wrote.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	var file baselineFile
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	if file.Version != baselineVersion {
		return nil, fmt.Errorf("read baseline: its version is %d, this program supports version %d: write it again", file.Version, baselineVersion)
	}
	b := &Baseline{known: map[acceptedFinding]bool{}}
	for _, e := range file.Findings {
		b.known[e] = true
	}
	return b, nil
}

// NewBaseline returns a baseline that accepts every finding of the results.
func NewBaseline(results []Result) *Baseline {
	b := &Baseline{known: map[acceptedFinding]bool{}}
	for _, r := range results {
		for _, f := range r.Findings {
			b.known[acceptedFindingOf(r.Input, f)] = true
		}
	}
	return b
}

// Knows reports whether a finding of an input is in the baseline.
func (b *Baseline) Knows(input string, f protocol.Finding) bool {
	return b.known[acceptedFindingOf(input, f)]
}

// Len returns the number of accepted findings.
func (b *Baseline) Len() int { return len(b.known) }

// Write writes the baseline as indented JSON in a fixed order, so that its changes can be reviewed.
func (b *Baseline) Write(w io.Writer) error {
	file := baselineFile{Version: baselineVersion, Findings: slices.AppendSeq([]acceptedFinding{}, maps.Keys(b.known))}
	slices.SortFunc(file.Findings, func(a, b acceptedFinding) int {
		return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(file); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	return nil
}

func acceptedFindingOf(input string, f protocol.Finding) acceptedFinding {
	sum := sha256.Sum256([]byte(f.Message))
	return acceptedFinding{Input: cleanName(input), Code: f.Code, Pointer: f.Pointer, Message: hex.EncodeToString(sum[:8])}
}

// cleanName returns one name for a file: "ai.json" for "./ai.json". Addresses stay as they are.
func cleanName(input string) string {
	name := filepath.ToSlash(input)
	if u := hostOf(name); u != "" {
		return name
	}
	return path.Clean(name)
}
