package effect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// An Agreement says whether an intent agrees with its method.
type Agreement uint8

// The verdicts.
const (
	// NotJudged: no verb was found in the sentence, or the class of one of the verbs is unknown.
	NotJudged Agreement = iota
	// Consistent: both describe the same kind of effect.
	Consistent
	// Doubtful: they differ in a way that may be legitimate.
	Doubtful
	// Contradicts: the two verbs disagree in all of their meanings.
	Contradicts
)

// String returns the verdict in words.
func (v Agreement) String() string {
	return [...]string{"not judged", "consistent", "doubtful", "contradicts"}[v]
}

// A Comparison is the result of [Compare].
type Comparison struct {
	Verdict Agreement
	// Verb is the main verb found in the intent, in its base form; "" when none
	// was found.
	Verb string
	// Class is the class of that verb in the sentence, MethodClass that of the method; 0 is
	// unknown.
	Class, MethodClass Class
	// Why gives the reason for the verdict in one clause. It may quote the intent, which is a
	// foreign text.
	Why string
}

// Compare reports whether an intent describes the same kind of effect as its method. The method is
// one verb in any letter case, the intent an English sentence; other texts are not judged.
func Compare(method, intent string) Comparison {
	c := comparison{name: strings.ToUpper(method), method: strings.ToLower(method)}
	if !isASCIIWord(c.method) || len(c.method) > maxMethod {
		return Comparison{Why: "the method is no single English word"}
	}
	c.class = Of(c.method)
	j := c.judgeIntent(intent)
	j.MethodClass = c.class
	return j
}

// maxMethod is the longest method that is looked up; no verb is longer.
const maxMethod = 64

// A comparison is the state of one call of Compare.
type comparison struct {
	name, method string // in capitals, and as a base form
	class        Class
	s            sentence
	main         phrase
	beside       []phrase // "Finds and books"
	leads        []phrase // verbs that lead to it: allow, help
	verbs        []phrase // all of these
}

// label matches a note about the state of an operation before what it does.
var label = regexp.MustCompile(`(?i)^(?:[\[(](?:deprecated|discontinued|beta|preview|experimental|legacy)[\])][:.,]?|(?:deprecated|discontinued|beta|preview|experimental|legacy)[:.!])\s+`)

// TrimLabel removes a note about the state of an operation from the beginning of a text that describes
// it: "(Discontinued) Lists accounts".
func TrimLabel(text string) string { return text[len(label.FindString(text)):] }

func (c *comparison) judgeIntent(intent string) Comparison {
	s, plain := tokenizeSentence(TrimLabel(intent))
	if !plain || len(s) == 0 {
		return Comparison{Why: "the intent is no plain sentence"}
	}
	if s.isForeign() {
		return Comparison{Why: "the intent does not seem to be in English"}
	}
	if s.isDenial() {
		return Comparison{Verdict: Doubtful, Why: "the intent begins with what the operation does not do"}
	}
	main, leads, ok := s.mainVerb()
	if !ok {
		return Comparison{Why: "no verb was found in the intent"}
	}
	if c.isReadOnly() && s.beginsWithFree(main) {
		return Comparison{Why: "the intent may be a heading without a verb"}
	}
	c.s = s
	same := Comparison{Verdict: Consistent, Verb: main.verb, Class: c.class, Why: "the intent says what the method says"}
	if c.isMethod(main.verb) && !c.isReadOnly() && c.class&(Read|Compute) == 0 {
		return same // as most intents do
	}
	c.main, c.beside, c.leads = main, s.findJoined(main), leads
	s.readObjectOf(&c.main)
	for i := range c.beside {
		s.readObjectOf(&c.beside[i])
	}
	c.verbs = slices.Concat([]phrase{c.main}, c.beside, c.leads)
	j := Comparison{Verb: main.verb, Class: c.classOf(c.main)}
	if c.sameWord() {
		same.Class = j.Class
		return c.alsoDoes(same)
	}
	if c.byPurpose() {
		j.Verdict, j.Why = Consistent, "the intent names what the method does in other words"
		return j
	}
	return c.byClass(j)
}

// isReadOnly reports whether the method changes nothing.
func (c *comparison) isReadOnly() bool { return c.class != 0 && c.class&^(Read|Compute) == 0 }

// sameWord reports whether a verb of the sentence is the method.
func (c *comparison) sameWord() bool {
	return slices.ContainsFunc(c.verbs, func(p phrase) bool { return c.isMethod(p.verb) })
}

// isMethod reports whether a verb is the method, in any spelling.
func (c *comparison) isMethod(verb string) bool {
	return normalizeSpelling(verb) == normalizeSpelling(c.method)
}

// verbsOf returns the verbs that a noun is derived from or spelled like.
func verbsOf(noun string) []string {
	verbs := slices.Clone(english.VerbsOf(noun))
	if infl, ok := readVerbForm(noun); ok {
		verbs = append(verbs, infl.verb)
	}
	return verbs
}

// byPurpose reports whether the method is the purpose or the result of the main verb: "Files a
// request to cancel the stay", "Starts a job that deletes the files".
func (c *comparison) byPurpose() bool {
	if c.classOf(c.main)&(Commit|Change|End|Tell) == 0 {
		return false
	}
	for i := c.main.end; i+1 < len(c.s); i++ {
		var want form
		switch c.s.wordAt(i) {
		case "to":
			want = base
		case "that", "which":
			want = third
		default:
			continue
		}
		if infl, ok := c.s.verbFormAt(c.s.skipFillers(i + 1)); ok && infl.form == want && c.isMethod(infl.verb) {
			return true
		}
	}
	return false
}

// alsoDoes returns a doubt about an intent that describes the method and then an additional effect
// that such a method should not have: FIND: "Finds a table and books it".
func (c *comparison) alsoDoes(j Comparison) Comparison {
	if !c.isReadOnly() {
		return j
	}
	for _, p := range slices.Concat(c.beside, []phrase{c.main}) {
		if next := c.s.wordAt(c.s.skipFillers(p.end)); !determiners.has(next) && !pronouns.has(next) {
			continue
		}
		class := c.classOf(p)
		if class == 0 || c.isMethod(p.verb) || p.idiom || p.nominal || relateClasses(c.class, class) != excluded {
			continue
		}
		j.Verdict = Doubtful
		j.Why = fmt.Sprintf("the intent also says the endpoint %s (%s), which the method %s does not", class.describeAction(), protocol.Quote(p.written), c.name)
		return j
	}
	return j
}

// byClass compares the effects of the verbs.
func (c *comparison) byClass(j Comparison) Comparison {
	p := c.main
	if AreOpposed(p.verb, c.method) {
		j.Verdict, j.Why = Contradicts, fmt.Sprintf("the intent says %s, which is the opposite of the method %s", protocol.Quote(p.written), c.name)
		return c.excuseHeading(j)
	}
	if c.class == 0 || j.Class == 0 {
		return c.bySynonym(j)
	}
	mildest := relateClasses(c.class, c.classOf(p))
	for _, other := range c.beside {
		if c.classOf(other) == 0 {
			mildest = min(mildest, doubtful)
			continue
		}
		mildest = min(mildest, relateClasses(c.class, c.classOf(other)))
	}
	if mildest == compatible && c.isAnswering(p) && len(c.beside) == 0 {
		mildest = doubtful
	}
	if mildest == compatible {
		j.Verdict, j.Why = Consistent, "the intent and the method have the same kind of effect"
		return j
	}
	j.Why = fmt.Sprintf("the intent says the endpoint %s (%s), the method %s %s", j.Class.describeAction(), protocol.Quote(p.written), c.name, c.class.describeAction())
	j.Verdict = Doubtful
	if loose := unpacked().loose; mildest == excluded && !loose[p.verb] && !loose[c.method] {
		j.Verdict = Contradicts
	}
	return c.weakenUncertain(j)
}

// isAnswering reports whether a verb that can mean to give something back most likely means to
// answer, while the method does not: ADJUST: "Returns the mode of a device".
func (c *comparison) isAnswering(p phrase) bool {
	return p.verb == "return" && !p.passive && !goods.has(p.object.head) && p.object.recipient == "" &&
		!english.SameSense(p.verb, c.method) && relateClasses(c.class, Read) == excluded
}

// weakenUncertain reduces an uncertain contradiction to a doubt: for an idiom, for an object that
// may be the result of the method, and for one that leaves the meaning of the verb open.
func (c *comparison) weakenUncertain(j Comparison) Comparison {
	if c.main.idiom || c.isUnsure(c.main) || c.isGrant() {
		j.Verdict = Doubtful
	}
	return c.excuseHeading(j)
}

// excuseHeading withdraws a verdict about a sentence that may be a heading.
func (c *comparison) excuseHeading(j Comparison) Comparison {
	if !c.main.nominal {
		return j
	}
	return Comparison{Verb: j.Verb, Class: j.Class, Why: "the intent may be a heading without a verb"}
}

// isGrant reports whether the verb before the main verb may itself be the action: to permit users
// to view a film is more than to view it, whereas "Allows the agent to" is only an introduction.
func (c *comparison) isGrant() bool {
	return slices.ContainsFunc(c.leads, func(p phrase) bool {
		whom := 0
		for _, t := range c.s[p.end:max(p.end, c.main.at)] {
			if t.kind&determiners == 0 && t.text != "to" && t.kind&fillers == 0 {
				whom++
				if t.kind&subjects == 0 {
					whom = 2
				}
			}
		}
		return lets.has(p.verb) && whom > 1
	})
}

// bySynonym gives the verdict if a verb is not in the table: only a synonym of the method agrees
// with it then.
func (c *comparison) bySynonym(j Comparison) Comparison {
	if english.SameSense(c.main.verb, c.method) {
		j.Verdict, j.Why = Consistent, "the verb of the intent is a synonym of the method"
		return j
	}
	unknown := j.Verb
	if c.class == 0 {
		unknown = c.name
	}
	return Comparison{Verb: j.Verb, Class: j.Class, Why: "nothing is known of the effect of " + protocol.Quote(unknown)}
}
