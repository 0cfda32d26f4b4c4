// Package operator contains the commands of the operator of a server: for the registry, and for
// single hosts of the crawler. They use the socket in the data directory.
package operator

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a}
	return []*cobra.Command{v.crawlerCommand(), v.registryCommand(), v.compactCommand(), v.writeCensusCommand(), v.writeBackupCommand(), v.restoreBackupCommand(), v.checkFilesCommand()}
}
