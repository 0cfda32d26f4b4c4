package corpus

import "strings"

// An action is what a verb does to the world, as far as the words we derive for
// an operation (outcome, errors, capability, tier) depend on it.
type action int

const (
	reads    action = iota // one thing, or things of a kind
	searches               // things that match
	computes               // an answer from what is sent
	creates
	changes
	ends
	sends
	transacts
	controls // sets something going or stops it
)

// actions lists the verbs that are taken from the directory as they stand. Its
// verbs are machine-made, so a word that is not here (FLIGHT, WEATHER, SINGLE)
// gives way to one that follows from the HTTP method.
var actions = verbTable(map[action]string{
	reads: `RETRIEVE LIST FETCH SHOW VIEW DESCRIBE DOWNLOAD EXPORT OBTAIN
		INSPECT READ WATCH MONITOR TRACK PREVIEW`,
	searches: `SEARCH FIND QUERY DISCOVER LOCATE SUGGEST RECOMMEND FILTER`,
	computes: `CALCULATE CONVERT TRANSLATE DETECT VALIDATE VERIFY CHECK COUNT COMPARE
		ANALYZE CLASSIFY EXTRACT PARSE PREDICT SUMMARIZE COMPUTE EVALUATE SIMULATE
		ANSWER ESTIMATE IDENTIFY RECOGNIZE DECODE ENCODE TRANSCRIBE SYNTHESIZE`,
	creates: `CREATE ADD INSERT GENERATE REGISTER UPLOAD IMPORT BUILD ENROLL STORE
		SAVE COPY CLONE ATTACH ASSIGN RENDER INVITE`,
	changes: `UPDATE REPLACE MODIFY EDIT CHANGE SET MOVE RENAME RESIZE MERGE MARK
		CONFIGURE ARCHIVE RESTORE RESCHEDULE TRANSFORM ADJUST CORRECT`,
	ends: `REMOVE CANCEL REVOKE CLEAR TERMINATE UNSUBSCRIBE DETACH UNLINK DISMISS
		DEACTIVATE PURGE DESTROY`,
	sends:     `SEND SUBMIT PUBLISH NOTIFY FORWARD REPLY SHARE DISPATCH BROADCAST`,
	transacts: `BOOK RESERVE PURCHASE ORDER PAY REFUND CAPTURE TRANSFER CHARGE DONATE`,
	controls: `START STOP PAUSE RESUME ENABLE DISABLE ACTIVATE LOCK UNLOCK RESTART
		RESET CONFIRM APPROVE DECLINE ACCEPT REJECT FOLLOW UNFOLLOW SUBSCRIBE
		RESOLVE COMPLETE`,
})

func verbTable(words map[action]string) map[string]action {
	table := map[string]action{}
	for a, list := range words {
		for word := range strings.FieldsSeq(list) {
			table[word] = a
		}
	}
	return table
}

// otherVerbs may begin an intent, but are no AGIS method: a word of HTTP, or too
// vague. The value is the verb that says the same.
var otherVerbs = map[string]string{
	"GET": "RETRIEVE", "GIVE": "RETRIEVE", "PROVIDE": "RETRIEVE", "RETURN": "RETRIEVE", "DELETE": "REMOVE",
	"PUT": "REPLACE", "POST": "CREATE", "PATCH": "UPDATE", "MAKE": "CREATE",
	"ALLOW": "", "USE": "", "REQUEST": "", "PERFORM": "", "RUN": "", "EXECUTE": "",
	"INITIATE": "START", "BEGIN": "START", "DISPLAY": "SHOW", "LOOKUP": "FIND",
	"LOAD": "RETRIEVE", "SYNC": "UPDATE", "APPLY": "", "INVOKE": "", "TRIGGER": "START",
}

// clauseVerbs may begin an intent as well, in the third person. They are not AGIS methods here, so
// the directory's verb stays, but the text needs no other verb in front.
var clauseVerbs = wordSet(`acknowledges categorizes closes disconnects kicks likes logs
	migrates opens propagates provisions quotes schedules screens tokenizes unbans unlikes untags
	upserts voids waits`)

// textVerbs are like clauseVerbs, and no noun in these forms, so they count for reads as well.
var textVerbs = wordSet(`appends authenticate authenticates binds browse browses connects constructs
	dissociates explains informs lets looks prevents reconcile reconciles represents solves spells streams
	switches visualizes`)

// segmentVerbs may not stand in an AGIS path: no entity is called so.
var segmentVerbs = wordSet(`get post put delete patch create update remove add insert
	fetch retrieve send set find search lookup query generate validate verify submit upload
	download convert calculate execute run start stop enable disable import export apply
	assign attach detach revoke publish subscribe unsubscribe merge resolve confirm approve
	reject modify edit read write make do login logout sync cancel list translate detect
	capture refresh activate deactivate reset archive unarchive restore restart build
	send-message check count is has by with from to all batch bulk preview render copy move
	follow unfollow invite share lock unlock pause resume complete accept decline finish
	initiate begin suggest parse analyze classify predict extract evaluate compare combine
	autocomplete binarize block categorize cleanse deploy explain geocode locate manage migrate
	addwebhook edits sendbatch onboard optimize pin promote restrict unblock unlink unpin`)

// noData are words that name no kind of data: verbs that segmentVerbs has to leave in paths,
// adjectives, relations, formats, and parts of an API itself.
var noData = wordSet(`active advanced agg along answer any async auth avm basic bounce branded
	call ceate changes cheunh chef clips close current daily decline deliverystate detail detection devel
	discovery display dtmf engines env envvar estimate exposed extra field fields
	follows for from full get globalwinescores health healthcheck help historic historical hooks
	hourly html ids imports incoming info instance item items js json jurisdictiongeography likes line
	live long machine meta metadata mode model morse mostemailed mostshared mostviewed multiple name
	names nearby nearest neo oauth object objects opens optimization org operations outgoing output overview own
	patientmanagement php pids plot prefix psd2 purge qshow query released remote result resale return
	reverse rss sandbox save scheduled scim search selling senses spec stats status stream sub talk
	tiers today txt upcoming utils values version video view views walk where whitelabel wkhtmltopdf
	workflowscheme`)

// isVerbAndObject reports whether a segment is a verb and its object in one word:
// "getweather".
func isVerbAndObject(segment string) bool {
	return strings.HasPrefix(segment, "get") && segment != "getaways"
}

// plumbing are parameters of the transport or of the login, not of the task.
var plumbing = wordSet(`_.xgafv $.xgafv access_token alt callback jsonp oauth_token prettyprint quotauser
	uploadtype upload_protocol key apikey api_key api-key x-api-key ev-api-key ev-access-token app-id app-key
	authorization accept accept-charset accept-encoding accept-language content-language content-type
	acceptcharset contentlanguage contenttype user-agent`)

// isTaskParameter reports whether a parameter is one of the task.
func isTaskParameter(name string) bool {
	return argName.MatchString(name) && !plumbing[strings.ToLower(name)]
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// baseVerb returns the upper-case base form of a word that is a known verb in its base form or
// third person, and "" for any other word.
func baseVerb(word string) string {
	word = strings.ToUpper(word)
	for _, form := range []string{word, strings.TrimSuffix(word, "S"), strings.TrimSuffix(word, "ES"), strings.TrimSuffix(word, "IES") + "Y"} {
		if _, ok := actions[form]; ok {
			return form
		}
		if _, ok := otherVerbs[form]; ok {
			return form
		}
	}
	return ""
}

// thirdPerson returns the lower-case third person of an upper-case verb.
func thirdPerson(verb string) string {
	verb = strings.ToLower(verb)
	switch {
	case strings.HasSuffix(verb, "y") && !strings.ContainsAny(verb[len(verb)-2:len(verb)-1], "aeiou"):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "sh"), strings.HasSuffix(verb, "s"), strings.HasSuffix(verb, "x"):
		return verb + "es"
	default:
		return verb + "s"
	}
}

// singularOf is good enough for the last word of a path.
func singularOf(noun string) string {
	switch {
	case strings.HasSuffix(noun, "ies") && len(noun) > 4:
		return noun[:len(noun)-3] + "y"
	case strings.HasSuffix(noun, "sses"), strings.HasSuffix(noun, "xes"), strings.HasSuffix(noun, "ches"):
		return noun[:len(noun)-2]
	case strings.HasSuffix(noun, "ss"), strings.HasSuffix(noun, "us"), strings.HasSuffix(noun, "is"),
		strings.HasSuffix(noun, "news"), strings.HasSuffix(noun, "series"):
		return noun
	default:
		return strings.TrimSuffix(noun, "s")
	}
}

// withArticle puts "a" or "an" before a noun.
func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
