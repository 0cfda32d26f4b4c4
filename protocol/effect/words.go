package effect

import (
	"strings"

	"gazetteer/protocol/english"
)

// set is a set of words. The sets of this file are of closed classes of words,
// or of what services' descriptions say over and over.
type set map[string]bool

func words(s string) set {
	m := set{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	// determiners open a noun phrase, and so follow a verb, not a noun.
	determiners = words(`the a an this that these those all any each every some no one two three both either another
		its their his her your our my such many more most several few`)
	pronouns = words(`it them him her me us you itself themselves whether how what which who when where why if`)

	prepositions = words(`of by from between in on for with to at per into onto about after against among around as
		before behind below beside beyond during except inside near off out outside over since through throughout
		toward towards under until upon via within without up down across along regarding concerning including
		according based using matching containing than`)
	conjunctions = words(`and or but nor then while so because`)
	// clause openers begin a clause that tells more of a noun, or an object
	// that is a clause.
	openers = words(`that which who whom whose whether how what when where why if`)
	copulas = words(`is are be was were been being becomes`)
	modals  = words(`can may will must should could shall would might cannot`)

	// subjects are who or what does it in the sentence about an operation.
	subjects = words(`endpoint endpoints method methods operation operations call calls api service services tool tools
		function functions action actions agent agents user users customer customers client clients caller callers
		system request requests command commands resource capability verb it this that which who you we i they one
		application app procedure route skill intent people person platform server assistant bot anyone someone
		guest guests traveller travellers traveler travelers patient patients shopper member members consumer
		developer developers administrator admin admins merchant partner driver employee employees host`)

	// selves are those of them that stand for the operation itself, of which a
	// sentence says other things than what it does: "This action is deprecated".
	selves = words(`endpoint endpoints method methods operation operations call calls api service tool function action
		request command resource capability this it that which`)

	// asides open a remark before the sentence proper.
	asides = words(`note important warning caution tip deprecated beta preview experimental internal new optional`)

	// ditransitive verbs take whom they serve before what they serve them:
	// "Sends the patient a reminder".
	ditransitive = words(`give send tell show offer lend loan grant assign ask pay hand bring teach text email inform owe
		sell write issue award remind let notify promise deny allow refund read advise warn`)

	// advising are verbs that a text says of its author.
	advising = words(`recommend suggest advise encourage ask require`)

	// callers are those to whom an operation answers: to tell them something is
	// to answer.
	callers = words(`agent caller client requester requestor you me assistant app application consumer`)

	// lets are verbs that hand the sentence on: "Allows the agent to cancel".
	lets = words(`allow let enable permit help assist authorize authorise empower invite entitle`)
	// tries are verbs and participles whose infinitive is what is done.
	tries = words(`attempt try seek want wish need aim intend serve begin start continue proceed go able used meant
		intended designed called ready supposed possible responsible purpose goal way ability option possibility means
		opportunity chance facility mechanism capability functionality interface method endpoint tool service`)
	// asks hand on what somebody else shall do: "Asks the kitchen to prepare".
	asks = words(`ask request instruct tell order direct command urge cause force get require`)

	// light verbs say little of their own; the noun they take does: "Makes a
	// reservation". Verbs that read are none of them.
	light = words(`make place submit create file issue raise send start initiate perform run execute do conduct process
		handle take give put set open launch trigger complete request register enter record add post hold offer apply lodge
		produce generate arrange finalize finalise schedule book plan order organize organise set-up begin undertake
		effect deliver provide bring establish lay draw write cast pay grant serve invoke push queue carry`)

	// generic verbs take any action as their object: a method so named may be
	// about whatever the intent says is performed.
	generic = words(`perform run execute do conduct process handle make take start begin initiate launch trigger invoke
		call submit request operate use`)

	// carriers are nouns that stand for what the noun before them names: a
	// cancellation request is a request to cancel.
	carriers = words(`request requests order orders form notice application entry process procedure transaction job task
		operation command instruction message action workflow invoice document note letter event`)

	// idiomatic verbs make fixed phrases of which no word means what it says:
	// "Keeps an eye on", "Takes a look at".
	idiomatic = words(`keep take put give set hold bring lay turn draw throw catch lend pay make have get go come run`)
	// adrift are particles that change the meaning of any verb they belong to.
	adrift = words(`away off out up down back over aside apart together forth through`)

	// information is what can only be read, told or worked out.
	information = words(`list lists detail details information info data status state states history prices price pricing
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
		idea indication hours meaning difference differences evidence proof outlook`)

	// made are things that exist because they were asked for: whoever gets one
	// may have had it made.
	made = words(`token tokens key id identifier code receipt reference ticket confirmation certificate password secret
		link url uri quote invoice session voucher`)

	// goods are things and money, which can be given and given back.
	goods = words(`money funds cash payment refund deposit fare item items good goods parcel parcels package packages
		product products purchase purchases article articles equipment vehicle vehicles car cars bike bikes scooter book
		books loan loans keys shoes clothes device devices stock merchandise change fee fees amount balance charge`)

	// messages are what is made to be told.
	messages = words(`message messages notification notifications alert alerts reminder reminders email emails mail sms
		letter letters warning warnings announcement announcements reply replies comment comments newsletter push post
		posts invitation invitations notice notices call chat fax broadcast`)

	// foreign are function words of other languages that English has no use for.
	foreign = words(`les le la une un des du et aux sur pour avec est dans par el los las una uno unos del y con para por
		der die das ein eine einen einer eines dem und oder mit fuer auf von zu het een van voor og att som med il lo
		gli dei della di che uma um os da dos em het naar ki ke ka yang untuk dan bir ve`)
)

// filler may stand between a verb and what is asked about without changing it.
func filler(word string) bool {
	switch word {
	case "also", "then", "please", "just", "either", "not", "only", "first", "always":
		return true
	}
	if len(word) < 5 || !strings.HasSuffix(word, "ly") {
		return false
	}
	_, verb := unpacked().inflections[word] // apply
	use := english.Lookup(word)
	return !verb && (use.Adverb || !use.Noun) // a family is none, programmatically is no word
}
