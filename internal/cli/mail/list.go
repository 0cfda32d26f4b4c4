package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/mailbox"
	"gazetteer/protocol"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
)

// listFlags selects the messages of a list.
type listFlags struct {
	unread         bool
	peer, thread   string
	limit          int
	sent, received bool
}

func (f *listFlags) addTo(c *cobra.Command) {
	c.Flags().StringVar(&f.peer, "with", "", "only messages from and to this agent, a DID or an AIR ID")
	c.Flags().StringVar(&f.thread, "thread", "", "only messages of this thread")
	c.Flags().BoolVar(&f.sent, "sent", false, "only messages that the agent sent")
	c.Flags().BoolVar(&f.received, "received", false, "only messages that it received")
	c.Flags().IntVarP(&f.limit, "limit", "n", 20, "the largest number of messages, newest first; 0 for all")
}

func (v *verbs) listCommand() *cobra.Command {
	f := &listFlags{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the received and sent messages, the newest first",
		Long: `List shows the mailbox beside the key file, without a server: a line for each message, with
the beginning of its id and its status. The name of an agent is the one that the registry
had when inbox pulled its newest message.

  gazetteer inbox list --unread
  gazetteer inbox list --with AIR-7F3K-M9JQ-X2PW -n 50`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.listMessages(c.Context(), f, nil) },
	}
	f.addTo(c)
	c.Flags().BoolVar(&f.unread, "unread", false, "only messages that were not read")
	return c
}

func (v *verbs) searchCommand() *cobra.Command {
	f := &listFlags{}
	c := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Find messages that contain all these words",
		Long: `Search reads the mailbox beside the key file, without a server. A message matches if it
contains every word: in its opened text, in the DIDs of the two agents, or in its ids. The
beginning of a word is enough, and letter case does not matter; "two words" in quotes must
be next to each other.

  gazetteer inbox search transl korean
  gazetteer inbox search '"table for two"' --sent`,
		Args: cli.MinArgs(1, "words to look for"),
		RunE: func(c *cobra.Command, args []string) error { return v.listMessages(c.Context(), f, args) },
	}
	f.addTo(c)
	return c
}

// listMessages lists the messages that flags and words select. Without words it lists all.
func (v *verbs) listMessages(ctx context.Context, f *listFlags, words []string) error {
	if f.sent && f.received {
		return exit.Usagef("--sent and --received contradict each other")
	}
	box, err := v.openMailbox(ctx)
	if errors.Is(err, mailbox.ErrNone) && len(words) == 0 && f.thread == "" {
		fmt.Fprintln(v.Err, format.Visible(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	s := mailbox.MessageFilter{Unread: f.unread, Peer: f.peer}
	if f.thread != "" {
		info, _, err := box.Thread(ctx, f.thread)
		if err != nil {
			return explainMailbox(err)
		}
		s.Thread = info.ID
	}
	messages, err := box.Search(ctx, strings.Join(words, " "), s)
	if err != nil {
		return explainMailbox(err)
	}
	messages = slices.DeleteFunc(messages, func(m mailbox.Message) bool { return f.sent && !m.Sent || f.received && m.Sent })
	total := len(messages)
	if f.limit > 0 && total > f.limit {
		messages = messages[:f.limit]
	}
	if total == 0 {
		if len(words) == 0 {
			fmt.Fprintf(v.Err, "%s has no such messages\n", format.Visible(box.Dir()))
			return nil
		}
		return exit.NotFoundf("no message of %s contains all of: %s", box.Dir(), strings.Join(words, " "))
	}
	names, err := box.Names(ctx)
	if err != nil {
		return explainMailbox(err)
	}
	for _, m := range messages {
		if err := v.printLine(m, nameOfPeer(names, m)); err != nil {
			return err
		}
	}
	if total > len(messages) {
		fmt.Fprintf(v.Err, "%d more: -n %d\n", total-len(messages), total)
	}
	return nil
}

// nameOfPeer returns the name of the other party of a message, "" if it is not known or its signature
// was not verified.
func nameOfPeer(names map[string]string, m mailbox.Message) string {
	if !m.Sent && !isVerified(m) {
		return ""
	}
	return names[m.Peer()]
}

// formatPeer returns the AIR ID in a DID, or the DID, and the beginning of its name.
func formatPeer(id, name string) string {
	text := shortName(id)
	if name != "" {
		text += " " + protocol.ClipRunes(name, 32)
	}
	return format.Visible(text)
}

// printLine prints a message in one line, with the name of the other party if it is known.
func (v *verbs) printLine(m mailbox.Message, peer string) error {
	if v.JSON {
		text, err := m.JSON()
		if err != nil {
			return err
		}
		return cli.WriteJSONText(v.Out, text)
	}
	way := "from"
	if m.Sent {
		way = "to  "
	}
	unread := " "
	if !m.Read {
		unread = "*"
	}
	_, err := fmt.Fprintf(v.Out, "%s%-8s  %s  %s %s  %s\n", unread, format.Visible(shortID(m.ID)), m.Timestamp.UTC().Format("2006-01-02 15:04"), way, formatPeer(m.Peer(), peer), format.Visible(summarizeMessage(m)))
	return err
}

// summarizeMessage summarizes a message and its result in few words.
func summarizeMessage(m mailbox.Message) string {
	text := summarizeBody(m.Body())
	switch {
	case m.Refused != nil:
		text += "  REFUSED: " + m.Refused.Reason
	case m.Delivery == mailbox.Failed:
		text += "  NOT DELIVERED"
	case m.Delivery == mailbox.Sending:
		text += "  delivery not known"
	}
	return text
}

// summarizeBody summarizes a body in few words.
func summarizeBody(body a2a.Body) string {
	if _, sealed := body.(a2a.Sealed); sealed {
		return "sealed, and it does not open"
	}
	text := clipText(body.Type())
	price, words := contentOf(body)
	if price != "" {
		text += " " + price
	}
	if words = clipText(words); words != "" {
		text += "  " + words
	}
	return text
}

// contentOf returns the price and the words of a body, "" for what it does not have.
func contentOf(body a2a.Body) (price, words string) {
	switch b := body.(type) {
	case a2a.Offer:
		return formatPrice(b.Price), b.Description
	case a2a.Counter:
		return formatPrice(b.Price), b.Description
	case a2a.Accept:
		return formatPrice(b.AcceptedPrice), ""
	case a2a.Decline:
		return "", b.Reason
	case a2a.Withdraw:
		return "", b.Reason
	}
	return "", ""
}

// clipText shortens an untrusted text to one short line.
func clipText(text string) string {
	return protocol.ClipRunes(strings.Join(strings.Fields(text), " "), 48)
}

// shortID returns the beginning of an id, as long as users need to type.
func shortID(id string) string { return id[:min(len(id), 8)] }

// shortName returns the AIR ID in a DID, or the DID.
func shortName(id string) string {
	if w, err := did.ParseWeb(id); err == nil {
		if airID, ok := w.AirID(); ok {
			return airID
		}
	}
	return id
}

func (v *verbs) readCommand() *cobra.Command {
	raw, save := false, ""
	c := &cobra.Command{
		Use:   "read ID",
		Short: "Show one message, by the beginning of its id",
		Long: `Read shows a message of the mailbox beside the key file with all details, and marks it as
read. --raw writes the signed envelope, --save DIR writes it and the relay's receipt to
files, for gazetteer envelope check:

  gazetteer inbox read 4f0c --save mail
  gazetteer envelope check mail/4f0c*.json --receipt mail/4f0c*.receipt --relay-key did.json`,
		Args: cli.ExactArgs(1, "the id of a message"),
		RunE: func(c *cobra.Command, args []string) error { return v.readMessage(c.Context(), args[0], raw, save) },
	}
	c.Flags().BoolVar(&raw, "raw", false, "write the signed envelope, byte for byte")
	c.Flags().StringVar(&save, "save", "", "directory for the envelope and its receipt")
	return c
}

func (v *verbs) readMessage(ctx context.Context, id string, raw bool, save string) error {
	box, err := v.openMailbox(ctx)
	if err != nil {
		return err
	}
	m, err := box.Message(ctx, id)
	if err != nil {
		return explainMailbox(err)
	}
	if err := v.saveEnvelope(save, m); err != nil {
		return err
	}
	if raw {
		if len(m.Envelope) == 0 {
			return exit.NotFoundf("message %s was never signed: it was not sent", shortID(m.ID))
		}
		_, err = v.Out.Write(append(m.Envelope, '\n'))
	} else {
		var names map[string]string
		if names, err = box.Names(ctx); err != nil {
			return explainMailbox(err)
		}
		err = v.printMessage(m, nameOfPeer(names, m))
	}
	if err != nil {
		return err
	}
	return explainMailbox(box.MarkRead(ctx, m))
}

func (v *verbs) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all messages to a file, as JSON lines",
		Long: `Export writes the received and sent messages to a new file, or to the standard output: a
line for each message, with the signed envelope, the opened text and the relay's receipt.
It contains no keys: agent.key and agent.mail/keys are files of their own.

  gazetteer inbox export mail.jsonl
  gazetteer inbox import mail.jsonl --key elsewhere/agent.key`,
		Args: cli.MaxArgs(1, "one file"),
		RunE: func(c *cobra.Command, args []string) error { return v.exportMail(c.Context(), args) },
	}
}

func (v *verbs) exportMail(ctx context.Context, args []string) error {
	box, err := v.openMailbox(ctx)
	if err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "-" {
		_, err := box.Export(ctx, v.Out)
		return explainMailbox(err)
	}
	n := 0
	if err := cli.WriteNewFile(args[0], 0o600, func(w io.Writer) error {
		n, err = box.Export(ctx, w)
		return err
	}); err != nil {
		return explainMailbox(err)
	}
	v.PrintField("exported", cli.Plural(n, "message")+" to "+args[0])
	return nil
}

func (v *verbs) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Add the messages of an export that the mailbox lacks",
		Long: `Import adds the messages of an export to the mailbox beside the key file, with their
threads and the ids that must not be accepted twice. Importing a file again adds nothing.
Signatures are not verified again: import only files that you exported.`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return v.importMail(c.Context(), args[0]) },
	}
}

func (v *verbs) importMail(ctx context.Context, name string) error {
	me, err := v.readSelf(ctx)
	if err != nil {
		return err
	}
	from, closeFile, err := v.openInput(name)
	if err != nil {
		return err
	}
	defer closeFile()
	if err := v.openBox(ctx, &me, false); err != nil {
		return err
	}
	added, err := me.box.Import(ctx, from)
	if err != nil && added == 0 {
		return explainMailbox(err)
	}
	v.PrintField("imported", cli.Plural(added, "message")+" into "+me.box.Dir())
	return explainMailbox(err)
}

// openInput opens a file, or the standard input for "-".
func (v *verbs) openInput(name string) (io.Reader, func() error, error) {
	if name == "-" {
		return v.In, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, exit.Usagef("%w", err)
	}
	return f, f.Close, nil
}

func (v *verbs) addCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add FILE",
		Short: "Check an envelope that arrived in another way, and store it",
		Long: `Add is for agents with an inbox address of their own: it checks an envelope like mail from
a relay (signature, clock, replay, thread), stores it in the mailbox beside the key file, and
prints it. For an envelope that breaks a rule, the exit code is 1 and the standard output
has the draft's error body with its status, with which a server can answer.

  gazetteer inbox add - < request-body`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return v.addEnvelope(c.Context(), server, args[0]) })
		},
	}
}

func (v *verbs) addEnvelope(ctx context.Context, server *cli.Client, name string) error {
	me, err := v.readSelf(ctx)
	if err != nil {
		return err
	}
	from, closeFile, err := v.openInput(name)
	if err != nil {
		return err
	}
	defer closeFile()
	text, err := io.ReadAll(io.LimitReader(from, a2a.MaxEnvelope+1))
	if err != nil {
		return exit.Usagef("read %s: %w", name, err)
	}
	directory := v.newDirectory(server)
	document, err := directory.Resolve(ctx, me.owner.String())
	if err != nil {
		return err
	}
	if err := v.openBox(ctx, &me, false); err != nil {
		return err
	}
	puller := &mailbox.Puller{Mailbox: me.box, Senders: a2a.DocumentKeys{Resolver: directory}, Keys: me.keys, Rotated: mailbox.LacksKey(document, me.keys)}
	m, err := puller.Add(ctx, a2ahttp.Mail{Text: text})
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok {
		stored, isStored := findStored(ctx, me, text)
		if err := cli.WriteJSON(v.Out, struct {
			Status int `json:"status"`
			Body   any `json:"body"`
		}{refused.Status, refused}); err != nil {
			return err
		}
		if isStored {
			return exit.NotFoundf("this message is in the mailbox already: %s", v.formatMailCommand("inbox read "+shortID(stored.ID)))
		}
		return exit.NotFoundf("%s\n%s", format.Visible(refused.Error()), strings.Join(describeRule(refused.Rule), "\n"))
	}
	if err != nil {
		return explainMailbox(err)
	}
	if err := v.printMessage(m, ""); err != nil {
		return err
	}
	return explainMailbox(me.box.MarkRead(ctx, m))
}

// findStored returns the message of the mailbox whose envelope has these bytes, apart from white space at
// the end.
func findStored(ctx context.Context, me self, envelope []byte) (mailbox.Message, bool) {
	var named struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(envelope, &named) != nil || named.ID == "" {
		return mailbox.Message{}, false
	}
	stored, err := me.box.Message(ctx, named.ID)
	return stored, err == nil && bytes.Equal(bytes.TrimSpace(stored.Envelope), bytes.TrimSpace(envelope))
}
