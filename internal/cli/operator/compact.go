package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/operator"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/wait"
	"gazetteer/lint/format"
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

It also removes deleted content from the index, the transparency log, the feed of
changes and the mail. It says what it waits for. A part that makes no progress for
30 seconds is left as it is, and named with the reason; the exit code is then 4.

An index or another follower that has not read the log for longer than
store.horizon is rebuilt. With --keep 0s all deletions are dropped.`,
		Example: "  gazetteer compact\n  gazetteer compact --keep 24h",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path := "/admin/compact"
			if c.Flags().Changed("keep") {
				path += "?keep=" + url.QueryEscape(keep.String())
			}
			return a.withUnlimitedOperator(c, func(server *cli.Client) error {
				var r operator.CompactResult
				stop := a.printAwaitedParts(c.Context(), server)
				raw, err := server.SendJSON(c.Context(), http.MethodPost, path, nil, nil, &r)
				stop()
				if err != nil {
					return err
				}
				if a.JSON {
					return errors.Join(cli.WriteJSONText(a.Out, raw), describeLeft(r.Left))
				}
				_, err = fmt.Fprintf(a.Out, "%s dropped; the store had %s and has %s; it took %.1f s, and writes waited for %.0f ms\n",
					cli.Plural(r.Forgotten, "deletion"), describeBytes(r.BytesBefore), describeBytes(r.BytesAfter), r.TookMS/1000, r.PauseMS)
				return errors.Join(err, describeLeft(r.Left))
			})
		},
	}
	cli.SpanVar(c.Flags(), &keep, "keep", 0, "how long deletions are kept (overrides store.horizon of the configuration)")
	return c
}

// describeLeft returns an error if a compaction has left parts; nil if not.
func describeLeft(left []operator.Uncompacted) error {
	if len(left) == 0 {
		return nil
	}
	var parts []string
	for _, p := range left {
		parts = append(parts, p.Part+" ("+p.Reason+")")
	}
	return exit.Dataf("deleted content may still be in %s; repair that, and compact again", strings.Join(parts, ", "))
}

// awaitInterval is the time between two questions what a compaction waits for.
const awaitInterval = 2 * time.Second

// printAwaitedParts prints a line for each part that a compaction waits for, until stop is called.
func (a *verbs) printAwaitedParts(ctx context.Context, server *cli.Client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		told := map[operator.Uncompacted]bool{}
		for wait.For(ctx, awaitInterval) == nil {
			var status operator.OperatorStatus
			if _, err := server.GetJSON(ctx, "/admin/status", &status); err != nil {
				continue // the compaction itself reports that the server is gone
			}
			for _, part := range status.Awaited {
				if told[part] {
					continue
				}
				told[part] = true
				line := "waiting for " + part.Part
				if part.Reason != "" {
					line += ": " + part.Reason
				}
				fmt.Fprintln(a.Err, format.Visible(line))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
