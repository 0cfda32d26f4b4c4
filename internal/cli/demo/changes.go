package demo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"gazetteer/changefeed"
	"gazetteer/crawler"
	"gazetteer/internal/wait"
)

// edits are changes that owners make to their documents after the first visit, with the severity that
// each has for callers.
var edits = []struct {
	host     string
	texts    []string // pairs of an old and a new one
	severity string
	means    string
}{
	{"gym.test", []string{"impact_tier: irreversible", "impact_tier: reversible"}, "high", "what ends a membership is declared reversible"},
	{"parking.test", []string{"required: [address]", "required: [address, start]"}, "medium", "a search needs the hour, too"},
	{"library.test", []string{"Renews the loan of a library book", "Renews the loan of a book or a film"}, "low", "an operation says more of what it does"},
}

// changeTimeout is how long the visits and the comparisons of the edited documents may take.
const changeTimeout = time.Minute

// checkChanges edits documents, has them visited again, and waits until the feed of changes tells what
// the edits mean. A directory that is used again has them from before.
func (d *demo) checkChanges(ctx context.Context) (string, error) {
	for _, e := range edits {
		if d.sites[e.host] != "" {
			continue // the user's own
		}
		if err := d.net.Edit(e.host, e.texts...); err != nil {
			return "", err
		}
		err := d.server.Crawler.Recrawl(ctx, e.host, crawler.Operator)
		if _, soon := errors.AsType[*crawler.SoonError](err); err != nil && !soon {
			return "", fmt.Errorf("visit %s again: %w", e.host, err)
		}
	}
	var saw []string
	for _, e := range edits {
		if d.sites[e.host] != "" {
			continue
		}
		if err := d.awaitChange(ctx, e.host, e.severity); err != nil {
			return "", err
		}
		saw = append(saw, fmt.Sprintf("%s: %s (%s)", e.severity, e.means, e.host))
	}
	return fmt.Sprintf("%s (%s/changes)", strings.Join(saw, "; "), d.base), nil
}

// awaitChange waits until the feed has a change of the host's document, and compares its severity.
func (d *demo) awaitChange(ctx context.Context, host, severity string) error {
	waiting, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	for {
		var feed struct {
			Changes []struct {
				Kind     changefeed.Kind `json:"kind"`
				Severity string          `json:"severity"`
			} `json:"changes"`
		}
		if err := d.getJSON(ctx, "/api/v1/changes?"+url.Values{"host": {host}}.Encode(), &feed); err != nil {
			return fmt.Errorf("read the changes of %s: %w", host, err)
		}
		for _, c := range feed.Changes {
			if c.Kind != changefeed.DocumentChanged {
				continue
			}
			if c.Severity != severity {
				return fmt.Errorf("the change of %s is %s, want %s", host, c.Severity, severity)
			}
			return nil
		}
		if wait.For(waiting, 200*time.Millisecond) != nil {
			return fmt.Errorf("the feed has no change of %s after %s", host, changeTimeout)
		}
	}
}
