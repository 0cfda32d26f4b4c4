package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gazetteer/api/operator"
	"gazetteer/census"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
)

// writeCensusCommand returns the command census.
func (a *verbs) writeCensusCommand() *cobra.Command {
	var at, dir string
	c := &cobra.Command{
		Use:   "census -o DIR",
		Short: "Write figures of all hosts for a date, with data, plots and definitions",
		Long: `Census counts what all hosts of the store publish: formats, the five states,
rules broken, verbs, data classes, sizes, TLS, survival, changes and more, over
time and at a date. It writes one folder that needs nothing else: census.md and
census.html with plots, data as CSV and compressed JSON lines, METHOD.md with
every definition, the license of the data, and checksums.

The date is a day, which counts to its end in UTC, or a time; today by default.
Later records do not count. The same store and date give the same bytes. Hosts
whose owners opted out are left out. A running server writes the folder while it
crawls. The command creates the whole folder or none.`,
		Example: "  gazetteer census -o census-today\n  gazetteer census --at 2026-11-22 -o /srv/census/2026-11-22",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				return exit.Usagef("name the folder to write: -o DIR")
			}
			whole, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			query := url.Values{"dir": {whole}}
			if at != "" {
				query.Set("at", at)
			}
			return a.withUnlimitedOperator(c, func(server *cli.Client) error {
				err := a.printCensus(c.Context(), server, "/admin/census?"+query.Encode())
				if err != nil && strings.HasPrefix(err.Error(), census.ErrExists.Error()) { // answers name no paths
					return exit.Usagef("%s: %w", whole, err)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&at, "at", "", "the date, as 2026-11-22 or 2026-11-22T15:00:00Z (default: today)")
	c.Flags().StringVarP(&dir, "output", "o", "", "the folder, which must not exist")
	return c
}

// printCensus makes the server write a census, shows the progress, and prints the result.
func (a *verbs) printCensus(ctx context.Context, server *cli.Client, path string) error {
	var mu sync.Mutex // guards status
	status := ""
	progress := cli.NewProgress(a.Err)
	showing, stop := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		progress.Run(showing, func() (string, bool) {
			mu.Lock()
			defer mu.Unlock()
			return status, status != ""
		})
	}()
	var last operator.CensusLine
	err := cli.PostForLines(ctx, server, path, nil, func(line operator.CensusLine, _ []byte) error {
		last = line
		if p := last.Progress; p != nil {
			mu.Lock()
			status = fmt.Sprintf("%s: %s read", p.Part, cli.Plural(p.Hosts, "host"))
			mu.Unlock()
		}
		return nil
	})
	stop()
	<-shown
	switch {
	case err != nil:
		return err
	case last.Error != "":
		return &exit.Error{Code: exit.Data, Err: errors.New(last.Error)}
	case last.Result == nil:
		return exit.Networkf("the server stopped before the census was written")
	}
	if a.JSON {
		return cli.WriteJSON(a.Out, last.Result)
	}
	if _, err = fmt.Fprintln(a.Out, describeCensus(*last.Result)); err == nil && last.Result.Early {
		_, err = fmt.Fprintln(a.Out, "The date is not over: a later census of it can differ. To cite one, name a past date or time with --at.")
	}
	return err
}

func describeCensus(r census.Result) string {
	if r.Hosts == 0 {
		return fmt.Sprintf("%s: the census of %s, when no host was known: every figure is 0", r.Dir, census.DescribeDate(r.At))
	}
	return fmt.Sprintf("%s: the census of %s, with %s, %s and %s, in %s of %s; it took %.1f s",
		r.Dir, census.DescribeDate(r.At), cli.Plural(r.Hosts, "host"), cli.Plural(r.Services, "service"), cli.Plural(r.Documents, "document"),
		cli.Plural(r.Files, "file"), describeBytes(r.Bytes), r.TookMS/1000)
}
