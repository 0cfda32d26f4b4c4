package api

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/store"
)

const changesPath = "/api/v1/changes"

type changesInput struct {
	Since string `query:"since" maxLength:"50" doc:"next of the answer before; left out, the list begins a little before the newest change"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many changes on one page, 1 to 100"`
}

// ChangeList is one page of the feed of changes.
type ChangeList struct {
	Changes []answer.Change `json:"changes" doc:"oldest first; a page can be empty although more follow"`
	More    bool            `json:"more" doc:"there are newer changes now: ask again at once"`
	Next    string          `json:"next" doc:"since of the next request. It does not expire; a server that was restored from a backup refuses it with cursor-gone"`
}

func (a *API) listChanges(ctx context.Context, in *changesInput) (*route.Output[ChangeList], error) {
	head := a.Answers.Store.Head()
	after, err := readSince(in.Since, head)
	if err != nil {
		return nil, err
	}
	changes, next, more, err := a.Answers.Changes(ctx, after, in.Limit)
	if errors.Is(err, store.ErrCursorGone) {
		return nil, route.NewProblem(route.CursorGone, "the feed no longer reaches back to this place", "read the lists anew, then follow the feed without since").
			WithLocation(route.Location{Parameter: "since"})
	}
	if err != nil {
		return nil, err
	}
	out := route.JSON(ChangeList{Changes: answer.OrEmpty(changes), More: more, Next: fmt.Sprintf("%d.%d", next.Incarnation, next.Seq)})
	if more {
		out.Link = "<" + changesPath + "?" + url.Values{"since": {out.Body.Next}, "limit": {strconv.Itoa(in.Limit)}}.Encode() + `>; rel="next"`
	}
	return out, nil
}

// readSince reads a place in the feed: the incarnation of the store and a sequence.
func readSince(text string, head store.Cursor) (store.Cursor, error) {
	if text == "" {
		return store.Cursor{}, nil
	}
	incarnation, seq, _ := strings.Cut(text, ".")
	i, err1 := strconv.ParseUint(incarnation, 10, 64)
	n, err2 := strconv.ParseUint(seq, 10, 64)
	if err1 != nil || err2 != nil {
		return store.Cursor{}, route.NewProblem(route.BadParameter, "since is not a place in the feed", "use next of an earlier answer, or leave it out").
			WithLocation(route.Location{Parameter: "since"})
	}
	return store.Cursor{Store: head.Store, Incarnation: i, Seq: n}, nil
}
