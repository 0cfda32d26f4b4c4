package web

import (
	"gazetteer/document"
	"gazetteer/index"
)

// effectView shows the effect of performing an operation, and how it is known.
type effectView struct {
	Words  string // "" where it is unknown
	Tone   string // safe, care or danger; inferred where it is neither declared nor dangerous
	Source string // "" where the document declares it
}

var declaredEffects = map[string]effectView{
	string(document.Informational): {Words: "Only reads", Tone: "safe"},
	string(document.Reversible):    {Words: "Can be undone", Tone: "care"},
	string(document.Irreversible):  {Words: "Cannot be undone", Tone: "danger"},
}

// inferredEffects describe the single classes of package effect that do not end anything.
var inferredEffects = map[string]string{
	"read":         "Only reads, it seems",
	"compute":      "Only reads, it seems",
	"read compute": "Only reads, it seems",
	"commit":       "Makes or sends something, it seems",
	"change":       "Changes something, it seems",
	"tell":         "Tells somebody, it seems",
}

// effectOf returns the effect e of an operation as a page shows it.
func effectOf(e index.Effect) effectView {
	switch {
	case e.Source == index.EffectDeclared && e.Destructive && e.Value == string(document.Reversible):
		// The filter effect:irreversible finds it, too.
		return effectView{Words: "Removes or ends something; can be undone, it says", Tone: "danger"}
	case e.Source == index.EffectDeclared:
		return declaredEffects[e.Value]
	case e.Destructive:
		return effectView{Words: "Removes or ends something, by its " + e.From, Tone: "danger", Source: "Effect not declared"}
	case inferredEffects[e.Value] != "":
		return effectView{Words: inferredEffects[e.Value], Tone: "inferred", Source: "Effect not declared; inferred from its " + e.From}
	default:
		return effectView{Source: "Effect not declared"}
	}
}
