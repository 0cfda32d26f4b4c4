package view

import (
	"slices"
	"strings"

	"gazetteer/index/query"
	"gazetteer/protocol/effect"
)

// compression is the factor by which differences of scores that are lowered shrink.
const compression = 1000

// answerPlaces is the number of first places of a question that operations do not take that change the
// world, unless there are no others.
const answerPlaces = 3

// plausiblePermission is the share of the best score of operations that change something that the
// best one that only reads needs to come first, where the request asks whether something can be done.
const plausiblePermission = 0.6

// The shares of the best score of other operations that the best one that only reads needs to come
// first.
const (
	plausibleRead   = 0.7 // of operations that may change something
	plausibleResult = 0.8 // of those that may work something out or change something, and of unrelated methods
	plausibleMethod = 0.85
	plausibleNoPost = 0.9 // of those that work something out from what is posted
	plausibleShown  = 0.8 // of those that change something, where the request asks to see what there is
)

// putAnswersFirst lowers the scores of operations that change the world to just below the
// answerPlaces best of the others, so that no question is answered by one of them. If there are no
// others, the scores remain. An operation that may change something comes after one that only reads
// and is almost as good.
func (r *Ranking) putAnswersFirst(pool []RankedEntry) {
	isNoAnswer := func(e RankedEntry) bool { return r.Effects.isNoAnswer(e.EntryRef, r.Act) }
	if !r.Act.Question {
		lowerBelow(pool, 1, plausibleShown, func(e RankedEntry) bool { return r.Effects.changesWorld(e.EntryRef) })
		return
	}
	mayChange := func(e RankedEntry) bool { return isNoAnswer(e) || r.Effects.mayChange(e.EntryRef, r.Act) }
	mayResult := func(e RankedEntry) bool {
		return mayChange(e) || r.Effects.mayCompute(e.EntryRef, r.Act)
	}
	lowerBelow(pool, answerPlaces, 0, isNoAnswer)
	lowerBelow(pool, 1, plausibleRead, mayChange)
	plausible := plausibleMethod
	if r.Act.Permission {
		plausible = plausiblePermission
	}
	lowerBelow(pool, 1, plausible, func(e RankedEntry) bool { return mayResult(e) || r.isOtherMethod(e.EntryRef) })
	lowerBelow(pool, 1, plausibleResult, mayResult)
	lowerBelow(pool, 1, plausibleNoPost, func(e RankedEntry) bool { return mayResult(e) || r.Effects.isPost(e.EntryRef) })
}

// isReverse reports whether an operation does the reverse of what is requested: it undoes the act,
// ends something that only has to be changed, or makes something where something is to be ended. Such
// an operation is among the first only if there are no others.
func (r *Ranking) isReverse(e RankedEntry) bool {
	class, factor, general := r.Effects.ClassOf(e.EntryRef), 1.0, false
	if r.Verbs != nil {
		verb := r.Verbs.ValueNumber(e.EntryRef)
		factor, general = r.VerbFactors[verb], slices.Contains(generalVerbs, r.Verbs.All[verb])
	}
	switch {
	case factor < 1:
		return true
	case factor > 1:
		return false
	case class == effect.End:
		return !r.Act.Ends || r.Act.Wanted != 0 && r.Act.Wanted&^effect.End != 0 && r.Act.Wanted&query.Reading == 0
	}
	if general && r.Act.Wanted != effect.End {
		return false
	}
	return r.Act.Ends && r.Act.Wanted&(effect.Commit|query.Reading) == 0 && class&(effect.Commit|effect.End|query.Reading) == effect.Commit
}

// isOtherMethod reports whether an operation changes something by another verb than that of a
// question for a method: RESERVE, for "where can I park". A general verb (get, UPDATE) has no
// other.
func (r *Ranking) isOtherMethod(p EntryRef) bool {
	if r.Act.Method == 0 || !r.Act.NamesMethod || r.Verbs == nil {
		return false
	}
	verb := r.Verbs.ValueNumber(p)
	return r.VerbFactors[verb] <= 1 && !slices.Contains(generalVerbs, r.Verbs.All[verb]) && r.Effects.ClassOf(p)&query.Reading == 0
}

// generalVerbs are verbs of operations that may do what any other verb says.
var generalVerbs = strings.Fields("ADD CREATE EDIT INSERT MAKE MODIFY PATCH POST PUT REPLACE SET SUBMIT UPDATE")

// lowerBelow lowers the scores of some entries to just below the given number of best others, in
// the same order. The others must have the share plausible of the best score of these entries; if
// places is more than one, the best other need not.
func lowerBelow(pool []RankedEntry, places int, plausible float64, isLowered func(RankedEntry) bool) {
	best, most := make([]int64, places), int64(0) // the scores of the others, in descending order
	for _, e := range pool {
		if e.Score < best[places-1] {
			continue // it can neither be among the best nor be lowered
		}
		if isLowered(e) {
			most = max(most, e.Score)
			continue
		}
		for i, score := range best {
			if e.Score > score {
				copy(best[i+1:], best[i:])
				best[i] = e.Score
				break
			}
		}
	}
	least := int64(0)
	for i, score := range best {
		if score > 0 && (i == 0 && places > 1 || float64(score) >= plausible*float64(most)) {
			least = score
		}
	}
	if least == 0 || most < least {
		return
	}
	for i, e := range pool {
		if e.Score >= least && isLowered(e) {
			pool[i].Score = max(0, least-1-(most-e.Score)/compression)
		}
	}
}
