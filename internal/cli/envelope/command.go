// Package envelope contains the subcommands of "gazetteer envelope", which work on envelopes of A2A
// draft-1 in files: check, sign, seal, open and driver. They send no requests and store nothing.
// Start with [Commands].
package envelope

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"

	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/exit"
	"gazetteer/limit"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/driver"
	"gazetteer/protocol/did"

	"github.com/spf13/cobra"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct {
	*cli.App
	key *agent.KeyReader
}

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{(&verbs{a, &agent.KeyReader{}}).envelopeCommand()}
}

// envelopeCommand returns the command envelope with its subcommands.
func (e *verbs) envelopeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "envelope",
		Short: "Check, sign, seal and open A2A envelopes in files",
		Long: `An envelope of A2A draft-1 is a JSON object that its sender signs. These commands work
on envelopes in files, "-" for the standard input, and make no request.

  gazetteer envelope check mail.json               each rule, in both profiles
  gazetteer envelope sign offer.json > mail.json   fill in missing members, and sign
  gazetteer envelope seal offer.json --recipient bob.json | gazetteer envelope sign -
  gazetteer envelope open mail.json --sender alice.json
  gazetteer envelope driver < cases.jsonl          check the library with vectors

The profile "strict" is the published schema; "wire" is what deployed clients send.`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	e.key.AddFlags(c)
	c.AddCommand(e.checkCommand(), e.signCommand(), e.sealCommand(), e.openCommand(), e.driverCommand())
	return c
}

// maxFile is the maximum size of an input file in bytes. It allows checks of envelopes that are too
// long.
const maxFile = 1 << 20

// readFile reads a file, or the standard input for "-".
func (e *verbs) readFile(name string) ([]byte, error) {
	from := e.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.Usagef("%w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := limit.ReadAll(from, maxFile)
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		return nil, exit.NotFoundf("%s has more than %d bytes", name, maxFile)
	case err != nil:
		return nil, exit.Usagef("read %s: %w", name, err)
	}
	return text, nil
}

// profileFlag adds --profile.
func profileFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "profile", "", `"strict", the published schema, or "wire", what deployed clients send`)
}

func (e *verbs) parseProfile(name string, usual a2a.Profile) (a2a.Profile, error) {
	switch name {
	case "":
		return usual, nil
	case a2a.Strict.String():
		return a2a.Strict, nil
	case a2a.Wire.String():
		return a2a.Wire, nil
	}
	return 0, exit.Usagef(`--profile %q: want "strict" or "wire"`, name)
}

// readDocument reads the DID document of a DID from a file.
func (e *verbs) readDocument(name, id string) (did.Document, error) {
	text, err := e.readFile(name)
	if err != nil {
		return did.Document{}, err
	}
	d, err := did.ParseDocument(text, id)
	if err != nil {
		return did.Document{}, exit.NotFoundf("%s: %s", name, format.Visible(err.Error()))
	}
	return d, nil
}

// publicKey reads a multikey, or a file with a DID document and returns its current key.
func (e *verbs) publicKey(flag, value, id string) (ed25519.PublicKey, error) {
	key, err := did.ParseMultikey(value)
	if err == nil {
		return key, nil
	}
	if _, statErr := os.Stat(value); statErr != nil {
		return nil, exit.Usagef("%s %s is neither a key (%s) nor a file", flag, format.Visible(value), format.Visible(err.Error()))
	}
	d, err := e.readDocument(value, id)
	if err != nil {
		return nil, err
	}
	if key, err = d.Key(); err != nil {
		return nil, exit.NotFoundf("%s: %s", value, format.Visible(err.Error()))
	}
	return key, nil
}

// refusedError converts a refusal to the command's error.
func (e *verbs) refusedError(doing, name string, err error) error {
	if r, ok := errors.AsType[*a2a.Refusal](err); ok {
		if section := a2a.RuleOf(r.Rule).Section; section != "" {
			return exit.NotFoundf("%s %s: %d %s: %s (A2A draft-1 §%s)",
				doing, name, r.Status, r.Reason, format.Visible(r.Detail), section)
		}
	}
	return exit.NotFoundf("%s %s: %s", doing, name, format.Visible(err.Error()))
}

func (e *verbs) driverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "driver",
		Short: "Answer test cases, one JSON object a line, in both profiles",
		Long: `Driver reads cases as JSON lines from the standard input and answers each with two
lines, one for each profile, so that any vectors can check the library:

  in   {"id": 1, "op": "parse_air_id", "input": {"air_id": "AIR-7G3K-M9JQ-X2PT"}}
  out  {"id":1,"profile":"strict","verdict":"accept","status":200,"error":null,…}

A verdict is accept, reject or already-processed. The ops are canonicalize, verify,
decode_public_key, register_public_key, seal, verify_then_open, receive_all,
air_id_from_identity_document and parse_air_id; docs/a2a.md has their inputs.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return driver.Run(c.Context(), e.In, e.Out) },
	}
}

// writeLine writes JSON and a line break.
func (e *verbs) writeLine(text []byte) error {
	_, err := fmt.Fprintf(e.Out, "%s\n", text)
	return err
}
