package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"gazetteer/internal/version"
)

// VersionCommand returns the command version.
func (a *App) VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the date of this program",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				return WriteJSON(a.Out, version.Read())
			}
			_, err := fmt.Fprint(a.Out, version.Read().Describe("gazetteer"))
			return err
		},
	}
}
