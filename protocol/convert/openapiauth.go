package convert

import (
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// auth writes how callers authenticate: by the scheme that most operations ask
// for.
func (b *aiBuilder) auth(root *protocol.Node) {
	auth := put(root, "auth", newObject())
	scheme := b.scheme
	if scheme == nil {
		b.notes.add(put(auth, "type", strNode("none")), "the description asks for no authentication")
		return
	}
	kind := strings.ToLower(scheme.Member("type").Str())
	word := strings.ToLower(scheme.Member("scheme").Str())
	switch {
	case kind == "apikey":
		t := put(auth, "type", strNode("apikey"))
		if b.header != "" {
			put(auth, "header", strNode(b.header))
		} else {
			b.notes.add(t, "the key is sent in the "+cutWords(oneLine(scheme.Member("in").Str()), 20)+" as "+
				protocol.Quote(scheme.Member("name").Str())+", for which the draft has no member")
		}
	case kind == "http" && word == "bearer":
		put(auth, "type", strNode("bearer"))
	case kind == "http":
		b.notes.add(put(auth, "type", strNode("apikey")), "the description asks for HTTP authentication of the scheme "+protocol.Quote(word)+", for which the draft has no word")
		put(auth, "header", strNode("Authorization"))
	case kind == "oauth2" || kind == "openidconnect":
		put(auth, "type", strNode("oauth2"))
	default:
		b.notes.add(put(auth, "type", strNode("apikey")), "the description asks for authentication of the type "+protocol.Quote(kind)+", for which the draft has no word")
		put(auth, "header", strNode("Authorization"))
	}
	if docs := b.docs(scheme); docs != "" {
		put(auth, "docs", strNode(docs))
	}
	if others := len(b.schemeNames()) - 1; others > 0 {
		b.notes.add(auth, "the description knows other ways to authenticate as well; the draft has room for one")
	}
}

// schemeNames lists the security schemes that are asked for, one entry each time.
func (b *aiBuilder) schemeNames() []string {
	seen := map[string]bool{}
	var out []string
	for _, name := range b.asked() {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// asked lists the name of each scheme as often as an operation asks for it. An
// operation without its own requirement has that of the document.
func (b *aiBuilder) asked() []string {
	var out []string
	whole := b.api.root.Member("security")
	for _, op := range b.chosen {
		requirement := op.node.Member("security")
		if requirement == nil {
			requirement = whole
		}
		for _, item := range requirement.Elements() {
			for _, m := range membersOf(item) {
				out = append(out, m.Key)
			}
		}
	}
	return out
}

// readAuth finds out what the description says of authentication.
func (b *aiBuilder) readAuth() {
	b.scheme = b.mainScheme()
	b.header = keyHeader(b.scheme)
}

// mainScheme returns the security scheme that most operations ask for. Where none
// asks, but the description defines some, the first one counts: many forget to
// ask. nil when there is none.
func (b *aiBuilder) mainScheme() *protocol.Node {
	schemes := b.api.root.Member("components").Member("securitySchemes")
	name := mostFrequent(b.asked())
	if n := b.api.follow(schemes.Member(name)); isKind(n, protocol.Object) {
		return n
	}
	if name != "" || b.api.root.Member("security") != nil || len(membersOf(schemes)) == 0 {
		return nil
	}
	if n := b.api.follow(schemes.Items[0]); isKind(n, protocol.Object) {
		return n
	}
	return nil
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

// docs returns an address that tells how to authenticate, "" when none is known.
func (b *aiBuilder) docs(scheme *protocol.Node) string {
	for _, address := range []string{
		scheme.Member("x-docs").Str(), b.api.root.Member("externalDocs").Member("url").Str(), scheme.Member("openIdConnectUrl").Str(),
	} {
		u, err := url.Parse(address)
		if err == nil && u.Scheme == "https" && hostName(u.Hostname()) && u.User == nil && oneLine(address) == address && len(address) <= 500 {
			return address
		}
	}
	return ""
}

// categoryWords are words that speak for one of the categories of AI Discovery
// §3.2, in the singular or base form.
var categoryWords = []struct {
	category string
	words    map[string]bool
}{
	{"productivity", wordSet("task todo note project kanban board workflow timesheet productivity reminder ticket crm spreadsheet document")},
	{"ecommerce", wordSet("shop store cart product order catalog checkout ecommerce commerce merchant inventory sku retail fulfillment seller")},
	{"finance", wordSet("bank payment invoice currency stock loan credit finance financial accounting tax forex trading portfolio crypto wallet ledger payout billing")},
	{"news", wordSet("news headline article newspaper journalism press")},
	{"weather", wordSet("weather forecast temperature precipitation humidity climate rainfall meteorology")},
	{"maps", wordSet("map geocode geocoding geolocation latitude longitude route navigation cartography geographic geospatial")},
	{"search", wordSet("search query index autocomplete crawler")},
	{"data", wordSet("dataset statistics analytics data metric census benchmark")},
	{"communication", wordSet("message email sms chat call voice conversation notification mail messaging telephony conference")},
	{"calendar", wordSet("calendar event appointment schedule meeting availability attendee")},
	{"storage", wordSet("file bucket blob storage folder upload backup drive object")},
	{"media", wordSet("video music image photo song album movie podcast film audio stream playlist artist media")},
	{"health", wordSet("patient health medical clinic doctor hospital diagnosis prescription fitness medication drug")},
	{"education", wordSet("course student school university lesson teacher education quiz exam learning")},
	{"travel", wordSet("flight hotel travel airline trip airport booking itinerary train rental destination passenger")},
	{"food", wordSet("restaurant recipe food meal menu cuisine ingredient nutrition dish")},
	{"government", wordSet("government parliament election public municipal federal legislation census court permit")},
	{"developer", wordSet("repository build deploy commit developer container cluster pipeline release log webhook git kubernetes function server")},
}

// categories finds at most two categories whose words stand in the description:
// title and tags count three, descriptions two, paths one. A category needs
// weight, and a second one must come close to the first.
func (b *aiBuilder) categories() []string {
	weight := map[string]int{}
	count := func(text string, w int) {
		seen := map[string]bool{}
		for _, word := range asciiWords(identifierWords(text)) {
			word = singular(word)
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
