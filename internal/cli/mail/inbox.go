package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	pause "gazetteer/internal/wait"
	"gazetteer/lint/format"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"

	"github.com/spf13/cobra"
)

// inboxFlags contains the flags of inbox.
type inboxFlags struct {
	follow, keep bool
	wait         time.Duration
	save         string
}

func (v *verbs) inboxCommand() *cobra.Command {
	f := &inboxFlags{}
	c := &cobra.Command{
		Use:   "inbox",
		Short: "Read the mail of an agent, and search what it received and sent",
		Long: `Inbox pulls the mail that waits at the address in the agent's DID document, verifies
every signature, opens sealed bodies, stores the mail in the mailbox beside the key
file (agent.mail beside agent.key), acknowledges it, so that the relay deletes it, and
prints new messages. Mail that breaks a rule is stored and shown with the rule, and
has no other effect.

  gazetteer inbox                       new messages
  gazetteer inbox --wait 1m             the same, and wait for it
  gazetteer inbox --follow              and later ones, until you stop it
  gazetteer inbox list                  received and sent messages
  gazetteer inbox read 4f0c             one message, by the beginning of its id
  gazetteer inbox search table eight    messages with these words
  gazetteer inbox export mail.jsonl     all of it, for inbox import
  gazetteer inbox rules                 who may write to it

With --save DIR each new envelope is written to DIR/ID.json, and the relay's receipt to
DIR/ID.receipt, for gazetteer envelope check; no file is replaced (a second ID is ID-2).
With --keep the mail stays at the relay.
Times are in UTC.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return v.pullMail(c.Context(), server, f) })
		},
	}
	c.Flags().BoolVar(&f.follow, "follow", false, "wait for more messages until you stop it")
	cli.SpanVar(c.Flags(), &f.wait, "wait", 0, "how long to wait for mail if there is none, such as 10s")
	c.Flags().BoolVar(&f.keep, "keep", false, "leave the mail at the relay")
	c.Flags().StringVar(&f.save, "save", "", "directory for new envelopes and their receipts, one file each")
	c.AddCommand(v.listCommand(), v.readCommand(), v.searchCommand(), v.exportCommand(), v.importCommand(), v.addCommand(), v.rulesCommand())
	return c
}

// Times of --follow: the wait for mail in one request, the first and the longest wait after a failed
// one, and the longest wait that a relay can ask for.
const (
	pollTime      = 25 * time.Second
	firstWait     = time.Second
	maxWait       = 30 * time.Second
	maxRetryAfter = 10 * time.Minute
)

// maxEmptyPages is the number of pages without new mail after which a relay that still announces more
// is asked at the pace of a follower.
const maxEmptyPages = 100

// pullMail copies mail from the relay into the mailbox and prints new messages.
func (v *verbs) pullMail(ctx context.Context, server *cli.Client, f *inboxFlags) error {
	me, err := v.readSelf(ctx)
	if err != nil {
		return err
	}
	in, puller, note, err := v.openPuller(ctx, server, &me)
	if err != nil {
		return err
	}
	puller.Keep = f.keep
	if err := me.box.OpenClosed(ctx, puller.Senders, me.keys); err != nil {
		return explainMailbox(err)
	}
	names := newSenderNames(server)
	printed, deadline := 0, time.Now().Add(f.wait)
	var reported []string // the envelopes that stay at the relay
	empty := 0            // pages in a row without new mail
	for cursor, wait, failures := "", time.Duration(0), 0; ; {
		asked := time.Now()
		batch, err := puller.Collect(ctx, cursor, wait)
		if err == nil && note != "" {
			fmt.Fprintln(v.Err, note) // a relay that does not answer at all says enough
			note = ""
		}
		if n, printErr := v.printNew(context.WithoutCancel(ctx), me, names, f); printErr != nil {
			return printErr
		} else {
			printed += n
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !f.follow || !a2ahttp.IsTransient(err) {
				return v.explainInbox(in, err)
			}
			if failures++; v.waitAfter(ctx, in, err, failures) != nil {
				return nil
			}
			continue
		}
		failures = 0
		reported = v.reportWaiting(batch.Waiting, reported)
		if len(batch.New) > 0 {
			empty = 0
		}
		more := batch.More && batch.Cursor != cursor && empty < maxEmptyPages
		empty++
		cursor = batch.Cursor
		early := wait > 0 && len(batch.New) == 0
		switch {
		case more:
			continue
		case f.follow:
			wait = pollTime
		case printed > 0:
			return nil
		case time.Until(deadline) <= 0:
			return v.printNothingNew(ctx, me)
		default:
			wait = min(max(time.Until(deadline), time.Second), pollTime)
		}
		if early { // the relay may not know that it can wait
			rest := a2ahttp.PollInterval() - time.Since(asked)
			if !f.follow {
				rest = min(rest, time.Until(deadline))
			}
			if pause.For(ctx, rest) != nil {
				return nil
			}
		}
	}
}

// reportWaiting reports the envelopes that stay at the relay, unless the pull before reported the same.
func (v *verbs) reportWaiting(waiting []error, before []string) []string {
	var texts []string
	for _, problem := range waiting {
		texts = append(texts, format.Visible(problem.Error()))
	}
	if !slices.Equal(texts, before) {
		for _, text := range texts {
			fmt.Fprintf(v.Err, "stays at the relay: %s\n", text)
		}
	}
	return texts
}

// printNothingNew reports that there is no new mail, and names the command for old mail.
func (v *verbs) printNothingNew(ctx context.Context, me self) error {
	n, err := me.box.Count(ctx)
	if err != nil {
		return explainMailbox(err)
	}
	text := "no new mail"
	if n > 0 {
		text += fmt.Sprintf("; %s in %s: %s", cli.Plural(n, "message"), me.box.Dir(), v.formatMailCommand("inbox list"))
	}
	fmt.Fprintln(v.Err, format.Visible(text))
	return nil
}

// formatMailCommand returns a command of this package that the user can run next with the same key.
func (v *verbs) formatMailCommand(words string) string {
	text := v.FormatCommand(words)
	if path := v.key.Path(); path != "agent.key" {
		text += " --key " + cli.QuoteForShell(path)
	}
	return text
}

// waitAfter reports the error of the relay and waits before the next attempt.
func (v *verbs) waitAfter(ctx context.Context, in inbox, err error, failures int) error {
	wait := min(firstWait<<min(failures-1, 10), maxWait)
	if e, ok := errors.AsType[*a2ahttp.InboxError](err); ok && e.RetryAfter > 0 {
		wait = min(e.RetryAfter, maxRetryAfter)
	}
	fmt.Fprintf(v.Err, "%s; trying again in %s\n", in.describe(err), wait)
	return pause.For(ctx, wait)
}

// openPuller finds the agent's inbox in its DID document, and the key of the relay there, and opens the
// mailbox. If there is no such key, note says what follows. A mailbox is created only for an agent that
// has an inbox, and under its current key.
func (v *verbs) openPuller(ctx context.Context, server *cli.Client, me *self) (in inbox, puller *mailbox.Puller, note string, err error) {
	senders := v.newDirectory(server)
	if !mailbox.Exists(v.mailboxDir()) {
		if err := v.checkOwnKey(ctx, senders, *me, "no mail was pulled"); err != nil {
			return inbox{}, nil, "", err
		}
	}
	document, err := senders.Resolve(ctx, me.owner.String())
	if err != nil {
		return inbox{}, nil, "", err
	}
	if in, err = v.openInbox(ctx, server, *me, document); err != nil {
		return inbox{}, nil, "", err
	}
	if err := v.openBox(ctx, me, false); err != nil {
		return inbox{}, nil, "", err
	}
	puller, err = mailbox.NewPuller(ctx, me.box, in.Inbox, senders, me.keys)
	if err != nil {
		note = "note: receipts of this relay do not count, so mail that waited for more than five minutes is refused: " + in.describe(err)
	}
	return in, puller, note, nil
}

// An inbox is the inbox of the acting agent.
type inbox struct {
	*a2ahttp.Inbox
	published string // its address in the DID document; a socket has another
}

// describe returns the text of an error for a user, with the published address of the inbox.
func (in inbox) describe(err error) string {
	text := strings.ReplaceAll(cli.Describe(err), in.Address, in.published)
	return format.Visible(strings.ReplaceAll(text, baseOf(in.Address)+": ", baseOf(in.published)+": "))
}

// baseOf returns the scheme and the host of an address.
func baseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// openInbox returns the inbox in the agent's DID document. It reads an inbox at the server of this
// data directory over the socket, which answers even without a public address.
func (v *verbs) openInbox(ctx context.Context, server *cli.Client, me self, document did.Document) (inbox, error) {
	address, err := a2ahttp.InboxOf(document, true)
	if err != nil {
		return inbox{}, exit.NotFoundf("the agent has no inbox to read (%s): give it one with %s", format.Visible(err.Error()), v.formatMailCommand("agent update --inbox here"))
	}
	in := inbox{&a2ahttp.Inbox{Address: address, Key: me.key, KeyID: mailbox.KeyIDOf(document.ID), Timeout: v.RequestTimeout(), Now: v.Environment.Clock}, address}
	if !server.Local {
		return in, nil
	}
	var own did.Document
	if _, err := server.GetJSON(ctx, "/.well-known/did.json", &own); err != nil {
		return inbox{}, err
	}
	for _, s := range own.Service {
		base, ok := strings.CutSuffix(s.ServiceEndpoint, "/api/v1")
		if path, here := strings.CutPrefix(address, base+"/"); ok && here && s.Type == "AIRRegistry" {
			in.Address, in.Host, in.HTTP = server.Base+"/"+path, me.owner.Authority(), server.HTTP
		}
	}
	return in, nil
}

// explainInbox adds the next step to the relay's refusal to show the inbox.
func (v *verbs) explainInbox(in inbox, err error) error {
	e, ok := errors.AsType[*a2ahttp.InboxError](err)
	if !ok {
		if a2ahttp.IsTransient(err) {
			return exit.Networkf("the relay does not answer: %s", in.describe(err))
		}
		return explainMailbox(err)
	}
	advice := ""
	switch {
	case e.Status == http.StatusUnauthorized && strings.Contains(e.Detail, "recovery is under way"):
		advice = "\nMail can be read when the recovery has ended. To cancel it: " + v.formatMailCommand("agent recover --withdraw")
	case e.Status == http.StatusUnauthorized:
		advice = "\nThe relay knows another key, or the clock is wrong: " + v.formatMailCommand("agent show") + " names the current key"
	case e.Status == http.StatusForbidden:
		advice = "\nThe operator of the registry can restore the agent"
	case e.Status == http.StatusNotFound && strings.Contains(e.Detail, "runs no relay"):
		advice = "\nThe operator of the registry can switch it on; an inbox elsewhere: " + v.formatMailCommand("agent update --inbox https://…")
	case e.Status == http.StatusNotFound:
		advice = "\nThe relay has no inbox at the address in the DID document. To set one: " + v.formatMailCommand("agent update --inbox here")
	}
	if a2ahttp.IsTransient(err) {
		return exit.Networkf("%s", in.describe(err))
	}
	return exit.NotFoundf("%s%s", in.describe(err), advice)
}

// printNew prints and saves the unread messages in the mailbox, oldest first, and marks them as
// read.
func (v *verbs) printNew(ctx context.Context, me self, names *senderNames, f *inboxFlags) (int, error) {
	unread, err := me.box.Messages(ctx, mailbox.MessageFilter{Unread: true})
	if err != nil {
		return 0, explainMailbox(err)
	}
	for i, m := range slices.Backward(unread) {
		if err := v.saveEnvelope(f.save, m); err != nil {
			return 0, err
		}
		m.SenderName = names.nameOf(ctx, m)
		if err := v.printMessage(m, m.SenderName); err != nil {
			return 0, err
		}
		unread[i] = m
	}
	return len(unread), explainMailbox(me.box.MarkRead(ctx, unread...))
}

// saveEnvelope writes an envelope and its receipt into a directory. With "" it does nothing.
func (v *verbs) saveEnvelope(dir string, m mailbox.Message) error {
	if dir == "" || len(m.Envelope) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return exit.Usagef("--save: %w", err)
	}
	base, err := writeEnvelope(filepath.Join(dir, fileName(m.ID)), m.Envelope)
	if err == nil && len(m.Receipt) > 0 {
		err = privatefile.Replace(base+".receipt", m.Receipt)
	}
	if err != nil {
		return exit.Usagef("--save: %w", err)
	}
	return nil
}

// writeEnvelope writes an envelope to base.json, or to base-2.json and so on if another one is there:
// senders choose the ids, and none may replace what another one has sent. It returns the path without
// the extension.
func writeEnvelope(base string, envelope []byte) (string, error) {
	for n := 1; ; n++ {
		path := base
		if n > 1 {
			path = fmt.Sprintf("%s-%d", base, n)
		}
		err := cli.WriteNewFile(path+".json", 0o600, func(w io.Writer) error {
			_, err := w.Write(envelope)
			return err
		})
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		if info, err := os.Lstat(path + ".json"); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if there, err := os.ReadFile(path + ".json"); err == nil && bytes.Equal(there, envelope) {
			return path, nil
		}
	}
}

// fileName returns a safe file name for an id, which the sender chose.
func fileName(id string) string {
	safe := []byte(id)
	for i, c := range safe {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			safe[i] = '_'
		}
	}
	return string(safe)
}

// printMessage prints one message with all its details, and the name of the other party if it is known.
func (v *verbs) printMessage(m mailbox.Message, peer string) error {
	if v.JSON {
		text, err := m.JSON()
		if err != nil {
			return err
		}
		return cli.WriteJSONText(v.Out, text)
	}
	v.PrintField("message", m.ID)
	if m.Sent {
		v.PrintField("to", m.To)
		v.PrintField("named", peer)
		v.PrintField("delivery", v.describeDelivery(m))
		v.PrintField("inbox", m.Inbox)
	} else {
		v.PrintField("from", m.From+describeSender(m))
		v.PrintField("named", peer)
	}
	v.PrintField("thread", m.ThreadID)
	v.PrintField("sent", m.Timestamp.UTC().Format(time.RFC3339))
	if !m.Received.IsZero() {
		v.PrintField("received", m.Received.UTC().Format(time.RFC3339)+" by "+m.Relay)
	}
	switch {
	case m.Sealed && len(m.Content) == 0:
		v.PrintField("sealed", "none of your keys opens it")
	case m.Sealed && !m.Sent:
		v.PrintField("sealed", "opened with your key")
	case m.Sealed:
		v.PrintField("sealed", "for the recipient alone")
	}
	v.printBody(m.Body())
	if m.State != "" {
		v.PrintField("state", string(m.State))
	}
	v.printRefusal(m.Refused)
	fmt.Fprintln(v.Out)
	return nil
}

// describeSender says whether the sender's identity is verified.
func describeSender(m mailbox.Message) string {
	if isVerified(m) {
		return " (verified)"
	}
	return " (NOT verified)"
}

func isVerified(m mailbox.Message) bool {
	if m.Refused == nil {
		return true
	}
	switch m.Refused.Rule {
	case a2a.RuleSignature, a2a.RuleSignatureText, a2a.RuleSender, a2a.RuleSenderKey:
		return false
	}
	return true
}

func (v *verbs) describeDelivery(m mailbox.Message) string {
	again := v.formatMailCommand("send --again " + shortID(m.ID))
	switch m.Delivery {
	case mailbox.Failed:
		return "failed: " + m.Problem + "; to try again: " + again
	case mailbox.Sending:
		return "not known: the answer of the inbox is missing; to find out, send it again under the same id: " + again
	}
	return string(m.Delivery)
}

// printRefusal prints the rule that a message breaks, its section, and advice for the sender.
func (v *verbs) printRefusal(r *mailbox.Refusal) {
	if r == nil {
		return
	}
	v.PrintField("REFUSED", r.Reason+": "+r.Detail+"; it counts for nothing")
	for _, line := range describeRule(r.Rule) {
		v.PrintField("", line)
	}
}

// describeRule returns the title and the section of a rule, and its repair.
func describeRule(code string) []string {
	rule := a2a.RuleOf(code)
	if rule.Title == "" {
		return nil
	}
	text := "rule: " + rule.Title
	if rule.Section != "" {
		text += " (A2A draft-1 §" + rule.Section + ")"
	}
	return []string{text, "repair: " + rule.Repair}
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
		v.PrintField("decline", cmp.Or(b.Reason, "without a reason"))
	case a2a.Withdraw:
		v.PrintField("withdraw", cmp.Or(b.Reason, "without a reason"))
	case a2a.Sealed:
	case a2a.Other:
		v.PrintField("body", string(b.JSON))
	}
}

func (v *verbs) printTerms(price a2a.Money, expires time.Time) {
	text := formatPrice(price)
	if !a2a.IsKnownCurrency(price.Currency) {
		text += " (no known currency of ISO 4217)"
	}
	v.PrintField("price", text)
	until := expires.UTC().Format(time.RFC3339)
	if !v.Environment.Now().Before(expires) {
		until += " (expired)"
	}
	v.PrintField("until", until)
}

// openSealed returns the body of a verified envelope. It decrypts a sealed body.
func openSealed(e *a2a.Verified, keys []ed25519.PrivateKey) (a2a.Body, error) {
	if e.Body.Type() != a2a.TypeEncrypted {
		return e.Body, nil
	}
	opened, err := e.Open(keys...)
	return opened.Body, err
}
