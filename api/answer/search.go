package answer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gazetteer/index"
	"gazetteer/index/query"
)

// Search returns one page of operations, best first. Read q from text with [query.Parse], or fill
// it in. The note names words that no operation of the page has, because the nearest operation may
// be far from the request.
func (a *Answers) Search(ctx context.Context, q query.Query) (index.Result, error) {
	r, err := a.Index.Search(ctx, q)
	if err == nil && r.Note == "" {
		r.Note = missingWordsNote(r.Hits)
	}
	if err != nil || r.Total > 0 {
		return r, err
	}
	if behind := a.Behind(r.Seq); behind > 0 && r.Note == "" {
		r.Note = fmt.Sprintf("the index is %d records behind the store: new content may not be found yet", behind)
	}
	return r, nil
}

// missingWordsNote names the words that every one of some hits lacks; "" when there is none.
func missingWordsNote(hits []index.Hit) string {
	var words []string
	if len(hits) > 0 {
		words = slices.Clone(hits[0].Why.Missing)
	}
	any := false
	for _, h := range hits {
		any = any || h.Why.Coverage > 0
		words = slices.DeleteFunc(words, func(w string) bool { return !slices.Contains(h.Why.Missing, w) })
	}
	switch {
	case len(words) == 0:
		return ""
	case !any:
		return "none of the words was found: these results are nearest in meaning, and may not fit"
	}
	var named []string
	for _, w := range words {
		// An expression that the query has can stand for a word that it has, too.
		if w = strconv.Quote(CleanText(w, 40)); !slices.Contains(named, w) {
			named = append(named, w)
		}
	}
	return "not found in any of these: " + strings.Join(named[:min(len(named), MaxNear)], ", ")
}

// MaxNear is the largest number of similar names, and of missing words, that an answer names.
const MaxNear = 5

// Behind returns how many records of the store are newer than a sequence that an answer is based
// on. Use the answer's own sequence: an index under construction may be complete a moment after it
// has answered.
func (a *Answers) Behind(seq uint64) uint64 {
	index, head := a.Index.Cursor(), a.Store.Head()
	if index.Store != head.Store || index.Incarnation != head.Incarnation {
		return head.Seq // it follows another log, or none yet
	}
	return max(head.Seq, seq) - seq
}

// TrackSequence is for reads that do not report the sequence that they are based on. Call it before
// the read, and the returned function after it: that returns a sequence that the answer contains at
// least, and how far it is behind.
func (a *Answers) TrackSequence() (done func() (seq, behind uint64)) {
	before := a.Index.Cursor().Seq
	return func() (seq, behind uint64) {
		seq = min(before, a.Index.Cursor().Seq) // a rebuild begins again at 0
		return seq, a.Behind(seq)
	}
}

// Verbs lists every verb that is offered, in order of verb.
func (a *Answers) Verbs(ctx context.Context) ([]index.VerbCount, error) {
	return a.Index.Verbs(ctx)
}

// Agent finds an agent by AIR ID, handle (with or without "@") or did:wba. The error is
// [registry.ErrNoAgent] if there is none.
func (a *Answers) Agent(ctx context.Context, id string) (AgentAnswer, error) {
	agent, seq, err := a.Registry.Find(ctx, strings.TrimPrefix(id, "@"))
	if err != nil {
		return AgentAnswer{}, err
	}
	return AgentAnswer{Agent: agent, DID: a.Registry.DIDDocument(agent), Seq: seq}, nil
}
