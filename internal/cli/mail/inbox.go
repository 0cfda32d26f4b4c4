package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a"
)

// inboxFlags are what inbox is told.
type inboxFlags struct {
	follow, keep bool
	save         string
}

func (v *verbs) inboxCommand() *cobra.Command {
	f := &inboxFlags{}
	c := &cobra.Command{
		Use:   "inbox",
		Short: "Read the mail of an agent",
		Long: `Inbox pulls the mail that waits at the agent's registry, verifies every signature and
opens what is sealed, prints it, and acknowledges it, so that the relay deletes it. With
--save DIR each envelope is first written to DIR/ID.json, for send --reply-to; with
--keep nothing is acknowledged.

  gazetteer inbox --save mail
  gazetteer inbox --follow --save mail`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return v.readInbox(c.Context(), server, f) })
		},
	}
	c.Flags().BoolVar(&f.follow, "follow", false, "wait for more until it is stopped")
	c.Flags().BoolVar(&f.keep, "keep", false, "leave the mail in the inbox")
	c.Flags().StringVar(&f.save, "save", "", "directory for the envelopes, one file each")
	return c
}

// pollTime is how long one request of --follow waits for mail, in seconds.
const pollTime = 25

func (v *verbs) readInbox(ctx context.Context, server *cli.Client, f *inboxFlags) error {
	me, err := v.readSelf()
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := os.MkdirAll(f.save, 0o700); err != nil {
			return err
		}
	}
	since, wait := "", 0
	for {
		page, _, err := v.pull(ctx, server, me, since, wait)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := v.takeMail(ctx, server, me, page, f); err != nil {
			return err
		}
		since = page.Cursor
		switch {
		case page.More:
		case f.follow:
			wait = pollTime
		default:
			if len(page.Envelopes) == 0 && since == "0" {
				fmt.Fprintln(v.Err, "no mail")
			}
			return nil
		}
	}
}

// takeMail prints, saves and acknowledges a page of mail. What cannot be verified is shown as such and
// acknowledged, too: it would come again otherwise.
func (v *verbs) takeMail(ctx context.Context, server *cli.Client, me self, page pulled, f *inboxFlags) error {
	var ids []string
	for i, text := range page.Envelopes {
		e, err := a2a.Read(text, a2a.Wire)
		if err != nil {
			continue // the relay has read it: this cannot be
		}
		if f.save != "" {
			if err := os.WriteFile(filepath.Join(f.save, fileName(e.ID)), text, 0o600); err != nil {
				return err
			}
		}
		var receipt json.RawMessage
		if i < len(page.Receipts) {
			receipt = page.Receipts[i]
		}
		if err := v.printMail(ctx, server, me, e, receipt); err != nil {
			return err
		}
		ids = append(ids, e.ID)
	}
	if len(ids) == 0 || f.keep {
		return nil
	}
	_, err := server.SendJSON(ctx, http.MethodPost, inboxPath(me.owner)+"/ack", map[string][]string{"envelope_ids": ids}, cli.NewSigner(me.owner, me.key), new(json.RawMessage))
	return err
}

// fileName makes the name of a file from an id, which the sender chose.
func fileName(id string) string {
	safe := []byte(id)
	for i, c := range safe {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			safe[i] = '_'
		}
	}
	return string(safe) + ".json"
}

func (v *verbs) printMail(ctx context.Context, server *cli.Client, me self, e *a2a.Envelope, receipt json.RawMessage) error {
	if v.JSON {
		return cli.WriteJSONText(v.Out, e.Text)
	}
	verdict := "verified"
	verified, err := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: directory{server}}}.Authenticate(ctx, e.Text)
	if err != nil {
		verdict = "NOT verified: " + err.Error()
	}
	v.PrintField("message", e.ID)
	v.PrintField("from", e.From+" ("+verdict+")")
	v.PrintField("thread", e.ThreadID)
	v.PrintField("sent", e.Timestamp.UTC().Format(time.RFC3339))
	if r, err := a2a.ReadReceipt(receipt); err == nil {
		v.PrintField("received", r.ReceivedAt.UTC().Format(time.RFC3339)+" by "+r.Relay)
	}
	body := e.Body
	if verified != nil && body.Type() == a2a.TypeEncrypted {
		opened, err := verified.Open(me.key)
		if err != nil {
			v.PrintField("body", "sealed, and it does not open with this key: "+err.Error())
			return nil
		}
		body = opened.Body
		v.PrintField("sealed", "opened with your key")
	}
	v.printBody(body)
	fmt.Fprintln(v.Out)
	return nil
}

func (v *verbs) printBody(body a2a.Body) {
	switch b := body.(type) {
	case a2a.Offer:
		v.PrintField("offer", b.Description)
		v.printTerms(b.Price, b.ExpiresAt)
	case a2a.Counter:
		v.PrintField("counter", b.Description)
		v.printTerms(b.Price, b.ExpiresAt)
	case a2a.Accept:
		v.PrintField("accept", "at "+formatPrice(b.AcceptedPrice))
	case a2a.Decline:
		v.PrintField("decline", b.Reason)
	case a2a.Withdraw:
		v.PrintField("withdraw", b.Reason)
	default:
		v.PrintField("body", format.Visible(body.Type()))
	}
}

func (v *verbs) printTerms(price a2a.Money, expires time.Time) {
	v.PrintField("price", formatPrice(price))
	v.PrintField("until", expires.UTC().Format(time.RFC3339))
}
