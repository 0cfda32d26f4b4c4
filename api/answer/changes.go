package answer

import (
	"context"
	"errors"
	"slices"

	"gazetteer/changefeed"
)

// ErrNoFeed: this process has no feed of changes. Test with errors.Is.
var ErrNoFeed = errors.New("this server has no feed of changes")

// ChangesAfter returns a page of the feed of changes after a position, oldest first; position 0 is
// the oldest that is stored. Hidden hosts are left out. The error is [ErrNoFeed] or that of
// [changefeed.Feed.After].
func (a *Answers) ChangesAfter(ctx context.Context, filter changefeed.Filter, position uint64, limit int) (changefeed.Page, error) {
	if a.Feed == nil {
		return changefeed.Page{}, ErrNoFeed
	}
	page, err := a.Feed.After(filter, position, limit)
	return a.onlyShown(ctx, page, err)
}

// LatestChanges returns a page of the feed of changes before a position, newest first; position 0
// means the newest of all. Errors and hosts are as in [Answers.ChangesAfter].
func (a *Answers) LatestChanges(ctx context.Context, filter changefeed.Filter, position uint64, limit int) (changefeed.Page, error) {
	if a.Feed == nil {
		return changefeed.Page{}, ErrNoFeed
	}
	page, err := a.Feed.Before(filter, position, limit)
	return a.onlyShown(ctx, page, err)
}

// SelectChanges selects the changes that [Answers.ChangesAfter] returns before it leaves out hidden
// hosts: the caller does that with [Answers.ShowsChange].
func (a *Answers) SelectChanges(filter changefeed.Filter, position uint64, limit int) (changefeed.Selection, error) {
	if a.Feed == nil {
		return changefeed.Selection{}, ErrNoFeed
	}
	return a.Feed.SelectAfter(filter, position, limit)
}

// ShowsChange reports whether a change is shown: hosts that were withdrawn after the feed read them
// are hidden, and only the item that reports the withdrawal remains.
func (a *Answers) ShowsChange(ctx context.Context, kind changefeed.Kind, host string) (bool, error) {
	if host == "" || kind == changefeed.ServiceWithdrawn {
		return true, nil
	}
	err := a.checkShown(ctx, host)
	if _, withdrawn := errors.AsType[*WithdrawnError](err); withdrawn {
		return false, nil
	}
	return err == nil, err
}

// onlyShown leaves out the changes that are hidden.
func (a *Answers) onlyShown(ctx context.Context, page changefeed.Page, err error) (changefeed.Page, error) {
	if err != nil {
		return page, err
	}
	for n, item := range slices.Backward(page.Items) {
		shown, err := a.ShowsChange(ctx, item.Kind, item.Host)
		if err != nil {
			return page, err
		}
		if !shown {
			page.Items = slices.Delete(page.Items, n, n+1)
		}
	}
	return page, nil
}
