package changefeed

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/registry"
)

// titleTexts are what a title says beside the item.
type titleTexts struct {
	name       string // of the service or agent
	handle     string // of the agent
	operations int
	hosts      int    // that were withdrawn together
	domain     string // what happened to a domain of an agent, "" for anything else
}

// isPlain reports whether a character shows as itself and has a place in XML.
func isPlain(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar || r == '\u00a0' }

// titleOf says in a sentence what happened.
func titleOf(i *Item, t titleTexts) string {
	name := ""
	if clean := cleanText(t.name, 80); clean != "" && clean != i.Host {
		name = ` ("` + clean + `")`
	}
	switch i.Kind {
	case ServiceAppeared:
		return fmt.Sprintf("%s%s is new here%s", i.Host, name, countOperations(i, t.operations))
	case ServiceGone:
		return i.Host + " no longer publishes anything"
	case ServiceReturned:
		return i.Host + name + " is back" + describeChanges(i)
	case ServiceWithdrawn:
		if t.hosts > 1 {
			return fmt.Sprintf("%s and its subdomains are no longer shown, at the request of the %s", i.Host, i.By)
		}
		return fmt.Sprintf("%s is no longer shown, at the request of the %s", i.Host, i.By)
	case DocumentAdded:
		return fmt.Sprintf("%s now publishes an %s too", i.Host, describeDocument(i))
	case DocumentRemoved:
		return fmt.Sprintf("%s no longer publishes its %s", i.Host, describeDocument(i))
	case DocumentReturned:
		return fmt.Sprintf("%s publishes its %s again", i.Host, describeDocument(i)) + describeChanges(i)
	case DocumentFlapping:
		now := ""
		if i.To == "" {
			now = "; it is gone now"
		}
		return fmt.Sprintf("%s keeps changing its %s: %d times since %s%s", i.Host, describeDocument(i), i.Count, i.Since.UTC().Format("2 January 2006"), now)
	case DocumentChanged:
		if len(i.Changes) == 0 {
			return fmt.Sprintf("%s published its %s in another form; nothing changed for callers", i.Host, describeDocument(i))
		}
		return i.Host + describeChanges(i)
	case StateChanged:
		if i.Unsettled {
			return i.Host + " changes its states all the time; single changes are not listed for now"
		}
		return i.Host + describeStates(i.States)
	}
	return nameAgent(i.Agent, cleanText(t.name, 80), t.handle) + " " + cmp.Or(t.domain, describeEvent(i))
}

// nameAgent names an agent by its handle and its own name. Names are not unique, so the AIR ID stands
// beside a name without a handle.
func nameAgent(airID, name, handle string) string {
	switch {
	case handle != "" && name != "":
		return "@" + handle + ` ("` + name + `")`
	case handle != "":
		return "@" + handle
	case name != "":
		return `"` + name + `" (` + airID + ")"
	}
	return "Agent " + airID
}

// describeDocument names the first document of an item.
func describeDocument(i *Item) string {
	if len(i.Documents) == 0 {
		return "document"
	}
	return document.Kind(i.Documents[0]).Describe()
}

// countOperations says how many operations the first document of a service has. Documents that are read
// later can have others.
func countOperations(i *Item, n int) string {
	switch {
	case n == 0:
		return ""
	case n == 1:
		return ": its " + describeDocument(i) + " has 1 operation"
	}
	return fmt.Sprintf(": its %s has %d operations", describeDocument(i), n)
}

// describeChanges tells the gravest change, and how many others there are.
func describeChanges(i *Item) string {
	if len(i.Changes) == 0 {
		return ""
	}
	c := i.Changes[0]
	text := changeTexts[c.Kind]
	if text == "" {
		text = strings.ReplaceAll(string(c.Kind), "-", " ")
	}
	subject := "the service"
	if c.Operation != "" {
		subject = shortName(c.Operation)
	}
	text = ": " + strings.ReplaceAll(text, "{}", subject)
	if c.Kind == diff.EndpointHostChanged && c.From != "" && c.To != "" {
		text += ", from " + shortName(c.From) + " to " + shortName(c.To)
	}
	switch more := len(i.Changes) - 1 + i.MoreChanges; more {
	case 0:
		return text
	case 1:
		return text + ", and 1 more change"
	default:
		return fmt.Sprintf("%s, and %d more changes", text, more)
	}
}

// shortName shortens a name of a document for a title.
func shortName(text string) string { return cleanText(text, 80) }

// changeTexts say what a change did to {}, an operation or the service.
var changeTexts = map[diff.Kind]string{
	diff.EndpointHostChanged:    "{} moved to another host",
	diff.TransportWeakened:      "{} is called without encryption now",
	diff.AuthenticationWeakened: "{} asks for weaker authentication",
	diff.EffectLowered:          "{} is declared less dangerous than before",
	diff.OperationReplaced:      "{} does something else now",
	diff.ServiceIdentityChanged: "{} has another identity",
	diff.OperationRemoved:       "{} was removed",
	diff.OperationRenamed:       "{} has a new name",
	diff.EndpointChanged:        "{} is called with another method or address",
	diff.ParameterRequiredAdded: "{} requires one more parameter",
	diff.ParameterRemoved:       "{} has one parameter fewer",
	diff.ParameterTypeChanged:   "{} accepts other values of a parameter",
	diff.ResultRemoved:          "{} returns less",
	diff.AuthenticationChanged:  "{} requires other authentication",
	diff.EffectRaised:           "{} is declared more dangerous than before",
	diff.PriceRaised:            "{} costs more",
	diff.LimitLowered:           "{} may be called less often",
	diff.DataClassAdded:         "{} holds one more class of data",
	diff.SensitivityRaised:      "{} holds more sensitive data",
	diff.OperationAdded:         "{} was added",
	diff.ParameterOptionalAdded: "{} has one more optional parameter",
	diff.ParameterMadeOptional:  "{} no longer requires a parameter",
	diff.ResultAdded:            "{} returns more",
	diff.PriceLowered:           "{} costs less",
	diff.LimitRaised:            "{} may be called more often",
	diff.DataClassRemoved:       "{} holds one class of data fewer",
	diff.IntentRewritten:        "{} is described in other words",
	diff.TextChanged:            "the texts of {} changed",
	diff.VersionChanged:         "{} has a new version",
	diff.LinkChanged:            "{} has another link",
	diff.ContactChanged:         "{} has another contact",
}

// describeStates says which states of a host changed.
func describeStates(states []StateChange) string {
	texts := make([]string, len(states))
	for n, s := range states {
		texts[n] = s.Name + " is " + s.To + " (was " + s.From + ")"
	}
	return ": " + strings.Join(texts, ", ")
}

// eventTexts say what happened to an agent, by the event of its history.
var eventTexts = map[string]string{
	"registered": "registered", "imported": "was imported with its history",
	"rotated": "has a new key", "recovered": "has a new key, set with its recovery key", "recovery-asked": "is to be recovered with its recovery key",
	"recovery-withdraw": "is not to be recovered any more", "domain-changed": "changed its domains", "observed": "was seen to have changed",
	"attested": "was attested", "attestation-revoked": "lost an attestation", "deactivated": "was deactivated", "suspended": "was suspended",
	"restored": "is back in service", "deleted": "was deleted", "erased": "was erased", "merged": "was merged into another agent",
	"absorbed": "absorbed another agent",
}

func describeEvent(i *Item) string {
	if i.Event == "updated" && len(i.Fields) > 0 {
		return "changed its " + cleanText(DescribeFields(i.Fields), 120)
	}
	if text := eventTexts[i.Event]; text != "" {
		return text
	}
	return "changed"
}

// describeDomain says what an entry did to a domain of its agent, or returns "" if that cannot be
// told, as for a domain that was given up.
func describeDomain(e registry.HistoryEntry) string {
	if e.Event != registry.EventDomain || e.Agent == nil {
		return ""
	}
	for _, d := range e.Agent.Domains {
		byOwner := e.Actor == registry.ActorOwner
		switch {
		case byOwner && d.Requested.Equal(e.At):
			return "claimed the domain " + cleanText(d.Name, 120)
		case !byOwner && d.Withdrawn.Equal(e.At):
			return "lost the proof of the domain " + cleanText(d.Name, 120)
		case !byOwner && d.Checked.Equal(e.At) && d.Proved():
			return "proved the domain " + cleanText(d.Name, 120)
		}
	}
	return ""
}

// fieldWords describe members of an agent's record; the others describe themselves.
var fieldWords = map[string]string{
	"username": "handle", "service_endpoints": "endpoints", "documentation_url": "documentation", "code_repository": "repository",
	"public_key": "key", "recovery_commitment": "recovery key", "moved_to": "new DID", "creator_did": "creator's DID", "creator_name": "creator's name", "creator_type": "kind of creator",
}

// DescribeFields names members of an agent's record for people.
func DescribeFields(fields []string) string {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = cmp.Or(fieldWords[f], strings.ReplaceAll(f, "_", " "))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
