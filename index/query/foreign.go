package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// parseForeign reads a request in a language other than English, or in several. The search looks
// for each word unchanged and for its English translations.
func parseForeign(a analysis.Analyzer, language, text string) Request {
	r := Request{Language: language}
	left := maxTerms
	var spoken []string // the request in English words, in their order
	asks := false
	afterNumber, name := false, false // of the next words
	add := func(asked, compound string, meanings []string) {
		terms := tokens.Tokenize(a, tokens.PrepareText(contentWords(language, asked)))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		w := Word{Asked: strings.TrimFunc(asked, unicode.IsPunct), Terms: terms, Weight: 1, Native: true, Compound: compound}
		switch {
		case isValue(asked):
			w.Weight = valueWeight
		case len(meanings) > 0 && slices.Contains(timeWords, meanings[0]):
			w.Weight = TimeWeight
		case len(meanings) > 0 && quantities[meanings[0]] == moneyNoun && afterNumber:
			w.Weight = valueWeight // the unit of an amount
		}
		w.Name = name && len(meanings) == 0
		for _, m := range meanings {
			for _, t := range tokens.Tokenize(a, m) {
				t.Surface = m
				if left > 0 {
					w.Meanings = append(w.Meanings, t)
					left--
				}
			}
		}
		if len(meanings) > 0 {
			w.Synonyms = synonymsOf(a, meanings[:1])
			if strings.Contains(asked, " ") { // the meanings of an expression belong together
				w.Synonyms = synonymsOf(a, meanings)
			}
		}
		if len(w.Terms) > 0 || len(w.Meanings) > 0 {
			r.Words = append(r.Words, w)
		}
	}
	fields := strings.Fields(text)
	if language == translate.German {
		fields = joinRenounced(translate.JoinSeparated(fields))
	}
	fields = translate.JoinPhrases(language, fields)
	for i, field := range fields {
		of := language
		if script := translate.Detect(field); script == translate.Korean || script == translate.Japanese || script == translate.Chinese {
			if language != translate.Japanese || script == translate.Korean { // Han characters alone may be either
				of = script
			}
		}
		parts := translate.Translate(of, field)
		afterNumber, name = i > 0 && isValue(fields[i-1]), i > 0 && isForeignName(of, fields[i-1], field)
		var meanings []string
		compound := ""
		if of == translate.German && len(parts) == 2 {
			compound = strings.TrimFunc(field, unicode.IsPunct)
			add(compound, "", nil)
			if n := len(r.Words); n > 0 && r.Words[n-1].Asked == compound {
				r.Words[n-1].Whole = true
			}
		}
		for i, p := range parts {
			switch {
			case len(p.Meanings) == 0:
				if of != translate.Korean {
					add(p.Text, compound, nil)
				}
			case p.Meanings[0] == translate.Nothing:
			case p.Meanings[0] == translate.Question:
				asks = true
			case p.Meanings[0] == translate.Negation:
				spoken = append(spoken, "not")
			default:
				if compound == "" || i == len(parts)-1 { // the first part of a compound says what kind of thing it is
					spoken = append(spoken, spokenMeaning(p.Meanings))
				}
				if of != translate.Korean {
					add(p.Text, compound, p.Meanings)
				}
				meanings = append(meanings, p.Meanings...)
			}
		}
		// A Korean word includes its particle, and is looked for as a whole.
		if of == translate.Korean && (len(meanings) > 0 || !slices.ContainsFunc(parts, isMark)) {
			add(field, "", meanings)
		}
	}
	act := foreignAct(language, spoken, asks, language == translate.German && endsWithInfinitive(fields))
	if asksForFact(language, text) {
		act = Act{Wanted: Reading, Question: true}
	}
	r.Act, r.Acts = act, []Act{act}
	r.addForeignImplied(a, text, spoken)
	return r
}

// addForeignImplied adds the words that a request implies, whose English words are spoken, and lowers
// the weight of a language to translate to.
func (r *Request) addForeignImplied(a analysis.Analyzer, text string, spoken []string) {
	if slices.Contains(spoken, "translate") {
		for i := range r.Words {
			if w := &r.Words[i]; len(w.Meanings) > 0 && languageCodes[w.Meanings[0].Surface] != "" {
				w.Weight = valueWeight // the language to translate to
			}
		}
	}
	if at := slices.IndexFunc(spoken, func(w string) bool { return slices.Contains(openWords, w) }); at >= 0 && (r.Act.Question || strings.ContainsAny(text, "?？")) {
		r.Words = append(r.Words, Word{Asked: spoken[at], Meanings: tokens.Tokenize(a, openingHours), Weight: essentialWeight, Essential: true})
	}
	if asked := asksWhen(text); asked != "" && r.Act.Question && slices.ContainsFunc(spoken, func(w string) bool { return slices.Contains(vehicles, w) }) {
		r.Words = append(r.Words, Word{Asked: asked, Meanings: tokens.Tokenize(a, "departures timetable"), Weight: 1})
	}
}

// vehicles leave at times of a timetable.
var vehicles = strings.Fields("bus coach ferry metro plane subway train tram underground")

// whenWords ask for a time.
var whenWords = strings.Fields("wann quand quando cuándo cuando いつ 何時 언제 什么时候 什麼時候 几点 幾點")

// timePhrases ask for a time at the beginning of a sentence.
var timePhrases = []string{"a che ora", "a que hora", "a que horas", "a quelle heure", "a qué hora", "à quelle heure", "um wie viel uhr", "um wieviel uhr"}

// asksWhen returns the word or phrase that asks for a time, "" if there is none.
func asksWhen(text string) string {
	text = strings.ToLower(text)
	for _, w := range whenWords {
		if w[0] < utf8.RuneSelf && slices.Contains(strings.Fields(text), w) || w[0] >= utf8.RuneSelf && strings.Contains(text, w) {
			return w
		}
	}
	for _, phrase := range timePhrases {
		if strings.HasPrefix(strings.TrimLeft(text, "¿ "), phrase+" ") {
			return phrase
		}
	}
	return ""
}

// contentWords returns an expression without its words that have a grammatical function only: the
// de of "tipo de cambio".
func contentWords(language, expression string) string {
	words := strings.Fields(expression)
	if len(words) < 2 {
		return expression
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		parts := translate.Translate(language, w)
		return len(parts) == 1 && len(parts[0].Meanings) > 0 && parts[0].Meanings[0] == translate.Nothing
	}), " ")
}

// isForeignName reports whether a word that the table lacks is the name of a person or a place. In
// German every noun has a capital, but only a name has no article after a preposition.
func isForeignName(language, before, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || endsSentence(before) {
		return false
	}
	return language != translate.German || slices.Contains(germanPrepositions, strings.ToLower(before))
}

// germanPrepositions stand before names without an article.
var germanPrepositions = strings.Fields("an aus bei bis für gegen in mit nach ohne über von zu")

// endsWithInfinitive reports whether German words end with an infinitive, which is the verb of the
// request: das Buch verlängern.
func endsWithInfinitive(fields []string) bool {
	if len(fields) < 2 {
		return false
	}
	last := fields[len(fields)-1]
	first, _ := utf8.DecodeRuneInString(last)
	return unicode.IsLower(first) && (strings.HasSuffix(last, "en") || strings.HasSuffix(last, "ern") || strings.HasSuffix(last, "eln"))
}

// joinRenounced makes a German sentence that renounces a thing one that cancels it: "den Flug brauche
// ich nicht mehr".
func joinRenounced(fields []string) []string {
	last := len(fields) - 1
	if last < 3 || normalizeWord(fields[last-1]) != "nicht" || normalizeWord(fields[last]) != "mehr" {
		return fields
	}
	at := slices.IndexFunc(fields, func(f string) bool {
		return slices.Contains(needs, normalizeWord(f))
	})
	if at < 0 {
		return fields
	}
	kept := slices.Concat(fields[:at], fields[at+1:last-1])
	return append([]string{"storniere"}, kept...)
}

// needs are the German verbs of sentences that renounce something.
var needs = strings.Fields("benötige benötigen brauch brauche brauchen")

// spokenMeaning returns the first meaning of a foreign word that is not a noun in most uses, or its
// first one: reserve for a word that means book and reserve.
func spokenMeaning(meanings []string) string {
	for _, m := range meanings {
		if effect.Of(m) != 0 && !isMostlyNoun(m) && effect.Of(meanings[0]) != 0 {
			return m
		}
	}
	return meanings[0]
}

// nounShare is how many times as often a word is a noun as a verb if its translation is read as a noun.
const nounShare = 4

// isMostlyNoun reports whether an English word is rarely a verb.
func isMostlyNoun(word string) bool {
	u := english.Lookup(word)
	return u.Noun && (u.NounCount > nounShare*u.VerbCount || u.NounCount == 0 && u.VerbCount == 0)
}

// factQuestions are, by language, the endings of sentences that ask for a fact, words with which they
// begin (in languages without spaces: which they contain), and what such a sentence does not contain, because it asks for something to be done or whether that is possible.
var factQuestions = map[string]struct{ endings, openings, requests []string }{
	translate.Korean: {
		strings.Fields("나요 습니까 ㅂ니까 됩니까 입니까 인가요 은가요 는가요 했어 됐어 됐니 왔어 있어 있어요 없어 어때 어때요 뭐야 언제야 어디야 얼마야"),
		strings.Fields("얼마 언제 며칠 몇시"),
		strings.Fields("줄 줘 주실 주시 주세요 주겠 수"),
	},
	translate.Japanese: {
		strings.Fields("ですか ますか ましたか ませんでしたか たか"),
		strings.Fields("いくら 何時 いつ 何日"),
		strings.Fields("くれ くださ もらえ いただけ でき られます させて ませんか たい"),
	},
	translate.Chinese: {
		strings.Fields("吗 嗎 了吗 了嗎 了没 了没有 是什么时候 在哪里 在哪 在哪裡 哪里了 哪裡了 哪儿了 到哪了 是谁 是多少 怎么样"),
		strings.Fields("多少钱 几点 什么时候 多久 多少錢 幾點 什麼時候"),
		strings.Fields("可以 能 帮 请 想"),
	},
	translate.German:     {nil, strings.Fields("wann wo wie welche welcher welches wieviel wer"), strings.Fields("kannst könnt können könnte würde darf kann magst")},
	translate.French:     {nil, strings.Fields("combien quand où quel quelle quels quelles"), strings.Fields("peux pouvez pourriez pourrais pouvons puis-je voulez voudriez est-il")},
	translate.Portuguese: {nil, strings.Fields("quanto quanta quantos quantas quando onde qual quais quem"), strings.Fields("podes pode poderia poderias podem posso podemos queres quer")},
	translate.Italian:    {nil, strings.Fields("quanto quanta quanti quante quando dove dov'è qual quale quali chi che"), strings.Fields("puoi può potresti potrebbe possono posso possiamo vuoi vuole")},
	translate.Spanish:    {nil, strings.Fields("cuánto cuánta cuántos cuántas cuanto cuándo dónde qué cuál cuáles quién"), strings.Fields("puedes puede podría podrías pueden puedo podemos quieres quiere")},
}

// asksForFact reports whether a text in another language asks for a fact: "has my booking been
// cancelled", where the verb says nothing of what is to be done.
func asksForFact(language, text string) bool {
	q, ok := factQuestions[language]
	text = strings.ToLower(strings.TrimSpace(text))
	if ok && (strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")) {
		return !slices.ContainsFunc(q.requests, func(w string) bool { return strings.Contains(text, w) })
	}
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
	asks := func(word string) bool {
		if spaced := q.endings == nil; spaced {
			return strings.HasPrefix(text+" ", word+" ")
		}
		return strings.Contains(text, word)
	}
	if ok && slices.ContainsFunc(slices.Concat(timePhrases, q.openings), asks) {
		return !slices.ContainsFunc(q.requests, func(w string) bool { return strings.Contains(text, w) })
	}
	return ok && slices.ContainsFunc(q.endings, func(end string) bool { return strings.HasSuffix(text, end) }) &&
		!slices.ContainsFunc(q.requests, func(w string) bool { return strings.Contains(text, w) })
}

// isMark reports whether a part of a text has no searchable content.
func isMark(w translate.Translation) bool {
	return len(w.Meanings) > 0 && len(w.Meanings[0]) == 1
}

// foreignAct finds the act of a request in the English translations of its words. In Japanese and
// Korean, and after an infinitive, the verb is last.
func foreignAct(language string, spoken []string, asks, endsWithVerb bool) Act {
	act := Act{}
	endsWithVerb = endsWithVerb || language == translate.Japanese || language == translate.Korean
	for i, w := range spoken {
		class := effect.Of(w)
		if isMostlyNoun(w) {
			class = 0 // a ticket, not to ticket
		}
		if w == "lost" || w == "lose" {
			continue // it happened, and is not to be done
		}
		if endsSomething(spoken, i) && (i == 0 || spoken[i-1] != "not") {
			act.Ends = true
		}
		if class == 0 {
			continue
		}
		if class&Reading != 0 && class&^Reading != 0 { // return: to give back, or to show
			if act.Verb == "" && !endsWithVerb {
				act.Verb, act.Wanted = w, class
			}
			continue
		}
		if act.Verb == "" || endsWithVerb {
			act.Verb, act.Wanted = w, class
		}
	}
	if mayEnd := act.Wanted&effect.End != 0; act.Ends && !asks && (!mayEnd || act.Wanted == effect.End) { // switch off does more than end
		act.Wanted = effect.End
	}
	if asks && act.Wanted&^Reading == 0 || asks && act.Wanted == 0 {
		act.Wanted, act.Question = Reading, true
	}
	return act
}
