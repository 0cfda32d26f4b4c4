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

// Columns between two columns, least columns of a text beside them, and indentation of a text below
// them.
const (
	gap       = 2
	leastText = 20
	indent    = 4
)

// printRows writes a list in columns that are as wide as their content. On a terminal the first two
// columns have a limit: a longer name or host has its line alone, and the rest follows in its columns
// below. Texts are cut at the width. Elsewhere each row is one line.
func (a *verbs) printRows(rows []row) {
	printRows(a.Out, rows, terminalWidth(a))
}

// printRows is the method of that name for a width, 0 for no limit.
func printRows(w io.Writer, rows []row, width int) {
	style := cli.NewStyle(w)
	nameWidth, placeWidth := 0, 0
	for i, r := range rows {
		rows[i] = row{format.Visible(r.name), format.Visible(r.place), format.Visible(r.text), r.part}
		if !r.part {
			nameWidth = max(nameWidth, format.Columns(rows[i].name))
			placeWidth = max(placeWidth, format.Columns(rows[i].place))
		}
	}
	if width > 0 {
		nameWidth, placeWidth = min(nameWidth, width*35/100), min(placeWidth, width*30/100)
	}
	textAt := nameWidth + gap
	if placeWidth > 0 {
		textAt += placeWidth + gap
	}
	for _, r := range rows {
		l := rowLine{width: width}
		l.add(r.name, style.Bold(r.name), 0, 0)
		if r.place != "" {
			l.add(r.place, style.Accent(r.place), nameWidth+gap, format.Columns(r.place))
		}
		switch {
		case r.text == "":
		case r.part:
			l.add(r.text, r.text, max(l.used, nameWidth)+gap, format.Columns(r.text))
		default:
			at := l.place(textAt, min(format.Columns(r.text), leastText))
			if width > 0 {
				r.text = format.Cut(r.text, width-at)
			}
			l.add(r.text, r.text, at, 0)
		}
		fmt.Fprintln(w, l.text.String())
	}
}

// A rowLine is the text of a row while it is written.
type rowLine struct {
	text  strings.Builder
	used  int // columns of the last line
	width int // of the terminal, 0 for no limit
}

// place begins a new line if the column at is passed already or need columns do not fit there, and
// returns the column to write at.
func (l *rowLine) place(at, need int) int {
	if at > 0 && l.used > at-gap {
		l.text.WriteByte('\n')
		l.used = 0
	}
	if l.width > 0 && at+need > l.width {
		if l.used > 0 {
			l.text.WriteByte('\n')
			l.used = 0
		}
		return indent
	}
	return at
}

// add writes an entry in its styled form at a column, where it needs some columns.
func (l *rowLine) add(entry, styled string, at, need int) {
	at = l.place(at, need)
	l.text.WriteString(strings.Repeat(" ", max(0, at-l.used)) + styled)
	l.used = max(at, l.used) + format.Columns(entry)
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
		fmt.Fprintf(a.Out, "Similar verbs that services offer: %s\n", format.Visible(strings.Join(verbs, ", ")))
	}
}
