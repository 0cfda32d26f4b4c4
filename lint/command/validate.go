package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/lint/format"
)

// Validate returns the command that checks documents.
func Validate(w Environment) *cobra.Command {
	v := validateRun{inputReader: inputReader{Environment: w}}
	c := &cobra.Command{
		Use:   "validate FILE | DIRECTORY | URL | HOST | - ...",
		Short: "Check documents by the rules of their drafts",
		Long: `Validate reads AI Discovery documents, AGIS documents, AGIS summaries and llms.txt
files and reports what is wrong, where, and how to repair it. It recognizes the kind
of a document from the text.

An input is a file; a directory, in which every document in JSON or YAML is
checked; an https address; the name of a host, whose documents are all checked; or
- for standard input. Addresses and hosts are fetched as the crawler fetches them,
and problems of the response (redirects, media type, certificate, time) are part of
the result. An AGIS summary is compared with the full document of its service if
both are among the inputs.

  ` + w.Program + ` validate ai.json
  ` + w.Program + ` validate www.example.com
  ` + w.Program + ` validate --fix agis.yaml
  ` + w.Program + ` validate --rule AI418

Exit codes: 0 all conform, 1 findings (errors; with --strict warnings too),
2 wrong use, 3 something could not be read.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, args []string) error { return v.runValidate(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&v.rule, "rule", "", "explain the rule of this code and do nothing else; \"all\" lists every rule, the letters of a code (AI, AGIS, WK) those that begin so, words those that mention them, the number of a section (3.3) those of it")
	f.StringVar(&v.format, "format", "text", "how to write results: "+strings.Join(format.Names(), ", "))
	f.BoolVar(&v.strict, "strict", false, "fail on warnings, too")
	f.IntVar(&v.level, "level", 1, "required conformance level of AGIS documents, 1 or 2")
	f.StringVar(&v.baseline, "baseline", "", "hide the findings listed in this file")
	f.StringVar(&v.writeBaseline, "write-baseline", "", "list all findings in this file, for --baseline, and succeed")
	f.BoolVar(&v.fix, "fix", false, "make the safe repairs in files; shows the changes and asks first")
	f.BoolVar(&v.diff, "diff", false, "only show what --fix would change")
	f.BoolVar(&v.yes, "yes", false, "with --fix: write without asking")
	f.StringVar(&v.as, "as", "", "the kind of the inputs, if it cannot be determined: "+document.ListKinds(document.AuthoritativeKinds(), "or"))
	f.StringVar(&v.url, "url", "", "the assumed address of files and standard input")
	f.StringVar(&v.day, "today", "", "the date to compare the dates of documents with (default: today)")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "show failures only")
	return c
}

// validateRun is one run of the command.
type validateRun struct {
	inputReader
	rule, format            string
	strict                  bool
	level                   int
	baseline, writeBaseline string
	fix, diff, yes, quiet   bool
	day                     string

	options lint.Options
}

func (v *validateRun) runValidate(ctx context.Context, args []string) error {
	if !slices.Contains(format.Names(), v.format) {
		return usageErrorf("--format %s: %sthe formats are %s", v.format, suggest(v.format, format.Names()), strings.Join(format.Names(), ", "))
	}
	if v.rule != "" {
		if len(args) > 0 {
			return usageErrorf("--rule explains a rule and judges nothing: leave out %s", strings.Join(args, " "))
		}
		return v.explainRule(v.rule)
	}
	if err := v.checkFlags(args); err != nil {
		return err
	}
	inputs, err := v.readInputs(ctx, args)
	if err != nil {
		return err
	}
	if v.fix || v.diff {
		if inputs, err = v.repairInputs(ctx, inputs); err != nil {
			return err
		}
	}
	results := lint.CheckAll(inputs, v.options)
	if v.diff {
		return v.exitVerdict(results)
	}
	if err := v.writeResults(inputs, results); err != nil {
		return err
	}
	return v.exitVerdict(results)
}

// checkFlags refuses contradictory flags before anything is read.
func (v *validateRun) checkFlags(args []string) error {
	switch {
	case len(args) == 0:
		return usageErrorf("validate needs something to judge: a file, a directory, an address, a host, or - for standard input\nsee: %s validate --help", v.Program)
	case v.as != "" && !slices.Contains(document.AuthoritativeKinds(), document.Kind(v.as)):
		return usageErrorf("--as %s: the kinds are %s", v.as, document.ListKinds(document.AuthoritativeKinds(), "and"))
	case v.level != 1 && v.level != 2:
		return usageErrorf("--level %d: AGIS has level 1 and level 2", v.level)
	case v.url != "" && !strings.HasPrefix(strings.ToLower(v.url), "https://"):
		return usageErrorf("--url %s: want an address that begins with https://", v.url)
	case v.yes && !v.fix:
		return usageErrorf("--yes answers the question of --fix: give both")
	case v.fix && v.writeBaseline != "":
		return usageErrorf("--fix repairs findings and --write-baseline accepts them: use one of the two")
	}
	today, err := v.parseToday(v.day)
	if err != nil {
		return err
	}
	v.options = lint.Options{Today: today, Strict: v.strict, Level: v.level}
	if v.baseline == "" {
		return nil
	}
	file, err := os.Open(v.baseline)
	if err != nil {
		return usageErrorf("--baseline %v\nwrite one with --write-baseline %s", fileError(v.baseline, err), v.baseline)
	}
	defer file.Close()
	if v.options.Baseline, err = lint.ReadBaseline(file); err != nil {
		return usageErrorf("--baseline %s: %v", v.baseline, err)
	}
	return nil
}

// writeResults writes the results, and the baseline and the GitHub summary if they are wanted.
func (v *validateRun) writeResults(inputs []lint.Input, results []lint.Result) error {
	if v.writeBaseline != "" {
		b := lint.NewBaseline(results)
		err := replaceFile(v.writeBaseline, func(f *os.File) error { return b.Write(f) })
		if err != nil {
			return inputErrorf("write baseline: %v", err)
		}
		v.printError("%s has %s; --baseline %s hides them", v.writeBaseline, format.Plural(b.Len(), "finding"), v.writeBaseline)
		return nil
	}
	reports := make([]format.Report, len(results))
	for i, r := range results {
		reports[i] = format.Report{Result: r, Text: inputs[i].Text, Repairable: v.countRepairable(inputs[i], r)}
	}
	o := format.Options{Color: supportsColor(v.Out), Width: terminalWidth(v.Out), Quiet: v.quiet, Strict: v.strict, Tool: v.Program, Version: v.Version,
		Explain: v.Program + " validate --rule", Repair: v.Program + " validate --fix"}
	if err := format.Write(v.Out, v.format, reports, o); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if page := os.Getenv("GITHUB_STEP_SUMMARY"); page != "" && v.format == "github" {
		return appendSummary(page, reports)
	}
	return nil
}

// appendSummary appends to the page that GitHub shows for a job. Other steps write to the same
// file.
func appendSummary(name string, reports []format.Report) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return inputErrorf("write the summary of the job: %v", err)
	}
	if err := errors.Join(format.Summary(f, reports), f.Close()); err != nil {
		return inputErrorf("write the summary of the job: %v", err)
	}
	return nil
}

// exitVerdict returns the error that ends the run, nil for success.
func (v *validateRun) exitVerdict(results []lint.Result) error {
	switch {
	case v.unread > 0:
		return exitSilently(ExitInput)
	case v.writeBaseline == "" && slices.ContainsFunc(results, lint.Result.Failed):
		return exitSilently(ExitFindings)
	default:
		return nil
	}
}
