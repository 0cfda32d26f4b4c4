package demo

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/search"
	"gazetteer/internal/exit"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
	"gazetteer/registry/keyfile"
)

// A profile contains the members of an agent that the demo registers.
type profile struct {
	handle, name, description string
	capabilities              []string
}

// A participant is an agent that the demo runs. Its key and its mailbox are in the data directory,
// so that an existing directory continues with the same agent. Its inbox is at the demo's own
// relay.
type participant struct {
	profile
	key    ed25519.PrivateKey
	owner  did.Web
	airID  string
	inbox  string
	box    *mailbox.Mailbox
	client *a2ahttp.Client
	puller *mailbox.Puller
}

// agentNote is the note in a key file that contains the DID of its agent.
const agentNote = "agent"

// openParticipant registers an agent over the public API, or continues with the agent of an
// existing directory. It sets the agent's inbox to the address of this run.
func (d *demo) openParticipant(ctx context.Context, p profile) (*participant, error) {
	out := &participant{profile: p}
	path := filepath.Join(d.server.Config.DataDir, p.handle+".key")
	server := &cli.Client{HTTP: http.DefaultClient, Base: d.base}
	if err := d.readKey(ctx, path, out); err != nil {
		return nil, err
	}
	if out.owner.Host == "" {
		if err := d.registerParticipant(ctx, server, path, out); err != nil {
			return nil, err
		}
	}
	out.airID, _ = out.owner.AirID()
	out.inbox = d.base + "/inbox/" + out.airID
	var r search.Resolution
	err := d.getJSON(ctx, "/api/v1/resolve?name="+p.handle, &r)
	if e, ok := errors.AsType[*exit.Error](err); err != nil && (!ok || e.Code != exit.NotFound) {
		return nil, fmt.Errorf("resolve %s: %w", p.handle, err)
	}
	if r.Inbox != out.inbox {
		_, err := server.SendJSON(ctx, http.MethodPut, cli.AgentPath(out.airID, ""), map[string]any{
			"username":          p.handle,
			"service_endpoints": []map[string]string{{"type": did.TypeInbox, "serviceEndpoint": out.inbox}},
		}, cli.NewSigner(out.owner, out.key), new(airjson.UpdateView))
		if err != nil {
			return nil, fmt.Errorf("give %s its handle and its inbox: %w", p.handle, err)
		}
	}
	return out, d.openMail(ctx, server, path, out)
}

// readKey reads the key of a participant and its owner, or creates a key without an owner.
func (d *demo) readKey(ctx context.Context, path string, p *participant) (err error) {
	p.key, err = keyfile.Read(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		var r search.Resolution
		if err := d.getJSON(ctx, "/api/v1/resolve?name="+p.handle, &r); err == nil {
			return fmt.Errorf("the directory has the agent %s but not its key %s: start with an empty directory", r.AirID, path)
		} else if e, ok := errors.AsType[*exit.Error](err); !ok || e.Code != exit.NotFound {
			return err
		}
		if _, p.key, err = ed25519.GenerateKey(nil); err != nil {
			return fmt.Errorf("make a key: %w", err)
		}
		return keyfile.Create(path, p.key, nil, nil)
	}
	if err != nil {
		return err
	}
	f, err := keyfile.Open(path)
	if err != nil || f.Notes[agentNote] == "" {
		return err
	}
	p.owner, err = did.ParseWeb(f.Notes[agentNote])
	return err
}

// registerParticipant registers a participant, signed with its own key, and writes the owner into
// the key file.
func (d *demo) registerParticipant(ctx context.Context, server *cli.Client, path string, p *participant) error {
	public := p.key.Public().(ed25519.PublicKey)
	var registered airjson.RegistrationView
	if _, err := server.SendJSON(ctx, http.MethodPost, "/api/v1/agents/register", map[string]any{
		"name": p.name, "description": p.description, "no_secret": true,
		"public_key": did.FormatPublicKey(public), "capabilities": p.capabilities,
	}, &cli.Signer{Key: p.key, KeyID: did.FormatMultikey(public), Host: d.server.Config.Registry.DIDHost}, &registered); err != nil {
		return fmt.Errorf("register %s: %w", p.handle, err)
	}
	owner, err := did.ParseWeb(registered.CreatorDID)
	if err != nil {
		return fmt.Errorf("read the DID of %s: %w", p.handle, err)
	}
	p.owner = owner
	return keyfile.Annotate(path, keyfile.Attributes{agentNote: owner.String()})
}

// openMail opens the mailbox of a participant and its connection to the relay.
func (d *demo) openMail(ctx context.Context, server *cli.Client, path string, p *participant) (err error) {
	id, people := p.owner.String(), &cli.Directory{Server: server}
	if p.box, err = mailbox.Open(ctx, mailbox.DirOf(path), id, mailbox.Options{Keys: []ed25519.PrivateKey{p.key}}); err != nil {
		return err
	}
	p.client = &a2ahttp.Client{From: id, Key: p.key, Directory: people, AllowLoopback: true}
	inbox := &a2ahttp.Inbox{Address: p.inbox, Key: p.key, KeyID: mailbox.KeyIDOf(id)}
	p.puller, err = mailbox.NewPuller(ctx, p.box, inbox, people, []ed25519.PrivateKey{p.key})
	return err
}

// waitForAnswer waits for the answer to a message of a thread.
func (p *participant) waitForAnswer(ctx context.Context, threadID string, wait time.Duration) (mailbox.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for cursor := ""; ; {
		batch, err := p.puller.Collect(ctx, cursor, wait)
		if err != nil {
			return mailbox.Message{}, fmt.Errorf("no answer to %s: %w", p.handle, err)
		}
		for _, m := range batch.New {
			switch {
			case m.ThreadID != threadID:
			case m.Refused != nil:
				return m, fmt.Errorf("the answer to %s is refused: %s: %s", p.handle, m.Refused.Reason, m.Refused.Detail)
			default:
				return m, nil
			}
		}
		cursor = batch.Cursor
	}
}

// sendAnswer answers a message. The answer is sealed if the message was.
func (p *participant) sendAnswer(ctx context.Context, m mailbox.Message, body a2a.Body) error {
	_, err := p.box.Send(ctx, p.client, a2a.Message{To: m.From, InReplyTo: m.ID, ThreadID: m.ThreadID, Body: body}, a2ahttp.Options{Seal: m.Sealed})
	return err
}
