package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gazetteer/api"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// updateAgent is what agent update is told.
type updateAgent struct {
	texts       agentTexts
	handle      string
	noHandle    bool
	noEndpoints bool
	noSecret    bool
	addRecovery bool
}

func (a *app) agentUpdateCommand(k *keyring) *cobra.Command {
	u := &updateAgent{}
	c := &cobra.Command{
		Use:   "update",
		Short: "Change what an agent says of itself: inbox, handle, description",
		Long: `Update changes only what is named; "" clears a text. --inbox replaces the inbox
and leaves other endpoints as they are; with --no-endpoints they go first.

  gazetteer agent update --inbox https://agent.example/inbox --handle booker`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentUpdate(c, server, k, u) })
		},
	}
	u.texts.flags(c)
	c.Flags().StringVar(&u.handle, "handle", "", "claim a handle: 3 to 30 of a-z, 0-9 and _")
	c.Flags().BoolVar(&u.noHandle, "no-handle", false, "give the handle back")
	c.Flags().BoolVar(&u.noEndpoints, "no-endpoints", false, "take all service endpoints away")
	c.Flags().BoolVar(&u.noSecret, "no-secret", false, "switch the once-shown secret off for good: every change is signed then")
	c.Flags().BoolVar(&u.addRecovery, "add-recovery", false, "make a recovery key, for an agent that has none")
	return c
}

func (a *app) agentUpdate(c *cobra.Command, server *client, k *keyring, u *updateAgent) error {
	ctx := c.Context()
	body := u.texts.body(c)
	services, change, err := u.texts.services(c)
	if err != nil {
		return err
	}
	if u.handle != "" && u.noHandle {
		return usagef("--handle and --no-handle contradict each other")
	}
	if c.Flags().Changed("handle") || u.noHandle {
		body["username"] = u.handle
	}
	if u.noSecret {
		body["no_secret"] = true
	}
	if len(body) == 0 && !change && !u.noEndpoints && !u.addRecovery {
		return wrongUse(c, "nothing to change: name it by flags")
	}
	owner, key, keys, err := a.mine(ctx, server, k)
	if err != nil {
		return err
	}
	airID := keys.AirID
	if change || u.noEndpoints {
		if !u.noEndpoints {
			if services, err = server.withOthers(c, airID, services); err != nil {
				return err
			}
		}
		body["service_endpoints"] = append([]registry.ServiceEndpoint{}, services...)
	}
	if u.addRecovery {
		if keys.Commitment != "" {
			return usagef("%s has committed to a recovery key already; only a recovery changes it", airID)
		}
		f, err := keyfile.Open(k.path)
		if err != nil {
			return keyError(err, k.path)
		}
		recovery, err := k.resume(a, k.recoveryPath(), owner, f.Encrypted)
		if err != nil {
			return err
		}
		body["recovery_commitment"] = registry.RecoveryCommitment(recovery.Public().(ed25519.PublicKey))
	}
	var done registry.UpdateView
	raw, err := server.write(ctx, http.MethodPut, agentPath(airID, ""), body, signerOf(owner, key), &done)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSONText(a.out, raw)
	}
	a.field("agent", airID)
	for _, member := range sortedKeys(body) {
		a.field("changed", member)
	}
	if u.addRecovery {
		a.field("recovery", k.recoveryPath()+": keep it elsewhere")
	}
	if u.texts.inbox != "" {
		a.next("Others find the inbox by its DID document. Show that a domain is yours:", a.again(k, "prove agent.example"))
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// withOthers adds to the named endpoints those that the agent has of other types:
// the registry replaces the whole list.
func (c *client) withOthers(command *cobra.Command, airID string, named []registry.ServiceEndpoint) ([]registry.ServiceEndpoint, error) {
	var d did.Document
	if _, err := c.write(command.Context(), http.MethodGet, agentPath(airID, "/did-document"), nil, nil, &d); err != nil {
		return nil, err
	}
	for _, s := range d.Service {
		replaced := slices.ContainsFunc(named, func(n registry.ServiceEndpoint) bool { return n.Type == s.Type })
		if s.Type != did.TypeTrustScore && !replaced {
			named = append(named, registry.ServiceEndpoint(s))
		}
	}
	return named, nil
}

func (a *app) agentRotateCommand(k *keyring) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Put a new key in the place of the agent's key",
		Long: `Rotate makes a new key beside the old one and has the registry take it: both
sign. When the registry has acknowledged that, the new key takes the place of the
old one in its file; if the answer is lost, run it again. What the old key signed
can still be judged; from then on it signs nothing.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentRotate(c, server, k) })
		},
	}
}

func (a *app) agentRotate(c *cobra.Command, server *client, k *keyring) error {
	ctx := c.Context()
	owner, key, keys, err := a.mine(ctx, server, k)
	if err != nil {
		return err
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return keyError(err, k.path)
	}
	made := newFiles(keyfile.Next(k.path))
	next, err := k.resume(a, keyfile.Next(k.path), owner, f.Encrypted)
	if err != nil {
		return err
	}
	x := registry.NewRotation(owner.String(), key, next, "", time.Now())
	var after registry.KeysView
	raw, err := server.write(ctx, http.MethodPost, agentPath(keys.AirID, "/keys"), map[string]string{
		"agent": x.Agent, "current_key": x.From, "public_key": x.To, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"old_signature": x.OldSignature, "new_signature": x.NewSignature,
	}, nil, &after)
	if err == nil && len(after.Keys) == 0 {
		err = networkf("%s did not answer as Gazetteer would: it names no key", server.base)
	}
	if err != nil {
		return a.dropRefused(ctx, server, keys.AirID, err, made)
	}
	if err := current(keyfile.Next(k.path), next.Public().(ed25519.PublicKey), after); err != nil {
		return err
	}
	if err := keyfile.Promote(k.path); err != nil {
		return &exitError{exitData, fmt.Errorf("the registry has the new key, but it is still in %s: %w", keyfile.Next(k.path), err)}
	}
	if a.json {
		return writeJSONText(a.out, raw)
	}
	a.field("agent", keys.AirID)
	a.field("key", x.To+" in "+k.path)
	a.field("retired", x.From+": it signs nothing any more, and nothing needs to keep it")
	a.next("A domain that names the old key must name the new one within three days. This is what it publishes:", a.again(k, "prove --print"))
	return nil
}

// recoverAgent is what agent recover is told.
type recoverAgent struct {
	file     string
	withdraw bool
}

func (a *app) agentRecoverCommand(k *keyring) *cobra.Command {
	r := &recoverAgent{}
	c := &cobra.Command{
		Use:   "recover",
		Short: "Take an agent over with its recovery key, when its key is lost or stolen",
		Long: `Recover makes a new key and a new recovery key beside the old ones, and asks the
registry to take the new key. It comes into force after a delay (three days,
unless the registry says otherwise), in which whoever holds the recovery key can
call it off with --withdraw. The files take their places with the first command
after that.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentRecover(c, server, k, r) })
		},
	}
	c.Flags().StringVar(&r.file, "recovery", "", "file with the recovery key (default: agent.recovery.key beside the key)")
	c.Flags().BoolVar(&r.withdraw, "withdraw", false, "call off the recovery that is under way")
	return c
}

func (a *app) agentRecover(c *cobra.Command, server *client, k *keyring, r *recoverAgent) error {
	ctx := c.Context()
	path := r.file
	if path == "" {
		path = k.recoveryPath()
	}
	f, err := keyfile.Open(path)
	if err != nil {
		return keyError(err, path)
	}
	recovery, owner, err := k.read(a, path)
	if err != nil {
		return err
	}
	airID, ok := owner.AirID()
	if !ok {
		return usagef("%s does not say whose recovery key it is: add a line %q behind the key", path, agentNote+": did:wba:…")
	}
	keys, err := server.keysOf(ctx, airID)
	if err != nil {
		return err
	}
	if owner, err = ownerThere(owner, keys); err != nil {
		return err
	}
	var next, reserve ed25519.PrivateKey
	commitment := ""
	made := newFiles(keyfile.Next(k.path), keyfile.Next(k.recoveryPath()))
	if !r.withdraw {
		if next, err = k.resume(a, keyfile.Next(k.path), owner, f.Encrypted); err != nil {
			return err
		}
		if reserve, err = k.resume(a, keyfile.Next(k.recoveryPath()), owner, f.Encrypted); err != nil {
			return err
		}
		commitment = registry.RecoveryCommitment(reserve.Public().(ed25519.PublicKey))
	}
	x := registry.NewRecovery(owner.String(), keys.Keys[0].PublicKeyMultibase, recovery, next, commitment, time.Now())
	body := map[string]string{"agent": x.Agent, "current_key": x.From, "recovery_key": x.Key, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"recovery_signature": x.RecoverySignature}
	if next != nil {
		body["public_key"], body["next_commitment"], body["new_signature"] = x.To, x.Next, x.NewSignature
	}
	var after registry.KeysView
	raw, err := server.write(ctx, http.MethodPost, agentPath(airID, "/recovery"), body, nil, &after)
	if err != nil {
		return a.dropRefused(ctx, server, airID, err, made)
	}
	if r.withdraw {
		// The keys that were to come are of no use any more.
		for _, gone := range []string{keyfile.Next(k.path), keyfile.Next(k.recoveryPath())} {
			if exists(gone) {
				if err := os.Remove(gone); err != nil {
					return &exitError{exitData, fmt.Errorf("the recovery is called off, but %w", err)}
				}
			}
		}
	}
	if a.json {
		return writeJSONText(a.out, raw)
	}
	a.field("agent", airID)
	if after.Recovery == nil {
		a.field("recovery", "called off; the key in use stays")
		return nil
	}
	a.field("recovery", "under way to "+after.Recovery.To)
	a.field("in force", stampText(time.Now(), after.Recovery.Due))
	a.field("keep", keyfile.Next(k.path)+" and "+keyfile.Next(k.recoveryPath())+": they take their places then")
	a.next("Until then the old key signs, but cannot be rotated. Look how it stands:", a.again(k, "show "+airID))
	return nil
}

// attestAgent is what agent attest is told.
type attestAgent struct {
	kind, statement string
	revoke          int
}

func (a *app) agentAttestCommand(k *keyring) *cobra.Command {
	t := &attestAgent{}
	c := &cobra.Command{
		Use:   "attest AGENT",
		Short: "Say something of another agent, signed; or take it back",
		Long: `Attest signs what your agent says of another one. The registry takes it from
agents that are older than 30 days and whose key stands in the DID document of a
domain of their own.

  gazetteer agent attest AIR-7F3K-M9JQ-X2PW --type identity_verification --statement "We have met them."
  gazetteer agent attest AIR-7F3K-M9JQ-X2PW --revoke 7`,
		Args: exactly(1, "the agent that it is about"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentAttest(c, server, k, t, args) })
		},
	}
	c.Flags().StringVar(&t.kind, "type", "", "identity_verification, operator_confirmation, dependency or safety_review")
	c.Flags().StringVar(&t.statement, "statement", "", "what you say, in at most 1,000 characters")
	c.Flags().IntVar(&t.revoke, "revoke", 0, "take back the attestation with this number")
	return c
}

func (a *app) agentAttest(c *cobra.Command, server *client, k *keyring, t *attestAgent, args []string) error {
	ctx := c.Context()
	if (t.kind == "") == (t.revoke == 0) {
		return wrongUse(c, "attest needs --type (identity_verification, operator_confirmation, dependency or safety_review), or --revoke with the number of an attestation")
	}
	subject, err := a.agentAt(ctx, server, k, args)
	if err != nil {
		return err
	}
	owner, key, keys, err := a.mine(ctx, server, k)
	if err != nil {
		return err
	}
	if t.revoke != 0 {
		var done registry.RevokedView
		raw, err := server.write(ctx, http.MethodDelete, agentPath(subject, "/attestations/"+strconv.Itoa(t.revoke)), nil, signerOf(owner, key), &done)
		if err != nil || a.json {
			return a.orJSON(raw, err)
		}
		a.field("revoked", fmt.Sprintf("attestation %d of %s", done.AttestationID, done.SubjectAirID))
		return nil
	}
	q := registry.AttestationRequest{Attester: keys.AirID, Type: t.kind, Statement: t.statement, SignedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	payload, err := q.Payload(subject)
	if err != nil {
		return err
	}
	var done registry.AttestedView
	raw, err := server.write(ctx, http.MethodPost, agentPath(subject, "/attestations"), map[string]string{
		"attester_air_id": q.Attester, "attestation_type": q.Type, "signed_at": q.SignedAt, "statement": q.Statement,
		"signature_multibase": did.FormatSignature(ed25519.Sign(key, payload)),
	}, signerOf(owner, key), &done)
	if err != nil || a.json {
		return a.orJSON(raw, err)
	}
	a.field("attested", fmt.Sprintf("%s, as number %d: %s", done.SubjectAirID, done.AttestationID, done.AttestationType))
	a.field("weight", fmt.Sprintf("%v, for the domain %s", done.Weight, done.WhoisRoot))
	a.field("note", done.Note)
	a.next("Take it back with:", a.again(k, fmt.Sprintf("attest %s --revoke %d", subject, done.AttestationID)))
	return nil
}

// orJSON ends a verb whose answer is shown as it came.
func (a *app) orJSON(raw []byte, err error) error {
	if err != nil {
		return err
	}
	return writeJSONText(a.out, raw)
}

func (a *app) agentProveCommand(k *keyring) *cobra.Command {
	giveUp, show := false, false
	c := &cobra.Command{
		Use:   "prove DOMAIN",
		Short: "Show that a domain is yours, by DNS or a file",
		Long: `Prove has the registry look whether the owner of a domain names the agent and its
key: in a TXT record at _gazetteer.DOMAIN or at DOMAIN, or in a line of
https://DOMAIN/.well-known/gazetteer-agents. When it is not there yet, the answer
tells what to publish, what was asked, from where, and what came back. The
registry looks again every day; three failures, and the proof is withdrawn.

  gazetteer agent prove --print >> .well-known/gazetteer-agents
  gazetteer agent prove example.com

Exit code 1 when the domain is not proved.`,
		Args: func(c *cobra.Command, args []string) error {
			if show {
				return noArgs(c, args)
			}
			return exactly(1, "a domain such as example.com")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if show {
				return a.askAgents(c.Context(), func(server *client) error { return a.agentRecord(c.Context(), server, k) })
			}
			return a.askAgents(c.Context(), func(server *client) error {
				if giveUp {
					return a.agentGiveUp(c, server, k, args[0])
				}
				return a.agentProve(c, server, k, args[0])
			})
		},
	}
	c.Flags().BoolVar(&giveUp, "give-up", false, "take the domain from the agent")
	c.Flags().BoolVar(&show, "print", false, "only print what the owner of a domain publishes for the agent")
	return c
}

// agentRecord prints what is to be published for the key in use.
func (a *app) agentRecord(ctx context.Context, server *client, k *keyring) error {
	_, keys, err := a.known(ctx, server, k)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, format.Visible(registry.DomainRecordFor(keys.DID, keys.Keys[0].PublicKeyMultibase)))
	return nil
}

func (a *app) agentProve(c *cobra.Command, server *client, k *keyring, domain string) error {
	owner, key, keys, err := a.mine(c.Context(), server, k)
	if err != nil {
		return err
	}
	var answer api.DomainAnswer
	raw, err := server.write(c.Context(), http.MethodPost, agentPath(keys.AirID, "/domains"), map[string]string{"domain": domain}, signerOf(owner, key), &answer)
	if err != nil {
		return err
	}
	if a.json {
		err = writeJSONText(a.out, raw)
	} else {
		a.printDomain(k, answer, len(keys.Keys) > 1)
	}
	if err == nil && !answer.Proved {
		err = errQuiet
	}
	return err
}

// printDomain tells what came of looking at a domain; rotated says that the agent
// had another key before.
func (a *app) printDomain(k *keyring, answer api.DomainAnswer, rotated bool) {
	a.field("agent", answer.AirID)
	d := answer.Domain
	if answer.Proved {
		a.field("domain", d.Name+": proved by "+d.Method)
	} else {
		a.field("domain", d.Name+": not proved yet")
	}
	for _, l := range d.Probes {
		fmt.Fprintln(a.out)
		a.field("asked", l.Query)
		a.field("from", l.Server)
		for _, got := range l.Values {
			a.field("got", strconv.Quote(got))
		}
		if l.OmittedValues > 0 {
			a.field("", fmt.Sprintf("and %d more", l.OmittedValues))
		}
		a.field("expected", l.Expected)
		if l.Found {
			a.field("result", "found")
		}
		a.field("problem", l.Problem)
	}
	if answer.Proved && rotated {
		a.next("This is what others can see of it now:", a.again(k, "show"))
		return
	}
	if answer.Proved {
		a.next("Keys get old. Put a new one in the place of this one:", a.again(k, "rotate"))
		return
	}
	fmt.Fprintf(a.out, "\nPublish this, as one value of a TXT record or as one line of the file:\n  %s\nat one of\n", format.Visible(answer.Publish.Value))
	for _, at := range answer.Publish.At {
		fmt.Fprintf(a.out, "  %s\n", format.Visible(at))
	}
	a.next("and look again, or wait until the registry does within the hour:", a.again(k, "prove "+quoted(d.Name)))
}

func (a *app) agentGiveUp(c *cobra.Command, server *client, k *keyring, domain string) error {
	owner, key, keys, err := a.mine(c.Context(), server, k)
	if err != nil {
		return err
	}
	var left api.DomainList
	raw, err := server.write(c.Context(), http.MethodDelete, agentPath(keys.AirID, "/domains/"+url.PathEscape(domain)), nil, signerOf(owner, key), &left)
	if err != nil || a.json {
		return a.orJSON(raw, err)
	}
	a.field("agent", keys.AirID)
	a.field("given up", domain)
	for _, d := range left.Domains {
		a.field("left", d.Domain.Name)
	}
	return nil
}

func (a *app) agentDeactivateCommand(k *keyring) *cobra.Command {
	yes, erase := false, false
	c := &cobra.Command{
		Use:   "deactivate",
		Short: "End an agent for good",
		Long: `Deactivate takes an agent out of service for good: it can neither act nor be
reached, its handle is free after 30 days, and what it attested counts no more.
Its keys and history stay to be read, so that what it signed can still be judged.

With --erase its record, history and attestations are removed too; only the AIR ID
and hashes in the transparency log are kept. Export it first.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentEnd(c, server, k, erase, yes) })
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&erase, "erase", false, "remove all that is stored of it, too")
	return c
}

func (a *app) agentEnd(c *cobra.Command, server *client, k *keyring, erase, yes bool) error {
	owner, key, keys, err := a.mine(c.Context(), server, k)
	if err != nil {
		return err
	}
	below, word := "/deactivate", "deactivated"
	if erase {
		below, word = "/erase", "erased"
	}
	if !yes {
		if err := a.confirm(keys.AirID, word); err != nil {
			return err
		}
	}
	var done api.AgentStatusAnswer
	raw, err := server.write(c.Context(), http.MethodPost, agentPath(keys.AirID, below), nil, signerOf(owner, key), &done)
	if err != nil || a.json {
		return a.orJSON(raw, err)
	}
	a.field("agent", done.AirID)
	a.field("status", done.Status)
	a.field("note", done.Message)
	return nil
}

// confirm asks the person at the terminal to write the AIR ID.
func (a *app) confirm(airID, word string) error {
	terminal, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return usagef("%s would be %s for good: say so with --yes", airID, word)
	}
	fmt.Fprintf(a.err, "%s will be %s for good. Write its AIR ID to go on: ", format.Visible(airID), word)
	line, _ := bufio.NewReader(a.in).ReadString('\n') // what is cut off is no AIR ID
	if strings.TrimSpace(line) != airID {
		return usagef("that is not %s: nothing was done", airID)
	}
	return nil
}
