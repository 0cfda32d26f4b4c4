// Package crawl has the verbs that add hosts to the crawler and show what it asked of them.
package crawl

import (
	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// verbs are the verbs of this package with what all verbs share.
type verbs struct{ *cli.App }

// Commands returns the verbs of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a}
	return []*cobra.Command{v.crawlCommand(), v.crawlLogCommand()}
}
