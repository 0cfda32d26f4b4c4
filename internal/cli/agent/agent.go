// Package agent contains the commands for the owner of an agent: they register it, prove its
// claims, and manage its keys. The key in a file signs every change; see [keyring].
package agent

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{(&verbs{a}).agentCommand()}
}

// agentCommand returns the command agent with its subcommands.
func (a *verbs) agentCommand() *cobra.Command {
	k := &keyring{}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Register an agent, prove its statements, and manage its keys",
		Long: `The key of an agent is its identity. It is in a file that only you can read:
agent.key in this directory, or the file that --key names. The key signs every
change; nothing secret is ever sent.

  gazetteer agent new "Table booker"          make its keys and register it
  gazetteer agent update --inbox https://…    set the address of its inbox
  gazetteer agent prove example.com           prove that a domain is yours
  gazetteer agent rotate                      replace its key
  gazetteer agent show                        show the known facts, with the evidence

The commands talk to the server that --server names, to the one of the data directory,
or to the one on the configured address.`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	k.addFlags(c)
	c.AddCommand(a.newCommand(k), a.showCommand(k), a.updateCommand(k), a.rotateCommand(k), a.recoverCommand(k),
		a.attestCommand(k), a.proveCommand(k), a.deactivateCommand(k), a.mergeCommand(k), a.exportCommand(k), a.proofCommand(k))
	return c
}
