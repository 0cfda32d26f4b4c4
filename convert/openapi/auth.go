package openapi

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// addAuth adds how callers authenticate: the scheme that most operations require.
func (b *aiBuilder) addAuth(root *protocol.Node) {
	scheme := b.scheme
	if scheme == nil && (b.api.root.Member("security") == nil || len(b.requestedSchemes()) > 0) {
		b.notes.Add(nil, "the description does not say how callers authenticate, so auth is left out; add it, with the type none only if calls need no authentication")
		return
	}
	auth := tree.Put(root, "auth", tree.Object())
	if scheme == nil {
		b.notes.Add(tree.Put(auth, "type", tree.String("none")), "the description says that calls need no authentication")
		return
	}
	kind := strings.ToLower(scheme.Member("type").Str())
	word := strings.ToLower(scheme.Member("scheme").Str())
	switch {
	case kind == "apikey":
		t := tree.Put(auth, "type", tree.String("apikey"))
		if b.header != "" {
			tree.Put(auth, "header", tree.String(b.header))
		} else {
			b.notes.Add(t, "the key is sent in the "+wording.Shorten(wording.OneLine(scheme.Member("in").Str()), 20)+" as "+
				protocol.Quote(scheme.Member("name").Str())+", for which the draft has no member")
		}
	case kind == "http" && word == "bearer":
		tree.Put(auth, "type", tree.String("bearer"))
	case kind == "http":
		b.notes.Add(tree.Put(auth, "type", tree.String("apikey")), "the description requires HTTP authentication with the scheme "+protocol.Quote(word)+", for which the draft has no word")
		tree.Put(auth, "header", tree.String("Authorization"))
	case kind == "oauth2" || kind == "openidconnect":
		t := tree.Put(auth, "type", tree.String("oauth2"))
		if addresses := oauthAddresses(scheme); addresses != "" {
			b.notes.Add(t, "the draft has no member for the addresses of OAuth ("+addresses+"): name them on the page that docs leads to")
		}
	default:
		b.notes.Add(tree.Put(auth, "type", tree.String("apikey")), "the description requires authentication of the type "+protocol.Quote(kind)+", for which the draft has no word")
		tree.Put(auth, "header", tree.String("Authorization"))
	}
	if docs := b.authDocs(scheme); docs != "" {
		tree.Put(auth, "docs", tree.String(docs))
	}
	if others := len(b.schemeNames()) - 1; others > 0 {
		b.notes.Add(auth, "the description knows other ways to authenticate as well; the draft has room for one")
	}
	if open := b.openOperations(); len(b.schemeNames()) > 0 && open > 0 {
		b.notes.Add(auth, fmt.Sprintf("the description asks for no authentication at %d of %d operations; the draft has one way for all, so say in their descriptions that they are open", open, len(b.chosen)))
	}
}

// openOperations counts the operations that can be called without authentication.
func (b *aiBuilder) openOperations() int {
	open := 0
	for _, op := range b.chosen {
		requirement := cmp.Or(op.node.Member("security"), b.api.root.Member("security"))
		items := requirement.Elements()
		if len(items) == 0 || slices.ContainsFunc(items, func(item *protocol.Node) bool { return len(tree.Members(item)) == 0 }) {
			open++
		}
	}
	return open
}

// schemeNames lists the required security schemes, without repetition.
func (b *aiBuilder) schemeNames() []string {
	seen := map[string]bool{}
	var out []string
	for _, name := range b.requestedSchemes() {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// requestedSchemes lists the scheme of each requirement. An operation without its own requirements
// has those of the document.
func (b *aiBuilder) requestedSchemes() []string {
	var out []string
	whole := b.api.root.Member("security")
	for _, op := range b.chosen {
		requirement := op.node.Member("security")
		requirement = cmp.Or(requirement, whole)
		for _, item := range requirement.Elements() {
			for _, m := range tree.Members(item) {
				out = append(out, m.Key)
			}
		}
	}
	return out
}

// readAuth reads how callers authenticate.
func (b *aiBuilder) readAuth() {
	b.scheme = b.mainScheme()
	b.header = keyHeader(b.scheme)
}

// mainScheme returns the security scheme that most operations require. If the description defines
// schemes and never requires one, the first is assumed, since many authors forget the requirement.
func (b *aiBuilder) mainScheme() *protocol.Node {
	schemes := b.api.schemes
	name := wording.MostFrequent(b.requestedSchemes())
	if n := b.api.refs.Resolve(schemes.Member(name)); tree.IsKind(n, protocol.Object) {
		return n
	}
	if name != "" || b.api.root.Member("security") != nil || len(tree.Members(schemes)) == 0 {
		return nil
	}
	if n := b.api.refs.Resolve(schemes.Items[0]); tree.IsKind(n, protocol.Object) {
		return n
	}
	return nil
}

// oauthAddresses lists the addresses of an OAuth scheme, "" if it has none. OpenAPI 2 has them in the
// scheme itself.
func oauthAddresses(scheme *protocol.Node) string {
	var list []string
	for _, flow := range append([]*protocol.Node{scheme}, tree.Members(scheme.Member("flows"))...) {
		for _, kind := range []struct{ member, name string }{{"authorizationUrl", "authorization"}, {"tokenUrl", "token"}, {"refreshUrl", "refresh"}, {"openIdConnectUrl", "discovery"}} {
			address := flow.Member(kind.member).Str()
			text := kind.name + " " + wording.Shorten(wording.OneLine(address), 200)
			if address != "" && len(list) < 6 && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return strings.Join(list, ", ")
}

// keyHeader returns the header that carries the API key, "" when there is none.
func keyHeader(scheme *protocol.Node) string {
	name := scheme.Member("name").Str()
	if !strings.EqualFold(scheme.Member("type").Str(), "apiKey") || scheme.Member("in").Str() != "header" || len(name) > 100 {
		return ""
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) {
		return ""
	}
	return name
}

// authDocs returns the address of documentation about authentication, "" when there is none.
func (b *aiBuilder) authDocs(scheme *protocol.Node) string {
	for _, address := range []string{
		scheme.Member("x-docs").Str(), b.api.root.Member("externalDocs").Member("url").Str(), scheme.Member("openIdConnectUrl").Str(),
	} {
		u, err := url.Parse(address)
		if err == nil && u.Scheme == "https" && conversion.IsHostName(u.Hostname()) && u.User == nil && wording.OneLine(address) == address && len(address) <= 500 {
			return address
		}
	}
	return ""
}

// categoryWords lists the words that suggest a category of AI Discovery §3.2, in the singular or
// base form.
var categoryWords = []struct {
	category string
	words    map[string]bool
}{
	{"productivity", wording.WordSet("task todo note project kanban board workflow timesheet productivity reminder ticket crm spreadsheet document")},
	{"ecommerce", wording.WordSet("shop store cart product order catalog checkout ecommerce commerce merchant inventory sku retail fulfillment seller")},
	{"finance", wording.WordSet("bank payment invoice currency stock loan credit finance financial accounting tax forex trading portfolio crypto wallet ledger payout billing")},
	{"news", wording.WordSet("news headline article newspaper journalism press")},
	{"weather", wording.WordSet("weather forecast temperature precipitation humidity climate rainfall meteorology")},
	{"maps", wording.WordSet("map geocode geocoding geolocation latitude longitude route navigation cartography geographic geospatial")},
	{"search", wording.WordSet("search query index autocomplete crawler")},
	{"data", wording.WordSet("dataset statistics analytics data metric census benchmark")},
	{"communication", wording.WordSet("message email sms chat call voice conversation notification mail messaging telephony conference")},
	{"calendar", wording.WordSet("calendar event appointment schedule meeting availability attendee")},
	{"storage", wording.WordSet("file bucket blob storage folder upload backup drive object")},
	{"media", wording.WordSet("video music image photo song album movie podcast film audio stream playlist artist media")},
	{"health", wording.WordSet("patient health medical clinic doctor hospital diagnosis prescription fitness medication drug")},
	{"education", wording.WordSet("course student school university lesson teacher education quiz exam learning")},
	{"travel", wording.WordSet("flight hotel travel airline trip airport booking itinerary train rental destination passenger")},
	{"food", wording.WordSet("restaurant recipe food meal menu cuisine ingredient nutrition dish")},
	{"government", wording.WordSet("government parliament election public municipal federal legislation census court permit")},
	{"developer", wording.WordSet("repository build deploy commit developer container cluster pipeline release log webhook git kubernetes function server")},
}

// findCategories returns at most two categories whose words occur in the description. The title
// counts 4, the description 3, paths and tags 1. A category needs a minimum weight, and the second
// must have more than half the weight of the first.
func (b *aiBuilder) findCategories() []string {
	weight := map[string]int{}
	count := func(text string, w int) {
		seen := map[string]bool{}
		for _, word := range wording.ASCIIWords(wording.IdentifierWords(text)) {
			word = wording.SingularOf(word)
			if bases := english.Base(word); len(bases) > 0 && !english.Lookup(word).Noun {
				word = bases[0]
			}
			if seen[word] {
				continue
			}
			seen[word] = true
			for _, c := range categoryWords {
				if c.words[word] {
					weight[c.category] += w
				}
			}
		}
	}
	count(b.api.title, 4)
	count(b.api.description, 3)
	var words []string
	for _, op := range b.chosen {
		words = append(words, op.path, strings.Join(op.tags, " "))
	}
	count(strings.Join(words, " "), 1)
	var order []string
	for _, c := range categoryWords {
		order = append(order, c.category)
	}
	slices.SortStableFunc(order, func(x, y string) int { return weight[y] - weight[x] })
	const needed = 3
	var out []string
	for _, c := range order[:2] {
		if weight[c] >= needed && weight[c]*2 > weight[order[0]] {
			out = append(out, c)
		}
	}
	return out
}

// headersOfTransport are headers that no caller of an AGIS endpoint sets.
var headersOfTransport = wording.WordSet("authorization accept content-type user-agent accept-language accept-encoding host content-length cookie x-agis-method x-agis-grammar x-agis-namespace")
