package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"gazetteer/registry"
	"gazetteer/store"
)

// An export is an agent with its whole history, one JSON object a line:
//
//	{"export":"gazetteer agent","version":1,"registry":…,"air_id":…,"entries":n,"exported":…}
//	{"entry":…}	        n times, an Entry as it is stored, oldest first
//	{"attestation":…}	  those about the agent and by it, in their present form
//	{"agent":…}	        the record; with "secret_hash" beside it if requested
//	{"end":lines,"sha256":…}	 of all lines before, so that a truncation is detected
const (
	exportName    = "gazetteer agent"
	exportVersion = 1
)

// exportHead is the first line of an export.
type exportHead struct {
	Export   string    `json:"export"`
	Version  int       `json:"version"`
	Registry string    `json:"registry"` // the DID host
	AirID    string    `json:"air_id"`
	Entries  int       `json:"entries"`
	Exported time.Time `json:"exported"`
}

// exportLine is any other line; one of its members is set.
type exportLine struct {
	Entry       json.RawMessage       `json:"entry,omitempty"`
	Attestation *registry.Attestation `json:"attestation,omitempty"`
	Agent       *registry.Agent       `json:"agent,omitempty"`
	SecretHash  []byte                `json:"secret_hash,omitempty"` // beside Agent
	End         int                   `json:"end,omitempty"`         // lines before this one
	SHA256      string                `json:"sha256,omitempty"`      // beside End, hex
}

// An exporter writes lines and computes their digest.
type exporter struct {
	to    io.Writer
	sum   hash.Hash
	lines int
}

func (x *exporter) writeLine(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	x.lines++
	text = append(text, '\n')
	x.sum.Write(text)
	_, err = x.to.Write(text)
	return err
}

// ExportOptions select private data to include in an export.
type ExportOptions struct {
	// Secret adds the SHA-256 of the agent's secret, so that the owner can use the secret at
	// another registry: for an operator who moves a registry. Keep such an export private.
	Secret bool
}

// Export writes an agent with its whole history, for [Transfer.Import] to read. Everything in it is
// public except for what o adds. If the agent changes meanwhile, the export shows it as it was at
// the beginning. The error is [registry.ErrNoAgent], and a [*registry.Refusal] with
// [registry.ErrGone] for an erased agent.
func (t *Transfer) Export(ctx context.Context, airID string, to io.Writer, o ExportOptions) error {
	agent, _, err := t.registry.LoadAgent(ctx, airID)
	if err != nil {
		return err
	}
	if agent.Status == registry.Erased {
		return &registry.Refusal{Kind: registry.ErrGone, Code: registry.Erased, Message: "Agent is erased", Help: "nothing is left to be exported"}
	}
	x := &exporter{to: to, sum: sha256.New()}
	if err := t.writeExport(ctx, agent, x, o); err != nil {
		return fmt.Errorf("export agent %s: %w", airID, err)
	}
	return nil
}

func (t *Transfer) writeExport(ctx context.Context, agent registry.Agent, x *exporter, o ExportOptions) error {
	if err := x.writeLine(exportHead{exportName, exportVersion, t.registry.Host().Authority(), agent.AirID, agent.Entries, t.registry.Timestamp()}); err != nil {
		return err
	}
	n := 0
	for record, err := range t.store.List(ctx, store.EntriesOf(agent.AirID), "") {
		if err != nil {
			return err // half a history is none
		}
		if n == agent.Entries {
			break // it came later
		}
		n++
		if record.Key != store.EntryKey(agent.AirID, n) {
			return fmt.Errorf("entry %d is missing: %w", n, store.ErrCorrupt)
		}
		if err := x.writeLine(exportLine{Entry: record.Value}); err != nil {
			return err
		}
	}
	if n < agent.Entries {
		return fmt.Errorf("entry %d is missing: %w", n+1, store.ErrCorrupt)
	}
	attested, err := t.registry.LoadAttestations(ctx, slices.Concat(agent.Attested, agent.Issued))
	if err != nil {
		return err
	}
	for _, a := range attested {
		if err := x.writeLine(exportLine{Attestation: &a}); err != nil {
			return err
		}
	}
	public := agent.PublicCopy()
	last := exportLine{Agent: &public}
	if o.Secret {
		last.SecretHash = agent.SecretHash
	}
	if err := x.writeLine(last); err != nil {
		return err
	}
	return x.writeLine(exportLine{End: x.lines, SHA256: hex.EncodeToString(x.sum.Sum(nil))})
}

// exportError returns the error for an invalid line of an export.
func exportError(line int, code, message, help string) error {
	return &registry.Error{Field: fmt.Sprintf("line %d", line), Code: code, Message: fmt.Sprintf("Line %d of the export: %s", line, message), Help: help}
}

// errorAtLine adds the line of an export to an error.
func errorAtLine(line int, err error) error {
	if e, ok := errors.AsType[*registry.Refusal](err); ok {
		return exportError(line, e.Code, e.Message, e.Help)
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return exportError(line, e.Code, e.Message, e.Help)
	}
	return err
}
