package effect

import "strings"

// A Class is a set of effects that doing a verb may have on the world. The zero
// Class is that of a verb nobody has classed.
type Class uint8

// The effects. Which of them exclude one another is the business of [Compare].
const (
	// Read tells the caller what is there already and leaves everything as it
	// was: find, list, check.
	Read Class = 1 << iota
	// Compute makes something out of what is given or known, and touches
	// nothing else: calculate, summarize, translate.
	Compute
	// Commit brings something new into being or binds somebody: create, book,
	// pay, send a parcel.
	Commit
	// Change leaves something that exists in another state: update, move, lock.
	Change
	// End takes something away, stops it, or refuses it: cancel, delete, reject.
	End
	// Tell makes somebody know something: notify, warn, announce.
	Tell
)

// vague is the class of verbs that say nothing of their own, such as perform.
const vague = Read | Compute | Commit | Change | End | Tell

// effects are the single classes with their name in the table and how a message
// says of somebody that they do it.
var effects = []struct {
	class      Class
	name, does string
}{
	{Read, "read", "reads something"},
	{Compute, "compute", "works something out"},
	{Commit, "commit", "commits to something"},
	{Change, "change", "changes something"},
	{End, "end", "ends or removes something"},
	{Tell, "tell", "tells somebody something"},
}

// String returns the names of the effects in c, "read compute" for example, and
// "unknown" when there are none.
func (c Class) String() string {
	var names []string
	for _, e := range effects {
		if c&e.class != 0 {
			names = append(names, e.name)
		}
	}
	if names == nil {
		return "unknown"
	}
	return strings.Join(names, " ")
}

// describeAction says what a verb of class c does: "reads something or works something
// out".
func (c Class) describeAction() string {
	var what []string
	for _, e := range effects {
		if c&e.class != 0 {
			what = append(what, e.does)
		}
	}
	if len(what) > 2 {
		return strings.Join(what[:len(what)-1], ", ") + " or " + what[len(what)-1]
	}
	return strings.Join(what, " or ")
}

// A relation says how the effect of a method stands to that of an intent, the
// mildest first.
type relation uint8

const (
	compatible relation = iota
	doubtful
	excluded
)

// relations holds, for a method of the row's effect, how an intent of the
// column's effect stands to it. It is not symmetrical: who cancels may well do
// it by telling somebody, who notifies does not do it by cancelling.
var relations = [6][6]relation{
	//          read       compute     commit    change      end       tell
	/* read */ {compatible, compatible, excluded, excluded, excluded, excluded},
	/* compute */ {compatible, compatible, excluded, excluded, excluded, doubtful},
	/* commit */ {excluded, excluded, compatible, doubtful, excluded, doubtful},
	/* change */ {excluded, excluded, doubtful, compatible, excluded, doubtful},
	/* end */ {excluded, excluded, excluded, doubtful, compatible, doubtful},
	/* tell */ {excluded, excluded, excluded, excluded, excluded, compatible},
}

// relateClasses returns the mildest relation of any effect in method to any in intent.
// Neither may be 0.
func relateClasses(method, intent Class) relation {
	if intent&Read != 0 && method&Tell == 0 {
		intent &^= Tell // who explains or describes tells the caller
	}
	mildest := excluded
	for i := range relations {
		if method&(1<<i) == 0 {
			continue
		}
		for j, r := range relations[i] {
			if intent&(1<<j) != 0 {
				mildest = min(mildest, r)
			}
		}
	}
	return mildest
}
