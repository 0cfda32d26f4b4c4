package server

import (
	"fmt"
	"time"

	"gazetteer/api/air"
	"gazetteer/internal/exit"
	"gazetteer/registry/audit"
)

// parseCosigners reads the witnesses of the log from the configuration: a public key and a URL each.
func parseCosigners(lines []string) ([]audit.Cosigner, error) {
	var list []audit.Cosigner
	for _, line := range lines {
		c, err := audit.ParseCosigner(line)
		if err != nil {
			return nil, exit.Usagef("registry.witnesses %q: %v", line, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// newestAnchor returns the newest tree that a witness of the log cosigned, nil for none.
func (h *Server) newestAnchor() *air.Anchor {
	a, ok := h.witnesses.NewestAnchor()
	if !ok {
		return nil
	}
	return &air.Anchor{AnchoredAt: a.Time.UTC().Format(time.RFC3339), TipHash: fmt.Sprintf("%x", a.Checkpoint.Hash[:]), EntryCount: a.Checkpoint.N,
		Witness: a.Witness, Checkpoint: string(a.Signed)}
}
