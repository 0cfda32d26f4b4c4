package search

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// maxPage is the last page that can be requested: each page costs a request.
const maxPage = 100

// viewFlags selects the part of a list that a command shows, and its format.
type viewFlags struct {
	limit, page int
	long        bool
}

// addTo declares the flags with the default of limit.
func (v *viewFlags) addTo(flags *pflag.FlagSet, what string) {
	flags.IntVarP(&v.limit, "limit", "n", v.limit, what+" on a page, 1 to 100")
	flags.IntVar(&v.page, "page", 1, "page to show")
	flags.BoolVarP(&v.long, "long", "l", false, "show every detail")
}

// checkValues refuses invalid values.
func (v *viewFlags) checkValues() error {
	if v.limit < 1 || v.limit > 100 {
		return exit.Usagef("--limit %d: want 1 to 100", v.limit)
	}
	if v.page < 1 || v.page > maxPage {
		return exit.Usagef("--page %d: want 1 to %d", v.page, maxPage)
	}
	return nil
}

// unknownTotal is the total of a list whose entries nobody has counted.
const unknownTotal = -1

// formatPosition says how many entries of the total a page shows, and names the next page if there is
// one.
func (v *viewFlags) formatPosition(shown, total int, more bool, what string) string {
	first := (v.page - 1) * v.limit
	text := fmt.Sprintf("%d of %s", shown, cli.Plural(total, what))
	switch {
	case total == unknownTotal, v.page == 1 && shown == total:
		text = cli.Plural(shown, what)
	case v.page > 1:
		text = fmt.Sprintf("%d to %d of %s", first+1, first+shown, cli.Plural(total, what))
	}
	if more && v.page < maxPage {
		text += fmt.Sprintf("; next: --page %d", v.page+1)
	}
	return text
}

// printPosition prints the end of a list of operations. The total counts all operations of a service,
// of which a list shows a few.
func (v *viewFlags) printPosition(a *verbs, shown, total int, more bool) {
	text := v.formatPosition(shown, total, more, "operation")
	if !more && (v.page-1)*v.limit+shown < total {
		text += "; a list by words shows at most three of a service"
	}
	if !v.long {
		text += "; details: --long"
	}
	fmt.Fprintln(a.Out, cli.NewStyle(a.Out).Dim(text))
}

// hitRow returns the row of one operation: its name, its host, its summary with its marks.
func hitRow(h index.Hit, remarks []remark) row {
	text := h.Operation.Intent
	if h.Findings == protocol.Error.String() {
		text = "[errors] " + text
	}
	for _, r := range remarks {
		text = "[" + r.name + "] " + text
	}
	return row{name: strings.TrimSpace(h.Operation.Verb + " " + OperationName(h.Operation)), place: h.Host, text: text}
}

// A row is one entry of a list: a name, a host or a number, and a text.
type row struct {
	name, place, text string
	// part marks a row about the one above it. Its text is a value to copy: it is never cut.
	part bool
}

// Limits of the first two columns. A longer entry takes room from those after it, so that they stay
// aligned if they can.
const (
	maxName  = 34
	maxPlace = 30
)

// Columns between two columns, least columns of a text beside them, and indentation of a text below
// them.
const (
	gap       = 2
	leastText = 20
	indent    = 4
)

// printRows writes a list in columns that are as wide as their content. On a terminal it cuts texts at
// the width, and moves what does not fit onto a line of its own.
func (a *verbs) printRows(rows []row) {
	printRows(a.Out, rows, terminalWidth(a))
}

// printRows is the method of that name for a width, 0 for no limit.
func printRows(w io.Writer, rows []row, width int) {
	style := cli.NewStyle(w)
	nameLimit, placeLimit := maxName, maxPlace
	if width > 0 {
		nameLimit, placeLimit = min(nameLimit, width*35/100), min(placeLimit, width*30/100)
	}
	nameWidth, placeWidth := 0, 0
	for i, r := range rows {
		rows[i] = row{format.Visible(r.name), format.Visible(r.place), format.Visible(r.text), r.part}
		if !r.part {
			nameWidth = max(nameWidth, min(format.Columns(rows[i].name), nameLimit))
			placeWidth = max(placeWidth, min(format.Columns(rows[i].place), placeLimit))
		}
	}
	pad := func(n int) string { return strings.Repeat(" ", max(0, n)) }
	below := "\n" + pad(indent)
	for _, r := range rows {
		line, used := style.Bold(r.name), format.Columns(r.name)
		if r.place != "" {
			if at := max(used, nameWidth) + gap; width > 0 && at+format.Columns(r.place) > width {
				line, used = line+below, indent
			} else {
				line, used = line+pad(at-used), at
			}
			line, used = line+style.Accent(r.place), used+format.Columns(r.place)
		}
		if r.text != "" {
			at := max(used, nameWidth) + gap
			if !r.part && placeWidth > 0 {
				at = max(used, nameWidth+gap+placeWidth) + gap
			}
			least := format.Columns(r.text)
			if !r.part {
				least = min(least, leastText)
			}
			if width > 0 && at+least > width {
				line, at, used = line+below, indent, indent
			}
			if width > 0 && !r.part {
				r.text = format.Cut(r.text, width-at)
			}
			line += pad(at-used) + r.text
		}
		fmt.Fprintln(w, line)
	}
}

// terminalWidth returns the width of the output terminal, 0 if the output is no terminal.
func terminalWidth(a *verbs) int {
	f, ok := a.Out.(*os.File)
	if !ok || !cli.IsTerminal(a.Out) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// printNear prints offered verbs that are similar to the requested one.
func (a *verbs) printNear(verbs []string) {
	if len(verbs) > 0 {
		fmt.Fprintf(a.Out, "Verbs that are offered: %s\n", format.Visible(strings.Join(verbs, ", ")))
	}
}
