package index

import (
	"strconv"
	"strings"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/protocol/effect"
)

// What an operation does to the world decides whether it may answer a request at all: CANCEL is said
// of the same things as BOOK, and an agent that takes the first hit must not cancel what it was
// asked to book.

// The sources of an [Effect].
const (
	EffectDeclared = "declared" // the document says it
	EffectInferred = "inferred" // it follows from the verb or the intent
)

// An Effect is what performing an operation does to the world.
type Effect struct {
	// Value is informational, reversible or irreversible where the document declares it, otherwise
	// the classes of package effect: read, compute, commit, change, end, tell; or unknown.
	Value  string `json:"value"`
	Source string `json:"source"`         // declared or inferred
	From   string `json:"from,omitempty"` // what it was inferred from: "verb CANCEL", "intent: deletes"
	// Destructive reports whether the operation ends or removes something, by its verb, its intent
	// or its document, whichever is the most dangerous.
	Destructive bool `json:"destructive,omitempty"`
}

// classOf infers the effects of an operation from its verb and its intent. The more dangerous reading
// counts, so that no text can make an operation look safe.
func classOf(o *document.Operation) (class effect.Class, from string) {
	j := effect.Compare(o.Verb, o.Intent)
	verb, intent := j.MethodClass, j.Class
	ofVerb, ofIntent := "verb "+o.Verb, "intent: "+j.Verb
	switch {
	case verb == effect.End:
		return effect.End, ofVerb
	case intent == effect.End:
		return effect.End, ofIntent
	case intent == 0:
		return verb, ofVerb
	case verb == 0:
		return intent, ofIntent
	case verb&^query.Reading == 0 && intent&query.Reading == 0:
		return intent, ofIntent // a verb that reads, with a sentence that does not
	case verb&intent != 0:
		return verb & intent, ofVerb
	default:
		return verb | intent, ofVerb
	}
}

// effectOf returns the effect of an operation as a hit shows it.
func effectOf(o *document.Operation) Effect {
	class, from := classOf(o)
	e := Effect{Value: class.String(), Source: EffectInferred, Destructive: class == effect.End || o.Effect == document.Irreversible}
	if class != 0 {
		e.From = from
	}
	if o.Effect != "" && o.Effect != document.EffectUnknown && !(o.Effect == document.Informational && class == effect.End) {
		e.Value, e.Source, e.From = string(o.Effect), EffectDeclared, ""
	}
	return e
}

// effectValue is the value of the filter effect: what is declared, unless what is inferred is more
// dangerous.
func effectValue(o *document.Operation) string {
	class, _ := classOf(o)
	switch {
	case class == effect.End && o.Effect != document.Reversible:
		return string(document.Irreversible)
	case o.Effect == "":
		return string(document.EffectUnknown)
	default:
		return string(o.Effect)
	}
}

// classField is the keyword field of the inferred effects, as a number.
const classField = "effectclass"

// classValue is the value of classField.
func classValue(o *document.Operation) string {
	class, _ := classOf(o)
	value := int(class)
	if needsIdentifier(o) {
		value |= identifierFlag
	}
	if class == effect.End && endsMany(o) {
		value |= manyFlag
	}
	return strconv.Itoa(value)
}

// manyFlag marks an operation that ends all things of a kind.
const manyFlag = 1 << 9

// endsMany reports whether an operation that ends something ends more than one thing.
func endsMany(o *document.Operation) bool {
	switch strings.ToUpper(o.Verb) {
	case "CLEAR", "PURGE", "EMPTY", "WIPE", "RESET":
		return true
	}
	for word := range strings.FieldsSeq(strings.ToLower(o.Intent)) {
		switch strings.Trim(word, ".,;:") {
		case "all", "every", "entire", "everything", "bulk", "permanently":
			return true
		}
	}
	return false
}

// identifierFlag marks an operation that needs the identifier of what it works on.
const identifierFlag = 1 << 8

// needsIdentifier reports whether an operation works on one thing of which the caller must know the
// identifier: the last segment of its path is a parameter, or its name says "by id".
func needsIdentifier(o *document.Operation) bool {
	path := strings.TrimRight(o.Path, "/")
	if strings.HasSuffix(path, "}") {
		return true
	}
	name := strings.ToLower(o.ID)
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "byid") || strings.HasSuffix(name, "_by_id")
}

// The shares of its score that an operation keeps whose effect is not what was asked for.
const (
	endsUnasked   = 0.2  // it ends something, and nothing says that this is wanted
	writesToRead  = 0.7  // it changes something where an answer is wanted
	keepsNotEnds  = 0.6  // it does something else where an end is wanted
	readsToWrite  = 0.85 // it only reads where something is to be done
	writesAnother = 0.85 // it does something else than what is to be done
	changesToMake = 0.92 // it changes what is there where something is to be made
	endsOther     = 0.6  // it ends something else than what is to be ended, or more of it
	unknownThing  = 0.92 // it needs an identifier, and the request has none
)

// effectFactor is the share of its score that an operation with these effects keeps for an act.
func effectFactor(act query.Act, class effect.Class) float64 {
	switch {
	case class == effect.Change && act.Makes:
		return changesToMake
	case class == 0:
		return 1
	case class == effect.End && !act.Ends:
		return endsUnasked
	case act.Wanted == 0, act.Wanted&class != 0:
		return 1
	case act.Wanted&^query.Reading == 0:
		return writesToRead
	case act.Wanted == effect.End:
		return keepsNotEnds
	case class&^query.Reading == 0:
		return readsToWrite
	default:
		return writesAnother
	}
}

// The factors of operations whose verb is the one asked for, or near to it. Verbs that read are so
// common that they tell nothing.
const (
	sameVerb    = 1.12
	similarVerb = 1.06
)

// verbFactors returns for each verb that is offered what the score of its operations is multiplied
// by, nil when the request has no verb that does more than read.
func (s *searcher) verbFactors() (*fieldValues, []float64, error) {
	act := s.request.Act
	if act.Verb == "" || act.Wanted&^query.Reading == 0 {
		return nil, nil, nil
	}
	offered, err := s.view.joinColumns(query.VerbField)
	if err != nil {
		return nil, nil, err
	}
	first, _, _ := strings.Cut(act.Verb, " ")
	factors := make([]float64, len(offered.all))
	for i, verb := range offered.all {
		factors[i] = 1
		switch s.index.verbs.RelateVerb(first, verb) {
		case semantic.RelationExact, semantic.RelationStem:
			factors[i] = sameVerb
		case semantic.RelationSynonym, semantic.RelationHypernym:
			factors[i] = similarVerb
		}
	}
	return offered, factors, nil
}

// objectMentions returns for each segment the operations that mention what an end is asked of, nil
// when no end is asked of anything.
func (s *searcher) objectMentions() ([]bitset, error) {
	if s.request.Act.Object == "" {
		return nil, nil
	}
	found, err := s.view.findPostings(s.request.Act.Object)
	if err != nil {
		return nil, err
	}
	mentions, any := make([]bitset, len(found)), false
	for i, p := range found {
		mentions[i] = newBitset(s.view.segments[i].n)
		for _, at := range p.all {
			mentions[i].add(at.number)
			any = true
		}
	}
	if !any {
		return nil, nil
	}
	return mentions, nil
}

// An effectColumn tells the inferred effects of the operations of a view.
type effectColumn struct {
	values  *fieldValues
	classes []effect.Class // by the number of a value
	needsID []bool         // likewise
	many    []bool         // likewise
}

// effects returns the column of the inferred effects.
func (v *view) effects() (*effectColumn, error) {
	values, err := v.joinColumns(classField)
	if err != nil {
		return nil, err
	}
	c := &effectColumn{values: values, classes: make([]effect.Class, len(values.all)), needsID: make([]bool, len(values.all)), many: make([]bool, len(values.all))}
	for i, value := range values.all {
		if n, err := strconv.ParseUint(value, 10, 16); err == nil {
			c.classes[i], c.needsID[i], c.many[i] = effect.Class(n), n&identifierFlag != 0, n&manyFlag != 0
		}
	}
	return c, nil
}

// classOf returns the inferred effects of an operation.
func (c *effectColumn) classOf(p entryRef) effect.Class { return c.classes[c.values.valueNumber(p)] }

// factorsFor returns for each value the share of its score that an operation keeps.
func (c *effectColumn) factorsFor(act query.Act) []float64 {
	factors := make([]float64, len(c.classes))
	for i, class := range c.classes {
		factors[i] = effectFactor(act, class)
		if act.Ends && class == effect.End && c.many[i] != act.All {
			factors[i] *= endsOther
		}
		if c.needsID[i] && !act.HasValue {
			factors[i] *= unknownThing
		}
	}
	return factors
}
