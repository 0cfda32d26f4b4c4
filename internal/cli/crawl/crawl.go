// Package crawl contains the commands that add hosts to the crawler and show its requests.
package crawl

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the commands of this package, with the state that all commands share.
type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a}
	return []*cobra.Command{v.crawlCommand(), v.crawlLogCommand(), v.optOutCommand(), v.optInCommand()}
}
