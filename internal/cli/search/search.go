// Package search contains the commands that find operations, the agents that serve them, and the
// addresses of agents.
package search

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a}
	return []*cobra.Command{v.searchCommand(), v.findCommand(), v.mcpCommand(), v.resolveCommand(), v.servicesCommand(), v.verbsCommand(), v.agentsCommand(), v.changesCommand(), v.showCommand(), v.explainCommand()}
}
