package document

import (
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// CodeDiffers is the code of the findings of [CrossCheck].
const CodeDiffers = "WK110"

// CrossCheck compares the bytes of an AGIS summary with those of the full
// document it names (AGIS §11.1). What differs is a finding of the summary. The
// error wraps [ErrUnreadable] or [ErrOtherFormat] when one of them is no such
// document.
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

// CheckAccess judges the status that an AGIS summary was answered with by the
// bytes of the full document, which may promise that discovery needs no
// credentials (AGIS §11.1(a)). The error is as that of [CrossCheck].
func CheckAccess(status int, full []byte) ([]protocol.Finding, error) {
	d, _, err := agis.Parse(full, agis.Options{})
	if err != nil {
		return nil, fmt.Errorf("judge access to the summary: %w", err)
	}
	return agis.CheckAccess(status, d), nil
}
