package document

import "strings"

// deriveVerb finds the imperative word of a capability: the first word of its
// id, or of its description, or what its HTTP method usually means. It follows
// AGIS §4.3 in that an HTTP method name is never the verb itself.
func deriveVerb(id, description, method string) string {
	idWord := first(strings.FieldsFunc(humps(id), notLetter))
	words := leadIn(strings.FieldsFunc(strings.ToLower(description), notLetter))
	if plainVerbs[idWord] {
		return strings.ToUpper(idWord)
	}
	said := base(first(words))
	if plainVerbs[said] || nounVerbs[said] && len(words) > 1 && determiners[words[1]] {
		return strings.ToUpper(said)
	}
	// "Book tables" and "Order status" look alike. Only what is not read is done.
	if nounVerbs[said] && said == idWord && method != "GET" {
		return strings.ToUpper(said)
	}
	if verb, ok := httpVerbs[said]; ok {
		return verb
	}
	if verb, ok := httpVerbs[idWord]; ok {
		return verb
	}
	return httpVerbs[strings.ToLower(method)]
}

func notLetter(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7F)
}

// humps puts a space before each capital that follows a small letter, and
// lowers the text.
func humps(s string) string {
	var b strings.Builder
	small := false
	for _, r := range s {
		if small && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		small = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// leadIn drops the beginning of "Allows the caller to book …" and "Used to
// book …".
func leadIn(words []string) []string {
	switch first(words) {
	case "allow", "allows", "use", "used", "let", "lets":
	default:
		return words
	}
	for i, w := range words[:min(len(words), 8)] {
		if w == "to" && i+1 < len(words) {
			return words[i+1:]
		}
	}
	return words
}

// base turns the third person of a known verb into its base form: "books" into
// "book", "queries" into "query".
func base(word string) string {
	if known(word) {
		return word
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok && known(stem+"y") {
		return stem + "y"
	}
	for _, ending := range []string{"s", "es"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && known(stem) {
			return stem
		}
	}
	return word
}

func known(word string) bool {
	_, http := httpVerbs[word]
	return http || plainVerbs[word] || nounVerbs[word]
}

// httpVerbs says what HTTP methods, and the words that stand for them, usually
// mean.
var httpVerbs = map[string]string{
	"get": "RETRIEVE", "return": "RETRIEVE", "post": "CREATE", "put": "REPLACE", "patch": "MODIFY",
	"delete": "REMOVE",
}

var determiners = set(`a an the this that one all any some your their its new`)

// plainVerbs are words that begin an id or a description as verbs.
var plainVerbs = set(`
	accept acknowledge activate add adjust advance allocate amend analyse analyze annotate append apply approve
	archive arrange assess assign associate attach authenticate authorize autocomplete ban begin bind browse
	buy calculate cancel capture categorize check checkout choose classify clean clear clone close collect
	compare compile complete compose compress compute configure confirm connect consume convert copy correct
	create crop deactivate decline decode decrypt deduct define deny deploy deregister describe detach detect
	determine disable disassociate disburse discover dismiss dispatch display download draw edit embed enable
	encode encrypt end enqueue enrich enroll ensure enumerate erase escalate evaluate examine exclude execute
	expand expire explain explore extract fetch fill filter find finish fix flush follow forward freeze fulfill
	fund generate geocode grant hide identify ignore import include increase ingest initiate insert inspect
	install integrate invalidate invite invoke join kick launch learn leave list load localize locate login
	logout lookup make mark merge migrate modify monitor move mute negotiate notify obtain onboard open
	optimize parse participate pause pay perform pick pin play populate predict prepare prescribe prevent
	preview promote propose provide provision publish purge push query quit read reassign rebook recalculate
	receive recognize recommend reconcile recover redeem redirect refresh refund register reject release remove
	rename render renew reopen reorder repair repeat replace reply reschedule reserve reset resize resolve
	respond restart restore resume retrieve retry reverse revert revoke rotate route run save scan search see
	select sell send set show shut sign simulate skip snooze solve sort split start stop submit subscribe
	suggest summarize suspend swap sync synchronize toggle track transcribe transfer transform translate
	transmit trash triage trigger try unarchive unassign unblock undo uninstall unlink unlock unpublish
	unregister unsubscribe untag update upgrade upload upsert validate verify view void wait withdraw write
`)

// nounVerbs are verbs that stand at the beginning of ids as nouns just as often:
// they count as verbs only where the words around them say so.
var nounVerbs = set(`
	access address admit alert answer audit back backup balance batch bid bill block book budget cache call
	change charge chat claim comment contact contract count credit debit delay deliver deposit design document
	donate draft email estimate exchange export fax file flag forecast group guide handle hold host index
	invoice issue label lease lend link loan lock log mail manage map match measure message name note object
	offer order pack page pair permit place plan pledge poll position post price print process profile program
	project purchase quote rank rate record refer rent report request research review rule sample schedule
	score service share ship store stream study supply support survey table tag target tax test text ticket
	time tip trace trade train treat visit vote watch work
`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
