package answer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/store"
)

// A Seal is the content of a host's badge.
type Seal struct {
	// Known is false for an invalid host name and for an unknown host. Withdrawn is set for a
	// hidden host.
	Known, Withdrawn bool
	Standing         conformance.Standing
	Visited          time.Time // zero before the first visit
	// Old is set if the last visit is too long ago for its result to count.
	Old bool
	// Proof is the proof of the host's origin: a domain proof, or a request that the owner signed;
	// "" for none.
	Proof string
}

const (
	// sealAge is the age from which a visit is old. A document is requested at least monthly.
	sealAge = 35 * 24 * time.Hour
	// proofAge is how long a signed request proves the origin, because domains change owners.
	proofAge = 365 * 24 * time.Hour
)

// Seal returns the content of a host's badge, for any text as the host. The error is one of the
// store.
func (a *Answers) Seal(ctx context.Context, host string) (Seal, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return Seal{}, nil // no host has this name
	}
	if err := a.checkShown(ctx, host); err != nil {
		if _, withdrawn := errors.AsType[*WithdrawnError](err); withdrawn {
			return Seal{Known: true, Withdrawn: true}, nil
		}
		return Seal{}, err
	}
	record, err := a.Store.Get(ctx, store.HostKey(host))
	if errors.Is(err, store.ErrNotFound) {
		return Seal{}, nil
	}
	if err != nil {
		return Seal{}, fmt.Errorf("read the state of %s: %w", host, err)
	}
	h, err := decodeRecord[crawler.Host](record)
	if err != nil {
		return Seal{}, err
	}
	s := Seal{Known: true, Visited: h.Visited, Proof: a.originProof(host, h)}
	// A time in the future is the result of a wrong clock and proves nothing.
	if age := a.now().Sub(h.Visited); age > sealAge || age < -24*time.Hour {
		s.Old = true
	}
	if h.Track != nil {
		s.Standing = h.Track.Standing
		return s, nil
	}
	documents, err := a.currentDocuments(ctx, host)
	if err != nil {
		return Seal{}, err
	}
	s.Standing = h.Judge(documents).Standing()
	return s, nil
}

// originProof returns the proof that a host's owner speaks for it, "" for none.
func (a *Answers) originProof(host string, h crawler.Host) string {
	if a.Directory != nil {
		if proved, _, _ := a.Directory.AtHost(host, 1); len(proved) > 0 {
			return "a domain proof"
		}
	}
	if age := a.now().Sub(h.OwnerProved); !h.OwnerProved.IsZero() && age >= 0 && age < proofAge {
		return "a request that the owner signed"
	}
	return ""
}
