package relay

import (
	"slices"
	"strings"

	"gazetteer/internal/psl"
	"gazetteer/protocol/did"
)

// NamesSender reports whether a list of DIDs and hosts of DIDs names a DID. The did:wba and the did:web
// of one host and path are one sender, because one document has the key of both.
func NamesSender(list []string, sender string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return entryNames(entry, sender) })
}

// blocksSender is NamesSender for a list of blocked senders: a host there names its subdomains too,
// because the owner of a domain can make any number of them.
func blocksSender(list []string, sender string) bool {
	web, err := did.ParseWeb(sender)
	return slices.ContainsFunc(list, func(entry string) bool {
		return entryNames(entry, sender) || err == nil && strings.HasSuffix(web.Host, "."+strings.ToLower(entry))
	})
}

func entryNames(entry, sender string) bool {
	if entry == sender {
		return true
	}
	web, err := did.ParseWeb(sender)
	if err != nil {
		return false
	}
	if named, err := did.ParseWeb(entry); err == nil {
		return uniformDID(named) == uniformDID(web)
	}
	return strings.EqualFold(entry, web.Host)
}

// uniformDID returns a DID as did:wba.
func uniformDID(w did.Web) string {
	w.Method = did.MethodWBA
	return w.String()
}

// senderKey returns the name under which the mail of a sender counts.
func senderKey(sender string) string {
	if web, err := did.ParseWeb(sender); err == nil {
		return uniformDID(web)
	}
	return sender
}

// shareKey returns the name under which the first contacts of a sender count, and its mail in an inbox
// that is more than half full. The agents of this registry count one by one. All DIDs below another
// registered domain count together: its owner can make any number of them, and so can anyone below the
// domain of a provider of free names.
func (r *Relay) shareKey(sender string) string {
	web, err := did.ParseWeb(sender)
	if err != nil {
		return sender
	}
	if own, err := did.ParseWeb(r.DID); err == nil && own.SameHost(web) {
		return uniformDID(web)
	}
	return psl.Registered(web.Host)
}

// domainContacts is how many times the first contacts of one sender all DIDs below a foreign domain have:
// the domain may be another registry with many agents.
const domainContacts = 10

// maxFirstContacts returns how many inboxes the senders that share the key of this one may write to for
// the first time in a day.
func (r *Relay) maxFirstContacts(sender string) int {
	if r.FirstContacts > 0 && r.shareKey(sender) != senderKey(sender) {
		return domainContacts * r.FirstContacts
	}
	return r.FirstContacts
}
