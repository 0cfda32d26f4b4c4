package attestation

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gazetteer/store"
)

// attestationNumbers assigns the numbers of attestations. They have no gaps, so a search finds the
// first free one.
type attestationNumbers struct {
	mu   sync.Mutex // guards the following fields
	used int        // at least as many are in use
}

// nextFree returns the first free number. Two callers may get the same one; the store lets one of
// them write.
func (n *attestationNumbers) nextFree(ctx context.Context, s store.Store) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := func(i int) (bool, error) {
		_, err := s.Get(ctx, store.AttestationKey(i))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil || errors.Is(err, store.ErrCorrupt), ignoreError(err, store.ErrCorrupt)
	}
	low, step := n.used, 1 // low is in use, or 0
	for {
		is, err := taken(low + step)
		if err != nil {
			return 0, fmt.Errorf("number an attestation: %w", err)
		}
		if !is {
			break
		}
		low, step = low+step, 2*step
	}
	for high := low + step; high-low > 1; {
		middle := low + (high-low)/2
		is, err := taken(middle)
		if err != nil {
			return 0, fmt.Errorf("number an attestation: %w", err)
		}
		if is {
			low = middle
		} else {
			high = middle
		}
	}
	n.used = low
	return low + 1, nil
}

func ignoreError(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
