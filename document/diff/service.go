package diff

import (
	"strings"

	"gazetteer/document"
	"gazetteer/document/diff/meaning"
	"gazetteer/protocol"
	"gazetteer/protocol/wording"
)

// compareVersions compares the services and then their operations.
func (c *comparison) compareVersions() {
	switch c.a.kind {
	case document.AI:
		c.compareAIServices()
	case document.AGIS:
		c.compareAGISServices()
	default:
		c.compareSummaries()
	}
	c.compareOperations()
}

// compareAIServices compares everything of two AI Discovery documents but the capabilities.
func (c *comparison) compareAIServices() {
	c.compareText(VersionChanged, "", c.a.memberAt("aiendpoint"), c.b.memberAt("aiendpoint"))
	c.eachMember(c.a.memberAt("service"), c.b.memberAt("service"), func(name string, a, b *protocol.Node) {
		switch name {
		case "name", "namespace", "domain":
			c.compareIdentity(a, b)
		case "language":
			if !equalValues(serviceLanguages(a), serviceLanguages(b)) {
				c.compareMember("", name, a, b)
			}
		default:
			c.compareMember("", name, a, b)
		}
	})
	c.compareMembers("", c.a.root, c.b.root, wording.WordSet("aiendpoint service capabilities"))
}

// serviceLanguages returns the languages of a service, the default of AI Discovery §3.2 where there
// are none.
func serviceLanguages(n *protocol.Node) *protocol.Node {
	if n != nil && len(n.Items) > 0 {
		return n
	}
	return &protocol.Node{Kind: protocol.Array, Items: []*protocol.Node{{Kind: protocol.String, Text: "en"}}}
}

// compareAGISServices compares everything of two AGIS documents but the endpoints.
func (c *comparison) compareAGISServices() {
	c.compareText(VersionChanged, "", c.a.memberAt("agis"), c.b.memberAt("agis"))
	c.compareIdentity(c.a.memberAt("service"), c.b.memberAt("service"))
	c.compareAddresses("", c.a.memberAt("agtp"), c.b.memberAt("agtp"))
	c.compareServiceVersion()
	c.eachMember(c.a.memberAt("vocabulary"), c.b.memberAt("vocabulary"), func(name string, a, b *protocol.Node) {
		switch name {
		case "domain", "namespace":
			c.compareIdentity(a, b)
		case "declared_verbs", "version": // follow from the endpoints; compared above
		default:
			c.compareMember("", name, a, b)
		}
	})
	for _, name := range []string{"domain", "namespace"} { // of the vocabulary; some put them outside
		c.compareIdentity(c.a.memberAt(name), c.b.memberAt(name))
	}
	c.compareDataManifest(c.a.memberAt("data_manifest"), c.b.memberAt("data_manifest"))
	c.compareMembers("", c.a.root, c.b.root, wording.WordSet("agis service agtp version domain namespace endpoints vocabulary data_manifest schemas"))
}

// compareServiceVersion records a change of the service's version once, although two members may
// hold it.
func (c *comparison) compareServiceVersion() {
	before := len(c.changes)
	c.compareText(VersionChanged, "", c.a.memberAt("version"), c.b.memberAt("version"))
	if len(c.changes) == before {
		c.compareText(VersionChanged, "", c.a.memberAt("vocabulary", "version"), c.b.memberAt("vocabulary", "version"))
	}
}

// compareSummaries compares everything of two summaries but the verbs.
func (c *comparison) compareSummaries() {
	c.compareText(VersionChanged, "", c.a.memberAt("agis"), c.b.memberAt("agis"))
	c.eachMember(c.a.root, c.b.root, func(name string, a, b *protocol.Node) {
		switch name {
		case "service", "domain", "namespace":
			c.compareIdentity(a, b)
		case "agtp":
			c.compareAddresses("", a, b)
		case "data_classes":
			c.compareDataClasses(a, b)
		case "agis", "methods":
		default:
			c.compareMember("", name, a, b)
		}
	})
}

// compareIdentity compares a name, a namespace or a domain. Another letter case is a change of text,
// and none in a domain that is a host.
func (c *comparison) compareIdentity(a, b *protocol.Node) {
	if equalValues(a, b) || a != nil && b != nil && strings.Contains(a.Text, ".") && a.Key == "domain" && canonicalHost(a.Text) == canonicalHost(b.Text) {
		return
	}
	kind := ServiceIdentityChanged
	if a != nil && b != nil && meaning.HaveSameLetters(a.Text, b.Text) {
		kind = TextChanged
	}
	c.addChange(kind, "", valueOf(a), valueOf(b))
}

// isAuthenticationName reports whether a member is about how callers authenticate.
func isAuthenticationName(name string) bool {
	switch name {
	case "auth", "authentication", "authorization", "security", "pre_auth_discovery", "requires_authorization", "scopes":
		return true
	}
	return false
}

// strengths orders the ways of authentication from the weakest to the strongest.
var strengths = map[string]int{"none": 1, "apikey": 2, "bearer": 3, "oauth2": 4}

// compareAuthentication compares two descriptions of how callers authenticate (AI Discovery §3.4).
// A missing one is unknown.
func (c *comparison) compareAuthentication(operation string, a, b *protocol.Node) {
	typeA, typeB := authenticationType(a), authenticationType(b)
	open := a != nil && a.Key == "pre_auth_discovery" || b != nil && b.Key == "pre_auth_discovery" // true asks for less
	switch {
	case a == nil || b == nil || typeA == nil || typeB == nil:
		if typeA != nil || typeB != nil {
			c.addChange(AuthenticationChanged, operation, valueOf(typeA), valueOf(typeB))
			return
		}
	case !strings.EqualFold(typeA.Text, typeB.Text):
		kind := AuthenticationChanged
		x, y := strengths[strings.ToLower(typeA.Text)], strengths[strings.ToLower(typeB.Text)]
		if x > y && y > 0 || typeA.Kind == protocol.Bool && typeA.True() != open {
			kind = AuthenticationWeakened
		}
		c.addChange(kind, operation, valueOf(typeA), valueOf(typeB))
		c.compareAuthenticationDocs(operation, a, b)
		return
	}
	if isScalar(a) || isScalar(b) || a == nil || b == nil || a.Kind != b.Kind {
		if typeA == nil && typeB == nil {
			c.addChange(AuthenticationChanged, operation, valueOf(a), valueOf(b))
		}
		return
	}
	if a.Kind == protocol.Array {
		c.compareLists(AuthenticationChanged, operation, a, b)
		return
	}
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		if name == "type" || equalValues(ma, mb) || equalLinks(ma, mb) || isDefault(name, ma) && isDefault(name, mb) {
			return
		}
		if name == "header" && strings.EqualFold(headerOf(typeA, ma), headerOf(typeB, mb)) {
			return
		}
		kind := AuthenticationChanged
		if other := kindOfMember(name, ma, mb); other == LinkChanged || other == ContactChanged || name == "description" {
			kind = other
		}
		if ma != nil && mb != nil && ma.Kind == protocol.Array && mb.Kind == protocol.Array {
			c.compareLists(kind, operation, ma, mb)
			return
		}
		c.addChange(kind, operation, valueOf(ma), valueOf(mb))
	})
}

// headerOf returns the header of a credential. That of a bearer token is Authorization if none is
// given (AI Discovery §3.4).
func headerOf(authType, header *protocol.Node) string {
	if header.Str() == "" && strings.EqualFold(authType.Str(), "bearer") {
		return "Authorization"
	}
	return header.Str()
}

// compareAuthenticationDocs compares where the documentation of another way of authentication is.
func (c *comparison) compareAuthenticationDocs(operation string, a, b *protocol.Node) {
	if docsA, docsB := memberAt(a, "docs"), memberAt(b, "docs"); docsA != nil && docsB != nil && !equalValues(docsA, docsB) && !equalLinks(docsA, docsB) {
		c.addChange(LinkChanged, operation, valueOf(docsA), valueOf(docsB))
	}
}

// authenticationType returns the node that names the way of authentication, nil for none.
func authenticationType(n *protocol.Node) *protocol.Node {
	if n == nil {
		return nil
	}
	if isScalar(n) {
		return n
	}
	return nilIfNull(n.Member("type"))
}

// compareDataManifest compares which data a service holds (AGIS §8.3).
func (c *comparison) compareDataManifest(a, b *protocol.Node) {
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		if name == "available_data" {
			c.compareDataClasses(ma, mb)
			return
		}
		c.compareMember("", name, ma, mb)
	})
}

// compareDataClasses compares two lists of data classes, each by its name.
func (c *comparison) compareDataClasses(a, b *protocol.Node) {
	after := map[string]*protocol.Node{}
	for _, n := range b.Elements() {
		after[dataClassName(n)] = n
	}
	seen := map[string]bool{}
	for _, n := range a.Elements() {
		name := dataClassName(n)
		if seen[name] {
			continue
		}
		seen[name] = true
		other := after[name]
		if other == nil {
			c.addChange(DataClassRemoved, "", textValue(n, name), value{})
			continue
		}
		c.compareDataClass(n, other)
	}
	for _, n := range b.Elements() {
		if name := dataClassName(n); !seen[name] {
			seen[name] = true
			c.addChange(DataClassAdded, "", value{}, textValue(n, name))
		}
	}
}

func dataClassName(n *protocol.Node) string {
	if n.Kind == protocol.Object {
		n = n.Member("class")
	}
	return strings.ToLower(meaning.NormalizeSpace(n.Str()))
}

// sensitivities orders the words for the sensitivity of data; a missing or unknown one is lowest.
var sensitivities = map[string]int{
	"public": 1, "informational": 1, "low": 1, "internal": 2, "reversible": 2, "medium": 2, "moderate": 2,
	"irreversible": 3, "high": 3, "confidential": 3, "sensitive": 3, "private": 3, "personal": 3, "secret": 4, "restricted": 4, "critical": 4,
}

func (c *comparison) compareDataClass(a, b *protocol.Node) {
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		if equalValues(ma, mb) {
			return
		}
		switch name {
		case "class": // the same but for letter case
		case "sensitivity":
			x, y := strings.ToLower(ma.Str()), strings.ToLower(mb.Str())
			switch {
			case x == y:
			case sensitivities[y] > sensitivities[x]:
				c.addChange(SensitivityRaised, "", valueOf(ma), valueOf(mb))
			default:
				c.addChange(TextChanged, "", valueOf(ma), valueOf(mb))
			}
		default:
			c.compareMember("", name, ma, mb)
		}
	})
}
