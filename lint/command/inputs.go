package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// maxFiles is the highest number of files checked in one directory.
const maxFiles = 10000

// standardInput is the name of standard input in results.
const standardInput = "<stdin>"

// inputReader reads the texts that the command line names.
type inputReader struct {
	Environment
	as, url string  // the flags of these names
	fetcher Fetcher // nil until the first fetch
	unread  int     // inputs that could not be read
}

// readInputs reads everything to check. An unreadable input is reported and counted, and the others
// are checked all the same.
func (r *inputReader) readInputs(ctx context.Context, args []string) ([]lint.Input, error) {
	var inputs []lint.Input
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return nil, usageErrorf("standard input can be read once: give - once")
	}
	for _, arg := range args {
		more, err := r.readArgument(ctx, arg)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if code, ours := ExitCode(err); ours && code == ExitInput {
			r.printError("%s: %v", r.Program, err)
			r.unread++
			continue
		}
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more...)
	}
	return inputs, nil
}

// readArgument reads one argument of the command line. A file takes precedence over a host of the
// same name, which can be written as an address.
func (r *inputReader) readArgument(ctx context.Context, arg string) ([]lint.Input, error) {
	if arg == "" {
		return nil, usageErrorf("an input is empty: give a file, a directory, an address, a host, or - for standard input")
	}
	if arg == "-" {
		text, err := readAll(ctx, r.In)
		if err != nil {
			return nil, inputErrorf("read standard input: %v", err)
		}
		return []lint.Input{{Name: standardInput, Text: text, Kind: document.Kind(r.as), URL: r.url}}, nil
	}
	if scheme, _, ok := strings.Cut(arg, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "http":
			return r.fetchAddress(ctx, arg)
		case "agtp":
			return nil, usageErrorf("%s: nothing is fetched over agtp; give the https address of the document, or the name of the host", arg)
		}
		return nil, usageErrorf("%s: only https addresses are fetched", arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return r.readDirectory(ctx, arg)
	case err == nil:
		return r.readFileInput(ctx, arg)
	case errors.Is(err, fs.ErrNotExist) && looksLikeHost(arg):
		return r.fetchHost(ctx, arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, describeMissing(arg)
	default:
		return nil, fileError(arg, err)
	}
}

// fileError returns an error about a file, with its name first.
func fileError(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return inputErrorf("%s: %w", name, err)
}

// describeMissing returns the error for an argument that is neither a file nor a host.
func describeMissing(arg string) error {
	host, _, path := strings.Cut(arg, "/")
	_, err := fetch.CheckHost(arg)
	e, noHost := errors.AsType[*fetch.HostError](err)
	switch {
	case isDocumentName(arg) && (!path || !looksLikeHost(host)):
		return inputErrorf("%s: no such file", arg)
	case noHost && !path:
		return inputErrorf("%s: neither a file nor a valid host: %s; %s", arg, e.Problem, e.Help)
	case path && looksLikeHost(host):
		return inputErrorf("%s: no such file; if you mean the address, write https://%s", arg, arg)
	default:
		return inputErrorf("%s: no such file or directory", arg)
	}
}

// looksLikeHost reports whether an argument is more likely a host than the name of a missing file.
func looksLikeHost(arg string) bool {
	if strings.ContainsAny(arg, `/\`) || !strings.Contains(arg, ".") || isDocumentName(arg) {
		return false
	}
	_, err := fetch.CheckHost(arg)
	return err == nil
}

// isDocumentName reports whether a file name is usual for documents.
func isDocumentName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml", ".agis":
		return true
	}
	return strings.HasSuffix(filepath.ToSlash(name), ".well-known/ai")
}

func (r *inputReader) readFileInput(ctx context.Context, name string) ([]lint.Input, error) {
	text, err := readFile(ctx, name)
	if err != nil {
		return nil, fileError(name, err)
	}
	return []lint.Input{{Name: name, Text: text, Kind: document.Kind(r.as), URL: r.url}}, nil
}

// readDirectory reads the documents below a directory: files with a usual name whose text is of a
// known kind. What cannot be read is reported and counted, and the rest is read all the same.
func (r *inputReader) readDirectory(ctx context.Context, root string) ([]lint.Input, error) {
	var inputs []lint.Input
	failures := 0
	fail := func(name string, err error) {
		if failures++; failures <= maxFailuresShown {
			r.printError("%s: %v", r.Program, fileError(name, err))
		}
	}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			fail(name, err)
			return nil
		case entry.IsDir():
			base := entry.Name()
			if name != root && (base == "node_modules" || strings.HasPrefix(base, ".") && base != ".well-known") {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || !isDocumentName(name):
			return nil
		}
		text, err := readFile(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fail(name, err)
			return nil
		}
		if lint.Tell(name, text).Kind == "" {
			return nil
		}
		if len(inputs) == maxFiles {
			return fmt.Errorf("there are more than %d documents below it; give smaller directories", maxFiles)
		}
		inputs = append(inputs, lint.Input{Name: name, Text: text, Kind: document.Kind(r.as), URL: r.url})
		return nil
	})
	if err != nil {
		return nil, fileError(root, err)
	}
	if more := failures - maxFailuresShown; more > 0 {
		r.printError("%s: %s below %s cannot be read", r.Program, format.Plural(more, "more file"), root)
	}
	r.unread += failures
	if len(inputs) == 0 && failures == 0 {
		return nil, inputErrorf("there is no document of a known kind below %s", root)
	}
	return inputs, nil
}

// maxFailuresShown is how many files of one directory that cannot be read are named.
const maxFailuresShown = 10

// openFetcher opens the network at its first use.
func (r *inputReader) openFetcher() (Fetcher, error) {
	if r.fetcher != nil {
		return r.fetcher, nil
	}
	if r.Fetcher == nil {
		return nil, inputErrorf("this program has no network: save the document and give the file")
	}
	f, err := r.Fetcher()
	if err != nil {
		return nil, err
	}
	r.fetcher = f
	return f, nil
}

// fetchAddress fetches one document.
func (r *inputReader) fetchAddress(ctx context.Context, address string) ([]lint.Input, error) {
	f, err := r.openFetcher()
	if err != nil {
		return nil, err
	}
	answer, err := f.Document(ctx, document.Kind(r.as), address)
	if err != nil {
		return nil, r.fetchError(err)
	}
	return r.inputsFromAnswers([]fetch.Answer{answer}), nil
}

// fetchHost fetches everything that a host publishes.
func (r *inputReader) fetchHost(ctx context.Context, name string) ([]lint.Input, error) {
	f, err := r.openFetcher()
	if err != nil {
		return nil, err
	}
	answers, err := f.Host(ctx, name)
	if err != nil {
		return nil, r.fetchError(err)
	}
	return r.inputsFromAnswers(mergeSilence(name, answers)), nil
}

// mergeSilence replaces the answers of a host that failed for one reason by one answer about the
// host, so that the reason is reported once and not once for each address.
func mergeSilence(host string, answers []fetch.Answer) []fetch.Answer {
	if len(answers) < 2 {
		return answers
	}
	for _, a := range answers {
		if !slices.Contains(hostSilence, a.Outcome) || a.Outcome != answers[0].Outcome || !slices.EqualFunc(a.Findings, answers[0].Findings, isSameFinding) {
			return answers
		}
	}
	one := answers[0]
	one.Kind, one.URL = "", "https://"+host+"/"
	return []fetch.Answer{one}
}

func isSameFinding(a, b protocol.Finding) bool { return a.Code == b.Code && a.Message == b.Message }

// fetchError distinguishes a name that is not a host from the end of the run.
func (r *inputReader) fetchError(err error) error {
	if _, ok := errors.AsType[*fetch.HostError](err); ok {
		return &exitError{ExitUsage, err}
	}
	return err
}

// inputsFromAnswers returns the fetched texts as inputs. An answer without a body is an input as
// well: its result has the findings of the fetch. An absent document does not count if another is
// present. If no path answered, the result says that something could not be read.
func (r *inputReader) inputsFromAnswers(answers []fetch.Answer) []lint.Input {
	silent := true
	published := slices.ContainsFunc(answers, func(a fetch.Answer) bool { return a.Outcome != fetch.Absent })
	var inputs []lint.Input
	for _, a := range answers {
		silent = silent && slices.Contains(noAnswer, a.Outcome)
		if a.Outcome == fetch.Absent && published {
			continue
		}
		inputs = append(inputs, lint.Input{Name: a.URL, Text: a.Body, Fetched: &a})
	}
	if silent {
		r.unread++
	}
	return inputs
}

// hostSilence lists the outcomes that concern a host and not one address of it.
var hostSilence = []fetch.Outcome{fetch.DNSFailed, fetch.Unreachable, fetch.Timeout, fetch.BlockedAddress}

// noAnswer lists the outcomes that say nothing about a document: no answer, or no permission to
// ask.
var noAnswer = []fetch.Outcome{fetch.DNSFailed, fetch.Unreachable, fetch.Timeout, fetch.RefusedByRobots, fetch.BlockedAddress, fetch.BadAddress, fetch.BadHost}
