package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"gazetteer/internal/version"
)

func (a *App) VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print how this program was built",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := version.Read()
			if a.JSON {
				return WriteJSON(a.Out, b)
			}
			fmt.Fprintf(a.Out, "gazetteer %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			if b.Revision != "" {
				changed := ""
				if b.Modified {
					changed = ", with local changes"
				}
				fmt.Fprintf(a.Out, "revision %s of %s%s\n", b.Revision, b.Time, changed)
			}
			return nil
		},
	}
}
