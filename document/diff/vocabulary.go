package diff

import "strings"

// The words that judgeMeaning knows: groups of verbs and of nouns that services use for one thing, and
// words that exclude each other. Words that English has beside them are in protocol/english.

// verbGroups are verbs that descriptions of operations use for one act. Two verbs that are both here
// and share no group are two acts.
var verbGroups = groupWords(
	"create make generate produce build compose construct write draft author prepare render convert",
	"create add insert put append include enter store save", "record log enter store",
	"create register enroll enrol sign_up subscribe join add", "join accept",
	"create place order request submit apply_for",
	"create open start begin initiate launch establish set_up setup initialize",
	"create issue provision allocate prescribe",
	"create book reserve make schedule arrange plan",
	"book order reserve buy",
	"schedule plan arrange set put",
	"book hold reserve keep set_aside put_on block",
	"submit file lodge report raise create", "submit send post send_in hand_in",
	"issue prescribe write send grant",
	"create back_up backup save copy",
	"send broadcast deliver message text email mail post notify dispatch transmit push forward alert inform",
	"transfer move wire send remit",
	"move transfer relocate migrate shift put",
	"copy duplicate clone replicate",
	"attach mount add append upload put",
	"detach remove",
	"update change modify edit alter amend revise adjust set correct patch adapt replace overwrite write save refresh",
	"rotate replace renew regenerate exchange",
	"renew extend prolong",
	"configure set_up setup set adjust customize",
	"reschedule move change postpone update",
	"rename change update",
	"delete remove erase purge destroy wipe clear drop discard eliminate",
	"remove expel kick ban delete", "take create make capture", "contact message send write", "arm activate enable switch_on turn_on", "scale resize change", "escalate raise hand_over", "report notify inform tell alert", "claim collect redeem", "write submit post leave", "draw plot create make generate visualize", "empty clear", "install update", "apply redeem use", "revoke invalidate expire", "ask answer query", "analyze determine", "end log_out sign_out",
	"uninstall remove delete", "remove take_out take_out_of take_off take_away", "set mark", "split parse", "unpublish take_out take_out_of take_down", "complete fill_in fill_out",
	"cancel void revoke abort call_off terminate annul rescind withdraw retract undo drop",
	"stop end halt terminate finish quit shut_down shut kill abort switch_off turn_off cancel",
	"close end finish terminate complete resolve shut deactivate",
	"unsubscribe unfollow leave opt_out cancel take_off",
	"release free let_go give_up",
	"disable deactivate turn_off switch_off suspend block freeze",
	"hold put_on_hold reserve", "pause suspend hold put_on_hold halt interrupt stop",
	"ban block suspend",
	"enable activate turn_on switch_on start",
	"resume continue restart unpause reactivate",
	"restore recover undelete unarchive revert roll_back reinstate",
	"start run execute launch trigger begin boot boot_up power_on initiate invoke perform kick_off",
	"reset set", "restart reboot reset rerun retry run redo repeat",
	"archive retire shelve store",
	"approve accept confirm authorize allow permit grant",
	"confirm verify acknowledge complete",
	"reject decline refuse deny dismiss",
	"grant give allow authorize permit assign share add",
	"unlock open", "lock close", "advertise post publish", "select pick choose suggest recommend", "link connect attach associate bind make_available",
	"provision create allocate set_up", "request order apply_for ask_for require", "set add create", "merge accept approve", "cast submit vote enter",
	"mark tick_off tick check_off complete", "collect pick_up fetch", "prepare draft create", "enumerate list", "reveal show", "terminate close",
	"share give grant give_access", "grant allow give_access",
	"revoke withdraw remove",
	"capture collect charge settle",
	"charge bill debit collect invoice",
	"refund reimburse return repay give_back reverse",
	"authorize hold reserve",
	"withdraw take debit", "withdraw take_back",
	"deposit pay credit put top_up load",
	"pay pay_for settle clear remit",
	"buy purchase order acquire",
	"sell", "lend loan", "borrow rent hire", "tip", "donate give contribute",
	"subscribe follow watch",
	"track follow trace locate monitor watch observe",
	"like upvote favorite favourite star",
	"unlike", "mute silence", "unmute", "lock", "unlock", "encrypt", "decrypt", "compress zip", "decompress unzip extract",
	"rate review score grade evaluate",
	"vote vote_for cast support",
	"sign sign_off approve",
	"merge combine consolidate unite join",
	"split divide",
	"assign allocate delegate route set",
	"complete finish mark fulfil fulfill",
	"tag label mark flag classify categorize",
	"reopen open",
	"publish release post issue make_public announce",
	"unpublish withdraw",
	"deploy publish release ship roll_out push launch install",
	"install set_up add deploy",
	"import upload load ingest",
	"upload store save put set replace send import attach post submit",
	"download export save",
	"export extract dump",
	"print create",
	"translate render convert localize interpret",
	"summarize condense shorten write digest",
	"convert transform change exchange turn transcode",
	"transcribe convert turn",
	"extract recognize parse detect scrape",
	"compare contrast reconcile match",
	"reconcile compare check match verify",
	"recommend suggest propose advise",
	"calculate compute estimate determine work_out figure_out quote measure derive assess evaluate",
	"forecast predict project estimate",
	"validate verify check test",
	"detect identify recognize determine classify tell",
	"resolve look_up solve",
	"sort rank order",
	"analyze examine inspect evaluate assess review study scan",
	"invite ask add",
	"admit check_in hospitalize accept register",
	"discharge check_out dismiss",
	"check_out",
	"log_in sign_in login authenticate log",
	"log_out sign_out logout",
	"dispense hand_out", "administer give", "refer",
	"triage assess prioritize",
	"ship send dispatch deliver mail",
	"dispatch send route assign",
	"call phone dial ring",
	"play", "skip", "calibrate", "escalate",
	"increase raise", "decrease lower reduce", "compress reduce shrink", "crop cut trim", "resize scale",
	"scale_up", "scale_down",
)

// emptyWords say nothing about the topic of an operation.
var emptyWords = setOf("s available existing current a an the of for to from in on at by with and or is are be now this that it its your my our their any all new one as which not no " +
	"using via based given per into onto about also only matching specified requested behalf agent caller user requesting")

// nounGroups are groups of nouns that services use as synonyms. The word vectors are too coarse for
// them.
var nounGroups = groupWords(
	"discount voucher coupon promotion promo", "product item article good merchandise", "order purchase", "customer client user account member person people profile holder", "parcel package shipment delivery",
	"bill invoice", "case ticket issue", "job position vacancy", "message text sms mail email", "stock share equity quote", "direction route path",
	"term keyword word phrase query", "text sentence article passage document paragraph", "fund money balance amount cash", "quantity number amount count many much",
	"forecast weather condition", "doctor physician", "table seat reservation booking", "restaurant place venue eatery", "photo image picture", "car vehicle",
	"trip journey ride travel", "hotel room lodging accommodation", "file document", "price cost rate fee fare quote", "value reading measurement", "menu dish", "row record entry line", "network chain", "appointment visit meeting event slot", "comment review rating",
	"film movie", "song track music", "city place location town", "team group", "company business organization firm", "basket cart", "city place", "state status",
	"permission right access privilege role authorization", "vendor supplier provider seller merchant", "vacancy opening job position role", "food meal dish dinner lunch",
	"property detail information attribute field metadata", "statistic figure metric number usage", "premium price quote rate", "policy insurance", "medicine drug medication", "test lab laboratory work analysis", "vm machine server",
	"pdf page document", "query statement", "webpage page url site website", "taxi cab ride", "certificate cert", "newsletter list mailing", "subscriber email address contact member", "vote choice ballot", "poll survey election", "task todo reminder", "alert warning notification",
	"right permission", "door car vehicle", "temperature heat warm thermostat", "calendar schedule agenda", "charity organisation organization non-profit nonprofit", "holiday vacation", "colleague person user coworker", "summary digest abstract", "headline news story", "fact information detail", "movie film picture",
	"config configuration setting", "plane flight aircraft", "courier carrier delivery", "track shipment", "name title", "id identifier number code key", "key token secret credential", "pupil student learner", "teacher instructor tutor", "lawyer attorney", "apartment flat", "shop store", "disk volume drive", "repository repo", "currency money",
	"audio speech voice recording sound", "space spot place lot", "info information detail", "setting configuration option preference", "directory list catalog catalogue", "server machine host instance", "plan subscription", "employee worker staff",
)

// exclusive are groups of words that exclude each other: an operation that was about the one is now
// about the other.
var exclusive = groupWords(
	"next previous", "up down", "at away", "on off", "incoming outgoing", "inbound outbound", "public private internal", "current forecast", "current historical", "upcoming past", "upcoming previous", "upcoming historical",
	"future past", "next past", "forecast historical", "hourly daily weekly monthly yearly", "sent received", "active inactive", "open closed", "paid unpaid overdue", "domestic international", "arrivals departures", "arrival departure",
	"buyer seller", "sender recipient", "minimum maximum", "lowest highest", "cheapest fastest", "oldest newest", "read unread", "free premium", "test production", "staging production", "inside outside", "local remote",
	"before after", "enabled disabled", "male female", "online offline", "temporary permanent", "temporarily permanently", "partial full", "partially fully", "draft final", "first last", "buy sell", "rent buy", "bought sold",
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// groupWords returns the numbers of the groups of each word.
func groupWords(groups ...string) map[string][]int {
	of := map[string][]int{}
	for i, group := range groups {
		for w := range strings.FieldsSeq(group) {
			w = strings.ReplaceAll(w, "_", " ")
			of[w] = append(of[w], i)
		}
	}
	return of
}

// derived are verbs that may act or only read, depending on their object. A description that reads
// can mean the same, as with verbs of the classes Read and Compute.
var derived = setOf("generate export download extract quote select pick choose review open access print track make do have let take perform cover support use apply follow plan convert propose offer")

// renaming are verbs that a description of their result names too: it translates a text, or gets its
// translation.
var renaming = setOf("translate summarize transcribe render compress encrypt decrypt encode decode parse sort rank rate score compare blur crop resize")

// general are nouns that stand for what one reads of a thing.
var general = setOf("definition text body status state progress property content result value fact figure attribute field set index output form condition quality identifier url link system page number")
