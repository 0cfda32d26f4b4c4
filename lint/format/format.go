package format

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"gazetteer/lint"
	"gazetteer/protocol"
)

// A Report is a result together with the text it is about.
type Report struct {
	lint.Result
	Text []byte
	// Repairable is the number of findings that can be repaired without knowing what was meant, as
	// far as that was tried.
	Repairable int
}

// Options configure the output. The zero value is usable.
type Options struct {
	// Color adds the colors of a terminal to "text".
	Color bool
	// Width is how many columns the terminal has; 0 is unknown.
	Width int
	// Quiet leaves out everything that does not make the run fail: lesser findings, and the closing
	// lines of "text".
	Quiet bool
	// Strict is lint.Options.Strict of the run: with it, warnings make the run fail, too.
	Strict bool
	// Tool and Version name the program, for example "gazlint". Explain is the command that
	// explains a rule; the code of the rule is appended to it. Repair is the command that repairs a
	// file; the name of the file is appended to it.
	Tool, Version, Explain, Repair string
}

// writers has one function for each format.
var writers = []struct {
	name  string
	write func(w *bytes.Buffer, reports []Report, o Options) error
}{
	{"text", writeText},
	{"json", writeJSON},
	{"sarif", writeSARIF},
	{"github", writeGitHub},
	{"junit", writeJUnit},
	{"compact", writeCompact},
}

// Names returns the names of the formats, the default one first.
func Names() []string {
	names := make([]string, len(writers))
	for i, f := range writers {
		names[i] = f.name
	}
	return names
}

// Write writes reports in a format. It calls w.Write once with everything, or returns an error and
// writes nothing.
func Write(w io.Writer, name string, reports []Report, o Options) error {
	o.Tool = cmp.Or(o.Tool, "gazlint")
	if o.Quiet {
		reports = failingReports(reports, o.Strict)
	}
	for _, f := range writers {
		if f.name != name {
			continue
		}
		var b bytes.Buffer
		if err := f.write(&b, reports, o); err != nil {
			return fmt.Errorf("write results as %s: %w", name, err)
		}
		_, err := w.Write(b.Bytes())
		return err
	}
	return fmt.Errorf("no format is called %q; the formats are %s", name, strings.Join(Names(), ", "))
}

// failingReports returns the reports with only the findings that make a run fail.
func failingReports(reports []Report, strict bool) []Report {
	limit := protocol.Error
	if strict {
		limit = protocol.Warning
	}
	out := make([]Report, len(reports))
	for i, r := range reports {
		var kept []protocol.Finding
		for _, f := range r.Findings {
			if f.Severity >= limit {
				kept = append(kept, f)
			}
		}
		r.Findings = kept
		out[i] = r
	}
	return out
}

// writeCompact writes one line a finding, as programs and models read it:
// place, severity, code, message, pointer.
func writeCompact(w *bytes.Buffer, reports []Report, _ Options) error {
	for _, r := range reports {
		for _, f := range r.Findings {
			fmt.Fprintf(w, "%s: %s %s %s", formatPlace(r.Input, f), f.Severity, f.Code, Visible(f.Message))
			if f.Help != "" {
				fmt.Fprintf(w, "; %s", Visible(f.Help))
			}
			if f.Pointer != "" {
				fmt.Fprintf(w, " (%s)", Visible(f.Pointer))
			}
			w.WriteByte('\n')
		}
	}
	return nil
}

// formatPlace writes "ai.json:14:17", or the input alone where a finding has no place.
func formatPlace(input string, f protocol.Finding) string {
	if f.Line == 0 {
		return Visible(input)
	}
	return fmt.Sprintf("%s:%d:%d", Visible(input), f.Line, max(f.Column, 1))
}
