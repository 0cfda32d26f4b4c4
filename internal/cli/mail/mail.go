// Package mail contains the commands with which an agent sends mail, reads its mail and follows its
// negotiations: send, inbox and thread. The key in a file signs the envelopes, as in package agent.
// The mailbox next to that file stores received and sent mail.
package mail

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct {
	*cli.App
	key *agent.KeyReader
}

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a, &agent.KeyReader{}}
	commands := []*cobra.Command{v.sendCommand(), v.inboxCommand(), v.threadCommand()}
	for _, c := range commands {
		v.key.AddFlags(c)
	}
	return commands
}

// self is the acting agent: its key, the keys that decrypt its mail, its DID and its mailbox.
type self struct {
	key   ed25519.PrivateKey
	keys  []ed25519.PrivateKey // the current key, then retired ones
	owner did.Web
	box   *mailbox.Mailbox
}

// readSelf reads the key of the agent. It may ask for a passphrase. The mailbox is opened by openBox.
func (v *verbs) readSelf(ctx context.Context) (self, error) {
	key, id, err := v.key.Read(ctx, v.App)
	if err != nil {
		return self{}, err
	}
	if id == "" {
		return self{}, v.noAgentError()
	}
	owner, err := did.ParseWeb(id)
	if err != nil {
		return self{}, err
	}
	retired, problems := v.key.ReadRetired()
	for _, problem := range problems {
		fmt.Fprintf(v.Err, "note: %s\n", format.Visible(problem.Error()))
	}
	return self{key: key, keys: append([]ed25519.PrivateKey{key}, retired...), owner: owner}, nil
}

// openBox opens the mailbox of the agent, or creates it. With existing it creates none.
func (v *verbs) openBox(ctx context.Context, me *self, existing bool) (err error) {
	me.box, err = mailbox.Open(ctx, v.mailboxDir(), me.owner.String(), mailbox.Options{Keys: me.keys, Now: v.Environment.Now, Existing: existing})
	return explainMailbox(err)
}

// mailboxDir returns the directory of the mailbox next to the key file.
func (v *verbs) mailboxDir() string { return mailbox.DirOf(v.key.Path()) }

// openMailbox opens the existing mailbox next to the key file with the key in that file.
func (v *verbs) openMailbox(ctx context.Context) (*mailbox.Mailbox, error) {
	me, err := v.readSelf(ctx)
	if err != nil {
		return nil, err
	}
	err = v.openBox(ctx, &me, true)
	return me.box, err
}

func (v *verbs) noAgentError() error {
	return exit.Usagef("the key file names no agent: register it with %s", v.FormatCommand("agent new NAME"))
}

// explainMailbox adds the exit code to an error of the mailbox.
func explainMailbox(err error) error {
	switch {
	case errors.Is(err, mailbox.ErrNotFound):
		return exit.NotFoundf("%s: gazetteer inbox list and gazetteer thread show the ids", format.Visible(err.Error()))
	case errors.Is(err, mailbox.ErrNone):
		return exit.NotFoundf("%w yet: gazetteer inbox pulls the mail of a registered agent", err)
	case errors.Is(err, mailbox.ErrAmbiguous), errors.Is(err, mailbox.ErrImport), errors.Is(err, mailbox.ErrDelivered):
		return exit.NotFoundf("%s", format.Visible(err.Error()))
	case errors.Is(err, mailbox.ErrOwner):
		return exit.Usagef("%v: give each agent its own key file", err)
	case errors.Is(err, mailbox.ErrKey):
		return exit.Usagef("%v: put the file of that key into its folder keys, or move the mailbox away to begin another", err)
	}
	return err
}

// parsePrice reads "12.50 EUR" or "12.50EUR", with at most the decimals that the currency has.
func parsePrice(text string) (a2a.Money, error) {
	const want = "want an amount and the three letters of a currency (ISO 4217), such as 12.50EUR"
	bad := exit.Usagef("price %q: %s", text, want)
	text = strings.ReplaceAll(text, " ", "")
	if len(text) < 4 {
		return a2a.Money{}, bad
	}
	amount, currency := text[:len(text)-3], strings.ToUpper(text[len(text)-3:])
	if strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return a2a.Money{}, bad
	}
	if !a2a.IsKnownCurrency(currency) {
		question := nearest.Question(currency, a2a.Currencies())
		if question != "" {
			question = ": " + question
		}
		return a2a.Money{}, exit.Usagef("price %q: %s; there is no currency %s%s", text, want, currency, question)
	}
	whole, minor, _ := strings.Cut(amount, ".")
	digits := a2a.MinorDigits(currency)
	if len(minor) > digits {
		return a2a.Money{}, exit.Usagef("price %q: amounts in %s have at most %d decimals (ISO 4217)", text, currency, digits)
	}
	n, err := strconv.ParseUint(whole+minor+strings.Repeat("0", digits-len(minor)), 10, 53)
	if err != nil {
		return a2a.Money{}, bad
	}
	return a2a.Money{AmountCents: n, Currency: currency}, nil
}

// formatPrice formats a price in the syntax of parsePrice.
func formatPrice(m a2a.Money) string {
	digits := a2a.MinorDigits(m.Currency)
	amount := fmt.Sprintf("%0*d", digits+1, m.AmountCents)
	if digits > 0 {
		at := len(amount) - digits
		amount = amount[:at] + "." + amount[at:]
	}
	return amount + " " + m.Currency
}
