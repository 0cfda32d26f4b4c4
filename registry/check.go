package registry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/internal/lookalike"
	"gazetteer/internal/psl"
	"gazetteer/protocol/did"
)

// Lengths count characters. They are those of the reference, which truncates longer texts; here
// they are refused, so that every text is stored as it was sent.
const (
	maxName           = 100
	maxDescription    = 2000
	MaxCreatorName    = 200
	maxCapabilities   = 20
	maxCertifications = 10
	maxItem           = 200 // one capability or certification
	MaxReason         = 500 // what the operator notes
	maxURL            = 500
)

// FieldError turns an error of package did into an [*Error] for a field.
func FieldError(field, prefix string, err error) error {
	var e *did.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Field: field, Code: e.Code, Message: prefix + e.Message, Help: e.Help}
}

// CheckName returns the normal form of the name of an agent. A name cannot read like an identifier:
// people would take its agent for the one that has it.
func CheckName(text string) (string, error) {
	name, err := ValidateText("name", text, maxName, OneLine)
	if err == nil && lookalike.ReadsLikeIdentifier(name) {
		return "", identifierError("name", "name the agent in words: its identifiers are shown beside its name")
	}
	if err == nil && name == "" {
		return "", &Error{Field: "name", Code: "required", Message: "Field 'name' is required",
			Help: "give the agent a name of 1 to " + strconv.Itoa(maxName) + " characters"}
	}
	return name, err
}

// checkCreatorName returns the normal form of the name of a creator, which nobody has proved.
func checkCreatorName(text string) (string, error) {
	name, err := ValidateText("creator_name", text, MaxCreatorName, OneLine)
	if err == nil && lookalike.ReadsLikeIdentifier(name) {
		return "", identifierError("creator_name", "name the creator in words; creator_did is for a DID")
	}
	return name, err
}

func identifierError(field, help string) error {
	return &Error{Field: field, Code: "name-identifier", Message: "Field '" + field + "' reads like a DID, an AIR ID or a handle", Help: help}
}

// Control characters that a text may contain.
const (
	OneLine   = ""
	ManyLines = "\n\r\t"
)

// ValidateText trims a text and returns it if it has at most the given number of characters and
// does not change the display of its surroundings.
func ValidateText(field, text string, most int, controls string) (string, error) {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n > most {
		return "", &Error{Field: field, Code: "length",
			Message: fmt.Sprintf("Field '%s' is too long: %d characters, at most %d", field, n, most),
			Help:    "shorten it; nothing is cut silently"}
	}
	if !utf8.ValidString(text) {
		return "", &Error{Field: field, Code: "text", Message: fmt.Sprintf("Field '%s' is not valid UTF-8", field), Help: "encode the text as UTF-8"}
	}
	joiners := 0 // in sequence: three only hide something
	for i, c := range []rune(text) {
		joiners++
		if c != 0x200c && c != 0x200d && c != 0xfe0f {
			joiners = 0
		}
		if (isDisallowed(c) || joiners > 2) && !strings.ContainsRune(controls, c) {
			return "", &Error{Field: field, Code: "text",
				Message: fmt.Sprintf("Field '%s' holds the control character U+%04X", field, c),
				Help:    fmt.Sprintf("remove it; it is character %d of the text", i+1)}
		}
	}
	return text, nil
}

// isDisallowed reports control characters, and characters that change the direction of the
// surrounding text or are invisible: they can make one name look like another.
func isDisallowed(c rune) bool {
	switch {
	case unicode.IsControl(c),
		c == 0x061c, c == 0x200e, c == 0x200f, // marks of direction
		c >= 0x2028 && c <= 0x202e, // line and paragraph ends, embeddings, overrides
		c >= 0x2060 && c <= 0x206f, // word joiner, isolates, deprecated format characters
		c == 0x200b, c == 0xfeff,   // no width at all
		c == 0x034f, c == 0x115f, c == 0x1160, c == 0x3164, c == 0xffa0, // fillers
		c >= 0xfe00 && c <= 0xfe0e,   // variation selectors, except that of emoji
		c >= 0xfff9 && c <= 0xfffb,   // interlinear annotation
		c >= 0xe0000 && c <= 0xe01ef: // tags, and more variation selectors
		return true
	}
	return false
}

func checkCreatorType(text string) (string, error) {
	switch text {
	case "":
		return "individual", nil
	case "individual", "organization":
		return text, nil
	}
	return "", &Error{Field: "creator_type", Code: "value", Message: "Field 'creator_type' must be 'individual' or 'organization'",
		Help: "leave it out for 'individual'"}
}

// checkIdentity checks the creator's DID and the key, of which one may be empty.
func (r *Registry) checkIdentity(creator, keyText string) (string, []byte, error) {
	creator, keyText = strings.TrimSpace(creator), strings.TrimSpace(keyText)
	if creator == "" && keyText == "" {
		return "", nil, &Error{Field: "public_key", Code: "required",
			Message: "Either 'creator_did' or 'public_key' is required.",
			Help:    "If you have no domain, leave creator_did out: a did:wba is minted for you, anchored by your public_key."}
	}
	if creator != "" {
		if err := r.checkCreator(creator); err != nil {
			return "", nil, err
		}
	}
	if keyText == "" {
		if strings.HasPrefix(creator, "did:wba:") {
			return "", nil, &Error{Field: "public_key", Code: "required",
				Message: "did:wba creator_did requires a public_key field (Ed25519, base64url-encoded). did:key creators can omit this."}
		}
		return creator, nil, nil
	}
	key, err := did.ParsePublicKey(keyText)
	if err != nil {
		return "", nil, FieldError("public_key", "Invalid public_key: ", err)
	}
	return creator, key, nil
}

func (r *Registry) checkCreator(creator string) error {
	web, err := did.ParseWeb(creator)
	if !strings.HasPrefix(creator, "did:wba:") && !strings.HasPrefix(creator, "did:web:") {
		if err := did.CheckSyntax(creator); err != nil {
			return FieldError("creator_did", "Invalid creator_did: ", err)
		}
		return nil
	}
	prefix := "Invalid " + creator[:len("did:wba")] + ": "
	local := err == nil && did.IsLoopback(web.Host)
	if err == nil && !(local && r.allowLoopback) {
		err = web.CheckPublic()
	}
	if err != nil {
		err = FieldError("creator_did", prefix, err)
		if e, ok := errors.AsType[*Error](err); ok && local {
			e.Help += "; to try things out on one machine, the operator sets registry.allow_loopback"
		}
		return err
	}
	if r.isOwnHost(web) {
		// Its author could claim to be the owner of another agent.
		return &Error{Field: "creator_did", Code: "reserved", Message: prefix + "DIDs of this registry are given out by it",
			Help: "leave creator_did out: the agent's own DID is then its creator"}
	}
	return nil
}

// isOwnHost reports whether a DID lies on the host of this registry. The port 443 is the same as none.
func (r *Registry) isOwnHost(web did.Web) bool {
	if web.Port == 443 {
		web.Port = 0
	}
	return web.SameHost(r.host)
}

func checkList(field string, items []string, most int) ([]string, error) {
	if len(items) > most {
		return nil, &Error{Field: field, Code: "count", Message: fmt.Sprintf("Field '%s' has %d entries, at most %d", field, len(items), most),
			Help: "choose the most important ones"}
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", field, i)
		text, err := ValidateText(at, item, maxItem, OneLine)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, &Error{Field: at, Code: "required", Message: fmt.Sprintf("Field '%s' is empty", at), Help: "remove the entry"}
		}
		out = append(out, text)
	}
	return out, nil
}

// checkLink checks an address that people open and that the registry requests; "" is none.
func (r *Registry) checkLink(field, text string) (string, error) {
	text, err := ValidateText(field, text, maxURL, OneLine)
	if err != nil || text == "" {
		return "", err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return "", &Error{Field: field, Code: "url", Message: fmt.Sprintf("Field '%s' must be an absolute http or https URL without a user name", field),
			Help: "example: https://example.com/docs"}
	}
	if r.allowLoopback && did.IsLoopback(u.Hostname()) {
		return text, nil
	}
	if err := checkPublicHost(u.Hostname()); err != nil {
		return "", &Error{Field: field, Code: "private-address", Message: fmt.Sprintf("Field '%s' does not lead to a public host: %v", field, err),
			Help: "nobody else can open it; use a public DNS name"}
	}
	return text, nil
}

// checkHandle folds a handle to be claimed; "" releases the current one.
func checkHandle(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	handle, err := did.ClaimHandle(text)
	if err != nil {
		return "", FieldError("username", "Invalid username: ", err)
	}
	return handle, nil
}

// CheckDomain returns the normal form of a domain to be proved.
func CheckDomain(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	refuse := func(message, help string) (string, error) {
		return "", &Error{Field: "domain", Code: "value", Message: "Invalid domain: " + message, Help: help}
	}
	if e, ok := errors.AsType[*did.Error](did.CheckDomain(name)); ok {
		return refuse(e.Message, e.Help)
	}
	if err := checkPublicHost(name); err != nil {
		return refuse(err.Error(), "use a name that others can resolve")
	}
	if !psl.HasDomain(name) {
		return refuse(name+" is a suffix under which others register", "prove the domain that is your own")
	}
	return name, nil
}

// CheckRecord checks the values of an imported record like those of a registration, because the
// source registry may have other rules. It sets them to their normal form.
func (r *Registry) CheckRecord(a *Agent) error {
	if name, err := CheckName(a.Name); err != nil || name != a.Name {
		return cmp.Or(err, error(&Error{Field: "name", Code: "text", Message: "the name has space around it", Help: "export the agent again"}))
	}
	if _, err := ValidateText("creator_name", a.CreatorName, MaxCreatorName, OneLine); err != nil {
		return err
	}
	if _, err := ValidateText("reason", a.Reason, maxDescription, ManyLines); err != nil {
		return err
	}
	if _, err := checkCreatorType(a.CreatorType); err != nil {
		return err
	}
	if a.CreatorDID != r.DID(a.AirID) {
		if err := r.checkCreator(a.CreatorDID); err != nil {
			return err
		}
	}
	if _, err := r.checkMovedTo(a.MovedTo); err != nil {
		return err
	}
	if err := checkCommitment("recovery_commitment", a.Commitment); err != nil {
		return err
	}
	for _, k := range a.Keys() {
		if _, err := did.ParseMultikey(did.FormatMultikey(k.PublicKey)); err != nil {
			return FieldError("public_key", "Invalid public_key: ", err)
		}
	}
	if a.Recovery != nil {
		if _, err := did.ParseMultikey(did.FormatMultikey(a.Recovery.To)); err != nil {
			return FieldError("recovery", "Invalid key: ", err)
		}
	}
	if len(a.Domains) > MaxDomains {
		return &Error{Field: "domains", Code: "count", Message: fmt.Sprintf("it has %d domains, at most %d", len(a.Domains), MaxDomains), Help: "export the agent again"}
	}
	for _, d := range a.Domains {
		if _, err := CheckDomain(d.Name); err != nil {
			return err
		}
	}
	return r.setMembers(a, a.Description, a.Editable)
}
