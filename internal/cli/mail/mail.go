// Package mail has the verbs by which an agent writes to others and reads its mail: send and inbox.
// Envelopes are signed with the key in a file, as those of package agent.
package mail

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/exit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// verbs are the verbs of this package with what all verbs share.
type verbs struct {
	*cli.App
	key *agent.KeyReader
}

// Commands returns the verbs of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a, &agent.KeyReader{}}
	commands := []*cobra.Command{v.sendCommand(), v.inboxCommand()}
	for _, c := range commands {
		v.key.AddFlags(c)
	}
	return commands
}

// self is an agent that acts: its key and its DID.
type self struct {
	key   ed25519.PrivateKey
	owner did.Web
}

func (v *verbs) readSelf() (self, error) {
	key, id, err := v.key.Read(v.App)
	if err != nil {
		return self{}, err
	}
	if id == "" {
		return self{}, exit.Usagef("the key file names no agent: register it with %s", v.FormatCommand("agent new NAME"))
	}
	owner, err := did.ParseWeb(id)
	return self{key, owner}, err
}

// directory resolves DIDs through the server.
type directory struct{ server *cli.Client }

// Resolve implements a2a.Resolver. The name may also be an AIR ID or a handle.
func (d directory) Resolve(ctx context.Context, name string) (did.Document, error) {
	var found struct {
		DID      string          `json:"did"`
		Document json.RawMessage `json:"did_document"`
	}
	if _, err := d.server.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {name}}.Encode(), &found); err != nil {
		return did.Document{}, err
	}
	if len(found.Document) == 0 {
		return did.Document{}, fmt.Errorf("%w: %s names no agent", a2a.ErrUnknownSender, name)
	}
	asked := name
	if !strings.HasPrefix(name, "did:") {
		asked = found.DID
	}
	return did.ParseDocument(found.Document, asked)
}

// Forget implements a2ahttp.Directory: the server keeps documents, and for a minute only.
func (directory) Forget(string) {}

// parsePrice reads "12.50 EUR" or "12.50EUR". Every currency is taken to have two decimals.
func parsePrice(text string) (a2a.Money, error) {
	bad := exit.Usagef("price %q: want an amount and a currency, such as 12.50EUR", text)
	text = strings.ReplaceAll(text, " ", "")
	if len(text) < 4 {
		return a2a.Money{}, bad
	}
	amount, currency := text[:len(text)-3], strings.ToUpper(text[len(text)-3:])
	whole, cents, _ := strings.Cut(amount, ".")
	if len(cents) > 2 || strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return a2a.Money{}, bad
	}
	n, err := strconv.ParseUint(whole+(cents + "00")[:2], 10, 53)
	if err != nil {
		return a2a.Money{}, bad
	}
	return a2a.Money{AmountCents: n, Currency: currency}, nil
}

// formatPrice writes a price as parsePrice reads it.
func formatPrice(m a2a.Money) string {
	return fmt.Sprintf("%d.%02d %s", m.AmountCents/100, m.AmountCents%100, m.Currency)
}

// inboxPath is the path of the agent's inbox at its registry.
func inboxPath(owner did.Web) string {
	airID, _ := owner.AirID()
	return "/inbox/" + url.PathEscape(airID)
}

// pulled is a page of mail in the form of the draft.
type pulled struct {
	Envelopes []json.RawMessage `json:"envelopes"`
	Receipts  []json.RawMessage `json:"receipts"`
	Cursor    string            `json:"cursor"`
	More      bool              `json:"has_more"`
}

// pull reads a page of the agent's mail.
func (v *verbs) pull(ctx context.Context, server *cli.Client, me self, since string, wait int) (pulled, []byte, error) {
	q := url.Values{"limit": {"200"}}
	if since != "" {
		q.Set("since", since)
	}
	if wait > 0 {
		q.Set("wait", strconv.Itoa(wait))
	}
	var page pulled
	raw, err := server.SendJSON(ctx, http.MethodGet, inboxPath(me.owner)+"/pull?"+q.Encode(), nil, cli.NewSigner(me.owner, me.key), &page)
	return page, raw, err
}
