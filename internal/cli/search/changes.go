package search

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/feed"
	"gazetteer/changefeed"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/wait"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
)

// changeFlags contains the flags of the command changes.
type changeFlags struct {
	hosts, verbs, namespaces, rules, agents, kinds []string
	severity, since                                string
	limit                                          int
	follow, long                                   bool
}

func (f *changeFlags) queryValues() url.Values {
	q := url.Values{"host": f.hosts, "verb": f.verbs, "ns": f.namespaces, "rule": f.rules, "agent": f.agents, "kind": f.kinds}
	for name, values := range q {
		if len(values) == 0 {
			delete(q, name)
		}
	}
	if f.severity != "" {
		q.Set("severity", f.severity)
	}
	if f.since != "" {
		q.Set("since", f.since)
	}
	return q
}

// changesCommand returns the command changes.
func (a *verbs) changesCommand() *cobra.Command {
	var f changeFlags
	c := &cobra.Command{
		Use:   "changes",
		Short: "Show the newest changes of services and agents",
		Long: `Changes shows the newest entries of the feed of changes, oldest first: services
that appear, change, disappear and return, and agents. With --follow it prints new
entries as they arrive, and reconnects by itself. --long lists every change of an
entry, with the values before and after. Times are in UTC.

  gazetteer changes --severity medium
  gazetteer changes --long --limit 5
  gazetteer changes --host shop.example --follow
  gazetteer changes --json --since POSITION   the entries after a position (member next)`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.limit < 1 || f.limit > 100 {
				return exit.Usagef("--limit %d: want 1 to 100", f.limit)
			}
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.showChanges(c.Context(), server, f) })
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.hosts, "host", nil, "only changes of this host; may be repeated")
	flags.StringArrayVar(&f.verbs, "verb", nil, "only changes of operations with this verb; may be repeated")
	flags.StringArrayVar(&f.namespaces, "ns", nil, "only changes of services with this namespace; may be repeated")
	flags.StringArrayVar(&f.rules, "rule", nil, "only documents that broke or repaired this rule, such as AI210; may be repeated")
	flags.StringArrayVar(&f.agents, "agent", nil, "only changes of the agent with this AIR ID, handle or DID; may be repeated")
	flags.StringArrayVar(&f.kinds, "kind", nil, "only changes of this kind, such as service-gone; may be repeated")
	flags.StringVar(&f.severity, "severity", "", "least severity: none, low, medium or high")
	flags.StringVar(&f.since, "since", "", "only changes after this position: next of an earlier answer")
	flags.IntVarP(&f.limit, "limit", "n", 20, "changes to show, 1 to 100")
	flags.BoolVarP(&f.follow, "follow", "f", false, "wait for new changes and print them")
	flags.BoolVarP(&f.long, "long", "l", false, "list every change of an entry")
	return c
}

func (a *verbs) showChanges(ctx context.Context, c *cli.Client, f changeFlags) error {
	var err error
	if f.agents, err = a.findAirIDs(ctx, c, f.agents); err != nil {
		return err
	}
	query := f.queryValues()
	query.Set("limit", strconv.Itoa(f.limit))
	var list feed.ChangeList
	raw, err := c.GetJSON(ctx, "/api/v1/changes?"+query.Encode(), &list)
	// A server that has just started may not have read its whole store.
	for tries := 0; err == nil && list.Behind > 0 && tries < 25 && wait.For(ctx, 200*time.Millisecond) == nil; tries++ {
		list = feed.ChangeList{}
		raw, err = c.GetJSON(ctx, "/api/v1/changes?"+query.Encode(), &list)
	}
	if err != nil {
		return err
	}
	if a.JSON && !f.follow {
		return a.PrintJSON(raw, nil)
	}
	for _, change := range list.Changes {
		if err := a.printChange(change, f.long); err != nil {
			return err
		}
	}
	if cut := func(c feed.Change) bool { return len(c.Changes)+c.MoreChanges > 1 }; !f.long && !a.JSON && slices.ContainsFunc(list.Changes, cut) {
		fmt.Fprintln(a.Out, cli.NewStyle(a.Out).Dim("every change of an entry: --long"))
	}
	if f.follow {
		return a.followChanges(ctx, c, f, list.Next, followPause)
	}
	if len(list.Changes) == 0 {
		if err := a.checkHostsKnown(ctx, c, f.hosts); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, "No changes.")
	}
	return nil
}

// findAirIDs returns the AIR IDs of agents that are named by AIR ID, handle or DID.
func (a *verbs) findAirIDs(ctx context.Context, c *cli.Client, names []string) ([]string, error) {
	ids := make([]string, 0, len(names))
	for _, name := range names {
		if did.CheckAirID(name) == nil { // also of an erased agent, which no longer resolves
			ids = append(ids, name)
			continue
		}
		var found struct {
			AirID string `json:"air_id"`
		}
		_, err := c.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {name}}.Encode(), &found)
		if err != nil {
			return nil, a.ExplainUnknownAgent(ctx, c, name, err)
		}
		if found.AirID == "" {
			return nil, exit.NotFoundf("%.60q is no agent of this registry", name)
		}
		ids = append(ids, found.AirID)
	}
	return ids, nil
}

// checkHostsKnown returns the error of the command show for the first of hosts that is not known.
func (a *verbs) checkHostsKnown(ctx context.Context, c *cli.Client, hosts []string) error {
	for _, host := range hosts {
		var known struct{}
		_, err := c.GetJSON(ctx, "/api/v1/services/"+url.PathEscape(host), &known)
		if cli.IsRefusedWithStatus(err, http.StatusNotFound) {
			return a.explainUnknownHost(ctx, c, host, err)
		}
	}
	return nil
}

// printChange writes one change: as a line of JSON, or as time, severity and title, with the
// important details below, and with all of them if long is set.
func (a *verbs) printChange(c feed.Change, long bool) error {
	if a.JSON {
		text, err := json.Marshal(c)
		if err == nil {
			fmt.Fprintln(a.Out, string(text))
		}
		return err
	}
	style := cli.NewStyle(a.Out)
	severity := fmt.Sprintf("%-6s", c.Severity)
	if c.Severity.String() == "high" {
		severity = style.Bold(severity)
	}
	fmt.Fprintf(a.Out, "%s  %s  %s\n", style.Dim(c.At.UTC().Format("2006-01-02 15:04")), severity, format.Visible(c.Title))
	if long {
		a.printChangeDetails(c)
		return nil
	}
	for _, change := range c.Changes[min(1, len(c.Changes)):] {
		if change.Severity.String() == "high" || change.Severity.String() == "medium" {
			fmt.Fprintf(a.Out, "%26s%s\n", "", describeDetail(change))
		}
	}
	return nil
}

// printChangeDetails lists every change of an entry, with the values before and after.
func (a *verbs) printChangeDetails(c feed.Change) {
	for _, change := range c.Changes {
		fmt.Fprintf(a.Out, "%18s%-6s  %s\n", "", change.Severity, describeDetail(change))
		if change.From != "" {
			fmt.Fprintf(a.Out, "%28sfrom %s\n", "", format.Visible(change.From))
		}
		if change.To != "" {
			fmt.Fprintf(a.Out, "%28sto   %s\n", "", format.Visible(change.To))
		}
	}
	if c.MoreChanges > 0 {
		fmt.Fprintf(a.Out, "%26sand %s: the server shows all at %s\n", "", cli.Plural(c.MoreChanges, "more change"), format.Visible(c.Page))
	}
}

// describeDetail returns a kind of change in words, with the operation that it concerns.
func describeDetail(c changefeed.Change) string {
	return strings.TrimSpace(strings.ReplaceAll(string(c.Kind), "-", " ") + " " + format.Visible(c.Operation))
}

// followPause is the wait before a reconnection after a broken stream.
const followPause = 3 * time.Second

// followChanges prints the changes after a position until ctx ends. A server that answered before and does
// not answer now, as one that restarts, is asked again after each pause.
func (a *verbs) followChanges(ctx context.Context, c *cli.Client, f changeFlags, place string, pause time.Duration) error {
	answered, silent := false, false
	for {
		response, err := openStream(ctx, c, f, place)
		if err == nil {
			answered, silent = true, false
			err = a.readStream(c, response, f, &place)
		} else if answered && isPassing(err) && ctx.Err() == nil {
			if !silent {
				fmt.Fprintf(a.Err, "%v; trying again every %s\n", err, pause)
			}
			silent, err = true, nil
		}
		if ctx.Err() != nil {
			return nil // interrupted: the only normal end
		}
		if err != nil {
			return err
		}
		if wait.For(ctx, pause) != nil {
			return nil
		}
	}
}

// isPassing reports whether a server may answer later that does not now.
func isPassing(err error) bool {
	failed, ok := errors.AsType[*exit.Error](err)
	refused, isRefused := errors.AsType[*cli.RefusedError](err)
	return ok && failed.Code == exit.Network && (!isRefused || refused.Status >= 500 || refused.Status == http.StatusTooManyRequests)
}

// openStream asks for the changes after a position.
func openStream(ctx context.Context, c *cli.Client, f changeFlags, place string) (*http.Response, error) {
	query := f.queryValues()
	query.Set("since", place)
	request, err := c.NewRequest(ctx, http.MethodGet, "/api/v1/changes/stream?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return c.SendFor(request, "text/event-stream")
}

// readStream prints the events of one stream, and records the position of each. It returns nil when
// the stream ends, and an error for a change that it cannot read.
func (a *verbs) readStream(c *cli.Client, response *http.Response, f changeFlags, place *string) error {
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	id := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var change feed.Change
			if err := c.Decode([]byte(value), &change); err != nil {
				return err
			}
			if err := a.printChange(change, f.long); err != nil {
				return err
			}
			*place = id
		}
	}
	// The next request goes on after any other end of the stream.
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return exit.Networkf("%s sends a change of more than 1 MiB, which cannot be read", c.Base)
	}
	return nil
}
