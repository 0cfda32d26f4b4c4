package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/mailbox"
	"gazetteer/protocol"
	"gazetteer/protocol/a2a"
)

func (v *verbs) threadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "thread [ID]",
		Short: "Show the messages and the state of a negotiation",
		Long: `Thread draws the messages of a negotiation between the two agents, each with the state
after it, from the mailbox beside the key file and without a server. ID is the beginning of
a thread's id, or "last" for the thread with the newest message; without one, all threads are
listed. Times are in UTC.

  gazetteer thread
  gazetteer thread last
  gazetteer thread 9b1d

A message that breaks a rule of the thread is drawn with the reason; it changes nothing.`,
		Args: cli.MaxArgs(1, "one thread"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return v.listThreads(c.Context())
			}
			return v.showThread(c.Context(), args[0])
		},
	}
}

func (v *verbs) listThreads(ctx context.Context) error {
	box, err := v.openMailbox(ctx)
	if errors.Is(err, mailbox.ErrNone) {
		fmt.Fprintln(v.Err, format.Visible(err.Error()))
		if v.JSON {
			return cli.WriteJSON(v.Out, []mailbox.ThreadInfo{})
		}
		return nil
	}
	if err != nil {
		return err
	}
	threads, err := box.Threads(ctx)
	if err != nil {
		return explainMailbox(err)
	}
	if v.JSON {
		return cli.WriteJSON(v.Out, threads)
	}
	if len(threads) == 0 {
		fmt.Fprintf(v.Err, "%s has no threads\n", format.Visible(box.Dir()))
	}
	names, err := box.Names(ctx)
	if err != nil {
		return explainMailbox(err)
	}
	for _, t := range threads {
		fmt.Fprintf(v.Out, "%-8s  %s  with %s  %-16s  %s\n", format.Visible(shortID(t.ID)), t.Last.UTC().Format("2006-01-02 15:04"), formatPeer(t.Peer, names[t.Peer]), stateOf(t.Thread), cli.Plural(t.Messages, "message"))
	}
	return nil
}

// findLastThread returns the id of the thread with the newest message.
func findLastThread(ctx context.Context, box *mailbox.Mailbox) (string, error) {
	threads, err := box.Threads(ctx)
	if err != nil {
		return "", explainMailbox(err)
	}
	if len(threads) == 0 {
		return "", exit.NotFoundf("%s has no threads", format.Visible(box.Dir()))
	}
	return threads[0].ID, nil
}

func stateOf(t a2a.Thread) string {
	if t.State == "" {
		return string(a2a.Pending)
	}
	return string(t.State)
}

func (v *verbs) showThread(ctx context.Context, id string) error {
	box, err := v.openMailbox(ctx)
	if err != nil {
		return err
	}
	if id == lastReceived {
		if id, err = findLastThread(ctx, box); err != nil {
			return err
		}
	}
	info, messages, err := box.Thread(ctx, id)
	if err != nil {
		return explainMailbox(err)
	}
	if v.JSON {
		return v.printThreadJSON(info, messages)
	}
	v.PrintField("thread", info.ID)
	names, err := box.Names(ctx)
	if err != nil {
		return explainMailbox(err)
	}
	v.PrintField("with", info.Peer)
	v.PrintField("named", names[info.Peer])
	v.PrintField("state", formatPath(messages))
	if t := info.Thread; t.Outstanding.ID != "" {
		word := "open"
		if t.State.IsClosed() {
			word = "last"
		}
		v.PrintField(word, describeProposer(t.Outstanding.From, box.Owner())+" at "+formatPrice(t.Outstanding.Price))
	}
	fmt.Fprintln(v.Out)
	for _, line := range drawThread(info, messages) {
		fmt.Fprintln(v.Out, strings.TrimRight(line, " "))
	}
	v.printNextInThread(info, messages, box.Owner())
	return nil
}

func describeProposer(id, owner string) string {
	if id == owner {
		return "your proposal"
	}
	return "proposal of " + shortName(id)
}

func (v *verbs) printThreadJSON(info mailbox.ThreadInfo, messages []mailbox.Message) error {
	out := struct {
		mailbox.ThreadInfo
		List []json.RawMessage `json:"list"`
	}{info, []json.RawMessage{}}
	for _, m := range messages {
		text, err := m.JSON()
		if err != nil {
			return err
		}
		out.List = append(out.List, text)
	}
	return cli.WriteJSON(v.Out, out)
}

// printNextInThread prints the agent's next step: answer, or wait.
func (v *verbs) printNextInThread(info mailbox.ThreadInfo, messages []mailbox.Message, owner string) {
	t := info.Thread
	if t.State == "" || t.State.IsClosed() {
		return
	}
	id, expired := shortID(t.Outstanding.ID), false
	if i := slices.IndexFunc(messages, func(m mailbox.Message) bool { return m.ID == t.Outstanding.ID }); i >= 0 {
		if messages[i].Sealed {
			id += " --seal" // the answer names the terms again
		}
		_, expires, err := termsOf(messages[i].Body())
		expired = err == nil && !v.Environment.Now().Before(expires)
	}
	if t.Outstanding.From == owner {
		v.PrintNextSteps("It is the other party's turn. Wait for the answer, or withdraw the proposal:",
			v.formatMailCommand("inbox --follow"), v.formatMailCommand("send --reply-to "+id+` --withdraw "a reason"`))
		return
	}
	accept := v.formatMailCommand("send --reply-to " + id + " --accept")
	others := []string{
		v.formatMailCommand("send --reply-to " + id + ` --counter "other terms" --price ` + strings.ReplaceAll(formatPrice(t.Outstanding.Price), " ", "")),
		v.formatMailCommand("send --reply-to " + id + ` --decline "a reason"`),
	}
	if expired {
		v.PrintNextSteps("The proposal has expired. It is your turn:", others...)
		return
	}
	v.PrintNextSteps("It is your turn:", append([]string{accept}, others...)...)
}

// formatPath returns the sequence of states of a thread.
func formatPath(messages []mailbox.Message) string {
	path := string(a2a.Pending)
	for _, m := range messages {
		if m.State != "" {
			path += " ─▶ " + string(m.State)
		}
	}
	return path
}

// arrowWidth is the width of the drawing between the two agents' lines.
const arrowWidth = 46

// drawThread draws the messages between the two agents, with the owner of the mailbox on the left.
//
//	you                                        AIR-7F3K-M9JQ-X2PW
//	 ├─ Offer 5.00 EUR, sealed ─────────────────▶│  offered
//	 │◀──────────────── Counter 7.50 EUR, sealed ┤  countered
func drawThread(info mailbox.ThreadInfo, messages []mailbox.Message) []string {
	peer := shortName(info.Peer)
	gap := max(arrowWidth+1-utf8.RuneCountInString(peer)/2-1, 4)
	blank := " │" + strings.Repeat(" ", arrowWidth) + "│"
	out := []string{"you" + strings.Repeat(" ", gap-2) + format.Visible(peer), blank}
	for _, m := range messages {
		label := summarizeKind(m)
		verdict := "  " + string(m.State)
		switch {
		case m.Refused != nil:
			verdict = "  refused: " + m.Refused.Reason
		case m.Delivery == mailbox.Failed:
			verdict = "  not delivered"
		case m.Delivery == mailbox.Sending:
			verdict += " (delivery not known)"
		}
		out = append(out, drawArrow(label, m)+format.Visible(verdict))
		if _, text := contentOf(m.Body()); text != "" {
			out = append(out, drawText(text, m.Sent))
		}
		if m.Refused != nil {
			out = append(out, drawText(m.Refused.Detail, m.Sent))
		}
	}
	return append(out, blank)
}

// drawArrow draws one message.
func drawArrow(label string, m mailbox.Message) string {
	label = protocol.ClipRunes(label, arrowWidth-8)
	line := strings.Repeat("─", arrowWidth-utf8.RuneCountInString(label)-4)
	switch {
	case m.Sent && m.Delivery == mailbox.Failed:
		return " ├─ " + label + " " + strings.TrimSuffix(line, "─") + "╳ │"
	case m.Sent:
		return " ├─ " + label + " " + line + "▶│"
	}
	return " │◀" + line + " " + label + " ─┤"
}

// drawText draws a text below an arrow, on the sender's side.
func drawText(text string, sent bool) string {
	text = protocol.ClipRunes(format.Visible(strings.Join(strings.Fields(text), " ")), arrowWidth-6)
	pad := strings.Repeat(" ", arrowWidth-3-utf8.RuneCountInString(text))
	if sent {
		return " │   " + text + pad + "│"
	}
	return " │" + pad + text + "   │"
}

// summarizeKind returns the type and the price of a message, and whether it was sealed.
func summarizeKind(m mailbox.Message) string {
	body := m.Body()
	if _, sealed := body.(a2a.Sealed); sealed {
		return "sealed, does not open"
	}
	text := format.Visible(body.Type())
	if price, _ := contentOf(body); price != "" {
		text += " " + price
	}
	if m.Sealed {
		text += ", sealed"
	}
	return text
}
