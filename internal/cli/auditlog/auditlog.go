// Package auditlog contains the commands that check a transparency log, from its files or from a
// server.
package auditlog

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{(&verbs{a}).logCommand()}
}
