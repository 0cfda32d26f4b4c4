package envelope

import (
	"context"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/jcs"

	"github.com/spf13/cobra"
)

func (e *verbs) signCommand() *cobra.Command {
	profile, replyTo := "", ""
	c := &cobra.Command{
		Use:   "sign FILE",
		Short: "Fill in missing members of an envelope, and sign it",
		Long: `Sign writes the envelope with a signature by the agent's key to the standard output,
as canonical JSON. It fills in a missing id, thread_id, nonce, timestamp or from, and
replaces an existing signature. With --reply-to it takes to, thread_id and in_reply_to
from the envelope that is answered.

  echo '{"body":{"type":"Decline"}}' | gazetteer envelope sign - --reply-to mail.json`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return e.signFile(c.Context(), args[0], profile, replyTo) },
	}
	profileFlag(c, &profile)
	replyFlag(c, &replyTo)
	return c
}

func (e *verbs) signFile(ctx context.Context, name, profileName, replyTo string) error {
	p, err := e.parseProfile(profileName, a2a.Strict)
	if err != nil {
		return err
	}
	text, err := e.readFile(name)
	if err != nil {
		return err
	}
	key, self, err := e.key.Read(ctx, e.App)
	if err != nil {
		return err
	}
	if text, err = e.completeEnvelope(name, text, self, replyTo); err != nil {
		return err
	}
	signed, err := a2a.SignText(text, p, key)
	if err != nil {
		return e.refusedError("sign", name, err)
	}
	return e.writeLine(signed.Text)
}

// replyFlag adds --reply-to.
func replyFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "reply-to", "", "file with the envelope that this one answers")
}

// completeEnvelope adds the missing members of an envelope. self is the sender, "" if unknown.
// replyTo is the file with the answered envelope, "" for none.
func (e *verbs) completeEnvelope(name string, text []byte, self, replyTo string) ([]byte, error) {
	missing := map[string]string{"id": a2a.NewID(), "thread_id": a2a.NewID(), "nonce": a2a.NewNonce(), "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	if self != "" {
		missing["from"] = self
	}
	if replyTo != "" {
		before, err := e.readFile(replyTo)
		if err != nil {
			return nil, err
		}
		answered, err := a2a.Read(before, a2a.Wire)
		if err != nil {
			return nil, e.refusedError("read", replyTo, err)
		}
		missing["to"], missing["thread_id"], missing["in_reply_to"] = answered.From, answered.ThreadID, answered.ID
	}
	var d jcs.Document
	if err := d.Parse(text, jcs.Options{}); err != nil {
		return nil, exit.NotFoundf("%s: %v", name, err)
	}
	if d.Root().Kind() != jcs.Object {
		return nil, exit.NotFoundf("%s holds no JSON object", name)
	}
	for member, value := range missing {
		if d.Root().Member(member).Kind() != jcs.Absent {
			continue
		}
		text = d.Root().AppendWith(nil, member, jcs.AppendString(nil, value))
		if err := d.Parse(text, jcs.Options{}); err != nil {
			return nil, exit.NotFoundf("%s: %v", name, err)
		}
	}
	return text, nil
}

func (e *verbs) sealCommand() *cobra.Command {
	recipient, self, replyTo := "", "", ""
	c := &cobra.Command{
		Use:   "seal FILE",
		Short: "Encrypt the body of an envelope for its recipient",
		Long: `Seal writes the envelope with its body encrypted (A2A draft-1 §14) to the standard
output. It needs no key of yours; sign it afterwards. --recipient is the recipient's
key ("z6Mk…"), or a file with its DID document. It fills in a missing id or thread_id,
because the body is bound to them. The body is also bound to from, which is the agent
of the key file unless --from or the envelope says otherwise.

  gazetteer envelope seal offer.json --recipient bob.json | gazetteer envelope sign -`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(_ *cobra.Command, args []string) error { return e.sealFile(args[0], recipient, self, replyTo) },
	}
	c.Flags().StringVar(&recipient, "recipient", "", "key of the recipient, or a file with its DID document")
	c.Flags().StringVar(&self, "from", "", "DID of the sender (default: that of the key file)")
	replyFlag(c, &replyTo)
	return c
}

func (e *verbs) sealFile(name, recipient, self, replyTo string) error {
	if recipient == "" {
		return exit.Usagef("seal needs --recipient, a key or a file with a DID document")
	}
	if self == "" {
		self = e.key.Owner()
	}
	text, err := e.readFile(name)
	if err != nil {
		return err
	}
	if text, err = e.completeEnvelope(name, text, self, replyTo); err != nil {
		return err
	}
	var d jcs.Document
	if err := d.Parse(text, jcs.Options{}); err != nil {
		return exit.NotFoundf("%s: %v", name, err)
	}
	root := d.Root()
	b := a2a.Binding{ID: root.Member("id").Text(), From: root.Member("from").Text(), To: root.Member("to").Text(), ThreadID: root.Member("thread_id").Text()}
	key, err := e.publicKey("--recipient", recipient, b.To)
	if err != nil {
		return err
	}
	kind := root.Member("body").Member("type").Text()
	if kind == a2a.TypeEncrypted {
		return exit.NotFoundf("%s: the body is sealed already", name)
	}
	if err := a2a.CheckReply(kind, root.Member("in_reply_to").Text()); err != nil {
		return e.refusedError("seal", name, err)
	}
	sealed, err := a2a.Seal(root.Member("body").Append(nil), b, key, a2a.NewSealSecret())
	if err != nil {
		return e.refusedError("seal", name, err)
	}
	return e.writeLine(root.AppendWith(nil, "body", sealed.JSON()))
}

// parseTime reads --at; an empty value means now.
func (e *verbs) parseTime(at string) (time.Time, error) {
	if at == "" {
		return time.Now(), nil
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return t, exit.Usagef("--at %q: want a time such as 2026-05-28T09:00:00Z", at)
	}
	return t, nil
}
