package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"gazetteer/internal/exit"
	"gazetteer/internal/wait"
	"gazetteer/lint/format"
)

// Confirm tells the user at the terminal what would happen, and asks for the name of the thing that it
// happens to, such as an AIR ID. Without a terminal only the flag --yes confirms: the caller then does
// not call Confirm.
func (a *App) Confirm(ctx context.Context, name, consequence string) error {
	if a.terminal() == nil {
		return exit.Usagef("%s: confirm with --yes", consequence)
	}
	fmt.Fprintf(a.Err, "%s. Type %s to confirm: ", format.Visible(strings.ToUpper(consequence[:1])+consequence[1:]), format.Visible(name))
	line, err := wait.ForRead(ctx, func() (string, error) { return bufio.NewReader(a.In).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(a.Err) // the line of the question has no end yet
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && strings.TrimSpace(line) == name:
		return nil
	case strings.TrimSpace(line) == "":
		return exit.Usagef("not confirmed: nothing was done")
	case err != nil && !errors.Is(err, io.EOF):
		return exit.Usagef("read the answer: %w: nothing was done", err)
	}
	return exit.Usagef("that is not %s: nothing was done", name)
}

// ReadPassword asks at the terminal for a text that is not shown. The result is false if there is no
// terminal.
func (a *App) ReadPassword(ctx context.Context, prompt string) (text []byte, asked bool, err error) {
	terminal := a.terminal()
	if terminal == nil {
		return nil, false, nil
	}
	before, err := term.MakeRaw(int(terminal.Fd())) // before the prompt, so that no answer is shown
	if err != nil {
		return nil, true, err
	}
	fmt.Fprint(a.Err, prompt)
	text, err = wait.ForRead(ctx, func() ([]byte, error) { return readHiddenLine(terminal) })
	term.Restore(int(terminal.Fd()), before)
	fmt.Fprintln(a.Err)
	return text, true, err
}

// terminal returns the terminal on the standard input, nil if it is none.
func (a *App) terminal() *os.File {
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}
