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

// inputs reads everything that is to be judged. What cannot be read is said, and
// counted, and does not keep the rest from being judged.
func (v *validation) inputs(ctx context.Context, args []string) ([]lint.Input, error) {
	var inputs []lint.Input
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return nil, usagef("standard input can be read once: give - once")
	}
	for _, arg := range args {
		more, err := v.input(ctx, arg)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if code, ours := ExitCode(err); ours && code == ExitInput {
			v.say("%s: %v", v.Program, err)
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

// input reads one argument of the command line. A file of that name comes first:
// who means a host of the same name can write its address.
func (v *validation) input(ctx context.Context, arg string) ([]lint.Input, error) {
	if arg == "" {
		return nil, usagef("an input is empty: give a file, a directory, an address, a host, or - for standard input")
	}
	if arg == "-" {
		text, err := readAll(ctx, v.In)
		if err != nil {
			return nil, inputf("read standard input: %v", err)
		}
		return []lint.Input{{Name: standardInput, Text: text, Kind: document.Kind(v.as), URL: v.url}}, nil
	}
	if scheme, _, ok := strings.Cut(arg, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "http":
			return v.address(ctx, arg)
		case "agtp":
			return nil, usagef("%s: nothing is fetched over agtp; give the https address of the document, or the name of the host", arg)
		}
		return nil, usagef("%s: only https addresses are fetched", arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return v.directory(ctx, arg)
	case err == nil:
		return v.file(ctx, arg)
	case errors.Is(err, fs.ErrNotExist) && looksLikeHost(arg):
		return v.host(ctx, arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(arg)
	default:
		return nil, fileError(arg, err)
	}
}

// fileError says what is wrong with a file, the file first.
func fileError(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return inputf("%s: %v", name, err)
}

// missing says of an argument what it is not: no file, and no host either.
func missing(arg string) error {
	host, _, path := strings.Cut(arg, "/")
	_, err := fetch.CheckHost(arg)
	e, noHost := errors.AsType[*fetch.HostError](err)
	switch {
	case ours(arg) && (!path || !looksLikeHost(host)):
		return inputf("%s: no such file", arg)
	case noHost && !path:
		return inputf("%s: no such file, and no host that can be asked: %s; %s", arg, e.Problem, e.Help)
	case path && looksLikeHost(host):
		return inputf("%s: no such file; if you mean the address, write https://%s", arg, arg)
	default:
		return inputf("%s: no such file or directory", arg)
	}
}

// looksLikeHost tells the name of a host from that of a file that is not there.
func looksLikeHost(arg string) bool {
	if strings.ContainsAny(arg, `/\`) || !strings.Contains(arg, ".") || ours(arg) {
		return false
	}
	_, err := fetch.CheckHost(arg)
	return err == nil
}

// ours reports whether a file has the name of what documents are kept in.
func ours(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml", ".agis":
		return true
	}
	return strings.HasSuffix(filepath.ToSlash(name), ".well-known/ai")
}

func (v *validation) file(ctx context.Context, name string) ([]lint.Input, error) {
	text, err := readFile(ctx, name)
	if err != nil {
		return nil, fileError(name, err)
	}
	return []lint.Input{{Name: name, Text: text, Kind: document.Kind(v.as), URL: v.url}}, nil
}

// directory reads the documents below a directory: files that have a likely name
// and turn out to be of one of the kinds. Others belong to somebody else.
func (v *validation) directory(ctx context.Context, root string) ([]lint.Input, error) {
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
		case !entry.Type().IsRegular() || !ours(name):
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
		return nil, inputf("read %s: %v", root, err)
	}
	if len(inputs) == 0 {
		return nil, inputf("there is no document of a known kind below %s", root)
	}
	return inputs, nil
}

// network opens the way to the network with the first use.
func (v *validation) network() (Fetcher, error) {
	if v.fetcher != nil {
		return v.fetcher, nil
	}
	if v.Fetcher == nil {
		return nil, inputf("this program has no network: save the document and give the file")
	}
	f, err := v.Fetcher()
	if err != nil {
		return nil, err
	}
	v.fetcher = f
	return f, nil
}

// address fetches one document.
func (v *validation) address(ctx context.Context, address string) ([]lint.Input, error) {
	f, err := v.network()
	if err != nil {
		return nil, err
	}
	answer, err := f.Document(ctx, document.Kind(v.as), address)
	if err != nil {
		return nil, v.fetchError(err)
	}
	return v.answers([]fetch.Answer{answer}), nil
}

// host fetches all that a host publishes.
func (v *validation) host(ctx context.Context, name string) ([]lint.Input, error) {
	f, err := v.network()
	if err != nil {
		return nil, err
	}
	answers, err := f.Host(ctx, name)
	if err != nil {
		return nil, v.fetchError(err)
	}
	return v.answers(answers), nil
}

// fetchError tells a name that is no host from the end of the run.
func (v *validation) fetchError(err error) error {
	if _, ok := errors.AsType[*fetch.HostError](err); ok {
		return &exitError{ExitUsage, err}
	}
	return err
}

// answers turns what was fetched into inputs. An answer without a body is one
// too: what the fetch found is its result. What is absent does not count beside
// something that is there, in whatever state. When nobody answered, that is also
// something that could not be read.
func (v *validation) answers(answers []fetch.Answer) []lint.Input {
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
