package search

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
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

// printPosition prints at the end of a list how many entries of the total it shows, and the next page
// if there is one.
func (v *viewFlags) printPosition(a *verbs, shown, total int, more bool, what string) {
	style := cli.NewStyle(a.Out)
	first := (v.page - 1) * v.limit
	text := fmt.Sprintf("%d of %s", shown, cli.Plural(total, what))
	switch {
	case total == unknownTotal:
		text = cli.Plural(shown, what)
	case v.page > 1:
		text = fmt.Sprintf("%d to %d of %s", first+1, first+shown, cli.Plural(total, what))
	}
	if more && v.page < maxPage {
		text += fmt.Sprintf("; next: --page %d", v.page+1)
	}
	if !v.long {
		text += "; details: --long"
	}
	fmt.Fprintln(a.Out, style.Dim(text))
}

// printHitLine writes one operation in one line: its name, its host, its summary. On a terminal it
// truncates the line at the width.
func (a *verbs) printHitLine(h index.Hit, remarks []remark) {
	name := strings.TrimSpace(h.Operation.Verb + " " + OperationName(h.Operation))
	text := h.Operation.Intent
	for _, r := range remarks {
		text = "[" + r.name + "] " + text
	}
	a.printColumns(name, h.Host, text)
}

// Widths of the first two columns of a list.
const (
	nameWidth  = 34
	placeWidth = 30
)

// printColumns writes one line of three columns: a name, a host, and a text. A long name takes room
// from the second column, so that the third one stays aligned if it can.
func (a *verbs) printColumns(name, place, text string) {
	style := cli.NewStyle(a.Out)
	name, place, text = format.Visible(name), format.Visible(place), format.Visible(text)
	first := max(nameWidth, utf8.RuneCountInString(name)) + 2
	used := max(nameWidth+2+placeWidth, first+utf8.RuneCountInString(place)) + 2
	if width := terminalWidth(a); width > 0 && used+utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		text = string(runes[:max(0, min(len(runes), width-used-1))]) + "…"
	}
	pad := func(s string, width int) string { return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) }
	line := style.Bold(name) + pad(name, first) + style.Accent(place) + pad(place, used-first) + text
	fmt.Fprintln(a.Out, strings.TrimRight(line, " "))
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
