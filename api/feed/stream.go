package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gazetteer/api/route"
	"gazetteer/changefeed"
	"gazetteer/internal/eventstream"
)

type changeStreamInput struct {
	route.StreamInput
	Since string `query:"since" maxLength:"1200" doc:"the position after which to begin, from next of a page; by default only new changes are sent; Last-Event-ID counts before it"`
}

// followChanges begins a stream of changes. A position that is gone is refused before it begins.
func (a *Routes) followChanges(ctx context.Context, in *changeStreamInput) (*route.StreamOutput, error) {
	filter, err := readChangeFilter(route.Query(ctx))
	if err != nil {
		return nil, err
	}
	text, at := in.Since, route.Location{Parameter: "since"}
	if in.Last != "" {
		text, at = in.Last, route.Location{Header: "Last-Event-ID"}
	}
	position := a.feedCursor().Seq
	if text != "" {
		if position, err = a.Cursors.DecodeFeedCursor(text, a.Answers.Store.Head()); err != nil {
			return nil, route.ProblemFor(err).WithLocation(at)
		}
	}
	if _, err := a.Answers.SelectChanges(filter, position, 1); err != nil {
		return nil, explainGone(err, at)
	}
	release, err := a.Streams.FollowChanges(ctx, in.Client)
	if err != nil {
		return nil, err
	}
	s := &changeStream{api: a, filter: filter, position: position}
	stream := eventstream.Stream{
		Duration: route.StreamTime, Every: heartbeat, WriteTime: route.WriteTime, Ending: a.Streams.Ending,
		First: "retry: 3000\n\n", Idle: ":\n\n",
		Changed: func() (<-chan struct{}, func()) { return a.Answers.Feed.Moved(), func() {} },
		Next:    s.nextEvents,
	}
	return route.Stream(stream, release), nil
}

// heartbeat is how often a stream without changes sends a comment.
const heartbeat = 15 * time.Second

// streamPage is how many changes a stream selects at a time.
const streamPage = 25

// changeStream is one client that follows the changes. It holds the events of one page at a time,
// and shares them with other streams. So a client that does not read costs no more than a page until
// its connection is closed.
type changeStream struct {
	api      *Routes
	filter   changefeed.Filter
	position uint64 // behind the last event
}

// nextEvents returns the events of the next page, and whether more follow.
func (s *changeStream) nextEvents(ctx context.Context) (texts [][]byte, more bool, err error) {
	selected, err := s.api.Answers.SelectChanges(s.filter, s.position, streamPage)
	if err != nil {
		return nil, false, err // the client goes on with Last-Event-ID and is told why it cannot
	}
	events, err := s.api.events.find(selected, s.api.makeEvents)
	if err != nil {
		return nil, false, err
	}
	for _, e := range events {
		shown, err := s.api.Answers.ShowsChange(ctx, e.kind, e.host)
		if err != nil {
			return nil, false, err
		}
		if shown {
			texts = append(texts, e.text)
		}
	}
	s.position = selected.Next
	return texts, selected.More, nil
}

// makeEvents makes the events of the changes at these positions that are still there.
func (a *Routes) makeEvents(positions []uint64) ([]changeEvent, error) {
	items, err := a.Answers.Feed.ReadItems(positions)
	if err != nil {
		return nil, err
	}
	events := make([]changeEvent, len(items))
	for n, item := range items {
		data, err := json.Marshal(viewChange(item))
		if err != nil {
			return nil, fmt.Errorf("write a change: %w", err)
		}
		text := fmt.Appendf(nil, "event: change\nid: %s\ndata: %s\n\n", a.formatPosition(item.Position), data)
		events[n] = changeEvent{item.Position, item.Kind, item.Host, text}
	}
	return events, nil
}
