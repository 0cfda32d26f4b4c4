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
			_, err := fmt.Fprint(a.Out, FormatVersion(version.Read()))
			return err
		},
	}
}

// FormatVersion describes the build of the program in two lines: version, commit and date.
func FormatVersion(b version.Info) string {
	text := fmt.Sprintf("gazetteer %s (%s, %s)\n", b.Version, b.Go, b.Platform)
	if b.Revision == "" {
		return text + "built without version control: commit and date are not known\n"
	}
	changed := ""
	if b.Modified {
		changed = ", with local changes"
	}
	return text + fmt.Sprintf("commit %s of %s%s\n", b.Revision, b.Time, changed)
}
