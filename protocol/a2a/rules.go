package a2a

import (
	"net/http"
	"slices"

	"gazetteer/protocol/jcs"
)

// A Rule is one requirement on an envelope.
type Rule struct {
	Code    string // for example "duplicate-key"
	Section string // of the draft, "" for a limit of ours
	Title   string // what must hold, one sentence without a full stop
	Repair  string // what the sender can do, an imperative without a full stop
	Status  int    // of the refusal
	Reason  string // its error text
}

// The codes of the rules that are checked after the form of an envelope.
const (
	RuleSignatureText = "signature-text"
	RuleSender        = "sender"
	RuleSenderKey     = "sender-key"
	RuleResolver      = "resolver"
	RuleSignature     = "signature"
	RuleRecipient     = "recipient"
	RuleClock         = "clock"
	RuleReplay        = "replay"
	RuleReplayFull    = "replay-full"
	RuleThreadClosed  = "thread-closed"
	RuleThread        = "thread"
	RuleThreadBody    = "thread-body"
	RuleOpen          = "open"
	RuleStaleKey      = "stale-key"
	RuleReceipt       = "receipt"
)

// rules is the table of rules in the order in which an envelope is checked. Rules up to
// [RuleSignatureText] are about its form; [Check] reports those.
var rules = fillDefaults([]Rule{
	{Code: "size", Section: "7.2", Title: "the envelope has at most 65,536 bytes", Status: http.StatusRequestEntityTooLarge,
		Repair: "shorten the body; send large things as links"},
	{Code: string(jcs.Syntax), Section: "4.1", Title: "the text is one JSON value",
		Repair: "send one JSON object and nothing after it"},
	{Code: string(jcs.Encoding), Section: "5.2.2 R2", Title: "the text is UTF-8",
		Repair: "encode the text as UTF-8"},
	{Code: string(jcs.Surrogate), Section: "5.2.2 R2", Title: "escapes do not encode half a surrogate pair",
		Repair: "write the character itself, or both halves of its \\uXXXX pair"},
	{Code: string(jcs.Duplicate), Section: "5.2.2 R3", Title: "no object has two members of one name",
		Repair: "keep one of the members, and sign again"},
	{Code: string(jcs.Float), Section: "5.2.2 R1", Title: "numbers have no fraction and no exponent",
		Repair: "write whole numbers: prices in the smallest unit of the currency"},
	{Code: string(jcs.Range), Section: "5.6", Title: "integers are in [-2^63, 2^64-1]",
		Repair: "write larger numbers as strings"},
	{Code: string(jcs.Depth), Title: "nesting is at most 512 deep",
		Repair: "flatten the body"},
	{Code: string(jcs.Count), Title: "there are at most 4,096 members and elements",
		Repair: "split the message"},
	{Code: "object", Section: "4.1", Title: "the envelope is an object",
		Repair: "begin with { and end with }"},
	{Code: "required", Section: "4.2", Title: "id, from, to, timestamp, thread_id, nonce and body are there",
		Repair: "add the member; gazetteer envelope sign fills in id, thread_id, nonce and timestamp"},
	{Code: "null", Section: "4.4", Title: "no member of the envelope is null",
		Repair: "leave the member out"},
	{Code: "type", Section: "4.2", Title: "members are strings, body is an object",
		Repair: "write strings in quotes, and body as an object"},
	{Code: "identifier", Section: "4.2", Title: "id, thread_id and in_reply_to are UUIDs of version 4",
		Repair: "make a UUID of version 4, in lower case"},
	{Code: "did", Section: "4.2", Title: "from and to are DIDs",
		Repair: "write the whole DID, did:wba:host:agents:AIR-…"},
	{Code: "timestamp", Section: "4.2", Title: "timestamp is a time in UTC, such as 2026-05-28T09:00:00.000Z",
		Repair: "write UTC with a T and a Z"},
	{Code: "nonce", Section: "4.2", Title: "nonce is not empty",
		Repair: "draw 16 random bytes and write them as base64url"},
	{Code: "unknown-member", Section: "11.2", Title: "the envelope and its body have no other members",
		Repair: "remove the member, or use the profile wire"},
	{Code: "body-type", Section: "4.3", Title: "body has a type, one of Offer, Counter, Accept, Decline, Withdraw, encrypted",
		Repair: "use a type of the draft, or the profile wire"},
	{Code: "body-member", Section: "4.3", Title: "body has the members of its type",
		Repair: "add, remove or correct the member according to the section"},
	{Code: "money", Section: "4.3.1", Title: "a price has amount_cents, from 0, and currency, three capital letters",
		Repair: "write amount_cents as a whole number and currency as in EUR"},
	{Code: "length", Section: "4.3", Title: "description has at most 2,048 characters, reason 512",
		Repair: "shorten the text"},
	{Code: "empty-array", Section: "5.2.2 R5", Title: "body has no empty array",
		Repair: "leave the member out, or use the profile wire"},
	{Code: "sealed-body", Section: "14.5", Title: "a sealed body names the cipher suite of version 1",
		Repair: "seal with x25519-hkdf-sha256-chacha20poly1305, version 1: gazetteer envelope seal"},
	{Code: RuleSignatureText, Section: "5.4", Title: "signature is z and base58btc of 64 bytes", Status: http.StatusUnauthorized,
		Repair: "sign the envelope: gazetteer envelope sign"},

	{Code: RuleSender, Section: "6.2 step 4", Title: "the DID document of the sender can be found and has a key", Status: http.StatusNotFound,
		Repair: "publish the DID document of the sender with the key #key-1, and write its DID as from"},
	{Code: RuleResolver, Section: "9.1", Title: "the registry of the sender answers", Status: http.StatusBadGateway,
		Repair: "try again when the sender's registry answers"},
	{Code: RuleSenderKey, Section: "5.1", Title: "the key of the sender is a point of the curve under which nobody else can sign", Status: http.StatusUnauthorized,
		Repair: "make another Ed25519 key"},
	{Code: RuleSignature, Section: "6.2 step 5", Title: "the signature verifies", Status: http.StatusUnauthorized,
		Repair: "sign the canonical JSON without the member signature, with the key that the DID document shows; change nothing afterwards"},
	{Code: RuleRecipient, Section: "4.2", Title: "the envelope is addressed to this inbox",
		Repair: "write the DID of the inbox as to, and sign again"},
	{Code: RuleReceipt, Title: "the receipt is signed by the relay and is that of the envelope", Status: http.StatusUnauthorized,
		Repair: "use the receipt that came with this envelope, and the key #relay-1 of that relay's DID document"},
	{Code: RuleClock, Section: "6.2 step 6", Title: "timestamp is at most 300 s old and at most 30 s ahead", Status: http.StatusConflict, Reason: ErrorStaleTimestamp,
		Repair: "set the clock, and sign again right before sending; delayed mail needs the receipt of its relay"},
	{Code: RuleReplay, Section: "8.4", Title: "sender and id, and sender, thread and nonce, are new", Status: http.StatusConflict, Reason: ErrorReplay,
		Repair: "give every message its own id and nonce; if this is a repetition, it has arrived"},
	{Code: RuleReplayFull, Section: "9.2", Title: "the replay window has room", Status: http.StatusTooManyRequests,
		Repair: "go on in another thread"},
	{Code: RuleThreadClosed, Section: "8.2", Title: "the thread is not closed", Status: http.StatusConflict, Reason: ErrorThreadClosed,
		Repair: "begin another thread with a new Offer"},
	{Code: RuleThread, Section: "8.3", Title: "the message fits the state of the thread", Status: http.StatusConflict,
		Repair: "answer the outstanding proposal of the other party"},
	{Code: RuleThreadBody, Section: "8.1", Title: "the message has what its thread needs",
		Repair: "name the message that is answered in in_reply_to, and give the body the members of its type"},
	{Code: RuleOpen, Section: "14.4", Title: "the sealed body opens",
		Repair: "seal to the current key of the recipient's DID document, for this id, from, to and thread_id"},
	{Code: RuleStaleKey, Section: "4.5.3", Title: "the body is sealed to the current key", Status: http.StatusForbidden,
		Repair: "resolve the recipient's DID document again, and seal to the key it shows now"},
})

func fillDefaults(table []Rule) []Rule {
	for i := range table {
		if table[i].Status == 0 {
			table[i].Status = http.StatusBadRequest
		}
		if table[i].Reason == "" {
			table[i].Reason = reasonOf(table[i].Status)
		}
	}
	return table
}

// Rules returns all rules in the order in which an envelope is checked.
func Rules() []Rule { return slices.Clone(rules) }

func ruleOf(code string) Rule {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Code == code }); i >= 0 {
		return rules[i]
	}
	return Rule{Code: code, Status: http.StatusBadRequest, Reason: ErrorBadRequest}
}
