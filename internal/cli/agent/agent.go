// Package agent has the verbs by which the owner of an agent registers it, proves what it says, and
// takes care of its keys. Every change is signed with the key in a file; see [keyring].
package agent

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the verbs of this package with what all verbs share.
type verbs struct{ *cli.App }

// Commands returns the verbs of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{(&verbs{a}).agentCommand()}
}

// agentCommand is the verb agent with the verbs below it.
func (a *verbs) agentCommand() *cobra.Command {
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
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&k.path, "key", "agent.key", "file with the agent's key")
	c.PersistentFlags().StringVar(&k.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase of the key (default: asked for on the terminal)")
	c.AddCommand(a.newCommand(k), a.showCommand(k), a.updateCommand(k), a.rotateCommand(k), a.recoverCommand(k),
		a.attestCommand(k), a.proveCommand(k), a.deactivateCommand(k), a.mergeCommand(k), a.exportCommand(k), a.proofCommand(k))
	return c
}
