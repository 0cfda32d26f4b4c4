package mail

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
)

// sendFlags are what send is told.
type sendFlags struct {
	offer, counter, price, decline, withdraw, replyTo string
	accept, seal                                      bool
	expires                                           time.Duration
}

func (v *verbs) sendCommand() *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use:   "send [TO]",
		Short: "Write to an agent: an offer, or an answer to its message",
		Long: `Send signs a message with the agent's key and delivers it to the inbox that the
recipient's DID document names. TO is an AIR ID, a handle or a DID; with --reply-to, a
file with the envelope that is answered, it may be left out.

  gazetteer send AIR-7F3K-M9JQ-X2PW --offer "a table for two at eight" --price 0EUR
  gazetteer send --reply-to offer.json --counter "at nine" --price 5EUR
  gazetteer send --reply-to counter.json --accept

--seal encrypts the body, so that only the recipient can read it. A delivery that fails
is tried again after 1, 2, 4 and 8 seconds.`,
		Args: cli.MaxArgs(1, "at most one recipient"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.WithServer(c.Context(), cli.Read, func(server *cli.Client) error {
				to := ""
				if len(args) == 1 {
					to = args[0]
				}
				return v.send(c, server, to, f)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.offer, "offer", "", "begin a negotiation: what you offer, in words")
	flags.StringVar(&f.counter, "counter", "", "answer with another proposal, in words")
	flags.StringVar(&f.price, "price", "0USD", "price of an offer or counter, such as 12.50EUR")
	flags.DurationVar(&f.expires, "expires", time.Hour, "how long an offer or counter holds")
	flags.BoolVar(&f.accept, "accept", false, "accept the proposal of --reply-to at its price")
	flags.StringVar(&f.decline, "decline", "", "decline the proposal of --reply-to, with the reason")
	flags.StringVar(&f.withdraw, "withdraw", "", "withdraw your own proposal, with the reason")
	flags.StringVar(&f.replyTo, "reply-to", "", "file with the envelope that this one answers")
	flags.BoolVar(&f.seal, "seal", false, "encrypt the body for the recipient")
	return c
}

func (v *verbs) send(c *cobra.Command, server *cli.Client, to string, f *sendFlags) error {
	ctx := c.Context()
	me, err := v.readSelf()
	if err != nil {
		return err
	}
	var before *a2a.Verified
	if f.replyTo != "" {
		if before, err = v.readEnvelope(ctx, server, f.replyTo); err != nil {
			return err
		}
	}
	body, err := v.makeBody(me, before, f)
	if err != nil {
		return err
	}
	m := a2a.Message{Body: body}
	switch {
	case before != nil:
		m = before.Reply(body)
		if before.From == me.owner.String() {
			m.To = before.To // a second message about one's own
		}
	case to == "":
		return cli.UsageError(c, "name the recipient, or the message that is answered by --reply-to")
	default:
		document, err := directory{server}.Resolve(ctx, to)
		if err != nil {
			return err
		}
		m.To = document.ID
	}
	m.From = me.owner.String()
	client := a2ahttp.Client{From: m.From, Key: me.key, Directory: directory{server}, AllowLoopback: true, Now: v.Environment.Now}
	sent, err := client.Send(ctx, m, a2ahttp.Options{Seal: f.seal})
	if err != nil {
		return explainSend(err)
	}
	if v.JSON {
		return cli.WriteJSONText(v.Out, sent.Envelope.Text)
	}
	v.PrintField("sent", sent.Envelope.ID)
	v.PrintField("to", m.To)
	v.PrintField("thread", sent.Envelope.ThreadID)
	v.PrintField("inbox", sent.Inbox)
	return nil
}

// makeBody makes the one body that the flags ask for.
func (v *verbs) makeBody(me self, before *a2a.Verified, f *sendFlags) (a2a.Body, error) {
	chosen := 0
	for _, set := range []bool{f.offer != "", f.counter != "", f.accept, f.decline != "", f.withdraw != ""} {
		if set {
			chosen++
		}
	}
	if chosen != 1 {
		return nil, exit.Usagef("say one of --offer, --counter, --accept, --decline and --withdraw")
	}
	if f.offer == "" && before == nil {
		return nil, exit.Usagef("an answer needs --reply-to, the file with the envelope that is answered")
	}
	expires := v.Environment.Now().Add(f.expires)
	switch {
	case f.accept:
		price, err := proposedPrice(before, me)
		return a2a.Accept{AcceptedPrice: price}, err
	case f.decline != "":
		return a2a.Decline{Reason: f.decline}, nil
	case f.withdraw != "":
		return a2a.Withdraw{WithdrawnID: before.ID, Reason: f.withdraw}, nil
	}
	price, err := parsePrice(f.price)
	if err != nil {
		return nil, err
	}
	if f.counter != "" {
		return a2a.Counter{Description: f.counter, Price: price, ExpiresAt: expires}, nil
	}
	return a2a.Offer{Description: f.offer, Price: price, ExpiresAt: expires}, nil
}

// proposedPrice returns the price of the proposal in an envelope, opened with the agent's key if it is
// sealed.
func proposedPrice(e *a2a.Verified, me self) (a2a.Money, error) {
	body := e.Body
	if body.Type() == a2a.TypeEncrypted {
		opened, err := e.Open(me.key)
		if err != nil {
			return a2a.Money{}, exit.NotFoundf("the message that is answered is sealed and does not open with this key: %v", err)
		}
		body = opened.Body
	}
	switch proposal := body.(type) {
	case a2a.Offer:
		return proposal.Price, nil
	case a2a.Counter:
		return proposal.Price, nil
	}
	return a2a.Money{}, exit.Usagef("the message that is answered proposes nothing that can be accepted")
}

// maxEnvelopeFile is the largest file that is read for --reply-to.
const maxEnvelopeFile = a2a.MaxEnvelope

// readEnvelope reads the envelope that is answered and verifies its signature: nobody should accept a
// price that somebody else wrote.
func (v *verbs) readEnvelope(ctx context.Context, server *cli.Client, name string) (*a2a.Verified, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, exit.NotFoundf("%v", err)
	}
	if len(text) > maxEnvelopeFile {
		return nil, exit.NotFoundf("%s has more than %d bytes", name, maxEnvelopeFile)
	}
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: directory{server}}}
	e, err := verifier.Authenticate(ctx, text)
	if err != nil {
		return nil, exit.NotFoundf("%s: %s", name, format.Visible(err.Error()))
	}
	return e, nil
}

// explainSend says what became of an envelope that was not delivered.
func explainSend(err error) error {
	if e, ok := errors.AsType[*a2ahttp.Error](err); ok && errors.Is(err, a2ahttp.ErrGaveUp) {
		return exit.Networkf("%s", format.Visible(e.Error()))
	}
	return exit.NotFoundf("%s", format.Visible(err.Error()))
}
