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
)

// mostFiles is how many files of one directory are judged.
const mostFiles = 10000

// standardInput is what results call it.
const standardInput = "<stdin>"

// readInputs reads everything that is to be judged. What cannot be read is said, and
// counted, and does not keep the rest from being judged.
func (v *validateRun) readInputs(ctx context.Context, args []string) ([]lint.Input, error) {
	var inputs []lint.Input
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return nil, usageErrorf("standard input can be read once: give - once")
	}
	for _, arg := range args {
		more, err := v.readArgument(ctx, arg)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if code, ours := ExitCode(err); ours && code == ExitInput {
			v.printError("%s: %v", v.Program, err)
			v.unread++
			continue
		}
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more...)
	}
	return inputs, nil
}

// readArgument reads one argument of the command line. A file of that name comes first:
// who means a host of the same name can write its address.
func (v *validateRun) readArgument(ctx context.Context, arg string) ([]lint.Input, error) {
	if arg == "" {
		return nil, usageErrorf("an input is empty: give a file, a directory, an address, a host, or - for standard input")
	}
	if arg == "-" {
		text, err := readAll(ctx, v.In)
		if err != nil {
			return nil, inputErrorf("read standard input: %v", err)
		}
		return []lint.Input{{Name: standardInput, Text: text, Kind: document.Kind(v.as), URL: v.url}}, nil
	}
	if scheme, _, ok := strings.Cut(arg, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "http":
			return v.fetchAddress(ctx, arg)
		case "agtp":
			return nil, usageErrorf("%s: nothing is fetched over agtp; give the https address of the document, or the name of the host", arg)
		}
		return nil, usageErrorf("%s: only https addresses are fetched", arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return v.readDirectory(ctx, arg)
	case err == nil:
		return v.readFileInput(ctx, arg)
	case errors.Is(err, fs.ErrNotExist) && looksLikeHost(arg):
		return v.fetchHost(ctx, arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, describeMissing(arg)
	default:
		return nil, fileError(arg, err)
	}
}

// fileError says what is wrong with a file, the file first.
func fileError(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return inputErrorf("%s: %v", name, err)
}

// describeMissing says of an argument what it is not: no file, and no host either.
func describeMissing(arg string) error {
	host, _, path := strings.Cut(arg, "/")
	_, err := fetch.CheckHost(arg)
	e, noHost := errors.AsType[*fetch.HostError](err)
	switch {
	case isDocumentName(arg) && (!path || !looksLikeHost(host)):
		return inputErrorf("%s: no such file", arg)
	case noHost && !path:
		return inputErrorf("%s: no such file, and no host that can be asked: %s; %s", arg, e.Problem, e.Help)
	case path && looksLikeHost(host):
		return inputErrorf("%s: no such file; if you mean the address, write https://%s", arg, arg)
	default:
		return inputErrorf("%s: no such file or directory", arg)
	}
}

// looksLikeHost tells the name of a host from that of a file that is not there.
func looksLikeHost(arg string) bool {
	if strings.ContainsAny(arg, `/\`) || !strings.Contains(arg, ".") || isDocumentName(arg) {
		return false
	}
	_, err := fetch.CheckHost(arg)
	return err == nil
}

// isDocumentName reports whether a file has the name of what documents are kept in.
func isDocumentName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml", ".agis":
		return true
	}
	return strings.HasSuffix(filepath.ToSlash(name), ".well-known/ai")
}

func (v *validateRun) readFileInput(ctx context.Context, name string) ([]lint.Input, error) {
	text, err := readFile(ctx, name)
	if err != nil {
		return nil, fileError(name, err)
	}
	return []lint.Input{{Name: name, Text: text, Kind: document.Kind(v.as), URL: v.url}}, nil
}

// readDirectory reads the documents below a directory: files that have a likely name
// and turn out to be of one of the kinds. Others belong to somebody else.
func (v *validateRun) readDirectory(ctx context.Context, root string) ([]lint.Input, error) {
	var inputs []lint.Input
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
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
		if err != nil {
			return err
		}
		if lint.Tell(name, text).Kind == "" {
			return nil
		}
		if len(inputs) == mostFiles {
			return fmt.Errorf("there are more than %d documents below it; give smaller directories", mostFiles)
		}
		inputs = append(inputs, lint.Input{Name: name, Text: text, Kind: document.Kind(v.as), URL: v.url})
		return nil
	})
	if err != nil {
		return nil, inputErrorf("read %s: %v", root, err)
	}
	if len(inputs) == 0 {
		return nil, inputErrorf("there is no document of a known kind below %s", root)
	}
	return inputs, nil
}

// openFetcher opens the way to the network with the first use.
func (v *validateRun) openFetcher() (Fetcher, error) {
	if v.fetcher != nil {
		return v.fetcher, nil
	}
	if v.Fetcher == nil {
		return nil, inputErrorf("this program has no network: save the document and give the file")
	}
	f, err := v.Fetcher()
	if err != nil {
		return nil, err
	}
	v.fetcher = f
	return f, nil
}

// fetchAddress fetches one document.
func (v *validateRun) fetchAddress(ctx context.Context, address string) ([]lint.Input, error) {
	f, err := v.openFetcher()
	if err != nil {
		return nil, err
	}
	answer, err := f.Document(ctx, document.Kind(v.as), address)
	if err != nil {
		return nil, v.fetchError(err)
	}
	return v.inputsFromAnswers([]fetch.Answer{answer}), nil
}

// fetchHost fetches all that a host publishes.
func (v *validateRun) fetchHost(ctx context.Context, name string) ([]lint.Input, error) {
	f, err := v.openFetcher()
	if err != nil {
		return nil, err
	}
	answers, err := f.Host(ctx, name)
	if err != nil {
		return nil, v.fetchError(err)
	}
	return v.inputsFromAnswers(answers), nil
}

// fetchError tells a name that is no host from the end of the run.
func (v *validateRun) fetchError(err error) error {
	if _, ok := errors.AsType[*fetch.HostError](err); ok {
		return &exitError{ExitUsage, err}
	}
	return err
}

// inputsFromAnswers turns what was fetched into inputs. An answer without a body is one
// too: what the fetch found is its result. What is absent does not count beside
// something that is there, in whatever state. When nobody answered, that is also
// something that could not be read.
func (v *validateRun) inputsFromAnswers(answers []fetch.Answer) []lint.Input {
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
		v.unread++
	}
	return inputs
}

// noAnswer are the outcomes after which nothing is known of a document, good or
// bad: nobody answered, or nobody may be asked.
var noAnswer = []fetch.Outcome{fetch.DNSFailed, fetch.Unreachable, fetch.Timeout, fetch.RefusedByRobots, fetch.BlockedAddress, fetch.BadHost}
