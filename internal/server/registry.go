package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/join"
	"gazetteer/limit"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/witness"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/store/boltstore"

	"golang.org/x/mod/sumdb/note"
)

// openRegistry opens the registry, its clients for other hosts, the directory and the witness.
func (h *Server) openRegistry(ctx context.Context, e Environment, relayKey ed25519.PublicKey) error {
	c := h.Config.Registry
	client, err := newHTTPS(h.Config, e)
	if err != nil {
		return err
	}
	web := &recordingClient{client, h.recorder, "an agent's DID document, domain or inbox was checked"}
	bases, err := parseRegistries(c.RemoteRegistries)
	if err != nil {
		return err
	}
	h.resolver, err = resolve.New(resolve.Options{Now: e.Now, Fetcher: web, Bases: bases, Local: func(ctx context.Context, w did.Web) (did.Document, bool, error) {
		return h.registry.Local(ctx, w)
	}})
	if err != nil {
		return err
	}
	h.limits = &limit.Set{Now: e.Now}
	if h.registry, err = registrar.New(registrar.Options{
		Store: h.Store, Log: h.log, DIDHost: c.DIDHost, BaseURL: h.Config.PublicURL, AllowLoopback: c.AllowLoopback,
		RequireProof: c.RequireProof, Mode: c.Admission,
		Limits: admission.Limits{
			Registrations: h.Config.API.RegistrationsPerHour, AllRegistrations: h.Config.API.RegistrationsGlobalPerHour, Work: h.Config.API.RegistrationWork,
			Changes: h.Config.API.ChangesPerHour, AllChanges: h.Config.API.ChangesGlobalPerHour, Writes: h.Config.API.ChangesPerAgentPerHour,
			Reports: h.Config.API.ReportsPerDay,
		},
		LimitSet: h.limits, Resolver: h.resolver, RelayKey: relayKey, Web: web, DNS: newDNS(h.Config, e), Now: e.Now, Due: h.clock.Due, Steady: h.clock.Steady,
	}); err != nil {
		return err
	}
	h.directory = h.registry.NewDirectory()
	if h.joiner, err = join.New(join.Options{Now: e.Now, Store: h.Store, Registry: h.registry, Directory: h.directory, Resolver: h.resolver}); err != nil {
		return err
	}
	cosigners, err := parseCosigners(c.Witnesses)
	if err != nil {
		return err
	}
	h.witnesses = audit.NewCosigners(h.audit, cosigners)
	h.witness, err = h.openWitness(ctx, e)
	return err
}

// openLog opens the transparency log, or creates it.
func (h *Server) openLog(ctx context.Context) (*audit.Log, error) {
	c := h.Config.Registry
	path, dir := filepath.Join(h.Config.DataDir, "log.key"), filepath.Join(h.Config.DataDir, "log")
	var recorded string
	var err error
	if h.checkpointCopy, recorded, err = h.findCheckpointCopy(dir); err != nil {
		return nil, err
	}
	known, err := h.knownCheckpoint(ctx, logOrigin(h.Config), fileExists(dir))
	if err != nil {
		return nil, err
	}
	if recorded != "" && h.checkpointCopy != "" && recorded != h.checkpointCopy {
		text, err := readRecordedCopy(recorded)
		if err != nil {
			return nil, err
		}
		if text != nil {
			known = append(known, text)
		}
	}
	if err := h.refuseEmptyDirectory(dir); err != nil {
		return nil, err
	}
	// A key that has signed a log must not sign another log of that name. As long as nothing is
	// stored, an interrupted first start may have left a key without a log.
	signed := (fileExists(path) || fileExists(h.checkpointCopy)) && h.Store.Head().Seq > 0
	if !fileExists(dir) && (signed || len(known) > 0) {
		return nil, exit.Dataf("%s is gone, and it was signed: restore any copy of the directory and of %s, with the newest checkpoint of the log that you can find; "+
			"if there is none, begin another log: %s", dir, path, h.remedyAnotherLog())
	}
	if !fileExists(path) && !c.AcceptLogKey {
		switch hasLeaves, err := audit.HasLeaves(dir); {
		case err != nil:
			return nil, err
		case hasLeaves:
			return nil, exit.Dataf("%s is missing, and it has signed %s: put it back from a backup; %s", path, dir, remedyNewKey)
		}
	}
	key, err := checkpoint.OpenKey(path, logOrigin(h.Config))
	if err != nil {
		return nil, &exit.Error{Code: exit.Data, Err: fmt.Errorf("%w (the name is registry.log_origin, or made of registry.did_host)", err)}
	}
	lock, err := parseLockWitness(c.LockWitness)
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(ctx, audit.Options{Dir: dir, Store: h.Store, Key: key, Lock: lock, Copy: h.checkpointCopy, Known: known, AcceptLoss: c.AcceptLogLoss, AcceptKey: c.AcceptLogKey, CheckStore: true, Log: h.log})
	if errors.Is(err, audit.ErrKey) {
		return nil, exit.Dataf("%w; put back the %s that has signed it; %s", err, path, remedyNewKey)
	}
	if err != nil {
		return nil, err
	}
	if h.checkpointCopy != "" && recorded != h.checkpointCopy {
		if err := privatefile.Replace(filepath.Join(dir, copyRecord), []byte(h.checkpointCopy+"\n")); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return log, nil
}

// remedyNewKey is what to do when the key of a log is lost.
const remedyNewKey = "if that key is lost, start once with registry.accept_log_key = true: a new key then signs the same log, and you have to publish it"

// checkStoreFiles refuses a directory that has a log, but nothing of its store: another store would begin
// beside it.
func checkStoreFiles(dir string) error {
	for _, name := range []string{boltstore.FormatFile, boltstore.BoltFile, boltstore.BoltFile + privatefile.NewSuffix} {
		if fileExists(filepath.Join(dir, name)) {
			return nil
		}
	}
	hasLeaves, err := audit.HasLeaves(filepath.Join(dir, "log"))
	if err == nil && hasLeaves {
		return exit.Dataf("the store of %s is gone, and its transparency log is there: put back %s and %s from a backup, or move log and log.key away", dir, boltstore.FormatFile, boltstore.BoltFile)
	}
	return nil // the log names its damage when it is opened
}

// refuseEmptyDirectory refuses to begin a log in a directory without any data if the second copy of the
// checkpoint has leaves: data_dir is probably mistyped, or its disk is not mounted.
func (h *Server) refuseEmptyDirectory(dir string) error {
	if fileExists(dir) || h.checkpointCopy == "" || h.Store.Head().Seq > 0 {
		return nil
	}
	text, err := readRecordedCopy(h.checkpointCopy)
	if err != nil || text == nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	size, _, _ := strings.Cut(rest, "\n")
	if leaves, err := checkpoint.ParseNumber(size); err != nil || leaves == 0 {
		return nil // the log says what is wrong with it
	}
	return exit.Dataf("there is no data in %s, and %s is the last checkpoint of a log that has leaves: name the data directory of that log (data_dir), "+
		"mount its disk, or restore its newest backup; for a registry without that data, %s", h.Config.DataDir, h.checkpointCopy, h.remedyAnotherLog())
}

// explainLogError adds the operator's next step to the error of a log that has lost entries.
func (h *Server) explainLogError(err error) error {
	if !errors.Is(err, audit.ErrFork) {
		return err
	}
	var accept string
	if fork, ok := errors.AsType[*audit.ForkError](err); ok && fork.LossOfRecords {
		accept = "to accept the loss of records of the store, set registry.accept_log_loss = true; "
	}
	return fmt.Errorf("%w; %sto begin another log, %s", err, accept, h.remedyAnotherLog())
}

// remedyAnotherLog is how an operator begins another log. It names the files that would keep it from
// beginning.
func (h *Server) remedyAnotherLog() string {
	var files []string
	for _, file := range []string{filepath.Join(h.Config.DataDir, "log"), filepath.Join(h.Config.DataDir, "log.key"), h.checkpointCopy} {
		if fileExists(file) {
			files = append(files, file)
		}
	}
	return fmt.Sprintf("move %s away, set registry.log_origin to a new name, such as %q, and publish the new key", strings.Join(files, " and "), h.Config.Registry.DIDHost+"/log-2")
}

// openWitness opens the witness of other registries' checkpoints. Its key exists from the first
// start, so that the operator can publish it before the configuration names other registries.
func (h *Server) openWitness(ctx context.Context, e Environment) (*witness.Witness, error) {
	c := h.Config
	logs, err := parseWitnessedLogs(c.Registry.WitnessFor)
	if err != nil {
		return nil, err
	}
	key, err := checkpoint.OpenKey(filepath.Join(c.DataDir, "witness.key"), c.Registry.DIDHost+"/witness")
	if err != nil {
		return nil, err
	}
	w, err := witness.Open(ctx, witness.Options{Now: e.Now, Dir: filepath.Join(c.DataDir, "witness"), Key: key, Logs: logs, Store: h.Store, Log: h.log})
	if err != nil {
		return nil, fmt.Errorf("open what cosigns other logs: %w", err)
	}
	return w, nil
}

// parseWitnessedLogs reads the public keys of the logs that are cosigned here.
func parseWitnessedLogs(keys []string) ([]note.Verifier, error) {
	var logs []note.Verifier
	for _, text := range keys {
		v, err := checkpoint.NewVerifier(text)
		if err != nil {
			return nil, exit.Usagef("registry.witness_for %q: %v; want the public key of a log, as the other registry shows it at /log/key", text, err)
		}
		if _, err := note.NewVerifier(text); err != nil {
			return nil, exit.Usagef("registry.witness_for %q: it is the key of a witness; want that of a log, as the other registry shows it at /log/key", text)
		}
		if slices.ContainsFunc(logs, func(other note.Verifier) bool { return other.Name() == v.Name() }) {
			return nil, exit.Usagef("registry.witness_for names %s twice: a log has one key", v.Name())
		}
		logs = append(logs, v)
	}
	return logs, nil
}

// newDNS returns the client that looks up TXT records.
func newDNS(c config.Config, e Environment) evidence.DNS {
	if e.DNS != nil {
		return e.DNS
	}
	return evidence.NewDNS(c.Registry.NameServer)
}

// newHTTPS returns the client that requests DID documents and proofs from other hosts, under the
// address rules of the crawler.
func newHTTPS(c config.Config, e Environment) (*resolve.HTTPS, error) {
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	var dial DialFunc = guard.DialContext
	if e.Dial != nil {
		dial = e.Dial(dial)
	}
	return resolve.NewHTTPS(resolve.HTTPSOptions{Dial: dial, Roots: e.Roots, UserAgent: userAgent(c)})
}

// parseRegistries reads which registry holds the agents of a DID host.
func parseRegistries(lines []string) (map[string]string, error) {
	bases := map[string]string{}
	for _, line := range lines {
		host, base, ok := strings.Cut(line, "=")
		if !ok || host == "" || !strings.HasPrefix(base, "https://") || base == "https://" {
			return nil, exit.Usagef("registry.remote_registries %q: want a DID host and the https address of its registry, for example \"agents.example=https://registry.example\"", line)
		}
		if _, err := registry.ParseHost(host); err != nil {
			return nil, exit.Usagef("registry.remote_registries %q: %w", line, err)
		}
		bases[host] = base
	}
	return bases, nil
}
