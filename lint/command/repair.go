package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"gazetteer/internal/wait"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/lint/repair"
)

// repairInputs applies safe repairs. With --diff it only shows the changes; with --fix it shows
// them, asks, and writes. It returns the inputs as they are in their files afterwards.
func (v *validateRun) repairInputs(ctx context.Context, inputs []lint.Input) ([]lint.Input, error) {
	out := make([]lint.Input, len(inputs))
	for i, in := range inputs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v.fix && !v.diff && !isFile(in) {
			return nil, usageErrorf("--fix writes files, and %s is not one: save it first, or see the changes with --diff", in.Name)
		}
		out[i] = in
		kind := in.Kind
		if kind == "" {
			kind = lint.KindOf(in.Name, in.Text)
		}
		if kind == "" {
			continue // the result reports it
		}
		fixed, repaired, err := repair.Fix(kind, in.Text)
		switch {
		case err != nil:
			v.printError("%s: it cannot be read, and nothing in it can be repaired automatically: %s", in.Name, explainUnreadable(err))
			continue
		case len(repaired) == 0:
			if !v.quiet {
				v.printError("%s: nothing here can be repaired automatically", in.Name)
			}
			continue
		}
		written, err := v.proposeRepair(ctx, in, fixed, repaired)
		if err != nil {
			return nil, err
		}
		if written {
			out[i].Text = fixed
		}
	}
	return out, nil
}

// maxTried is the length of the longest text in which repairable findings are counted.
const maxTried = 64 << 10

// countRepairable returns how many findings --fix can repair, for the hint at the end of the
// output.
func (v *validateRun) countRepairable(in lint.Input, r lint.Result) int {
	if v.format != "text" || v.quiet || v.fix || len(r.Findings) == 0 || r.Kind == "" || !isFile(in) || len(in.Text) > maxTried {
		return 0
	}
	_, repaired, err := repair.Fix(r.Kind, in.Text)
	if err != nil {
		return 0
	}
	return len(repaired)
}

func isFile(in lint.Input) bool { return in.Fetched == nil && in.Name != standardInput }

// proposeRepair shows a repair, and writes it if the caller agrees.
func (v *validateRun) proposeRepair(ctx context.Context, in lint.Input, fixed []byte, repaired []repair.Repair) (written bool, err error) {
	if v.diff {
		return false, writeDiff(v.Out, in.Name, in.Text, fixed, supportsColor(v.Out))
	}
	if err := writeDiff(v.Err, in.Name, in.Text, fixed, supportsColor(v.Err)); err != nil {
		return false, err
	}
	for _, m := range repaired {
		v.printError("  repairs %s: %s", m.Finding.Code, m.Finding.Message)
	}
	if !v.yes {
		if !isTerminal(v.In) {
			v.printError("%s: not written; --yes writes without asking", in.Name)
			return false, nil
		}
		fmt.Fprintf(v.Err, "Write these changes to %s? [y/N] ", format.Visible(in.Name))
		answer, err := wait.ForRead(ctx, func() (string, error) { return bufio.NewReader(v.In).ReadString('\n') })
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil && err != io.EOF {
			return false, inputErrorf("read the answer: %v", err)
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			v.printError("%s: not written", in.Name)
			return false, nil
		}
	}
	if err := replaceText(ctx, in.Name, in.Text, fixed); err != nil {
		return false, inputErrorf("%v", err)
	}
	v.printError("%s: %s repaired", in.Name, format.Plural(len(repaired), "finding"))
	return true, nil
}

// writeDiff prints changes like diff -u.
func writeDiff(w io.Writer, name string, before, after []byte, colors bool) error {
	var b strings.Builder
	for line := range strings.Lines(string(repair.Diff(name, before, after))) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "diff ") {
			continue
		}
		shown := strings.ReplaceAll(line, "\t", "    ")
		shown = format.Visible(shown)
		if colors {
			shown = paintDiff(shown)
		}
		b.WriteString(shown + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func paintDiff(line string) string {
	color := ""
	switch {
	case strings.HasPrefix(line, "@@"):
		color = "36"
	case strings.HasPrefix(line, "-"):
		color = "31"
	case strings.HasPrefix(line, "+"):
		color = "32"
	default:
		return line
	}
	return "\x1b[" + color + "m" + line + "\x1b[0m"
}
