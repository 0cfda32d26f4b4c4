package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"gazetteer/api"
	"gazetteer/internal/exit"
	"gazetteer/registry/audit"
)

// A witness is one that is asked to cosign our log.
type cosigner struct {
	verifier note.Verifier
	prefix   string
}

// cosigners are those asked to cosign the log, and what they have cosigned.
type cosigners struct {
	log  *audit.Log
	list []cosigner

	mu     sync.Mutex // guards following
	newest *api.Anchor
}

// parseCosigners reads who shall cosign: a public key and a URL each.
func parseCosigners(lines []string, log *audit.Log) (*cosigners, error) {
	w := &cosigners{log: log}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "http://") && !strings.HasPrefix(fields[1], "https://") {
			return nil, exit.Usagef("registry.witnesses %q: want the public key of a witness and the address to send checkpoints to", line)
		}
		v, err := audit.NewVerifier(fields[0])
		if err != nil {
			return nil, exit.Usagef("registry.witnesses %q: %v", line, err)
		}
		w.list = append(w.list, cosigner{v, strings.TrimSuffix(fields[1], "/")})
	}
	return w, nil
}

const (
	// cosignEvery is how often the witnesses are asked by themselves.
	cosignEvery = time.Hour
	cosignTime  = 30 * time.Second
)

// Run asks the witnesses now and then, until ctx ends. What one answers is
// logged; that it does not answer stops nothing.
func (w *cosigners) Run(ctx context.Context, failed func(error)) error {
	tick := time.NewTicker(cosignEvery)
	defer tick.Stop()
	for {
		if err := w.askAll(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// askAll has every witness cosign the newest checkpoint. The error joins those of
// the witnesses that did not.
func (w *cosigners) askAll(ctx context.Context) error {
	client := &http.Client{Timeout: cosignTime}
	var all error
	for _, x := range w.list {
		if err := w.askOne(ctx, client, x); err != nil {
			all = errors.Join(all, fmt.Errorf("witness %s: %w", x.verifier.Name(), err))
		}
	}
	return all
}

func (w *cosigners) askOne(ctx context.Context, client *http.Client, x cosigner) error {
	if w.log.Head().N == 0 {
		return nil // there is nothing to cosign yet
	}
	if err := w.log.Cosign(ctx, client, x.prefix, x.verifier); err != nil {
		return err
	}
	signed, err := w.log.Checkpoint()
	if err != nil {
		return err
	}
	at, err := audit.CheckCosignature(signed, x.verifier)
	if err != nil {
		return nil // another checkpoint was signed meanwhile; the next time will do
	}
	key, err := audit.NewVerifier(w.log.Key())
	if err != nil {
		return err
	}
	c, err := audit.ParseCheckpoint(signed, key)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = &api.Anchor{AnchoredAt: at.UTC().Format(time.RFC3339), TipHash: fmt.Sprintf("%x", c.Hash[:]), EntryCount: c.N,
		Witness: x.verifier.Name(), Checkpoint: string(signed)}
	return nil
}

// newestAnchor returns the newest tree that was cosigned, nil for none.
func (w *cosigners) newestAnchor() *api.Anchor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// publishFunc is ask for the operator, nil without witnesses.
func (w *cosigners) publishFunc() func(context.Context) error {
	if len(w.list) == 0 {
		return nil
	}
	return w.askAll
}
