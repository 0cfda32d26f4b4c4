package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

// askedFor are words that questions imply but do not contain.
var askedFor = []struct{ question, words string }{
	{"where is my", "track location status"}, {"where are my", "track location status"}, {"where's my", "track location status"},
	{"what time is it", "current timezone clock"},
	{"how much is", "price"}, {"how much are", "price"}, {"how much does", "price cost"}, {"how much do", "price cost"}, {"how much would", "price cost"},
	{"how far", "distance"}, {"how long", "duration time"}, {"how many", "count"}, {"what time", "time"}, {"what's the time", "time"},
}

// questionWeight is the weight of a word that a question implies.
const questionWeight = 0.6

// essentialWeight is that of a word which only tells whether an operation answers: of the operations
// that have it, most are about something else.
const essentialWeight = 0.05

// addQuestions adds the words that the questions of a request imply, direct ones and indirect ones:
// "how far is it", "find out how far it is".
func (r *Request) addQuestions(a analysis.Analyzer, fields []string, from int, clauses []int) {
	done := NoClause - 1
	for start := range fields {
		if start > 0 && start != from && clauses[start] == clauses[start-1] || clauses[start] == done {
			continue
		}
		end := start + 1
		for end < len(fields) && clauses[end] == clauses[start] {
			end++
		}
		words := strings.Fields(strings.ToLower(strings.Join(fields[start:end], " ")))
		introduction := introducesQuestion(words)
		if question, implied := impliedWords(words[introduction:], introduction > 0 || start == from && from > 0); implied != "" {
			w := Word{Asked: question, Meanings: tokens.Tokenize(a, implied), Clause: clauses[start], Weight: questionWeight}
			if implied == openingHours {
				w.Weight, w.Essential = essentialWeight, true
			}
			r.Words = append(r.Words, w)
			done = clauses[start]
		}
	}
}

// impliedWords returns the beginning of a question and the words that it implies, "" if it implies
// none.
func impliedWords(words []string, indirect bool) (question, implied string) {
	text := strings.Join(words, " ")
	if strings.HasPrefix(text, "how far") && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(progressWords, normalizeWord(w)) }) {
		return "how far", "progress status"
	}
	if asksForHours(words) {
		return words[0], openingHours
	}
	if strings.HasPrefix(text, "how much") && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(remaining, normalizeWord(w)) }) {
		return "how much", "balance"
	}
	for _, q := range askedFor {
		if strings.HasPrefix(text, q.question) {
			return q.question, q.words
		}
	}
	if attribute := askedAttribute(words); attribute != "" {
		return words[0], attribute
	}
	if indirect && strings.HasPrefix(text, "how much") && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "cost") }) {
		return "how much", "price cost"
	}
	return "", ""
}

// remaining are words of questions for what is left of an amount, or is to be paid.
var remaining = strings.Fields("left owe owed")

// askedAttribute returns the nouns for what a question asks of its subject, "" if the question says
// it itself or does not tell: how old is it (age), what does it mean (definition), will it rain
// (weather), has it been sent (status).
func askedAttribute(words []string) string {
	if len(words) < 2 {
		return ""
	}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = normalizeWord(w)
	}
	first, next, last := lower[0], lower[1], lower[len(lower)-1]
	has := func(list string) bool {
		return slices.ContainsFunc(lower[1:], func(w string) bool { return slices.Contains(strings.Fields(list), w) })
	}
	asks := slices.Contains(questionWords, first) || slices.Contains(auxiliaries, first) || slices.Contains(otherAuxiliaries, first)
	switch {
	case first == "how" && attributes[next] != "":
		return attributes[next]
	case slices.Contains(questionWords, first) && (last == "mean" || last == "means"):
		return "definition meaning"
	case first == "define" && len(lower) <= maxTopic:
		return "definition meaning word"
	case first == "who" && creators[next] != "":
		return creators[next]
	case first == "what" && slices.Contains(auxiliaries, next) && has("cost"):
		return "price"
	case asks && has(weatherWords):
		return "weather forecast"
	case first == "how" && (has("get") || has("go")) && has("to") && has("i we you one"):
		return "route directions"
	case (first == "how" || first == "what") && has("spend spent"):
		return "transactions spending"
	case asksForState(lower):
		return "status"
	}
	return ""
}

// openingHours are the words of operations that tell when a place is open.
const openingHours = "hours schedule timetable"

// openWords are the words for what a place does at its opening hours.
var openWords = strings.Fields("open opens opened close closes closed shut shuts")

// asksForHours reports whether words ask when a place is open: what time does the chemist close, is the
// library open on sunday, until when is the pool open. "which issues are open" does not.
func asksForHours(words []string) bool {
	at := slices.IndexFunc(words, func(w string) bool {
		return slices.Contains(openWords, normalizeWord(w))
	})
	if at < 2 {
		return false
	}
	text := strings.Join(words, " ") + " "
	for _, question := range []string{"when do ", "when does ", "when is ", "when will ", "when are ", "what time ", "how late ", "how long is ", "how long are ", "until when ", "till when ", "until what time ", "from when "} {
		if strings.HasPrefix(text, question) {
			return true
		}
	}
	first := normalizeWord(words[0])
	if first != "is" && first != "are" || !slices.Contains([]string{"the", "my", "your", "our", "that", "this"}, normalizeWord(words[1])) {
		return false
	}
	return at == len(words)-1 || slices.Contains(slices.Concat(timeWords, strings.Fields("on at until till right still today late")), normalizeWord(words[at+1]))
}

// asksForState reports whether words ask whether something has happened to a thing: has my parcel
// been sent, did my payment arrive.
func asksForState(lower []string) bool {
	if len(lower) < 4 || lower[1] != "my" && lower[1] != "the" && lower[1] != "our" {
		return false
	}
	switch {
	case lower[0] == "did", lower[0] != "have" && slices.Contains(slices.Concat(auxiliaries, otherAuxiliaries), lower[0]) && slices.Contains(lower, "late"), strings.Contains(strings.Join(lower, " "), " on time"):
		return true
	}
	switch lower[0] {
	case "is", "are":
		if i := slices.Index(lower, "still"); i > 1 && i+1 < len(lower) && strings.HasSuffix(lower[i+1], "ing") {
			return true // is my car still charging
		}
	}
	switch lower[0] {
	case "has", "have", "was", "were", "is", "are":
		return slices.ContainsFunc(lower[3:], func(w string) bool { return isPast(w) && strings.HasSuffix(w, "ed") })
	}
	return false
}

// addTimes adds what a request for a forecast or for past values does not say in a word of its own, if it asks
// for a reading of something that changes with time: air quality of the next three days, weather last
// January. An order is for a time, and asks for none.
func (r *Request) addTimes(a analysis.Analyzer, lower []string, from int, clauses []int) {
	if len(r.Acts) != 1 || r.Act.Wanted&^Reading != 0 || slices.ContainsFunc(lower, func(w string) bool { return slices.Contains(forecastWords, w) }) {
		return
	}
	for i := from; i < len(lower); i++ {
		implied := ""
		switch next := after(lower, i); {
		case (lower[i] == "next" || lower[i] == "coming") && (isPeriod(next) || isPeriod(after(lower, i+1))), lower[i] == "tomorrow":
			implied = "forecast"
		case (lower[i] == "last" || lower[i] == "past") && (isPeriod(next) || isPeriod(after(lower, i+1))), lower[i] == "yesterday", lower[i] == "ago":
			implied = "history historical"
		default:
			continue
		}
		r.Words = append(r.Words, Word{Asked: lower[i], Meanings: tokens.Tokenize(a, implied), Clause: clauses[i], Weight: timeMeaningWeight})
		return
	}
}

// timeMeaningWeight is the weight of the word for what is wanted of another time.
const timeMeaningWeight = 0.3

// forecastWords say themselves which time a request is about.
var forecastWords = strings.Fields("forecast forecasts historic historical history predicted prediction")

// after returns the word after the i-th one, "" after the last.
func after(words []string, i int) string {
	if i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// isPeriod reports whether a word is a period of time, a day or a month.
func isPeriod(word string) bool {
	return word != "" && (slices.Contains(periods, strings.TrimSuffix(word, "s")) || slices.Contains(timeWords, word))
}

var periods = strings.Fields("day fortnight hour month night quarter season spring summer autumn fall winter week year")

// quantities are the nouns for what units measure: 19 degrees are a temperature.
var quantities = map[string]string{
	"degree": "temperature", "degrees": "temperature", "celsius": "temperature", "fahrenheit": "temperature", "°c": "temperature", "°f": "temperature",
	"km": "distance", "kilometres": "distance", "kilometers": "distance", "miles": "distance", "kwh": "energy", "mph": "speed", "kmh": "speed",
	"euro": moneyNoun, "euros": moneyNoun, "dollar": moneyNoun, "dollars": moneyNoun, "francs": moneyNoun, "bucks": moneyNoun, "quid": moneyNoun,
	"eur": moneyNoun, "usd": moneyNoun, "gbp": moneyNoun, "chf": moneyNoun, "yen": moneyNoun, "won": moneyNoun, "rupees": moneyNoun, "pesos": moneyNoun,
}

const moneyNoun = "money"

// namesUnit reports whether the words after a quantity name another unit of the same kind: 50 euros
// in yen, 20 degrees in fahrenheit, 30 dollars in another currency.
func namesUnit(after []string, noun string) bool {
	if len(after) > 0 && (after[0] == "worth" || after[0] == "is" || after[0] == "are") {
		after = after[1:]
	}
	if len(after) < 2 || !slices.Contains([]string{"as", "in", "into", "to"}, after[0]) {
		return false
	}
	last := after[min(len(after), maxUnitWords)-1]
	return quantities[last] == noun || noun == moneyNoun && last == "currency"
}

// maxUnitWords is the number of words of the longest name of a unit, with the preposition: in
// another currency.
const maxUnitWords = 3

// givingVerbs transfer their object: to send 50 euros is to transfer money.
var givingVerbs = strings.Fields("give lend remit send transfer wire")

// addQuantities adds the nouns for the quantities of a request.
func (r *Request) addQuantities(a analysis.Analyzer, lower, fields []string, clauses []int, from int) {
	verb := "" // of the clause
	for i := from; i < len(lower); i++ {
		if i == from || clauses[i] != clauses[i-1] {
			verb = lower[i]
		}
		noun, weight := "", float32(questionWeight)
		switch {
		case i > from && startsWithDigit(lower[i-1]):
			if noun = quantities[lower[i]]; lower[i] == "pounds" && slices.Contains(givingVerbs, verb) {
				noun = moneyNoun // not a weight
			}
		case strings.ContainsAny(fields[i], "$€£¥") && strings.ContainsAny(fields[i], "0123456789"):
			noun = moneyNoun
		}
		switch {
		case noun != "" && namesUnit(lower[i+1:], noun):
			noun, weight = "convert "+noun, 1
		case noun == moneyNoun:
			r.lowerUnit(fields[i], clauses[i])
			if !slices.Contains(givingVerbs, verb) {
				continue // a price
			}
			noun, weight = "money transfer", 1
		}
		if noun != "" {
			r.Words = append(r.Words, Word{Asked: fields[i], Meanings: tokens.Tokenize(a, noun), Clause: clauses[i], Weight: weight})
		}
	}
}

// lowerUnit gives the unit of an amount the weight of a value: 50 euros.
func (r *Request) lowerUnit(unit string, clause int) {
	for i := range r.Words {
		if w := &r.Words[i]; w.Clause == clause && w.Asked == strings.TrimFunc(unit, unicode.IsPunct) {
			w.Weight = min(w.Weight, valueWeight)
		}
	}
}

// conversions are the names of what turns one kind of thing into another.
var conversions = []struct{ from, to, words string }{
	{"audio call conversation dictation interview lecture meeting podcast recording speech voice", "notes text transcript words writing", "transcribe"},
	{"article book document letter note text words", "audio mp3 sound speech voice", "speech synthesize"},
	{"image jpeg jpg photo photograph picture png receipt scan scans", "text words", "recognize ocr text"},
	{"page site url website", "image picture png", "screenshot"},
	{"homepage page site url webpage website", "pdf", "pdf url html"},
	{"address addresses", "coordinates latitude", "geocode"},
	{"coordinates position", "address addresses place", "reverse geocode address"},
}

// convertedWeight is the weight of the words for what is converted, relative to the name of the
// conversion.
const convertedWeight = 0.35

// convertingVerbs begin a request to turn one thing into another.
var convertingVerbs = strings.Fields("change convert get make render transform turn")

// sources are prepositions before the thing that another one is made or read from: the text of an
// image.
var sources = strings.Fields("for from in of on")

// addConversion adds the name of the conversion that a request asks for ("turn a recording into
// text" and "get the text of a recording" are transcription), and lowers the weights of the two
// things, which the opposite conversion has, too.
func (r *Request) addConversion(a analysis.Analyzer, lower []string, from int, clauses []int) {
	for i := from; i < len(lower); i++ {
		converts := slices.Contains(convertingVerbs, lower[i])
		if !converts && !slices.Contains(extractingVerbs, lower[i]) {
			continue
		}
		end, into, source, its := i+1, 0, 0, 0
		for end < len(lower) && clauses[end] == clauses[i] {
			if into == 0 && converts && (lower[end] == "into" || lower[end] == "to" || lower[end] == "as") {
				into = end
			}
			if source == 0 && slices.Contains(sources, lower[end]) {
				source = end
			}
			if lower[end] == "its" {
				its = end
			}
			end++
		}
		for _, c := range conversions {
			switch {
			case into > 0 && containsAny(lower[i+1:into], c.from) && containsAny(lower[into+1:end], c.to):
			case into == 0 && source > 0 && containsAny(lower[source-1:source], c.to) && containsAny(lower[source+1:end], c.from) && !isOfNoun(lower[i+1:source-1], c.from):
			case its > 0 && containsAny(lower[its+1:end], c.to) && containsAny(lower[from:i], c.from):
			default:
				continue
			}
			for n := range r.Words {
				if w := &r.Words[n]; w.Clause == clauses[i] {
					w.Weight *= convertedWeight
				}
			}
			r.Words = append(r.Words, Word{Asked: lower[i], Meanings: tokens.Tokenize(a, c.words), Clause: clauses[i], Weight: 1})
			return
		}
	}
}

// isOfNoun reports whether the words before a thing say what it shows: the picture of a QR code, which
// is not a picture of the page that the code leads to. Words of the list from say where it comes from.
func isOfNoun(words []string, from string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		u := english.Lookup(w)
		return (!u.Known() || u.Noun && !u.Adjective) && !slices.Contains(determiners, w) && !containsAny([]string{w}, from)
	})
}

// extractingVerbs begin a request to read one kind of thing from another.
var extractingVerbs = strings.Fields("create determine extract find generate get make produce read retrieve take write")

// containsAny reports whether one of words is in a list.
func containsAny(words []string, list string) bool {
	all := strings.Fields(list)
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(all, w) })
}

// mediums are nouns that are also verbs of sending or searching, with the words that such a verb stands
// for: to text somebody is to send a text message.
var mediums = map[string]string{
	"text": "send sms message", "sms": "send", "email": "send", "mail": "send", "message": "send", "dm": "send message", "whatsapp": "send message",
	"phone": "call", "ring": "call", "tweet": "post", "google": "search", "ping": "notify",
}

// tellingVerbs send a message to the person who follows them.
var tellingVerbs = strings.Fields("inform notify tell")

// addMedium adds the words of [mediums] to a clause whose verb is a medium, and "send message" to a
// clause whose verb tells somebody something: text my boss, tell my boss that I'm late.
func (r *Request) addMedium(a analysis.Analyzer, lower []string, from int, clauses []int) {
	for i := from; i+1 < len(lower); i++ {
		words := mediums[lower[i]]
		if slices.Contains(tellingVerbs, lower[i]) && slices.Contains(articles, lower[i+1]) {
			words = "send message"
		}
		if words != "" && (i == from || clauses[i-1] != clauses[i]) && slices.Contains(determiners, lower[i+1]) {
			r.Words = append(r.Words, Word{Asked: lower[i], Meanings: tokens.Tokenize(a, words), Clause: clauses[i], Weight: 1})
		}
	}
}

func startsWithDigit(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// attributes are the nouns for the adjectives of questions: how old, how heavy.
var attributes = map[string]string{
	"old": "age", "tall": "height", "high": "height", "heavy": "weight", "warm": "temperature", "hot": "temperature", "cold": "temperature",
	"fast": "speed", "quick": "speed", "big": "size", "large": "size", "deep": "depth", "wide": "width", "expensive": "price", "cheap": "price",
	"often": "frequency", "late": "delay", "humid": "humidity", "windy": "wind", "loud": "volume", "strong": "strength", "polluted": "pollution",
	"nutritious": "nutrition", "full": "level charge", "busy": "traffic occupancy", "safe": "risk", "dangerous": "risk", "clean": "quality", "popular": "popularity", "crowded": "occupancy", "reliable": "reputation",
}

// creators are the nouns for who made something: who wrote it.
var creators = map[string]string{
	"wrote": "author", "sings": "artist", "sang": "artist", "directed": "director", "composed": "composer", "painted": "artist", "published": "publisher",
	"won": "result score", "owns": "owner", "invented": "inventor", "founded": "founder", "hosts": "hosting",
}

// weatherWords are words of questions for the weather, which they need not name.
const weatherWords = "rain raining rainy snow snowing snowy hail freeze freezing sunny cloudy foggy windy stormy thunderstorm umbrella raincoat sunscreen"

// progressWords are words of questions for the progress of something: how far has it come, how far
// along is it.
var progressWords = strings.Fields("along come gone got gotten progressed")

// introducesQuestion returns the number of words before an indirect question: see, find out, tell me,
// I was wondering.
func introducesQuestion(words []string) int {
	n, asks := 0, false
	for n < len(words) && n < maxIntroduction && (slices.Contains(askingWords, words[n]) || slices.Contains(besideAsking, words[n])) {
		asks = asks || slices.Contains(askingWords, words[n])
		n++
	}
	if asks && n < len(words) && (slices.Contains(questionWords, words[n]) || words[n] == "whether" || words[n] == "if") {
		return n
	}
	return 0
}

// maxIntroduction is the maximum number of words before an indirect question.
const maxIntroduction = 6

// askingWords ask for an answer, besideAsking stand beside them.
var (
	askingWords = strings.Fields(`ask asking check clue curious determine explain figure find forget forgot forgotten hear idea know learn look
		remember report say see show sure tell understand unsure wonder wondered wondering work`)
	besideAsking = strings.Fields("a about am any anyone been can can't do don't got had have i i'd i'm just keep let like love me my no not of only out really to up us want wanted was we would you")
)
