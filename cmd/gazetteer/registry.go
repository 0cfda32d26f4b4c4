package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"gazetteer/api"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/registry/resolve"
)

// openRegistry sets up the registry, what it asks of other hosts, the directory
// and the transparency log.
func (h *house) openRegistry(ctx context.Context, e edge) error {
	c := h.config.Registry
	client, err := newHTTPS(h.config, e)
	if err != nil {
		return err
	}
	web := &recorded{client, h.recorder, "an agent's DID document, domain or inbox was looked at"}
	bases, err := readRegistries(c.Registries)
	if err != nil {
		return err
	}
	h.resolver, err = resolve.New(resolve.Options{Fetcher: web, Bases: bases, Local: func(ctx context.Context, w did.Web) (did.Document, bool, error) {
		return h.registry.Local(ctx, w)
	}})
	if err != nil {
		return err
	}
	names := e.dns
	if names == nil {
		names = registry.NewDNS(c.DNS)
	}
	if h.registry, err = registry.New(registry.Options{
		Store: h.store, Log: h.log, DIDHost: c.DIDHost, BaseURL: h.config.PublicURL, AllowLoopback: c.AllowLoopback,
		RequireProof: c.RequireProof, Door: c.Door,
		Limits: registry.Limits{
			Registrations: h.config.API.RegistrationsPerHour, AllRegistrations: h.config.API.RegistrationsGlobalPerHour,
			Changes: h.config.API.ChangesPerHour, AllChanges: h.config.API.ChangesGlobalPerHour, Writes: h.config.API.ChangesPerAgentHour,
			Reports: h.config.API.ReportsPerDay,
		},
		Resolver: h.resolver, Web: web, DNS: names,
	}); err != nil {
		return err
	}
	h.directory = h.registry.NewDirectory()
	if h.joiner, err = join.New(join.Options{Store: h.store, Registry: h.registry, Directory: h.directory, Resolver: h.resolver}); err != nil {
		return err
	}
	key, err := audit.OpenKey(filepath.Join(h.config.DataDir, "log.key"), c.DIDHost+"/log")
	if err != nil {
		return err
	}
	h.audit, err = audit.Open(ctx, audit.Options{Dir: filepath.Join(h.config.DataDir, "log"), Store: h.store, Key: key,
		Copy: c.LogCopy, AcceptLoss: c.AcceptLogLoss, Log: h.log})
	if err != nil {
		return fmt.Errorf("open the transparency log: %w", err)
	}
	h.witnesses, err = readWitnesses(c.Witnesses, h.audit)
	return err
}

// newHTTPS returns what asks other hosts for DID documents and proofs, under the
// address rules of the crawler.
func newHTTPS(c Config, e edge) (*resolve.HTTPS, error) {
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	var dial dialFunc = guard.DialContext
	if e.dial != nil {
		dial = e.dial(dial)
	}
	return resolve.NewHTTPS(resolve.HTTPSOptions{Dial: dial, Roots: e.roots, UserAgent: userAgent(c)})
}

// readRegistries reads which registry keeps the agents of a DID host.
func readRegistries(lines []string) (map[string]string, error) {
	bases := map[string]string{}
	for _, line := range lines {
		host, base, ok := strings.Cut(line, "=")
		if !ok || host == "" || !strings.HasPrefix(base, "https://") {
			return nil, usagef("registry.registries %q: want a DID host and the address of its registry, for example \"agents.example=https://registry.example\"", line)
		}
		bases[host] = base
	}
	return bases, nil
}

// A witness is one that is asked to cosign our log.
type witness struct {
	verifier note.Verifier
	prefix   string
}

// witnesses are those asked to cosign the log, and what they have cosigned.
type witnesses struct {
	log  *audit.Log
	list []witness

	mu     sync.Mutex // guards following
	newest *api.Anchor
}

// readWitnesses reads who shall cosign: a public key and a URL each.
func readWitnesses(lines []string, log *audit.Log) (*witnesses, error) {
	w := &witnesses{log: log}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "http://") && !strings.HasPrefix(fields[1], "https://") {
			return nil, usagef("registry.witnesses %q: want the public key of a witness and the address to send checkpoints to", line)
		}
		v, err := audit.NewVerifier(fields[0])
		if err != nil {
			return nil, usagef("registry.witnesses %q: %v", line, err)
		}
		w.list = append(w.list, witness{v, strings.TrimSuffix(fields[1], "/")})
	}
	return w, nil
}

const (
	// cosignEvery is how often the witnesses are asked by themselves.
	cosignEvery = time.Hour
	cosignTime  = 30 * time.Second
)

// run asks the witnesses now and then, until ctx ends. What one answers is
// logged; that it does not answer stops nothing.
func (w *witnesses) run(ctx context.Context, failed func(error)) error {
	tick := time.NewTicker(cosignEvery)
	defer tick.Stop()
	for {
		if err := w.ask(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// ask has every witness cosign the newest checkpoint. The error joins those of
// the witnesses that did not.
func (w *witnesses) ask(ctx context.Context) error {
	client := &http.Client{Timeout: cosignTime}
	var all error
	for _, x := range w.list {
		if err := w.askOne(ctx, client, x); err != nil {
			all = errors.Join(all, fmt.Errorf("witness %s: %w", x.verifier.Name(), err))
		}
	}
	return all
}

func (w *witnesses) askOne(ctx context.Context, client *http.Client, x witness) error {
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

// anchored returns the newest tree that was cosigned, nil for none.
func (w *witnesses) anchored() *api.Anchor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// publish is ask for the operator, nil without witnesses.
func (w *witnesses) publish() func(context.Context) error {
	if len(w.list) == 0 {
		return nil
	}
	return w.ask
}
