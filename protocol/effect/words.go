package effect

import (
	"strings"

	"gazetteer/protocol/english"
)

// A kind is a set of roles that a word can have in a sentence about an operation. The words of each
// kind are below: closed classes of words, and frequent words of service descriptions.
type kind uint32

const (
	// determiners begin a noun phrase, so they follow a verb, not a noun.
	determiners kind = 1 << iota
	// pronouns replace a noun or begin a clause, so they also follow a verb.
	pronouns
	// prepositions end a noun phrase; participles used as such are among them.
	prepositions
	// conjunctions join clauses or verbs.
	conjunctions
	// openers begin a clause that tells more of a noun, or an object
	// that is a clause.
	openers
	// copulas stand before a participle: "is booked".
	copulas
	// modals stand before a base form: "can book".
	modals
	// subjects are nouns for the acting party in a sentence about an operation.
	subjects
	// selves are the subjects that mean the operation itself. Sentences say other things about them
	// than actions: "This action is deprecated".
	selves
	// callers are nouns for the caller of an operation: to tell the caller something is to answer.
	callers
	// lets are verbs that introduce the verb of the action: "Allows the agent to cancel".
	lets
	// tries are verbs and participles whose infinitive is the action.
	tries
	// ditransitive verbs take an indirect object first: "Sends the patient a reminder".
	ditransitive
	// light verbs have little meaning of their own; their noun names the action: "Makes a
	// reservation". Verbs that read are not among them.
	light
	// carriers are nouns for an action that the noun before them names: a cancellation request is a
	// request to cancel.
	carriers
	// information is nouns for things that can only be read, told or computed.
	information
	// made are things that are created on request: a caller who gets one may have caused its
	// creation.
	made
	// goods are things and money, which can be given and given back.
	goods
	// idiomatic verbs occur in fixed phrases with a meaning of their own: "Keeps an eye on", "Takes
	// a look at".
	idiomatic
	// foreign are function words of other languages that do not occur in English.
	foreign
	// derivable are things that are computed.
	derivable
	// versions are nouns for the result of a change.
	versions
	// creating are verbs that create their object.
	creating
	// prepositional particles never stand behind the object: "pay for".
	prepositional
	// movable particles are also prepositions, and are particles behind the
	// object only where no noun follows: "Checks a guest in", "Checks rooms in
	// the hotel".
	movable
	// fillers may occur anywhere and change nothing; adverbs are among them.
	fillers
)

// kinds holds the words of each kind.
var kinds = []struct {
	kind  kind
	words string
}{
	{determiners, `the a an this that these those all any each every some no one two three both either another
		its their his her your our my such many more most several few`},
	{pronouns, `it them him her me us you itself themselves whether how what which who when where why if`},
	{prepositions, `of by from between in on for with to at per into onto about after against among around as
		before behind below beside beyond during except inside near off out outside over since through throughout
		toward towards under until upon via within without up down across along regarding concerning including
		according based using matching containing than`},
	{conjunctions, `and or but nor then while so because`},
	{openers, `that which who whom whose whether how what when where why if`},
	{copulas, `is are be was were been being becomes`},
	{modals, `can may will must should could shall would might cannot`},
	{subjects, `endpoint endpoints method methods operation operations call calls api service services tool tools
		function functions action actions agent agents user users customer customers client clients caller callers
		system request requests command commands resource capability verb it this that which who you we i they one
		application app procedure route skill intent people person platform server assistant bot anyone someone
		guest guests traveller travellers traveler travelers patient patients shopper member members consumer
		developer developers administrator admin admins merchant partner driver employee employees host`},
	{selves, `endpoint endpoints method methods operation operations call calls api service tool function action
		request command resource capability this it that which`},
	{callers, `agent caller client requester requestor you me assistant app application consumer agents callers clients
		requesters requestors assistants apps applications consumers`},
	{lets, `allow let enable permit help assist authorize authorise empower invite entitle`},
	{tries, `attempt try seek want wish need aim intend serve begin start continue proceed go able used meant
		intended designed called ready supposed possible responsible purpose goal way ability option possibility means
		opportunity chance facility mechanism capability functionality interface method endpoint tool service`},
	{ditransitive, `give send tell show offer lend loan grant assign ask pay hand bring teach text email inform owe
		sell write issue award remind let notify promise deny allow refund read advise warn`},
	{light, `make place submit create file issue raise send start initiate perform run execute do conduct process
		handle take give put set open launch trigger complete request register enter record add post hold offer apply lodge
		produce generate arrange finalize finalise schedule book plan order organize organise set-up begin undertake
		effect deliver provide bring establish lay draw write cast pay grant serve invoke push queue carry`},
	{carriers, `request requests order orders form notice application entry process procedure transaction job task
		operation command instruction message action workflow invoice document note letter event`},
	{information, `list lists detail details information info data status state states history prices price pricing
		policy policies rule rules summary summaries overview count number numbers total totals amount metadata metrics
		statistics stats report reports log logs result results record records value values name names description
		descriptions schedule schedules timetable calendar forecast weather balance balances rate rates fee fees terms
		conditions response answer set collection array page pages subset schema configuration settings setting option
		options availability location locations position coordinates address addresses distance duration time times date
		dates version versions profile profiles directory catalog catalogue index inventory listing listings feed
		timeline quote quotes estimate estimates score scores ranking average object objects json xml html csv text
		content contents link links url urls uri instructions guidance hint hints suggestions recommendations advice
		insight insights analysis comparison breakdown preview view explanation definition definitions translation
		snapshot copy representation sum maximum minimum progress health identity identities type types kind kinds
		categories category facts requirements cause causes reason reasons news headlines menu match matches properties
		property attributes fields field entries items article articles documentation help map image images photo photos
		range size level reading readings measurement measurements trend trends plan plans route routes directions
		payload body attribute member members true false row rows column columns chart graph structure hierarchy tree
		token tokens key keys id ids identifier identifiers code codes receipt receipts reference references ticket
		confirmation certificate password secret deadline deadlines limit limits cost costs
		volume temperature speed humidity weight pressure voltage capacity tariff tariffs allowance requirement gist digest
		idea indication hours meaning difference differences evidence proof outlook`},
	{made, `token tokens key id identifier code receipt reference ticket confirmation certificate password secret
		link url uri quote invoice session voucher`},
	{goods, `money funds cash payment refund deposit fare item items good goods parcel parcels package packages
		product products purchase purchases article articles equipment vehicle vehicles car cars bike bikes scooter book
		books loan loans keys shoes clothes device devices stock merchandise change fee fees amount balance charge`},
	{idiomatic, `keep take put give set hold bring lay turn draw throw catch lend pay make have get go come run`},
	{foreign, `les le la une un des du et aux sur pour avec est dans par el los las una uno unos del y con para por
		der die das ein eine einen einer eines dem und oder mit fuer auf von zu het een van voor og att som med il lo
		gli dei della di che uma um os da dos em het naar ki ke ka yang untuk dan bir ve`},
	{derivable, `summary report list overview estimate quote forecast analysis comparison breakdown plan route chart
		graph score ranking recommendation recommendations suggestion suggestions translation version draft transcript text
		description answer image picture document preview model prediction classification label labels hash digest checksum
		signature code response itinerary outline index statistics prognosis diagnosis calculation sum total price
		category categories class grade priority tag tags rank`},
	{versions, `version revision edition release draft`},
	{creating, `create generate make produce build compile compose write draft prepare issue set add post submit
		raise leave put schedule file place dispatch print publish assign give attach`},
	{prepositional, `for to into at of with from`},
	{movable, `in on out over up down`},
	{fillers, `also then please just either not only first always`},
}

// has reports whether a word is of the kind.
func (k kind) has(word string) bool { return unpacked().kinds[word]&k != 0 }

// kindOf returns all kinds of a word.
func kindOf(word string) kind {
	t := unpacked()
	k := t.kinds[word]
	if len(word) < 5 || !strings.HasSuffix(word, "ly") {
		return k
	}
	if _, verb := t.inflections[word]; verb { // apply
		return k
	}
	// A family is not an adverb; programmatically is one that no dictionary has.
	if use := english.Lookup(word); use.Adverb || !use.Noun {
		k |= fillers
	}
	return k
}
