package operator

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/operator"
	"gazetteer/internal/cli"
)

// compactCommand returns the command compact.
func (a *verbs) compactCommand() *cobra.Command {
	var keep time.Duration
	c := &cobra.Command{
		Use:   "compact",
		Short: "Drop old deletions from the store and give its unused disk space back",
		Long: `Compact drops the deletions that are older than store.horizon from the store's
log, and replaces the store's file by a copy without unused space. A running
server goes on serving: writes wait for some milliseconds when the files are
swapped. It needs as much free disk space as the records take. A server does the
same by itself at store.compact_hour, if it is worthwhile.

An index or another follower that has not read the log for longer than
store.horizon is rebuilt. With --keep 0s all deletions are dropped.`,
		Example: "  gazetteer compact\n  gazetteer compact --keep 24h",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path := "/admin/compact"
			if c.Flags().Changed("keep") {
				path += "?keep=" + url.QueryEscape(keep.String())
			}
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				var r operator.CompactResult
				if done, err := a.sendRequest(c.Context(), server, http.MethodPost, path, nil, &r); done || err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.Out, "%s dropped; the store had %.1f MB and has %.1f MB; it took %.1f s, and writes waited for %.0f ms\n",
					cli.Plural(r.Forgotten, "deletion"), float64(r.BytesBefore)/1e6, float64(r.BytesAfter)/1e6, r.TookMS/1000, r.PauseMS)
				return err
			})
		},
	}
	cli.SpanVar(c.Flags(), &keep, "keep", 0, "how long deletions are kept (overrides store.horizon of the configuration)")
	return c
}
