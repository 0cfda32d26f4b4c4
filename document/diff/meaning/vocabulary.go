package meaning

import (
	"strings"

	"gazetteer/protocol/wording"
)

// The words that [Compare] knows: groups of verbs and of nouns that services use for one thing, and
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
	"award give assign grant confer credit", "define create declare specify establish add", "hire book engage employ recruit appoint take_on", "get_rid_of delete remove dispose_of",
	"prompt ask request", "tokenize store save vault", "store keep save retain preserve persist archive", "rename relabel retitle", "annotate label tag comment",
	"remind notify alert warn send", "postpone delay defer push_back put_off reschedule", "fix repair mend correct resolve", "rent hire lease borrow", "discontinue stop end terminate cancel cease",
	"trigger fire start launch invoke run execute set_off kick_off", "tear_down destroy delete remove terminate decommission", "spin_up launch start create provision boot bring_up", "swap exchange replace substitute switch",
	"redirect reroute forward divert", "promote upgrade advance", "demote downgrade", "dismiss fire lay_off", "book_in check_in register admit", "return bring_back hand_back give_back hand_in take_back", "anonymize anonymise mask redact pseudonymize obscure",
	"enrich augment enhance extend", "synchronize sync synchronise refresh update", "dispute contest challenge object appeal", "certify attest confirm verify", "issue hand_out give award grant", "mint create issue", "deliver ship send bring hand_over",
	"reassign hand_over transfer move delegate pass", "hail order call book request", "turn_down reject decline refuse", "accept take_on assume", "stream play broadcast", "record tape capture log", "fork clone copy duplicate", "compile build assemble make",
	"benchmark test measure", "shuffle randomize mix", "pin fix stick", "bookmark save favorite favourite star", "narrate read_out speak voice synthesize read_aloud", "caption subtitle describe", "proofread correct check spell_check",
	"rewrite rephrase paraphrase reword", "attend join participate", "leave exit quit", "plant sow", "harvest pick reap", "heat warm warm_up", "cool chill", "dim darken lower", "clean tidy vacuum sweep wash", "assess appraise evaluate value estimate judge",
	"populate fill fill_in", "evict remove expel kick", "isolate quarantine", "hide conceal", "unhide show reveal", "mail post send ship", "waive forgive", "disburse pay pay_out", "impersonate act_as", "onboard register sign_up enroll add",
	"retrain train", "train teach fit", "inspect scan check examine", "index crawl", "crawl scrape spider", "reserve set_aside earmark", "sanitize clean cleanse", "organize arrange plan hold", "open raise", "draw sketch paint", "pledge donate promise", "hand_in submit turn_in",
	"erase blank wipe", "save bookmark", "change switch", "shift move", "file record", "nominate propose suggest", "appoint name", "name label call", "merge fuse", "cut shorten truncate", "lengthen extend", "notarize certify", "convert render", "insure cover",
	"forward pass_on relay redirect", "report flag", "guess predict", "strip remove", "purge flush", "flush clear empty purge", "invalidate flush purge", "drain empty", "settle pay", "clear settle", "log_off log_out sign_out", "sign_off log_out",
	"scale_up", "scale_down",
)

// verbSynonyms are verbs, each with others that descriptions use for it. The others need not mean
// the same as one another: one may register or define what is created.
var verbSynonyms = synonymWords(
	"concatenate: join merge combine append", "strike: delete remove", "strike_out: delete remove", "look_for: search find", "create: define add make open set_up register build generate start issue produce establish introduce compile compose put_together draw_up form", "refresh: renew update reload regenerate extend", "renew: refresh extend prolong regenerate",
	"prevent: block lock stop forbid prohibit disallow bar", "send: share transmit deliver forward text email mail submit pass_on hand_over post dispatch message push relay", "share: distribute make_available pass_on circulate give",
	"convert: make turn transform change render", "change: switch toggle edit modify set adjust alter amend revise update make", "rename: change update", "push: send ask", "link: register", "open: load", "load: open", "transcribe: write_down type_up", "withdraw: take_out", "dial: call", "evaluate: run execute", "geocode: turn convert", "classify: decide determine label", "scan: look_for search check", "delete: take_out_of", "remove: take_out_of", "withdraw: take_out_of", "toggle: switch turn flip change", "submit: send enter hand_in file add post upload supply deliver register lodge",
	"register: enroll enrol add sign_up record submit", "reset: set_back clear restore", "grant: give approve allow award assign", "approve: grant accept authorize sign_off confirm clear okay", "confirm: verify validate accept acknowledge", "pay: settle",
	"cancel: call_off withdraw revoke void annul scrap drop abort terminate", "charge: bill debit collect take", "refund: give_back pay_back return reimburse credit send_back", "transfer: move send wire remit pass shift hand_over", "book: reserve order hire schedule arrange",
	"schedule: plan set book arrange fix time", "order: buy request purchase place commission", "buy: purchase order acquire", "upload: store send submit put add attach import host save", "import: load bring_in read_in ingest upload", "export: save download dump write output turn convert",
	"restart: start_again reboot relaunch rerun", "run: execute start launch perform carry_out", "execute: run carry_out perform", "perform: carry_out execute run", "stop: end halt abort kill shut_down terminate cease interrupt", "start: begin launch run open kick_off commence initiate trigger fire_up boot",
	"update: change edit modify set amend correct refresh adjust revise", "set: change assign define specify configure adjust fix establish choose put store write", "assign: give set allocate attribute appoint", "add: attach append insert put include create connect enter place save", "put: place add set insert",
	"remove: take_off take_out take_away delete strip drop detach unlink clear", "delete: erase remove wipe destroy discard purge scrap clear throw_away eliminate", "close: shut end complete resolve settle finish", "lock: block freeze secure bar close", "unlock: open unblock free", "block: freeze lock suspend ban bar prevent",
	"suspend: pause block freeze halt interrupt", "resume: continue take_up restart reactivate unpause", "extend: prolong renew lengthen", "end: finish close stop terminate conclude complete", "notify: inform tell alert let_know message warn", "report: notify file submit tell flag announce log register",
	"rate: review score grade judge evaluate", "review: rate", "reply: answer respond", "respond: answer reply", "invite: ask", "translate: render convert", "extract: pull parse scrape recognize lift read take", "recognize: identify detect read", "identify: detect recognize determine spot", "detect: identify recognize spot discover sense",
	"generate: create make produce draw build compute render write", "draw: make plot generate create pick", "pick: choose select draw", "produce: make generate create", "combine: merge join put_together fuse", "split: divide share partition", "sort: order rank arrange", "group: cluster bundle", "train: fit teach", "deploy: roll_out release install launch publish",
	"compress: shrink reduce pack", "crop: cut trim", "ship: send deliver dispatch post mail", "track: follow trace locate", "monitor: watch track observe supervise", "log: record write note enter store", "record: log note store enter register save write", "store: save keep record put", "keep: store hold save retain", "link: connect associate", "connect: link attach join pair",
	"disconnect: unlink sever detach", "authenticate: log_in verify sign_in", "revoke: withdraw invalidate take_away", "withdraw: revoke retract take_back take_out", "escalate: raise pass_on forward hand_over", "redeem: cash_in use apply claim exchange", "claim: request redeem demand ask_for", "request: ask_for apply_for demand claim call_for",
	"contribute: add submit", "supply: provide submit enter", "specify: set define", "return: give_back bring_back send_back take_back", "accept: approve agree_to agree take", "reject: decline refuse turn_down dismiss deny", "clear: empty remove delete wipe reset", "sign: approve", "enter: record add submit input", "input: enter submit",
	"simulate: model imitate", "model: simulate", "evaluate: assess test score rate judge calculate", "search: look_for browse scan", "drop: remove delete", "publish: post release put_online put_up", "post: publish put_up write add", "write: post add save record compose", "unpublish: take_offline take_down hide",
	"provision: set_up create allocate", "reserve: book hold keep set_aside", "hold: reserve block keep freeze", "shut_down: stop turn_off switch_off power_off power_down", "turn_off: switch_off shut_off disable deactivate power_off", "turn_on: switch_on enable activate power_on start", "disable: switch_off turn_off deactivate", "enable: switch_on turn_on activate allow",
	"move: transfer shift relocate put bring", "copy: duplicate clone", "replace: swap exchange substitute overwrite change", "recover: restore get_back bring_back", "restore: bring_back recover get_back reinstate reset", "accelerate: speed_up", "speed_up: accelerate", "slow_down: decelerate throttle", "throttle: limit slow_down", "limit: restrict cap throttle", "restrict: limit confine",
)

// emptyWords say nothing about the topic of an operation.
var emptyWords = wording.WordSet("s available existing current a an the of for to from in on at by with and or is are be now this that it its your my our their any all new one as which not no " +
	"using via based given per into onto about also only matching specified requested behalf agent caller user requesting")

// nounGroups are groups of nouns that services use as synonyms. The word vectors are too coarse for
// them.
var nounGroups = groupWords(
	"discount voucher coupon promotion promo", "product item article good merchandise", "order purchase", "customer client user account member person people profile holder", "parcel package shipment delivery",
	"bill invoice", "case ticket issue", "job position vacancy", "message text sms mail email", "stock share equity quote", "direction route path way",
	"term keyword word phrase query", "text sentence article passage document paragraph", "fund money balance amount cash", "quantity number amount count many much",
	"forecast weather condition", "doctor physician", "table seat reservation booking", "restaurant place venue eatery", "photo image picture", "car vehicle",
	"trip journey ride travel", "hotel room lodging accommodation", "file document", "price cost rate fee fare quote", "value reading measurement", "menu dish", "row record entry line", "network chain", "appointment visit meeting event slot", "comment review rating",
	"film movie", "song track music", "city place location town", "team group", "company business organization firm", "basket cart", "city place", "state status",
	"permission right access privilege role authorization", "vendor supplier provider seller merchant", "vacancy opening job position role", "food meal dish dinner lunch",
	"property detail information attribute field metadata", "statistic figure metric number usage", "premium price quote rate", "policy insurance", "medicine drug medication", "test lab laboratory work analysis", "vm machine server",
	"pdf page document", "query statement", "webpage page url site website", "taxi cab ride", "certificate cert", "newsletter list mailing", "subscriber email address contact member", "vote choice ballot", "poll survey election", "task todo reminder", "alert warning notification",
	"right permission", "door car vehicle", "temperature heat warm thermostat", "calendar schedule agenda", "charity organisation organization non-profit nonprofit", "holiday vacation", "colleague person user coworker", "summary digest abstract", "headline news story", "fact information detail", "movie film picture",
	"config configuration setting", "plane flight aircraft", "courier carrier delivery", "track shipment", "name title", "id identifier number code key", "key token secret credential", "pupil student learner", "teacher instructor tutor", "lawyer attorney", "apartment flat", "shop store", "disk volume drive", "repository repo", "currency money",
	"child kid", "babysitter sitter nanny", "ticket admission pass", "friend contact", "colleague co-worker coworker teammate", "screenshot capture screen", "boundary outline border", "note comment annotation remark", "iban account", "wireless wifi wlan ssid network", "balance credit",
	"measurement metric gauge", "presentation powerpoint pptx slide deck", "graphic image picture illustration drawing", "plate registration", "minutes summary protocol", "inventory stock", "warehouse depot", "salary pay wage payroll", "vehicle truck van", "luggage baggage suitcase bag",
	"clip video recording footage", "spreadsheet sheet excel workbook", "folder directory", "mailbox inbox", "phone telephone mobile cellphone device", "crypto cryptocurrency coin", "bug defect issue", "deployment release rollout", "password credential login", "subscriber follower fan", "audience viewer listener",
	"lesson class course", "exam test quiz", "grade mark score", "homework assignment", "vacation leave absence", "shift rota roster schedule", "candidate applicant", "cv resume", "illness disease condition", "prescription medication", "vaccination jab immunization vaccine shot", "power electricity energy current",
	"consumption usage use", "outage blackout failure incident disruption", "garbage waste trash rubbish bin refuse", "pickup collection", "area region district zone neighbourhood neighborhood", "property estate home house", "landlord owner", "tenant renter lessee", "lease tenancy", "mortgage loan", "itinerary trip plan",
	"order booking reservation", "payee recipient beneficiary", "way method means option mode", "program programme media show", "news article story", "loyalty frequent", "airline flyer", "avatar picture", "payslip salary", "timesheet hour", "bid offer", "loan borrow", "instalment installment payment", "consent permission", "timetable schedule", "train rail railway", "bike bicycle cycle", "restroom toilet lavatory bathroom", "callback webhook", "thumbnail preview poster picture", "petrol fuel gas gasoline", "lyric word", "quotation quote saying", "definition meaning", "elevation height altitude", "credential token", "maintenance service servicing upkeep", "guest visitor", "attendee participant guest", "meal recipe dish", "cover image",
	"feedback review rating opinion", "chart graph plot diagram", "analytics statistic", "log record", "user follower", "bond security stock", "fine penalty ticket", "parent guardian", "spouse partner", "earthquake quake tremor", "kid pupil", "blog post article", "tutorial guide lesson", "branch location store", "map chart",
	"audio speech voice recording sound", "space spot place lot", "info information detail", "setting configuration option preference", "directory list catalog catalogue", "server machine host instance", "plan subscription", "employee worker staff",
)

// exclusive are groups of words that exclude each other: an operation that was about the one is now
// about the other.
var exclusive = groupWords(
	"next previous", "up down", "at away", "on off", "incoming outgoing", "inbound outbound", "public private internal", "current forecast", "current historical", "upcoming past", "upcoming previous", "upcoming historical",
	"future past", "next past", "forecast historical", "hourly daily weekly monthly yearly", "sent received", "active inactive", "open closed", "paid unpaid overdue", "domestic international", "arrivals departures", "arrival departure",
	"buyer seller", "sender recipient", "minimum maximum", "lowest highest", "cheapest fastest", "oldest newest", "read unread", "free premium", "test production", "staging production", "inside outside", "within outside", "local remote",
	"before after", "enabled disabled", "male female", "online offline", "temporary permanent", "temporarily permanently", "partial full", "partially fully", "draft final", "first last", "buy sell", "rent buy", "bought sold",
)

// synonymWords returns the synonyms of each word of lines such as "word: synonym synonym", and the
// words of each synonym.
func synonymWords(lines ...string) map[string][]string {
	of := map[string][]string{}
	for _, line := range lines {
		word, others, _ := strings.Cut(strings.ReplaceAll(line, "_", "\x00"), ":")
		word = strings.ReplaceAll(word, "\x00", " ")
		for other := range strings.FieldsSeq(others) {
			other = strings.ReplaceAll(other, "\x00", " ")
			of[word], of[other] = append(of[word], other), append(of[other], word)
		}
	}
	return of
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
var derived = wording.WordSet("generate export download extract quote select pick choose review open access print track make do have let take perform cover support use apply follow plan convert propose offer")

// renaming are verbs that a description of their result names too: it translates a text, or gets its
// translation.
var renaming = wording.WordSet("translate summarize transcribe render compress encrypt decrypt encode decode parse sort rank rate score compare blur crop resize")

// general are nouns that stand for what one reads of a thing.
var general = wording.WordSet("definition text body status state progress property content result value fact figure attribute field set index output form condition quality identifier url link system page number")
