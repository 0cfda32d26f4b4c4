package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry/keyfile"
	"gazetteer/store/boltstore"
)

// agentNote is the note of a key file that says whose key it is: a DID.
const agentNote = "agent"

// keyring is the key files that the verbs of agents use.
type keyring struct {
	path           string // of the key in use
	passphraseFile string

	passphrase []byte // once it was asked for
}

// agentCommand is what the owner of an agent does with it.
func (a *app) agentCommand() *cobra.Command {
	k := &keyring{}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Register an agent, prove what it says, and look after its keys",
		Long: `An agent is known by its key, which lies in a file that only you can read:
agent.key in this directory, or the one that --key names. Every change is signed
with it; nothing secret is ever sent.

  gazetteer agent new "Table booker"          make its keys and register it
  gazetteer agent update --inbox https://…    say where it takes mail
  gazetteer agent prove example.com           show that a domain is yours
  gazetteer agent rotate                      put a new key in the place of the old
  gazetteer agent show                        what is known of it, and by what

The verbs talk to the server of the data directory, or to the one that --server
names.`,
		Args: onlyVerbs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&k.path, "key", "agent.key", "file with the agent's key")
	c.PersistentFlags().StringVar(&k.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase of the key (default: asked for on the terminal)")
	c.AddCommand(a.agentNewCommand(k), a.agentShowCommand(k), a.agentUpdateCommand(k), a.agentRotateCommand(k), a.agentRecoverCommand(k),
		a.agentAttestCommand(k), a.agentProveCommand(k), a.agentDeactivateCommand(k), a.agentMergeCommand(k), a.agentExportCommand(k), a.agentProofCommand(k))
	return c
}

// recoveryPath is where the recovery key of a key lies: agent.recovery.key.
func (k *keyring) recoveryPath() string { return recoveryOf(k.path) }

func recoveryOf(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".recovery" + ext
}

// askAgents is ask for the verbs of agents, which crawl nothing.
func (a *app) askAgents(ctx context.Context, use func(*client) error) error {
	if a.server == "" {
		config, err := a.config()
		if err != nil {
			return err
		}
		if _, running := socketClient(config.DataDir); !running && !exists(filepath.Join(config.DataDir, boltstore.FormatFile)) {
			return &exitError{exitData, fmt.Errorf("there is no registry in %s: start one (gazetteer serve), or name one with --server or --data-dir", config.DataDir)}
		}
	}
	return a.ask(ctx, false, use)
}

// read returns the key in a file, and whose it says it is: the zero Web when it
// does not say.
func (k *keyring) read(a *app, path string) (ed25519.PrivateKey, did.Web, error) {
	f, err := keyfile.Open(path)
	if err != nil {
		return nil, did.Web{}, keyError(err, path)
	}
	if f.Encrypted && k.passphrase == nil {
		if k.passphrase, err = k.askPassphrase(a, "Passphrase of "+path+": "); err != nil {
			return nil, did.Web{}, err
		}
	}
	key, err := f.Private(k.passphrase)
	if errors.Is(err, keyfile.ErrPassphrase) && k.passphrase != nil {
		return nil, did.Web{}, usagef("%s: this is not its passphrase, or the file is damaged", path)
	}
	if err != nil {
		return nil, did.Web{}, keyError(fmt.Errorf("%s: %w", path, err), path)
	}
	owner, err := ownerOf(f, path)
	return key, owner, err
}

// namespaceOwner reads whose key a file says it is.
func ownerOf(f keyfile.File, path string) (did.Web, error) {
	text := f.Notes[agentNote]
	if text == "" {
		return did.Web{}, nil
	}
	owner, err := did.ParseWeb(text)
	if _, ok := owner.AirID(); err != nil || !ok {
		return did.Web{}, &exitError{exitData, fmt.Errorf("%s: the line %q behind the key names no agent: take the line away, then run: gazetteer agent show AIR-…", path, agentNote+": "+text)}
	}
	return owner, nil
}

// keyError says what to do about a key file that cannot be used.
func keyError(err error, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && exists(recoveryOf(path)):
		return notFoundf("there is no key in %s, but %s is there: if the key is lost, take the agent over with: gazetteer agent recover", path, recoveryOf(path))
	case errors.Is(err, fs.ErrNotExist):
		return notFoundf("there is no key in %s: name the file with --key, or make an agent with: gazetteer agent new NAME", path)
	case errors.Is(err, keyfile.ErrPassphrase):
		return usagef("%v: give it with --passphrase-file, or run this on a terminal to be asked", err)
	case errors.Is(err, keyfile.ErrMode):
		return usagef("%v", err)
	default:
		return &exitError{exitData, err}
	}
}

// maxPassphrase bounds a passphrase in bytes.
const maxPassphrase = 1024

// askPassphrase returns the passphrase of a file or of the person at the
// terminal.
func (k *keyring) askPassphrase(a *app, prompt string) ([]byte, error) {
	if k.passphraseFile != "" {
		text, err := os.ReadFile(k.passphraseFile)
		if err != nil {
			return nil, usagef("--passphrase-file: %v", err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 || len(line) > maxPassphrase {
			return nil, usagef("--passphrase-file %s: want a passphrase of 1 to %d bytes on its first line", k.passphraseFile, maxPassphrase)
		}
		return line, nil
	}
	terminal, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return nil, usagef("a passphrase is needed and there is no terminal to ask on: give it with --passphrase-file")
	}
	fmt.Fprint(a.err, prompt)
	passphrase, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(a.err)
	if err != nil || len(passphrase) == 0 {
		return nil, usagef("no passphrase was given")
	}
	return passphrase, nil
}

// newPassphrase asks for a passphrase that is not yet in use, twice.
func (k *keyring) newPassphrase(a *app) (err error) {
	if k.passphrase, err = k.askPassphrase(a, "Passphrase for the new keys: "); err != nil || k.passphraseFile != "" {
		return err
	}
	again, err := k.askPassphrase(a, "Once more: ")
	if err == nil && !bytes.Equal(again, k.passphrase) {
		err = usagef("the two passphrases differ: nothing was made")
	}
	return err
}

// make writes a new key into a file that is not there yet. Like is the file
// whose protection it takes over: encrypted when that is.
func (k *keyring) make(path string, owner did.Web, encrypted bool) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	var passphrase []byte
	if encrypted {
		passphrase = k.passphrase
	}
	notes := keyfile.Notes{}
	if _, ok := owner.AirID(); ok {
		notes[agentNote] = owner.String()
	}
	err = keyfile.Create(path, key, passphrase, notes)
	if errors.Is(err, fs.ErrExist) {
		return nil, usagef("%s is there already and is not overwritten: move it away, or name another file with --key", path)
	}
	return key, err
}

// resume returns the key of a file that an earlier, interrupted try has left, or
// makes one. The error is that of read or make.
func (k *keyring) resume(a *app, path string, owner did.Web, encrypted bool) (ed25519.PrivateKey, error) {
	if !exists(path) {
		return k.make(path, owner, encrypted)
	}
	key, of, err := k.read(a, path)
	if err == nil && of.String() != owner.String() {
		err = usagef("%s holds a key of %s: move it away", path, of)
	}
	return key, err
}

// command is one that the person may run next, with the flags that lead to the same
// server.
func (a *app) command(words string) string {
	text := "gazetteer "
	if a.server != "" {
		text += "--server " + quoted(a.server) + " "
	}
	if a.configFile != "" {
		text += "--config " + quoted(a.configFile) + " "
	}
	if a.dataDir != "" {
		text += "--data-dir " + quoted(a.dataDir) + " "
	}
	for _, set := range a.settings {
		text += "--set " + quoted(set) + " "
	}
	return text + words
}

// again is a command of agents that the person may run next, with the same key.
func (a *app) again(k *keyring, words string) string {
	text := a.command("agent " + words)
	if k.path != "agent.key" {
		text += " --key " + quoted(k.path)
	}
	if k.passphraseFile != "" {
		text += " --passphrase-file " + quoted(k.passphraseFile)
	}
	return text
}

// quoted writes a word as a shell reads it back.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// field writes one named line for a person.
func (a *app) field(name, value string) {
	if value != "" {
		fmt.Fprintf(a.out, "%-9s %s\n", name, format.Visible(value))
	}
}

// next ends an answer with the commands that go on from there.
func (a *app) next(text string, commands ...string) {
	fmt.Fprintf(a.out, "\n%s\n", text)
	for _, command := range commands {
		fmt.Fprintf(a.out, "  %s\n", format.Visible(command))
	}
}
