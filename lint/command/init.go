package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/convert"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol/conversion"

	"github.com/spf13/cobra"
)

// Init returns the command that creates a first document for a service.
func Init(w Environment) *cobra.Command {
	v := initRun{Environment: w}
	c := &cobra.Command{
		Use:   "init",
		Short: "Make a document for your service",
		Long: `Init makes a document that tells agents what your service can do. It asks a few
questions and checks each answer at once, or takes the answers from an OpenAPI
description. The result conforms to the draft; init then says where to serve it.

There are two formats: ai, an AI Discovery document (one JSON file that says how
the service is called over HTTP), and agis, an AGIS document with its summary
(two files that say what the operations mean). A host may serve both.

  ` + w.Program + ` init
  ` + w.Program + ` init --format agis
  ` + w.Program + ` init --openapi openapi.yaml --url https://www.example.com

Without a terminal it reads the answers from standard input, one a line.

Exit codes: 0 written, 1 what was made does not conform, 2 wrong use or a wrong
answer, 3 a file could not be read or written.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, args []string) error { return v.runInit(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&v.format, "format", "ai", "the format: ai or agis")
	f.StringVar(&v.openapi, "openapi", "", "use the answers in this OpenAPI description")
	f.StringVar(&v.dir, "dir", ".", "write into this directory")
	f.StringVar(&v.url, "url", "", "the address or host of the service")
	f.StringVar(&v.name, "name", "", "the name of the service")
	f.StringSliceVar(&v.languages, "language", nil, "a language that the service answers in, for example de; may be repeated (only ai)")
	f.BoolVar(&v.force, "force", false, "overwrite existing files")
	return c
}

// initRun is one run of the command.
type initRun struct {
	Environment
	format, openapi, dir, url, name string
	force                           bool
	languages                       []string
}

// builtDocument is a new document with the reviews of its guesses.
type builtDocument struct {
	files   []builtFile
	reviews []convert.Review
	marked  string // how to remove the marks of the guesses, "" if there are none
}

// builtFile is one file of a document and where to publish it.
type builtFile struct {
	name  string
	text  []byte
	kind  document.Kind
	path  string // path on the host
	media string // Content-Type
}

func (v *initRun) runInit(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usageErrorf("init takes no arguments, got %s\nsee: %s init --help", strings.Join(args, " "), v.Program)
	}
	f, err := findFormat(v.format)
	if err != nil {
		return err
	}
	host := ""
	if v.url != "" {
		if host, err = fetch.CheckHost(v.url); err != nil {
			return usageErrorf("--url: %v", err)
		}
	}
	if err := v.checkLanguages(f); err != nil {
		return err
	}
	if err := v.checkNotExisting(f); err != nil {
		return err
	}
	m, host, err := v.buildFiles(ctx, f, host)
	if err != nil {
		return err
	}
	if err := v.checkConformance(m, host); err != nil {
		return err
	}
	if err := v.writeFiles(m); err != nil {
		return err
	}
	v.printReviews(m.reviews)
	return v.nextSteps(m, host)
}

// checkNotExisting refuses to overwrite files, before any question is asked.
func (v *initRun) checkNotExisting(f initFormat) error {
	for _, file := range f.files {
		path := filepath.Join(v.dir, file.name)
		if _, err := os.Lstat(path); err == nil && !v.force {
			return usageErrorf("%s is there already: --force overwrites it, --dir names another directory\nto judge it: %s validate %s", path, v.Program, path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return inputErrorf("%v", err)
		}
	}
	return nil
}

// buildFiles builds the document, from a description or from answers.
func (v *initRun) buildFiles(ctx context.Context, f initFormat, host string) (builtDocument, string, error) {
	if v.openapi != "" {
		return v.fromOpenAPI(ctx, f, host)
	}
	s := draft{format: f, now: v.currentTime(), name: v.name, host: host, languages: v.languages}
	a := newAsker(v.Environment)
	v.printError("A few questions about your service. An empty line accepts the value in brackets.")
	if f.advice != "" {
		v.printError("%s", f.advice)
	}
	if err := s.askAll(ctx, a); err != nil {
		return builtDocument{}, "", err
	}
	reviews := append(s.reviews, f.guesses(&s)...)
	text, err := f.write(f.buildTree(&s), reviews)
	if err != nil {
		return builtDocument{}, "", err
	}
	m, err := assembleFiles(f, text, s.host, reviews)
	return m, s.host, err
}

func (v *initRun) fromOpenAPI(ctx context.Context, f initFormat, host string) (builtDocument, string, error) {
	c, err := convert.Find("openapi", string(f.kind))
	if err != nil {
		return builtDocument{}, "", usageErrorf("%v", err)
	}
	source, err := v.readInput(ctx, v.openapi)
	if err != nil {
		return builtDocument{}, "", err
	}
	if host == "" {
		host = serverOf(source)
	}
	if host == "" {
		if _, err := c.Do(source, convert.Options{}); err != nil { // other texts have no servers
			return builtDocument{}, "", v.conversionError(v.openapi, "openapi", source, err)
		}
		return builtDocument{}, "", usageErrorf("%s names no public host of the service: name it with --url", v.openapi)
	}
	today := v.currentTime()
	out, err := c.Do(source, convert.Options{URL: "https://" + host + "/", Name: v.name,
		Today: time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return builtDocument{}, "", v.conversionError(v.openapi, "openapi", source, err)
	}
	if f.kind == document.AI {
		if out.Text, err = withLanguages(out.Text, v.languages); err != nil {
			return builtDocument{}, "", err
		}
		out.Reviews = append(out.Reviews, reviewLanguage(v.languages)...)
	}
	m, err := assembleFiles(f, out.Text, host, out.Reviews)
	return m, host, err
}

// serverOf returns the first public host that an OpenAPI description names, "" when there is none.
func serverOf(text []byte) string {
	root, err := conversion.ReadText(text)
	if err != nil {
		return ""
	}
	addresses := []string{"https://" + root.Member("host").Str()} // of OpenAPI 2
	for _, s := range root.Member("servers").Elements() {
		addresses = append(addresses, s.Member("url").Str())
	}
	for _, address := range addresses {
		if !strings.HasPrefix(address, "https://") {
			continue
		}
		if host, err := fetch.CheckHost(address); err == nil {
			return host
		}
	}
	return ""
}

// assembleFiles builds the files of a document with these reviews.
func assembleFiles(f initFormat, text []byte, host string, reviews []convert.Review) (builtDocument, error) {
	rest, more, err := f.buildRest(text, host)
	if err != nil {
		return builtDocument{}, err
	}
	m := builtDocument{files: f.files, reviews: append(reviews, more...)}
	for i, text := range append([][]byte{text}, rest...) {
		m.files[i].text = append(bytes.TrimRight(text, "\n"), '\n')
	}
	if strings.Contains(string(text), f.mark) {
		m.marked = "; then remove " + f.marked + " " + f.files[0].name
	}
	return m, nil
}

// checkConformance checks the new document. An error here is the result of a combination of answers
// or of a fault of this program: nothing is written.
func (v *initRun) checkConformance(m builtDocument, host string) error {
	var inputs []lint.Input
	for _, f := range m.files {
		inputs = append(inputs, lint.Input{Name: f.name, Text: f.text, Kind: f.kind, URL: "https://" + host + f.path})
	}
	results := lint.CheckAll(inputs, lint.Options{Today: v.currentTime()})
	var reports []format.Report
	failed := false
	for i, r := range results {
		reports = append(reports, format.Report{Result: r, Text: inputs[i].Text})
		failed = failed || r.Failed()
	}
	if !failed {
		return nil
	}
	o := format.Options{Color: supportsColor(v.Err), Width: terminalWidth(v.Err), Quiet: true, Tool: v.Program}
	if err := format.Write(v.Err, "text", reports, o); err != nil {
		return err
	}
	return &exitError{ExitFindings, errors.New("what was made does not conform, so nothing is written")}
}

func (v *initRun) writeFiles(m builtDocument) error {
	if err := makePublicDir(v.dir); err != nil {
		return inputErrorf("%v", err)
	}
	for _, f := range m.files {
		name := filepath.Join(v.dir, f.name)
		err := v.createFile(name, f.text)
		if errors.Is(err, fs.ErrExist) {
			return usageErrorf("%s is there already: --force overwrites it", name)
		}
		if err != nil {
			return inputErrorf("%v", err)
		}
	}
	return nil
}

// makePublicDir makes a missing directory that a web server can read: the umask of a program that
// keeps its own data private does not apply.
func makePublicDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// createFile writes a file that a web server can read. It replaces an existing one only with --force.
func (v *initRun) createFile(name string, text []byte) error {
	if v.force {
		return replaceFile(name, func(f *os.File) error { _, err := f.Write(text); return err })
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// nextSteps prints what to do with the files.
func (v *initRun) nextSteps(m builtDocument, host string) error {
	var b strings.Builder
	b.WriteString("\n")
	for _, f := range m.files {
		fmt.Fprintf(&b, "Written: %s\n", filepath.Join(v.dir, f.name))
	}
	b.WriteString("\nWhat to do next:\n")
	step := 0
	next := func(text string, args ...any) {
		step++
		fmt.Fprintf(&b, "%3d. %s\n", step, fmt.Sprintf(text, args...))
	}
	switch {
	case len(m.reviews) > 0 && m.marked != "":
		next("Read the places marked REVIEW above and correct what was guessed wrong%s.", m.marked)
	case len(m.reviews) > 0:
		next("Read the places marked REVIEW above and correct what was guessed wrong: %s has no marks.", m.files[0].name)
	}
	for _, f := range m.files {
		next("Serve %s at https://%s%s, open to everybody, with\n       Content-Type: %s\n       Cache-Control: public, max-age=86400", f.name, host, f.path, f.media)
	}
	var files []string
	for _, f := range m.files {
		files = append(files, filepath.Join(v.dir, f.name))
	}
	next("After every change:  %s validate %s", v.Program, strings.Join(files, " "))
	next("Once it is served:   %s validate %s", v.Program, host)
	_, err := fmt.Fprint(v.Out, b.String())
	return err
}
