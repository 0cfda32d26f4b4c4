package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/convert"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// Convert returns the command that converts documents between formats.
func Convert(w Environment) *cobra.Command {
	v := convertRun{Environment: w}
	c := &cobra.Command{
		Use:   "convert --to FORMAT FILE | -",
		Short: "Turn a document of one format into another",
		Long: `Convert turns a document of one format into another. What the input does not say is
guessed, and each guess is a REVIEW line on the error stream: read these places before
you publish the result.

  ` + w.Program + ` convert --list
  ` + w.Program + ` convert --to agis openapi.yaml -o agis.yaml
  ` + w.Program + ` convert --to mcp agis.yaml

Exit codes: 0 converted, 2 wrong use, 3 the input could not be read.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, args []string) error { return v.runConvert(c.Context(), args) },
	}
	f := c.Flags()
	f.BoolVar(&v.list, "list", false, "list the conversions")
	f.StringVar(&v.from, "from", "", "the format of the input (default: recognized from the text)")
	f.StringVar(&v.to, "to", "", "the format wanted")
	f.StringVarP(&v.out, "output", "o", "", "write to this file (default: standard output)")
	f.StringVar(&v.o.URL, "url", "", "the address of the service, or the source of the input")
	f.StringVar(&v.o.Name, "name", "", "the name of the service, if the input has none")
	f.StringVar(&v.o.Format, "format", "", "yaml or json, where both are possible; also of --list")
	f.BoolVar(&v.o.Extended, "extended", false, "add to MCP tools what MCP has and the AGIS draft does not map")
	f.StringVar(&v.day, "today", "", "the date of the last change in the document (default: today)")
	return c
}

// convertRun is one run of the command.
type convertRun struct {
	Environment
	list          bool
	from, to, out string
	day           string
	o             convert.Options
}

func (v *convertRun) runConvert(ctx context.Context, args []string) error {
	if v.o.Format != "" && v.o.Format != "yaml" && v.o.Format != "json" {
		return usageErrorf("--format %s: want yaml or json", v.o.Format)
	}
	if v.list && v.o.Format == "json" {
		return v.printListJSON()
	}
	if v.list {
		for _, c := range convert.Conversions {
			fmt.Fprintf(v.Out, "%-10s --to %-7s %s\n", c.From, c.To, c.Summary)
		}
		return nil
	}
	if len(args) != 1 {
		return usageErrorf("convert needs one file, or - for standard input\nsee: %s convert --help", v.Program)
	}
	if v.to == "" {
		return usageErrorf("convert needs --to: the format wanted\nall conversions: %s convert --list", v.Program)
	}
	if err := v.checkFormats(); err != nil {
		return err
	}
	if err := v.checkURL(); err != nil {
		return err
	}
	today, err := v.parseToday(v.day)
	if err != nil {
		return err
	}
	v.o.Today = time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)
	text, err := v.readInput(ctx, args[0])
	if err != nil {
		return err
	}
	return v.convertText(args[0], text)
}

// checkFormats refuses formats that no conversion has, before anything is said of the input.
func (v *convertRun) checkFormats() error {
	var sources, targets []string
	for _, c := range convert.Conversions {
		sources, targets = append(sources, c.From), append(targets, c.To)
	}
	for _, flag := range []struct {
		name, value string
		known       []string
	}{{"--to", v.to, targets}, {"--from", v.from, sources}} {
		slices.Sort(flag.known)
		known := slices.Compact(flag.known)
		if flag.value != "" && !slices.Contains(known, flag.value) {
			return usageErrorf("%s %s: %swant one of %s\nall conversions: %s convert --list",
				flag.name, format.Visible(flag.value), suggest(flag.value, known), strings.Join(known, ", "), v.Program)
		}
	}
	return nil
}

// checkURL refuses an address of --url that names no host, and completes a bare host.
func (v *convertRun) checkURL() error {
	if v.o.URL == "" {
		return nil
	}
	u, err := url.Parse(v.o.URL)
	if err == nil && u.Hostname() != "" && slices.Contains([]string{"https", "http", "agtp"}, u.Scheme) {
		return nil
	}
	if _, err := fetch.CheckHost(v.o.URL); err != nil {
		return usageErrorf("--url %s: want an address such as https://www.example.com/", v.o.URL)
	}
	v.o.URL = "https://" + v.o.URL
	return nil
}

// printListJSON prints the conversions for programs.
func (v *convertRun) printListJSON() error {
	type conversion struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Summary string `json:"summary"`
	}
	var list struct {
		Conversions []conversion `json:"conversions"`
	}
	for _, c := range convert.Conversions {
		list.Conversions = append(list.Conversions, conversion{c.From, c.To, c.Summary})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(v.Out, "%s\n", text)
	return err
}

// readInput reads the input of a command that takes one file.
func (w Environment) readInput(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		text, err := readAll(ctx, w.In)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, inputErrorf("read standard input: %v", err)
		}
		return text, nil
	}
	text, err := readFile(ctx, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fileError(name, err)
	}
	return text, nil
}

func (v *convertRun) convertText(name string, text []byte) error {
	if v.from == "" {
		guess := lint.Tell(name, text)
		if what := convert.Recognize(text); guess.Format == "" && what != "" {
			return inputErrorf("%s: %s", name, what)
		}
		if guess.Format == "" {
			return usageErrorf("%s: the format cannot be determined: name it with --from\nall conversions: %s convert --list", name, v.Program)
		}
		v.from = guess.Format
	}
	c, err := convert.Find(v.from, v.to)
	if err != nil {
		return usageErrorf("%v\nall conversions: %s convert --list", err, v.Program)
	}
	out, err := c.Do(text, v.o)
	if err != nil {
		return v.conversionError(name, v.from, text, err)
	}
	if err := v.writeOutput(out.Text); err != nil {
		return err
	}
	v.printReviews(out.Reviews)
	return nil
}

// arrayIndex is a part of a JSON pointer that is an index of an array.
var arrayIndex = regexp.MustCompile(`/[0-9]+(/|$)`)

func withoutIndexes(pointer string) string {
	return arrayIndex.ReplaceAllString(pointer, "/*$1")
}

// conversionError returns the reason why a text of a format was not converted, with its exit code.
func (w Environment) conversionError(name, from string, text []byte, err error) error {
	if errors.Is(err, protocol.ErrUnreadable) || errors.Is(err, protocol.ErrOtherFormat) {
		return w.unreadableError(name, document.Kind(from), text, err)
	}
	return &exitError{ExitFindings, fmt.Errorf("%s: %w", name, err)}
}

func (v *convertRun) writeOutput(text []byte) error {
	if !strings.HasSuffix(string(text), "\n") {
		text = append(text, '\n')
	}
	if v.out == "" || v.out == "-" {
		_, err := v.Out.Write(text)
		return err
	}
	if err := replaceFile(v.out, func(f *os.File) error { _, err := f.Write(text); return err }); err != nil {
		return inputErrorf("%v", err)
	}
	return nil
}

// printReviews prints the places to review. Places that differ by the index in an array alone have one
// line, which shows the first of them. If their messages differ, the line says so.
func (w Environment) printReviews(reviews []convert.Review) {
	alike, messages := map[string]int{}, map[string]map[string]bool{}
	for _, r := range reviews {
		place := withoutIndexes(r.Pointer)
		alike[place]++
		if messages[place] == nil {
			messages[place] = map[string]bool{}
		}
		messages[place][r.Message] = true
	}
	for _, r := range reviews {
		where, message, place := cmp.Or(r.Pointer, "the document"), r.Message, withoutIndexes(r.Pointer)
		count := alike[place]
		if count > 1 && r.Pointer != "" {
			if len(messages[place]) == 1 {
				where += fmt.Sprintf(" and %d like it", count-1)
			} else {
				message += fmt.Sprintf(" (and %d like it, for reasons of their own)", count-1)
			}
			delete(alike, place)
		}
		if count > 0 {
			w.printError("REVIEW %s: %s", where, message)
		}
	}
	if len(reviews) > 0 {
		w.printError("%s to review: what the input did not say was guessed", format.Plural(len(reviews), "place"))
	}
}
