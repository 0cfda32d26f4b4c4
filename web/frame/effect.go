package frame

import (
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/index"
)

// An Effect shows the effect of performing an operation, and how it is known.
type Effect struct {
	Words  string // "" where it is unknown
	Tone   string // safe, care or danger where it is declared; inferred, or danger inferred, where not
	Source string // "" where the document declares it
}

var declaredEffects = map[string]Effect{
	string(document.Informational): {Words: "Only reads", Tone: "safe"},
	string(document.Reversible):    {Words: "Can be undone", Tone: "care"},
	string(document.Irreversible):  {Words: "Cannot be undone", Tone: "danger"},
}

// wordsOfClasses describes effects of package effect, named as [index.Effect.Value] names them, that
// are not only of the class end.
func wordsOfClasses(names []string) string {
	reads := func(name string) bool { return name == "read" || name == "compute" }
	switch {
	case slices.Contains(names, "unknown"):
		return ""
	case slices.Contains(names, "end"):
		return "May remove or end something"
	case !slices.ContainsFunc(names, func(name string) bool { return !reads(name) }):
		return "Probably only reads"
	case slices.ContainsFunc(names, reads):
		return "May write"
	case slices.Contains(names, "tell"):
		return "Probably sends"
	default:
		return "Probably writes"
	}
}

// EffectOf returns the effect e of an operation as a page shows it.
func EffectOf(e index.Effect) Effect {
	switch {
	case e.Source == index.EffectDeclared && e.Destructive && e.Value == string(document.Reversible):
		// The filter effect:irreversible finds it, too.
		return Effect{Words: "Removes or ends something", Tone: "danger", Source: "Can be undone, according to its document"}
	case e.Source == index.EffectDeclared:
		return declaredEffects[e.Value]
	case e.Destructive:
		return Effect{Words: "Probably removes or ends something", Tone: "danger inferred", Source: "Effect not declared; inferred from its " + e.From}
	}
	words := wordsOfClasses(strings.Fields(e.Value))
	if words == "" {
		return Effect{Source: "Effect not declared"}
	}
	return Effect{Words: words, Tone: "inferred", Source: "Effect not declared; inferred from its " + e.From}
}
