package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/convert"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// Diff returns the command that compares two versions of a document.
func Diff(w Environment) *cobra.Command {
	d := diffRun{inputReader: inputReader{Environment: w}}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show the changes between two documents, and whether they break callers",
		Long: `Diff compares two versions of an AI Discovery document, an AGIS document or an AGIS
summary by what callers notice: an endpoint at another host, weaker authentication,
an operation replaced under the same name, an additional parameter, another price.
Differences in form only (the order of members, YAML instead of JSON, 0.010 instead
of 0.01) do not count as changes.

A and B are each a file, an https address, the name of a host, or - for standard
input. Both must have the same format. For hosts with several formats, --as names
the format to compare; without it, the first format that both have is compared.

  ` + w.Program + ` diff ai.old.json ai.json
  ` + w.Program + ` diff --fail-on high agis.yaml https://api.example.com/agis.yaml
  ` + w.Program + ` diff --url https://example.com/.well-known/ai old.json new.json

Severities
  high     a call goes elsewhere, is protected less or does something else
  medium   a call can fail or cost more
  low      anything else that callers notice

Exit codes: 0 nothing at or above --fail-on, 1 something at or above it, 2 wrong
use, 3 something could not be read or compared.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, args []string) error { return d.runDiff(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&d.format, "format", "text", "how to write the changes: text, json")
	f.StringVar(&d.failOn, "fail-on", diff.Medium.String(), "the lowest severity at which the command fails: low, medium or high")
	f.StringVar(&d.as, "as", "", "the kind of the documents, if it cannot be determined: "+document.ListKinds(document.RecognizableKinds(), "or"))
	f.StringVar(&d.url, "url", "", "the assumed address of files and standard input, for relative endpoints (default: that of the other version, if it was fetched)")
	return c
}

// diffRun is one run of the command.
type diffRun struct {
	inputReader
	format, failOn string
}

func (d *diffRun) runDiff(ctx context.Context, args []string) error {
	threshold, err := d.checkFlags(args)
	if err != nil {
		return err
	}
	before, err := d.readSide(ctx, args[0])
	if err != nil {
		return err
	}
	after, err := d.readSide(ctx, args[1])
	if err != nil {
		return err
	}
	a, b, err := d.pairSides(args, before, after)
	if err != nil {
		return err
	}
	var notJSON []string
	for i, side := range []*diff.Input{&a, &b} {
		standard, fault := lint.NearJSON(side.Kind, side.Bytes)
		if fault == "" {
			continue
		}
		d.printError("%s: this is not JSON: %s; the rest is compared%s", args[i], fault, d.repairHint(args[i], side.Kind, side.Bytes))
		side.Bytes, notJSON = standard, append(notJSON, "ab"[i:i+1])
	}
	result, err := diff.Compare(shareAddress(a, b))
	if err != nil {
		return d.comparisonError(args, []diff.Input{a, b}, err)
	}
	result.Invalid = append(result.Invalid, notJSON...)
	slices.Sort(result.Invalid)
	result.Invalid = slices.Compact(result.Invalid)
	if err := d.write(args, result); err != nil {
		return err
	}
	if result.Severity >= threshold {
		return exitSilently(ExitFindings)
	}
	return nil
}

// shareAddress gives a file without --url the address of the other version, if that was fetched: the
// relative endpoints of both belong to one host then.
func shareAddress(a, b diff.Input) (diff.Input, diff.Input) {
	a.URL = cmp.Or(a.URL, b.URL)
	b.URL = cmp.Or(b.URL, a.URL)
	return a, b
}

// comparisonError returns the reason why two versions were not compared: the one that cannot be read,
// if it is that.
func (d *diffRun) comparisonError(args []string, sides []diff.Input, err error) error {
	for i, side := range sides {
		format, known := document.FormatOf(side.Kind)
		if !known {
			continue
		}
		if _, unread := format.Parse(side.Bytes, document.ParseOptions{}); unread != nil {
			return d.unreadableError(args[i], side.Kind, side.Bytes, unread)
		}
	}
	return inputErrorf("compare %s with %s: %v", args[0], args[1], err)
}

// checkFlags refuses a wrong command line, and returns the severity from which on the run fails.
func (d *diffRun) checkFlags(args []string) (diff.Severity, error) {
	threshold, known := diff.ParseSeverity(d.failOn)
	switch {
	case len(args) != 2:
		return 0, usageErrorf("diff compares two versions: give two files, addresses or hosts\nsee: %s diff --help", d.Program)
	case args[0] == "-" && args[1] == "-":
		return 0, usageErrorf("standard input can be read once: give - once")
	case d.format != "text" && d.format != "json":
		return 0, usageErrorf("--format %s: the formats are text and json", d.format)
	case !known || threshold == diff.None:
		return 0, usageErrorf("--fail-on %s: the severities are low, medium and high", d.failOn)
	case d.as != "" && !slices.Contains(document.RecognizableKinds(), document.Kind(d.as)):
		return 0, usageErrorf("--as %s: the kinds are %s", d.as, document.ListKinds(document.RecognizableKinds(), "and"))
	case d.url != "" && !strings.HasPrefix(strings.ToLower(d.url), "https://"):
		return 0, usageErrorf("--url %s: want an address that begins with https://", d.url)
	}
	return threshold, nil
}

// readSide reads the versions that one argument names, by their kinds: one for a file, all that it
// publishes for a host.
func (d *diffRun) readSide(ctx context.Context, arg string) ([]diff.Input, error) {
	inputs, err := d.readArgument(ctx, arg)
	if err != nil {
		return nil, err
	}
	var side []diff.Input
	for _, in := range inputs {
		if in.Fetched != nil && in.Fetched.Outcome != fetch.OK {
			continue
		}
		kind := d.kindOf(in)
		if shown := recognizeByMembers(in.Text); d.as != "" && shown != "" && shown != kind {
			return nil, inputErrorf("%s: this is an %s, and --as names an %s: leave out --as", arg, shown.Describe(), kind.Describe())
		}
		if !slices.Contains(document.RecognizableKinds(), kind) {
			if len(inputs) > 1 {
				continue
			}
			return nil, inputErrorf("%s: %s", arg, describeOtherText(in))
		}
		url := d.url
		if in.Fetched != nil {
			url = in.Fetched.Address()
		}
		side = append(side, diff.Input{Kind: kind, URL: url, Bytes: in.Text})
	}
	if len(side) == 0 {
		return nil, inputErrorf("%s: no document could be read%s\nall findings: %s validate %s", arg, firstReason(inputs), d.Program, arg)
	}
	return side, nil
}

// firstReason returns why the first of some inputs was not fetched, after a colon.
func firstReason(inputs []lint.Input) string {
	for _, in := range inputs {
		if in.Fetched != nil && in.Fetched.Detail != "" {
			return ": " + format.Visible(in.Fetched.Detail)
		}
	}
	return ""
}

func (d *diffRun) kindOf(in lint.Input) document.Kind {
	switch {
	case d.as != "":
		return document.Kind(d.as)
	case in.Fetched != nil && in.Fetched.Kind != "":
		return document.Kind(in.Fetched.Kind)
	}
	return lint.Tell(in.Name, in.Text).Kind
}

// recognizeByMembers returns the kind that a text has beyond doubt, by its members, and "" for others.
func recognizeByMembers(text []byte) document.Kind {
	root, _, err := lint.Tree(text)
	if err != nil || root.Kind != protocol.Object {
		return ""
	}
	names := map[string]bool{}
	for _, m := range root.Items {
		names[m.Key] = true
	}
	return document.RecognizeMembers(names, false)
}

func describeOtherText(in lint.Input) string {
	if other := lint.Tell(in.Name, in.Text).Other; other != "" {
		return "this is " + other + "; only AI Discovery documents, AGIS documents and AGIS summaries are compared"
	}
	return "its kind cannot be determined; name it with --as"
}

// pairSides chooses the two versions to compare.
func (d *diffRun) pairSides(args []string, before, after []diff.Input) (a, b diff.Input, err error) {
	var common []document.Kind
	for _, x := range before {
		for _, y := range after {
			if x.Kind != y.Kind {
				continue
			}
			if len(common) == 0 {
				a, b = x, y
			}
			common = append(common, x.Kind)
		}
	}
	switch {
	case len(common) == 0:
		return a, b, inputErrorf("%s is %s and %s is %s: documents of different formats cannot be compared%s", args[0], describeSide(before), args[1], describeSide(after), d.proposeConversion(args, before, after))
	case len(common) > 1:
		d.printError("both publish %s; compared: %s (choose with --as)", document.ListKinds(common, "and"), common[0])
	}
	return a, b, nil
}

// proposeConversion returns a line with the command that turns one of two documents into the format of the
// other, "" if there is none.
func (d *diffRun) proposeConversion(args []string, before, after []diff.Input) string {
	for i, sides := range [][2][]diff.Input{{before, after}, {after, before}} {
		for _, from := range sides[0] {
			for _, to := range sides[1] {
				if _, err := convert.Find(string(from.Kind), string(to.Kind)); err != nil {
					continue
				}
				file := args[i]
				if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
					file = "FILE"
				}
				return fmt.Sprintf("\nconvert one of them first: %s convert --to %s %s", d.Program, to.Kind, file)
			}
		}
	}
	return ""
}

func describeSide(side []diff.Input) string {
	var names []string
	for _, in := range side {
		names = append(names, "an "+in.Kind.Describe())
	}
	return strings.Join(names, " and ")
}

// write writes the result.
func (d *diffRun) write(args []string, result *diff.Result) error {
	if d.format == "json" {
		text, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return fmt.Errorf("write changes: %w", err)
		}
		_, err = fmt.Fprintln(d.Out, string(text))
		return err
	}
	var b strings.Builder
	for _, c := range result.Changes {
		d.writeChange(&b, c)
	}
	for _, side := range result.Invalid {
		fmt.Fprintf(&b, "%s breaks rules of its draft and was compared as far as it can be read: see %s validate\n", format.Visible(args[strings.Index("ab", side)]), d.Program)
	}
	b.WriteString(summarize(result) + "\n")
	_, err := fmt.Fprint(d.Out, b.String())
	return err
}

// severityColors are the escape sequences of the severities on a terminal.
var severityColors = map[diff.Severity]string{diff.High: "\x1b[1;31m", diff.Medium: "\x1b[33m", diff.Low: "\x1b[36m"}

func (d *diffRun) writeChange(b *strings.Builder, c diff.Change) {
	label := fmt.Sprintf("%-7s", c.Severity)
	if supportsColor(d.Out) {
		label = severityColors[c.Severity] + label + "\x1b[0m"
	}
	where := "the service"
	if c.Operation != nil {
		where = *c.Operation
	}
	fmt.Fprintf(b, "%s %s: %s\n", label, format.Visible(where), c.Kind)
	fmt.Fprintf(b, "        at   %s\n", format.Visible(cmp.Or(c.Path, "the whole document")))
	if c.From != nil {
		fmt.Fprintf(b, "        from %s\n", format.Visible(*c.From))
	}
	if c.To != nil {
		fmt.Fprintf(b, "        to   %s\n", format.Visible(*c.To))
	}
	if c.Severity > diff.Low {
		fmt.Fprintf(b, "        help %s\n", c.Help)
	}
	b.WriteByte('\n')
}

// summarize counts the changes by severity: "3 changes: 1 high, 2 low".
func summarize(result *diff.Result) string {
	if len(result.Changes) == 0 {
		return "no change that callers notice"
	}
	counts := map[diff.Severity]int{}
	for _, c := range result.Changes {
		counts[c.Severity]++
	}
	var parts []string
	for _, s := range []diff.Severity{diff.High, diff.Medium, diff.Low} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return format.Plural(len(result.Changes), "change") + ": " + strings.Join(parts, ", ")
}
