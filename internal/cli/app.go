// Package cli contains the code that all commands share: the global flags, the connection to a
// server, the output, and the exit codes of errors.
//
// The packages below contain the commands, by user: search for everybody, agent for the owner of an
// agent, operator for the operator of a server. Start with [App], and with [App.WithServer], which
// all commands except serve and demo use to reach a server.
package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
	"gazetteer/lint/format"
)

// FormatCommand returns a command that the user can run next, with the flags that select the same
// server.
func (a *App) FormatCommand(words string) string {
	text := "gazetteer "
	if a.Server != "" {
		text += "--server " + QuoteForShell(a.Server) + " "
	}
	if a.ConfigFile != "" {
		text += "--config " + QuoteForShell(a.ConfigFile) + " "
	}
	if a.DataDir != "" {
		text += "--data-dir " + QuoteForShell(a.DataDir) + " "
	}
	for _, set := range a.Settings {
		text += "--set " + QuoteForShell(set) + " "
	}
	return text + words
}

// QuoteForShell quotes a word for a shell.
func QuoteForShell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// PrintField prints one line with a name and a value.
func (a *App) PrintField(name, value string) {
	if value != "" {
		fmt.Fprintf(a.Out, "%-9s %s\n", name, format.Visible(value))
	}
}

// PrintNextSteps prints the possible next commands at the end of an answer.
func (a *App) PrintNextSteps(text string, commands ...string) {
	fmt.Fprintf(a.Out, "\n%s\n", text)
	for _, command := range commands {
		fmt.Fprintf(a.Out, "  %s\n", format.Visible(command))
	}
}

// PrintJSON prints an unchanged answer at the end of a command.
func (a *App) PrintJSON(raw []byte, err error) error {
	if err != nil {
		return err
	}
	return WriteJSONText(a.Out, raw)
}

// ShowAnswer sends a request and prints its answer: unchanged with --json, otherwise with print. The
// request is signed unless by is nil.
func ShowAnswer[T any](ctx context.Context, a *App, server *Client, method, path string, body any, by *Signer, print func(T) error) error {
	var v T
	raw, err := server.SendJSON(ctx, method, path, body, by, &v)
	if err != nil || a.JSON {
		return a.PrintJSON(raw, err)
	}
	return print(v)
}

// maxExport is the number of bytes of an export that a command accepts.
const maxExport = 1 << 30

// copyExport copies an export while it arrives, up to its largest size.
func copyExport(to io.Writer, from io.Reader) (int64, error) {
	n, err := io.Copy(to, io.LimitReader(from, maxExport))
	if err != nil {
		return n, exit.Networkf("the export is not complete: %s", describeNetworkError(err))
	}
	if rest, _ := from.Read(make([]byte, 1)); rest > 0 {
		return n, exit.Networkf("the export has more than %d bytes", maxExport)
	}
	return n, nil
}

// FetchExport writes an export while it arrives. An incomplete export leaves no file.
func (a *App) FetchExport(ctx context.Context, server *Client, path string, by *Signer, out string) error {
	request, err := server.newJSONRequest(ctx, http.MethodGet, path, nil, by)
	if err != nil {
		return err
	}
	response, err := server.SendFor(request, "application/x-ndjson")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if out == "" {
		_, err := copyExport(a.Out, response.Body)
		return err
	}
	var n int64
	if err := WriteNewFile(out, 0o600, func(w io.Writer) error {
		n, err = copyExport(w, response.Body)
		return err
	}); err != nil {
		return err
	}
	a.PrintField("exported", fmt.Sprintf("%d bytes to %s", n, out))
	return nil
}

// App contains what all commands share: the input and output streams and the global flags.
type App struct {
	Streams
	Environment server.Environment

	ConfigFile string
	DataDir    string
	Server     string
	Settings   []string
	JSON       bool
	Timeout    time.Duration // how long a server may send nothing, 0 for no limit

	dataDirReported bool // see reportDataDir
}

// RequestTimeout returns Timeout for a client of which 0 means its own default and less than 0 no
// limit.
func (a *App) RequestTimeout() time.Duration {
	if a.Timeout == 0 {
		return -1
	}
	return a.Timeout
}

// Config loads the configuration. Flags override it.
func (a *App) Config() (config.Config, error) {
	settings := a.Settings
	if a.DataDir != "" {
		settings = append(settings[:len(settings):len(settings)], "data_dir="+a.DataDir)
	}
	c, err := config.Load(a.ConfigFile, os.Environ(), settings)
	if err == nil {
		a.reportDataDir(c)
	}
	return c, err
}

// dataDirVariable is the variable of the environment with a data directory.
const dataDirVariable = "GAZETTEER_DATA_DIR"

// reportDataDir says once which data directory is used if the environment names another one than the
// file of --config: a variable that a shell has kept is easily forgotten.
func (a *App) reportDataDir(c config.Config) {
	fromEnvironment, isSet := os.LookupEnv(dataDirVariable)
	if a.ConfigFile == "" || a.DataDir != "" || !isSet || c.DataDir != fromEnvironment || a.dataDirReported {
		return
	}
	file, err := config.Load(a.ConfigFile, nil, nil)
	if err != nil || file.DataDir == config.Default().DataDir || filepath.Clean(file.DataDir) == filepath.Clean(c.DataDir) {
		return
	}
	a.dataDirReported = true
	fmt.Fprintf(a.Err, "The data directory is %s, of %s; data_dir of %s is %s.\n",
		format.Visible(c.DataDir), dataDirVariable, format.Visible(a.ConfigFile), format.Visible(file.DataDir))
}
