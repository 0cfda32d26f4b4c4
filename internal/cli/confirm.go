package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"gazetteer/internal/exit"
	"gazetteer/lint/format"
)

// Confirm tells the user at the terminal what would happen, and asks for the name of the thing that it
// happens to, such as an AIR ID. Without a terminal only the flag --yes confirms: the caller then does
// not call Confirm.
func (a *App) Confirm(name, consequence string) error {
	terminal, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return exit.Usagef("%s: confirm with --yes", consequence)
	}
	fmt.Fprintf(a.Err, "%s. Type %s to confirm: ", format.Visible(strings.ToUpper(consequence[:1])+consequence[1:]), format.Visible(name))
	line, _ := bufio.NewReader(a.In).ReadString('\n') // a truncated line is no name
	if strings.TrimSpace(line) != name {
		return exit.Usagef("that is not %s: nothing was done", name)
	}
	return nil
}
