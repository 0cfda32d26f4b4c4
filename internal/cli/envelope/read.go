package envelope

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"

	"github.com/spf13/cobra"
)

// checkOptions contains the flags of check.
type checkOptions struct {
	profile, sender, receipt, relayKey, at string
}

func (e *verbs) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check an envelope against each rule, in both profiles",
		Long: `Check shows a line for each rule of the form of an envelope: whether it holds in the
profiles strict and wire, its section in the draft, and the error. Then come the SHA-256
of the canonical bytes, which the signature covers, and, if the flags for them are
given, the signature, the clock and a relay's receipt. A Counter, Accept or Decline
that does not name the message that it answers is an error, too.

  gazetteer envelope check mail.json
  gazetteer envelope check mail.json --sender alice.json --at 2026-05-28T09:00:00Z
  gazetteer envelope check mail.json --receipt mail.receipt --relay-key did.json

gazetteer inbox --save DIR writes envelopes and receipts; did.json is the registry's DID
document, from its /.well-known/did.json. Failures are shown with their repair.

Exit code 1 when a check fails. The form must be right in one of the profiles, or in
the one that --profile names.`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return e.checkFile(c.Context(), args[0], o) },
	}
	profileFlag(c, &o.profile)
	c.Flags().StringVar(&o.sender, "sender", "", "key of the sender, or a file with its DID document: verify the signature")
	c.Flags().StringVar(&o.at, "at", "", "judge the timestamp at this time; with --sender the default is now")
	c.Flags().StringVar(&o.receipt, "receipt", "", "file with a relay's receipt: verify it, and judge the timestamp by it (needs --relay-key)")
	c.Flags().StringVar(&o.relayKey, "relay-key", "", "public key of the relay, or a file with the DID document of its registry")
	return c
}

// checkReport is the JSON output of check.
type checkReport struct {
	Rules     []ruleReport `json:"rules"`
	Profiles  []string     `json:"profiles"`
	Digest    string       `json:"canonical_sha256,omitempty"`
	Signature string       `json:"signature,omitempty"`
	Clock     string       `json:"clock,omitempty"`
	Receipt   string       `json:"receipt,omitempty"`
	Thread    string       `json:"thread,omitempty"`  // the rule of threads that it breaks
	Repairs   []string     `json:"repairs,omitempty"` // of signature, clock, receipt and thread
}

// addRepair adds advice for the sender about a failed check.
func (r *checkReport) addRepair(refused *a2a.Refusal) {
	if repair := a2a.RuleOf(refused.Rule).Repair; repair != "" {
		r.Repairs = append(r.Repairs, repair)
	}
}

type ruleReport struct {
	Rule    string `json:"rule"`
	Section string `json:"section,omitempty"`
	Title   string `json:"title"`
	Strict  string `json:"strict"`
	Wire    string `json:"wire"`
	Detail  string `json:"detail,omitempty"`
	Repair  string `json:"repair,omitempty"` // if the rule is broken
}

func (e *verbs) checkFile(ctx context.Context, name string, o checkOptions) error {
	required, err := e.parseProfile(o.profile, a2a.Wire)
	if err != nil {
		return err
	}
	if (o.receipt == "") != (o.relayKey == "") {
		return exit.Usagef("--receipt and --relay-key belong together")
	}
	at, err := e.parseTime(o.at)
	if err != nil {
		return err
	}
	text, err := e.readFile(name)
	if err != nil {
		return err
	}
	report := a2a.Check(text)
	out := checkReport{Profiles: []string{}}
	for _, f := range report.Findings {
		rule := ruleReport{Rule: f.Rule.Code, Section: f.Rule.Section, Title: f.Rule.Title, Strict: f.Strict.String(), Wire: f.Wire.String(), Detail: f.Detail}
		if f.Strict == a2a.Broken || f.Wire == a2a.Broken {
			rule.Repair = f.Rule.Repair
		}
		out.Rules = append(out.Rules, rule)
	}
	for _, p := range report.Profiles() {
		out.Profiles = append(out.Profiles, p.String())
	}
	good := slices.Contains(report.Profiles(), required)
	if report.Envelope != nil {
		digest := report.Envelope.Digest()
		out.Digest = hex.EncodeToString(digest[:])
		ok, err := e.checkAuthenticity(ctx, &out, report.Envelope, o, at)
		if err != nil {
			return err
		}
		good = good && ok
		if r, refused := errors.AsType[*a2a.Refusal](a2a.CheckReply(report.Envelope.Body.Type(), report.Envelope.InReplyTo)); refused {
			out.Thread, good = r.Error(), false
			out.addRepair(r)
		}
	}
	if err := e.showReport(out); err != nil {
		return err
	}
	if !good {
		return exit.ErrSilent
	}
	return nil
}

// checkAuthenticity checks the receipt, the signature and the clock, as far as the flags provide
// the keys and the time for it.
func (e *verbs) checkAuthenticity(ctx context.Context, out *checkReport, envelope *a2a.Envelope, o checkOptions, at time.Time) (bool, error) {
	good := true
	if o.receipt != "" {
		received, err := e.checkReceipt(envelope, o)
		if r, refused := errors.AsType[*a2a.Refusal](err); refused {
			out.Receipt, good = r.Error(), false
			out.addRepair(r)
		} else if err != nil {
			return false, err
		} else {
			at, out.Receipt = received.ReceivedAt, "ok, received at "+received.ReceivedAt.Format(time.RFC3339Nano)+" by "+received.Relay
		}
	}
	if o.sender != "" {
		verified, err := e.verifySender(ctx, envelope, o.sender)
		if err != nil {
			r, refused := errors.AsType[*a2a.Refusal](err)
			if !refused {
				return false, err
			}
			out.Signature, good = r.Error(), false
			out.addRepair(r)
		} else {
			out.Signature = "ok, by " + did.FormatMultikey(verified.Key) + ", over the form with the signature " + verified.Form.String()
		}
	}
	if o.sender != "" || o.receipt != "" || o.at != "" {
		out.Clock = "ok at " + at.UTC().Format(time.RFC3339)
		if err := envelope.CheckFresh(at); err != nil {
			out.Clock, good = err.Error()+" at "+at.UTC().Format(time.RFC3339), false
			if r, ok := errors.AsType[*a2a.Refusal](err); ok {
				out.addRepair(r)
			}
		}
	}
	return good, nil
}

func (e *verbs) checkReceipt(envelope *a2a.Envelope, o checkOptions) (a2a.Receipt, error) {
	key, err := e.readRelayKey(o.relayKey)
	if err != nil {
		return a2a.Receipt{}, err
	}
	text, err := e.readFile(o.receipt)
	if err != nil {
		return a2a.Receipt{}, err
	}
	receipt, err := a2a.ReadReceipt(text)
	if err == nil {
		err = receipt.Verify(envelope, key)
	}
	return receipt, err
}

// readRelayKey reads a multikey, or the receipt key in a file with a registry's DID document.
func (e *verbs) readRelayKey(value string) (ed25519.PublicKey, error) {
	key, err := did.ParseMultikey(value)
	if err == nil {
		return key, nil
	}
	if _, statErr := os.Stat(value); statErr != nil {
		return nil, exit.Usagef("--relay-key %s is neither a key (%s) nor a file", format.Visible(value), format.Visible(err.Error()))
	}
	text, err := e.readFile(value)
	if err != nil {
		return nil, err
	}
	var document did.Document
	if err = json.Unmarshal(text, &document); err == nil {
		key, err = a2a.RelayKeyOf(document)
	}
	if err != nil {
		return nil, exit.NotFoundf("--relay-key %s: %s", value, format.Visible(err.Error()))
	}
	return key, nil
}

// verifySender verifies the signature with a given key or DID document.
func (e *verbs) verifySender(ctx context.Context, envelope *a2a.Envelope, sender string) (*a2a.Verified, error) {
	v := a2a.Verifier{Profile: a2a.Wire}
	key, err := did.ParseMultikey(sender)
	if err == nil {
		v.Keys = givenKey(key)
	} else {
		if _, statErr := os.Stat(sender); sender != "-" && statErr != nil {
			return nil, exit.Usagef("--sender %s is neither a key (%s) nor a file", format.Visible(sender), format.Visible(err.Error()))
		}
		document, err := e.readDocument(sender, envelope.From)
		if err != nil {
			return nil, err
		}
		v.Keys = a2a.DocumentKeys{Resolver: givenDocument(document)}
	}
	return v.Authenticate(ctx, envelope.Text)
}

// givenKey is the key of the sender for every DID.
type givenKey ed25519.PublicKey

// FindKeys implements [a2a.KeyFinder].
func (k givenKey) FindKeys(context.Context, string, time.Time) ([]ed25519.PublicKey, error) {
	return []ed25519.PublicKey{ed25519.PublicKey(k)}, nil
}

// givenDocument resolves only its own DID.
type givenDocument did.Document

// Resolve implements [a2a.Resolver].
func (d givenDocument) Resolve(context.Context, string) (did.Document, error) {
	return did.Document(d), nil
}

func (e *verbs) showReport(r checkReport) error {
	if e.JSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		return e.writeLine(text)
	}
	fmt.Fprintf(e.Out, "%-7s%-6s%-12s%s\n", "strict", "wire", "section", "rule")
	for _, rule := range r.Rules {
		section := "-"
		if rule.Section != "" {
			section = "§" + rule.Section
		}
		fmt.Fprintf(e.Out, "%-7s%-6s%-12s%s\n", rule.Strict, rule.Wire, section, rule.Title)
		if rule.Detail != "" {
			fmt.Fprintf(e.Out, "%25s%s\n", "", format.Visible(rule.Detail))
		}
		if rule.Repair != "" {
			fmt.Fprintf(e.Out, "%25srepair: %s\n", "", rule.Repair)
		}
	}
	for _, line := range [...][2]string{{"digest", r.Digest}, {"signature", r.Signature}, {"clock", r.Clock}, {"receipt", r.Receipt}, {"thread", r.Thread}} {
		if line[1] != "" {
			fmt.Fprintf(e.Out, "%-11s%s\n", line[0], format.Visible(line[1]))
		}
	}
	for _, repair := range r.Repairs {
		fmt.Fprintf(e.Out, "%-11s%s\n", "repair", repair)
	}
	profiles := "neither strict nor wire"
	switch len(r.Profiles) {
	case 1:
		profiles = r.Profiles[0] + " alone"
	case 2:
		profiles = "strict and wire"
	}
	_, err := fmt.Fprintf(e.Out, "%-11s%s\n", "form", profiles)
	return err
}

func (e *verbs) openCommand() *cobra.Command {
	sender := ""
	c := &cobra.Command{
		Use:   "open FILE",
		Short: "Verify an envelope, then decrypt its body with the agent's key",
		Long: `Open verifies the signature of a sealed envelope and writes its body to the standard
output: --sender is the sender's key, or a file with its DID document. An old envelope
is accepted here; its age is printed on the error stream.

  gazetteer envelope open mail.json --sender alice.json`,
		Args: cli.ExactArgs(1, "one file, or - for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return e.openFile(c.Context(), args[0], sender) },
	}
	c.Flags().StringVar(&sender, "sender", "", "key of the sender, or a file with its DID document")
	return c
}

func (e *verbs) openFile(ctx context.Context, name, sender string) error {
	if sender == "" {
		return exit.Usagef("open needs --sender: a body is decrypted after its signature held")
	}
	text, err := e.readFile(name)
	if err != nil {
		return err
	}
	envelope, err := a2a.Read(text, a2a.Wire)
	if err != nil {
		return e.refusedError("read", name, err)
	}
	verified, err := e.verifySender(ctx, envelope, sender)
	if r, refused := errors.AsType[*a2a.Refusal](err); refused {
		return e.refusedError("verify", name, r)
	}
	if err != nil {
		return err
	}
	key, _, err := e.key.Read(ctx, e.App)
	if err != nil {
		return err
	}
	opened, err := verified.Open(key)
	if err != nil {
		return e.refusedError("open", name, err)
	}
	fmt.Fprintf(e.Err, "from   %s\nsent   %s, %s ago\n", format.Visible(envelope.From), envelope.Timestamp.Format(time.RFC3339), formatAge(time.Since(envelope.Timestamp)))
	if !opened.Canonical {
		fmt.Fprintln(e.Err, "note   the content is not canonical JSON, contrary to A2A draft-1 §14.4")
	}
	return e.writeLine(opened.Plaintext)
}

// formatAge formats a duration in a suitable unit.
func formatAge(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Hours())) + " h"
}
