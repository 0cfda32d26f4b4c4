package effect

import "strings"

// A Class is a set of effects that a verb may have on the world. The zero Class means that the
// effects of the verb are unknown.
type Class uint8

// The effects. [Compare] decides which of them exclude each other.
const (
	// Read returns existing information and changes nothing: find, list, check.
	Read Class = 1 << iota
	// Compute derives a result from its input or known data and changes nothing else: calculate,
	// summarize, translate.
	Compute
	// Commit creates something new or binds somebody: create, book, pay, send a parcel.
	Commit
	// Change modifies the state of something that exists: update, move, lock.
	Change
	// End removes, stops or refuses something: cancel, delete, reject.
	End
	// Tell informs somebody: notify, warn, announce.
	Tell
)

// vague is the class of verbs without an effect of their own, such as perform.
const vague = Read | Compute | Commit | Change | End | Tell

// effects lists the single classes, each with its name in the table and its description in
// messages.
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

// describeAction describes the action of a verb of class c: "reads something or works something
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

// A relation grades how well the effect of an intent agrees with that of its method, from agreement
// to contradiction.
type relation uint8

const (
	compatible relation = iota
	doubtful
	excluded
)

// relations holds, for a method with the row's effect, the relation of an intent with the column's
// effect. It is not symmetrical: cancelling may be done by a notification, but notifying is not
// done by a cancellation.
var relations = [6][6]relation{
	//          read       compute     commit    change      end       tell
	/* read */ {compatible, compatible, excluded, excluded, excluded, excluded},
	/* compute */ {compatible, compatible, excluded, excluded, excluded, doubtful},
	/* commit */ {excluded, excluded, compatible, doubtful, excluded, doubtful},
	/* change */ {excluded, excluded, doubtful, compatible, excluded, doubtful},
	/* end */ {excluded, excluded, excluded, doubtful, compatible, doubtful},
	/* tell */ {excluded, excluded, excluded, excluded, excluded, compatible},
}

// relateClasses returns the best relation of any effect in method to any in intent. Neither may be
// 0.
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
