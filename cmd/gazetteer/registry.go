package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
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
		RequireProof: c.RequireProof, RegistrationMode: c.Door,
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
	if h.audit, err = h.openLog(ctx); err != nil {
		return fmt.Errorf("open the transparency log: %w", mendLog(err))
	}
	if h.witnesses, err = readWitnesses(c.Witnesses, h.audit); err != nil {
		return err
	}
	h.witness, err = openWitness(h.config, h.log)
	return err
}

// openLog opens the transparency log, or begins it.
func (h *house) openLog(ctx context.Context) (*audit.Log, error) {
	c := h.config.Registry
	path, dir := filepath.Join(h.config.DataDir, "log.key"), filepath.Join(h.config.DataDir, "log")
	// A key that has signed a log signs no other one of that name. Until something
	// was stored, a first start may have been cut off between the two.
	if exists(path) && !exists(dir) && !exists(c.LogCopy) && h.store.Head().Seq > 0 {
		return nil, &exitError{exitData, fmt.Errorf("%s is gone, and %s has signed it: put back any copy of the directory, with the newest checkpoint of the log that can be found in it; "+
			"if there is none, begin another log: move %s away, set registry.log_origin to a name that no log had, such as %q, and publish its key", dir, path, path, c.DIDHost+"/log-2")}
	}
	key, err := audit.OpenKey(path, cmp.Or(c.LogOrigin, c.DIDHost+"/log"))
	if err != nil {
		return nil, &exitError{exitData, fmt.Errorf("%w (the name is registry.log_origin, or made of registry.did_host)", err)}
	}
	return audit.Open(ctx, audit.Options{Dir: dir, Store: h.store, Key: key, Copy: c.LogCopy, AcceptLoss: c.AcceptLogLoss, Log: h.log})
}

// mendLog adds to the error of a log that has lost something what an operator does
// about it here.
func mendLog(err error) error {
	if !errors.Is(err, audit.ErrFork) {
		return err
	}
	return fmt.Errorf("%w\nto accept the loss of records of the store, set registry.accept_log_loss = true; "+
		"to begin another log, move log and log.key of the data directory (and registry.log_copy) away and set registry.log_origin to a name that no log had", err)
}

// openWitness opens what cosigns the checkpoints of other registries. It has its
// key from the first start, so that others can be given it before they are named
// here.
func openWitness(c Config, l *slog.Logger) (*audit.Witness, error) {
	var logs []note.Verifier
	for _, text := range c.Registry.WitnessFor {
		v, err := audit.NewVerifier(text)
		if err != nil {
			return nil, usagef("registry.witness_for %q: %v; want the public key of a log, as the other registry shows it at /log/key", text, err)
		}
		if _, err := note.NewVerifier(text); err != nil {
			return nil, usagef("registry.witness_for %q: it is the key of a witness; want that of a log, as the other registry shows it at /log/key", text)
		}
		if slices.ContainsFunc(logs, func(other note.Verifier) bool { return other.Name() == v.Name() }) {
			return nil, usagef("registry.witness_for names %s twice: a log has one key", v.Name())
		}
		logs = append(logs, v)
	}
	key, err := audit.OpenKey(filepath.Join(c.DataDir, "witness.key"), c.Registry.DIDHost+"/witness")
	if err != nil {
		return nil, err
	}
	w, err := audit.OpenWitness(audit.WitnessOptions{Dir: filepath.Join(c.DataDir, "witness"), Key: key, Logs: logs, Log: l})
	if err != nil {
		return nil, fmt.Errorf("open what cosigns other logs: %w", err)
	}
	return w, nil
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
