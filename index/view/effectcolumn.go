package view

import (
	"strconv"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
)

// The factors of the scores of operations with another effect than the requested one.
const (
	endsUnasked   = 0.2  // it ends something, and the request does not ask for that
	mayEndUnasked = 0.65 // it may end something but an answer is wanted
	writesToRead  = 0.9  // it changes something but the request only reads
	writesToTell  = 0.95 // it changes something but the request is a question; see putAnswersFirst
	keepsNotEnds  = 0.6  // it does something else but an end is wanted
	makesNotEnds  = 0.25 // it makes something but an end is wanted: JOIN, where a membership is canceled
	mayAskEnd     = 0.7  // it ends something and the request may mean something else: release a hold
	mayOnlyRead   = 0.92 // it may only read or compute but something must be done: SIMULATE a payment
	readsToWrite  = 0.85 // it only reads but something must be done
	readsToAsk    = 0.93 // it only reads but a question asks how or whether something can be done
	writesAnother = 0.85 // it does something else than the request
	changesToMake = 0.92 // it changes something that exists but something new is wanted
	endsOther     = 0.6  // it ends another object than the requested one, or more objects
	unknownThing  = 0.86 // it needs an identifier, and the request has none
	otherLanguage = 0.8  // it is described in another language than English and that of the request
)

// effectFactor returns the factor of the score of an operation with these effects for an act.
func effectFactor(act query.Act, class effect.Class) float64 {
	switch {
	case class == effect.Change && act.Makes:
		return changesToMake
	case class == 0:
		return 1
	case class == effect.End && !act.Ends:
		return endsUnasked
	case class&effect.End != 0 && class&query.Reading == 0 && !act.Ends && act.Wanted != 0 && act.Wanted&^query.Reading == 0:
		return mayEndUnasked
	case class == effect.Change|effect.End && !act.Ends && act.Wanted&^query.Reading != 0:
		return mayEndUnasked
	case class == effect.End && act.Wanted&^effect.End != 0 && act.Wanted&query.Reading == 0:
		return mayAskEnd
	case act.Wanted&query.Reading == 0 && act.Wanted&class != 0 && class&query.Reading != 0:
		return mayOnlyRead
	case act.Wanted == 0, act.Wanted&class != 0:
		return 1
	case act.Wanted&^query.Reading == 0 && act.Question:
		return writesToTell
	case act.Wanted&^query.Reading == 0:
		return writesToRead
	case act.Wanted == effect.End && class&(effect.Commit|effect.Read) == effect.Commit:
		return makesNotEnds
	case act.Wanted == effect.End:
		return keepsNotEnds
	case class&^query.Reading == 0 && act.Question:
		return readsToAsk
	case class&^query.Reading == 0:
		return readsToWrite
	default:
		return writesAnother
	}
}

// An EffectColumn tells the inferred effects of the operations of a view, and the languages of their
// descriptions, which are in the same values.
type EffectColumn struct {
	Values  *FieldValues
	Classes []effect.Class // by the number of a value
	needsID []bool         // by the number of a value
	many    []bool         // by the number of a value
	changes []bool         // by the number of a value
	posts   []bool         // by the number of a value

	languages []int // by the number of a value: see [translate.LanguageNumber]
}

// Effects returns the column of the inferred effects.
func (v *View) Effects() (*EffectColumn, error) {
	v.mu.Lock()
	known := v.effects
	v.mu.Unlock()
	if known != nil {
		return known, nil
	}
	values, err := v.JoinColumns(entry.ClassField)
	if err != nil {
		return nil, err
	}
	flags := func() []bool { return make([]bool, len(values.All)) }
	c := &EffectColumn{Values: values, Classes: make([]effect.Class, len(values.All)), needsID: flags(), many: flags(), changes: flags(), posts: flags(), languages: make([]int, len(values.All))}
	for i, value := range values.All {
		if n, err := strconv.ParseUint(value, 10, 16); err == nil {
			c.Classes[i] = effect.Class(n)
			c.needsID[i], c.many[i] = n&entry.IdentifierFlag != 0, n&entry.ManyFlag != 0
			c.changes[i], c.posts[i] = n&entry.ChangesFlag != 0, n&entry.PostFlag != 0
			c.languages[i] = entry.LanguageNumberOf(int(n))
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.effects = c
	return c, nil
}

// ClassOf returns the inferred effects of an operation.
func (c *EffectColumn) ClassOf(p EntryRef) effect.Class { return c.Classes[c.Values.ValueNumber(p)] }

// isNoAnswer reports whether an operation changes the world where a question is asked.
func (c *EffectColumn) isNoAnswer(p EntryRef, act query.Act) bool {
	at := c.Values.ValueNumber(p)
	return act.IsNotAnsweredBy(c.Classes[at], c.changes[at])
}

// changesWorld reports whether an operation changes the world.
func (c *EffectColumn) changesWorld(p EntryRef) bool { return c.changes[c.Values.ValueNumber(p)] }

// mayChange reports whether an operation may change the world, because its verb can mean that:
// CAPTURE, PLAY, JOIN.
func (c *EffectColumn) mayChange(p EntryRef, act query.Act) bool {
	return c.ClassOf(p)&effect.Compute == 0 && c.mayCompute(p, act)
}

// mayCompute is [EffectColumn.mayChange] of an operation that may also work something out only:
// CONVERT.
func (c *EffectColumn) mayCompute(p EntryRef, act query.Act) bool {
	at := c.Values.ValueNumber(p)
	if c.Classes[at]&^effect.Read == effect.Compute|effect.Change {
		return false // CONVERT: it changes nothing but its input
	}
	return !c.posts[at] && c.Classes[at]&^(query.Reading|effect.Tell|act.Method) != 0
}

// isPost reports whether an operation works something out from what is posted.
func (c *EffectColumn) isPost(p EntryRef) bool { return c.posts[c.Values.ValueNumber(p)] }

// factorsFor returns for each value the factor of the scores of its operations, for an act and the
// language of a request.
func (c *EffectColumn) factorsFor(act query.Act, language string) []float64 {
	asked := translate.LanguageNumber(language)
	factors := make([]float64, len(c.Classes))
	for i, class := range c.Classes {
		factors[i] = effectFactor(act, class)
		if act.Ends && class == effect.End && c.many[i] != act.All {
			factors[i] *= endsOther
		}
		if c.posts[i] && act.Question {
			factors[i] *= writesToTell
		}
		if c.needsID[i] && !act.HasValue {
			factors[i] *= unknownThing
		}
		if c.languages[i] != 0 && c.languages[i] != asked {
			factors[i] *= otherLanguage
		}
	}
	return factors
}
