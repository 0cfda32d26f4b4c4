package mail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
)

// sendFlags contains the flags of send.
type sendFlags struct {
	offer, counter, price, decline, withdraw, replyTo, again string
	accept, seal                                             bool
	expires                                                  time.Duration
}

func (v *verbs) sendCommand() *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use:   "send [TO]",
		Short: "Write to an agent: an offer, or an answer to its message",
		Long: `Send signs a message with the agent's key and delivers it to the inbox that the
recipient's DID document names. TO is an AIR ID, a handle or a DID; an answer needs none:
--reply-to is the beginning of the id of a message in the mailbox, "last" for the newest
that was received, or a file with an envelope.

  gazetteer send AIR-7F3K-M9JQ-X2PW --offer "a table for two at eight" --price 0EUR
  gazetteer send --reply-to 4f0c --counter "at nine" --price 5EUR
  gazetteer send --reply-to 4f0c --accept

The message is checked against its thread before it is sent, and the key against the
agent's DID document. --seal encrypts the body, so that only the recipient can read it.
A failed lookup or delivery is tried again after 1, 2, 4 and 8 seconds, or when the inbox says so
within 30 seconds; standard error says why. A recipient whose key changed is resolved
once more. A proposal that has expired is not accepted.

Sent messages are stored in the mailbox beside the key file. --again sends an undelivered
message again, with its old id, so that it arrives once.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return cli.UsageError(c, "send takes one recipient, and the message as a flag: %s", v.FormatCommand("send "+cli.QuoteForShell(args[0])+" --offer "+cli.QuoteForShell(args[1])+" --price 12.50EUR"))
			}
			return cli.MaxArgs(1, "at most one recipient")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if (f.offer != "" || f.counter != "") && !c.Flags().Changed("price") {
				return cli.UsageError(c, "an offer or a counter needs a price: --price 12.50EUR, or --price 0EUR for one that costs nothing")
			}
			return v.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error {
				to := ""
				if len(args) == 1 {
					to = args[0]
				}
				return v.sendMessage(c, server, to, f)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.offer, "offer", "", "begin a negotiation: what you offer, in words")
	flags.StringVar(&f.counter, "counter", "", "answer with another proposal, in words")
	flags.StringVar(&f.price, "price", "", "price of an offer or counter, such as 12.50EUR or 0EUR; with --accept, the only price to accept")
	flags.DurationVar(&f.expires, "expires", time.Hour, "how long an offer or counter is valid")
	flags.BoolVar(&f.accept, "accept", false, "accept the proposal of --reply-to at its price")
	flags.StringVar(&f.decline, "decline", "", "decline the proposal of --reply-to, with the reason")
	flags.StringVar(&f.withdraw, "withdraw", "", "withdraw your own proposal, with the reason")
	flags.StringVar(&f.replyTo, "reply-to", "", "the message that this one answers: the beginning of its id, \"last\", or a file with the envelope")
	flags.StringVar(&f.again, "again", "", "send a message of the mailbox again, by the beginning of its id")
	flags.BoolVar(&f.seal, "seal", false, "encrypt the body for the recipient")
	return c
}

// maxInboxWait is the longest time that send waits because an inbox asks it to. Its user can decide
// about a longer one.
const maxInboxWait = 30 * time.Second

func (v *verbs) reportRetry(failed *a2ahttp.Error, wait time.Duration) {
	fmt.Fprintf(v.Err, "%s; trying again in %s\n", format.Visible(cli.Describe(failed)), wait)
}

// newDirectory returns a directory of agents that tries a lookup again after a passing failure, and says
// so.
func (v *verbs) newDirectory(server *cli.Client) *cli.Directory {
	return &cli.Directory{Server: server, Retrying: func(failed error, pause time.Duration) {
		fmt.Fprintf(v.Err, "%s; trying again in %s\n", format.Visible(cli.Describe(failed)), pause)
	}}
}

// answered is the message to which another one replies.
type answered struct {
	id, threadID, from, to string
	body                   a2a.Body // opened
}

func (v *verbs) sendMessage(c *cobra.Command, server *cli.Client, to string, f *sendFlags) error {
	ctx := c.Context()
	me, err := v.readSelf(ctx)
	if err != nil {
		return err
	}
	directory := v.newDirectory(server)
	if err := v.checkOwnKey(ctx, directory, me, "not sent"); err != nil {
		return err
	}
	if err := v.openBox(ctx, &me, false); err != nil {
		return err
	}
	client := &a2ahttp.Client{From: me.owner.String(), Key: me.key, Directory: directory, AllowLoopback: true, Now: v.Environment.Now,
		Timeout: v.RequestTimeout(), MaxWait: maxInboxWait, Retrying: v.reportRetry}
	if f.again != "" {
		return v.sendAgain(ctx, me, client, f.again)
	}
	var before *answered
	if f.replyTo != "" {
		if to != "" {
			return exit.Usagef("the answer goes to the other party of --reply-to: leave out %s", to)
		}
		if before, err = v.findAnswered(ctx, server, me, f.replyTo); err != nil {
			return err
		}
	}
	if f.withdraw != "" && before != nil && before.from != me.owner.String() {
		return exit.Usagef("--withdraw ends your own proposal, and --reply-to names it: %s shows the ids", v.FormatCommand("inbox list --sent"))
	}
	body, err := v.makeBody(c, before, f)
	if err != nil {
		return err
	}
	m := a2a.Message{Body: body}
	switch {
	case before != nil:
		m.To, m.InReplyTo, m.ThreadID = before.from, before.id, before.threadID
		if before.from == me.owner.String() {
			m.To = before.to // a second message after the agent's own
		}
	case to == "":
		return cli.UsageError(c, "name the recipient, or the message that is answered by --reply-to")
	default:
		document, err := directory.Resolve(ctx, to)
		if err != nil {
			return v.explainRecipient(ctx, server, to, err)
		}
		m.To = document.ID
	}
	m.ID = a2a.NewID()
	sent, err := me.box.Send(ctx, client, m, a2ahttp.Options{Seal: f.seal})
	if err != nil {
		return v.explainSend(err, m.ID)
	}
	return v.printSent(ctx, me, sent)
}

// explainRecipient explains why a recipient was not found. A name with a dot is that of a host, which has no
// inbox of its own unless it publishes a DID document, or NAMESPACE.VERB, which many agents may serve.
func (v *verbs) explainRecipient(ctx context.Context, server *cli.Client, to string, err error) error {
	if namespace, verb, ok := cutOperation(to); ok {
		return exit.NotFoundf("%s is an operation of services, and send takes an AIR ID, a handle or a DID\nThe agents that serve it, with their inboxes: %s",
			format.Visible(to), v.FormatCommand("find ns:"+cli.QuoteForShell(namespace)+" verb:"+verb))
	}
	switch {
	case cli.IsRefusedWithStatus(err, http.StatusNotFound) && strings.Contains(to, ".") && !strings.Contains(to, ":"):
		return exit.NotFoundf("%s is the name of a host, and send takes an AIR ID, a handle or a DID\nThe agents that are proved for it: %s\nIf the host has an inbox of its own: %s",
			format.Visible(to), v.FormatCommand("show "+cli.QuoteForShell(to)), v.FormatCommand("send did:wba:"+cli.QuoteForShell(to)+" …"))
	case cli.IsRefusedWithStatus(err, http.StatusBadRequest):
		return exit.Usagef("%s is no AIR ID, handle or DID%s\nThe agents with such a name: %s",
			format.Visible(to), cli.SuggestAgents(ctx, server, to), v.FormatCommand("agents "+cli.QuoteForShell(to)))
	}
	return v.ExplainUnknownAgent(ctx, server, to, err)
}

// cutOperation cuts NAMESPACE.VERB at its last dot. A verb is in uppercase letters, unlike the end of the
// name of a host.
func cutOperation(name string) (namespace, verb string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at <= 0 || strings.Contains(name, ":") {
		return "", "", false
	}
	namespace, verb = name[:at], name[at+1:]
	return namespace, verb, verb != "" && strings.Trim(verb, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// checkOwnKey checks that the agent's DID document shows the key of the key file, without which nobody
// may send (A2A §3.5) and the relay gives no mail. The error begins with what was not done.
func (v *verbs) checkOwnKey(ctx context.Context, directory *cli.Directory, me self, undone string) error {
	own := me.owner.String()
	hasKey := func(document did.Document) bool {
		key, err := document.Key()
		return err == nil && key.Equal(me.key.Public())
	}
	document, err := directory.Resolve(ctx, own)
	if err == nil && !hasKey(document) { // the document may be cached from before a rotation
		document, _, err = directory.Refresh(ctx, own)
	}
	refused, isRefused := errors.AsType[*cli.RefusedError](err)
	switch {
	case isRefused && refused.Code == "no-agent":
		return exit.NotFoundf("%s: the agent of %s, %s, is not registered\n  repair: use the key file of a registered agent, or register one: %s", undone, v.key.Path(), own, v.FormatCommand("agent new NAME --key FILE"))
	case err != nil:
		return err
	case !hasKey(document):
		return exit.NotFoundf("%s: the key in %s is not the key of %s: its DID document shows another\n  repair: use the file with the current key; %s shows that key", undone, v.key.Path(), own, v.FormatCommand("agent show "+own))
	}
	return nil
}

func (v *verbs) sendAgain(ctx context.Context, me self, client *a2ahttp.Client, id string) error {
	stored, err := me.box.Message(ctx, id)
	if err != nil {
		return explainMailbox(err)
	}
	if err := v.checkAcceptedAgain(ctx, me, stored); err != nil {
		return err
	}
	sent, err := me.box.SendAgain(ctx, client, stored)
	if errors.Is(err, mailbox.ErrDelivered) {
		return explainMailbox(err)
	}
	if err != nil {
		return v.explainSend(err, stored.ID)
	}
	return v.printSent(ctx, me, sent)
}

// checkAcceptedAgain refuses to send an acceptance again that did not arrive, if its proposal has expired
// since. One that may have arrived is sent, so that its sender learns whether it did.
func (v *verbs) checkAcceptedAgain(ctx context.Context, me self, stored mailbox.Message) error {
	if _, accepts := stored.Body().(a2a.Accept); !accepts || stored.Delivery != mailbox.Failed {
		return nil
	}
	proposal, err := me.box.Message(ctx, stored.InReplyTo)
	if err != nil {
		return nil // the check of the thread says why
	}
	price, expires, err := termsOf(proposal.Body())
	if err != nil {
		return nil
	}
	return v.checkExpiry(price, expires, proposal.ID)
}

func (v *verbs) printSent(ctx context.Context, me self, sent a2ahttp.Sent) error {
	if v.JSON {
		return cli.WriteJSONText(v.Out, sent.Envelope.Text)
	}
	v.PrintField("sent", sent.Envelope.ID)
	v.PrintField("to", sent.Envelope.To)
	v.PrintField("inbox", sent.Inbox)
	v.PrintField("thread", sent.Envelope.ThreadID)
	info, _, err := me.box.Thread(ctx, sent.Envelope.ThreadID)
	if err != nil {
		return explainMailbox(err)
	}
	v.PrintField("state", stateOf(info.Thread))
	m, err := me.box.Message(ctx, sent.Envelope.ID)
	switch {
	case err != nil:
		return explainMailbox(err)
	case !m.Received.IsZero():
		v.PrintField("received", m.Received.UTC().Format(time.RFC3339)+" by "+m.Relay+" (receipt verified)")
	case m.Problem != "":
		v.PrintField("received", format.Visible(m.Problem))
	}
	return nil
}

// makeBody builds the body that the flags select.
func (v *verbs) makeBody(c *cobra.Command, before *answered, f *sendFlags) (a2a.Body, error) {
	chosen := 0
	for _, set := range []bool{f.offer != "", f.counter != "", f.accept, f.decline != "", f.withdraw != ""} {
		if set {
			chosen++
		}
	}
	if chosen != 1 {
		return nil, exit.Usagef("say one of --offer, --counter, --accept, --decline and --withdraw")
	}
	if f.expires <= 0 {
		return nil, exit.Usagef("--expires %v: want a time span ahead, such as 30m or 24h", f.expires)
	}
	if f.offer == "" && before == nil {
		return nil, exit.Usagef("an answer needs --reply-to, the message that is answered: gazetteer inbox list shows the ids")
	}
	expires := v.Environment.Now().Add(f.expires)
	var price a2a.Money
	if c.Flags().Changed("price") {
		var err error
		if price, err = parsePrice(f.price); err != nil {
			return nil, err
		}
	}
	if given := c.Flags().Changed("price"); f.offer == "" && f.counter == "" && (c.Flags().Changed("expires") || given && !f.accept) {
		return nil, exit.Usagef("--price and --expires are terms of --offer and --counter")
	} else if f.accept {
		proposed, expires, err := termsOf(before.body)
		switch {
		case err != nil:
			return nil, err
		case given && price != proposed:
			return nil, exit.Usagef("the proposal asks %s, not %s: leave out --price to accept it, or answer with --counter", formatPrice(proposed), formatPrice(price))
		}
		return a2a.Accept{AcceptedPrice: proposed}, v.checkExpiry(proposed, expires, before.id)
	}
	switch {
	case f.decline != "":
		return a2a.Decline{Reason: f.decline}, nil
	case f.withdraw != "":
		return a2a.Withdraw{WithdrawnID: before.id, Reason: f.withdraw}, nil
	}
	if f.counter != "" {
		return a2a.Counter{Description: f.counter, Price: price, ExpiresAt: expires}, nil
	}
	return a2a.Offer{Description: f.offer, Price: price, ExpiresAt: expires}, nil
}

// termsOf returns the price of a proposal and when it expires.
func termsOf(body a2a.Body) (price a2a.Money, expires time.Time, err error) {
	switch proposal := body.(type) {
	case a2a.Offer:
		return proposal.Price, proposal.ExpiresAt, nil
	case a2a.Counter:
		return proposal.Price, proposal.ExpiresAt, nil
	}
	return a2a.Money{}, time.Time{}, exit.Usagef("the message that is answered proposes nothing that can be accepted")
}

// checkExpiry refuses to accept a proposal that has expired. The draft leaves it open whether its sender
// is still bound then (A2A §4.3.2), so an acceptance could be a contract or none.
func (v *verbs) checkExpiry(price a2a.Money, expires time.Time, id string) error {
	late := v.Environment.Now().Sub(expires)
	if late < 0 {
		return nil
	}
	return exit.NotFoundf("not sent: the proposal expired %s ago, at %s (A2A draft-1 §4.3.2): its sender need not keep to it any more\n  repair: propose the same terms yourself: %s",
		cli.FormatSpan(late), expires.UTC().Format(time.RFC3339), v.formatMailCommand("send --reply-to "+shortID(id)+` --counter "the same terms" --price `+strings.ReplaceAll(formatPrice(price), " ", "")))
}

// findAnswered returns the message that --reply-to names: a message of the mailbox, or an envelope
// in a file.
func (v *verbs) findAnswered(ctx context.Context, server *cli.Client, me self, name string) (*answered, error) {
	if cli.FileExists(name) {
		return v.readEnvelope(ctx, server, me, name)
	}
	if name == lastReceived {
		return findLast(ctx, me)
	}
	m, err := me.box.Message(ctx, name)
	if errors.Is(err, mailbox.ErrNotFound) {
		return nil, exit.NotFoundf("--reply-to %s is neither a file nor a message of %s: gazetteer inbox pulls new mail, gazetteer inbox list shows the ids", format.Visible(name), me.box.Dir())
	}
	if err != nil {
		return nil, explainMailbox(err)
	}
	if m.Refused != nil {
		return nil, exit.NotFoundf("message %s cannot be answered: it was refused: %s: %s", shortID(m.ID), m.Refused.Reason, format.Visible(m.Refused.Detail))
	}
	return &answered{m.ID, m.ThreadID, m.From, m.To, m.Body()}, nil
}

// lastReceived is the value of --reply-to for the newest valid received message, and the name of the
// thread with the newest message.
const lastReceived = "last"

func findLast(ctx context.Context, me self) (*answered, error) {
	messages, err := me.box.Messages(ctx, mailbox.MessageFilter{})
	if err != nil {
		return nil, explainMailbox(err)
	}
	for _, m := range messages {
		if !m.Sent && m.Refused == nil {
			return &answered{m.ID, m.ThreadID, m.From, m.To, m.Body()}, nil
		}
	}
	return nil, exit.NotFoundf("%s has no message that could be answered: gazetteer inbox pulls new mail", me.box.Dir())
}

// maxEnvelopeFile is the maximum size of a file for --reply-to.
const maxEnvelopeFile = a2a.MaxEnvelope

// readEnvelope reads the envelope to answer and verifies its signature, so that no forged price is
// accepted.
func (v *verbs) readEnvelope(ctx context.Context, server *cli.Client, me self, name string) (*answered, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	if len(text) > maxEnvelopeFile {
		return nil, exit.NotFoundf("%s has more than %d bytes", name, maxEnvelopeFile)
	}
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: v.newDirectory(server)}}
	e, err := verifier.Authenticate(ctx, text)
	if err != nil {
		return nil, exit.NotFoundf("%s: %s", name, format.Visible(err.Error()))
	}
	if _, _, err := me.box.Thread(ctx, e.ThreadID); errors.Is(err, mailbox.ErrNotFound) {
		return nil, exit.NotFoundf("%s belongs to a thread that %s does not have: bring it in first, with %s or %s", name, me.box.Dir(), v.formatMailCommand("inbox"), v.formatMailCommand("inbox add "+cli.QuoteForShell(name)))
	}
	var body a2a.Body
	if stored, err := me.box.Message(ctx, e.ID); err == nil && stored.Sent && e.From == me.owner.String() {
		body = stored.Body() // sealed for the other party
	} else if body, err = openSealed(e, me.keys); err != nil {
		return nil, exit.NotFoundf("%s: the message is sealed and none of your keys opens it: %s", name, format.Visible(err.Error()))
	}
	return &answered{e.ID, e.ThreadID, e.From, e.To, body}, nil
}

// explainSend explains why a message was not delivered, with the rule and the next step.
func (v *verbs) explainSend(err error, id string) error {
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok {
		text := "not sent: " + format.Visible(refused.Error())
		for _, line := range describeRule(refused.Rule) {
			text += "\n  " + line
		}
		return exit.NotFoundf("%s", text)
	}
	again := v.formatMailCommand("send --again " + shortID(id))
	e, ok := errors.AsType[*a2ahttp.Error](err)
	switch {
	case !ok:
		return exit.NotFoundf("not sent: %s", format.Visible(cli.Describe(err)))
	case errors.Is(err, a2ahttp.ErrGaveUp):
		later := "later"
		if e.RetryAfter > 0 {
			later = "in " + cli.FormatSpan(e.RetryAfter)
		}
		return exit.Networkf("%s after %s\nTo try again %s, under the same id: %s", format.Visible(cli.Describe(e)), cli.Plural(e.Attempts, "attempt"), later, again)
	}
	return exit.NotFoundf("%s%s", format.Visible(cli.Describe(e)), adviceFor(e, again))
}

// adviceFor returns advice about an inbox that refuses a message, as a line below the refusal; "" for
// none.
func adviceFor(e *a2ahttp.Error, again string) string {
	const line = "\n  repair: "
	switch e.Reason {
	case a2a.ErrorNotFound:
		return line + "the recipient has no inbox there: resolve it again, or ask its owner"
	case "Gone":
		return line + "the recipient is deactivated and accepts no mail"
	case a2a.ErrorStaleTimestamp:
		return line + "set the clock of this machine, then: " + again
	case a2a.ErrorStaleKey:
		return line + "the recipient rotated its key and its DID document still shows the old one: " + again + " in a minute"
	case a2a.ErrorBadSignature:
		return line + "the key in the file is not that of your DID document: gazetteer agent show"
	case a2a.ErrorReplay:
		return line + "a message with this id has arrived: gazetteer inbox list"
	case a2a.ErrorThreadClosed, a2a.ErrorConflict:
		return line + "the other party sees the thread otherwise: gazetteer inbox, then gazetteer thread"
	case a2a.ErrorReplayExhausted:
		return line + "begin another thread with --offer"
	}
	return ""
}
