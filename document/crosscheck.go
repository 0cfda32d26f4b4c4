package document

import (
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// CodeDiffers is the code of the findings of [CrossCheck].
const CodeDiffers = "WK110"

// CrossCheck compares the bytes of an AGIS summary with those of the full document it names (AGIS
// §11.1). Differences are findings of the summary. The error wraps [ErrUnreadable] or
// [ErrOtherFormat] if one of them is not such a document.
func CrossCheck(summary, full []byte) ([]protocol.Finding, error) {
	s, _, err := agis.ParseSummary(summary, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("compare summary and document: %w", err)
	}
	d, _, err := agis.Parse(full, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("compare summary and document: %w", err)
	}
	return agis.CrossCheck(s, d), nil
}

// CheckAccess checks the status of the answer with an AGIS summary against the full document, which
// may promise that discovery needs no credentials (AGIS §11.1(a)). The errors are those of
// [CrossCheck].
func CheckAccess(status int, full []byte) ([]protocol.Finding, error) {
	d, _, err := agis.Parse(full, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("judge access to the summary: %w", err)
	}
	return agis.CheckAccess(status, d), nil
}

// Protocols returns the interaction protocols of a service with both a summary and a full document:
// those of the full document, else those of the summary (§11.1), because a document of AGIS §8
// cannot declare any. The errors are those of [CrossCheck].
func Protocols(summary, full []byte) ([]string, error) {
	d, _, err := agis.Parse(full, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("read the protocols of a document: %w", err)
	}
	if own := d.Links.InteractionProtocols; len(own) > 0 {
		return own, nil
	}
	s, _, err := agis.ParseSummary(summary, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("read the protocols of a summary: %w", err)
	}
	return s.Links.InteractionProtocols, nil
}
