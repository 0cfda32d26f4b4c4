package census

import (
	"crypto/tls"
	"fmt"
	"math/bits"
	"net/url"
	"slices"
	"strings"

	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/nearest"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// A Feature is a property of a host, in a family of similar properties. A figure counts the hosts
// that have a feature. Value can be an untrusted text.
type Feature struct{ Family, Value string }

// String returns the feature as addresses write it: "verb:BOOK".
func (f Feature) String() string { return f.Family + ":" + f.Value }

// ParseFeature reads what String wrote, and false where the family is none.
func ParseFeature(text string) (Feature, bool) {
	name, value, found := strings.Cut(text, ":")
	family, known := FamilyOf(name)
	if !found || !known || value == "" || family.Values != nil && !slices.Contains(family.Values(), value) {
		return Feature{}, false
	}
	return Feature{name, value}, true
}

// SuggestFeature returns a question with the features that are similar to a text that names none, or
// that have the same state. If none is, it says where the values of the family are listed, and "" where
// they are not.
func SuggestFeature(text string) string {
	family, value, _ := strings.Cut(text, ":")
	if _, known := FamilyOf(family); known && value == "" {
		return "write a value after " + family + ":"
	}
	var names []string
	for _, f := range families {
		values := []string{value}
		if f.Values != nil {
			values = f.Values()
		}
		for _, v := range values {
			names = append(names, Feature{f.Name, v}.String())
		}
	}
	question := nearest.Question(text, names)
	if at := strings.LastIndexByte(text, '='); question == "" && at >= 0 {
		question = nearest.Question(text[:at+1], names)
	}
	if question == "" && family == "rule" {
		return "/api/v1/rules lists the known rules"
	}
	return question
}

// SuggestFamily is [SuggestFeature] for the name of a family.
func SuggestFamily(name string) string {
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
	}
	return nearest.Question(name, names)
}

// A Family is a kind of features: a table of figures.
type Family struct {
	Name  string // in addresses and names of files: "data-class"
	Title string
	// Column names the values in a table: "class of data".
	Column string
	// Definition says when a host has a feature of the family.
	Definition string
	// Fixed orders the table by its values' own order and not by their figures.
	Fixed bool
	// Ranges is set if the values are ranges between powers of two.
	Ranges bool
	// Values lists the possible values, nil if they are not known beforehand.
	Values func() []string
	// Strangers is set if services choose the values.
	Strangers bool
	// Link is the address of the page behind a value, nil for the list of its hosts.
	Link func(value string) string
}

// pageLink returns a Link to a page of values.
func pageLink(path string) func(string) string {
	return func(value string) string { return path + url.PathEscape(value) }
}

// listValues returns the values of a family that has no others.
func listValues(values ...string) func() []string { return func() []string { return values } }

// classValues lists the classes of hosts, with that of a host whose past is unknown.
func classValues() []string {
	list := []string{string(classUnknown)}
	for _, class := range conformance.Classes() {
		list = append(list, string(class))
	}
	return list
}

// stateValues lists each verdict on each of the five states.
func stateValues() []string {
	var list []string
	for _, name := range conformance.Names() {
		for _, verdict := range verdicts {
			list = append(list, stateFeature(name, verdict).Value)
		}
	}
	return list
}

// formatValues lists the kinds of documents.
func formatValues() []string {
	var list []string
	for _, f := range document.Formats {
		list = append(list, string(f.Kind))
	}
	return list
}

// FormatsOfRule returns the formats whose documents are checked by a rule, nil for a rule of fetching. A host
// has an AI Discovery document at one of two addresses, never at both.
func FormatsOfRule(code string) []string {
	switch strings.TrimRight(code, "0123456789") {
	case "AI":
		return []string{string(document.AI), string(document.AIAlias)}
	case "AGIS":
		return []string{string(document.AGIS)}
	case "WK":
		return []string{string(document.AGISSummary)}
	case "LLMS":
		return []string{string(document.LLMS)}
	}
	return nil
}

// ruleValues lists the codes of all rules.
func ruleValues() []string {
	var list []string
	for _, r := range lint.Rules() {
		if r.Code != protocol.CodeMore { // it stands for omitted findings
			list = append(list, r.Code)
		}
	}
	return list
}

// robotsValues lists what robots.txt can allow.
var robotsValues = listValues(robotsNone, robotsOpen, robotsPartly, robotsClosed, robotsFailed, robotsUnknown)

// tlsValues lists the versions of TLS.
func tlsValues() []string {
	var list []string
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		list = append(list, tls.VersionName(version))
	}
	return list
}

// formatsValues lists all combinations of formats.
func formatsValues() []string {
	kinds := document.Kinds()
	var list []string
	for chosen := 1; chosen < 1<<len(kinds); chosen++ {
		published := map[string]bool{}
		for i, kind := range kinds {
			published[string(kind)] = chosen>>i&1 == 1
		}
		list = append(list, joinKinds(published))
	}
	return list
}

// outcomeValues lists each outcome of each format.
func outcomeValues() []string {
	var list []string
	for _, kind := range document.Kinds() {
		for _, outcome := range fetch.Outcomes() {
			list = append(list, outcomeFeature(string(kind), outcome).Value)
		}
	}
	return list
}

// rangeValues lists the ranges of [powerOfTwo] that a document or a host can be in.
func rangeValues() []string {
	list := []string{powerOfTwo(0)}
	for n := 1; n < 1<<31; n *= 2 {
		list = append(list, powerOfTwo(n))
	}
	return list
}

// observedValues lists the days for which the survival is computed.
func observedValues() []string {
	var list []string
	for _, days := range tally.SurvivalDays {
		list = append(list, observedFeature(days).Value)
	}
	return list
}

// families is the table of all families. METHOD.md repeats the definitions.
var families = []Family{
	{Name: "class", Title: "Hosts by class", Column: "class", Values: classValues,
		Definition: "Each host has one class. `publishes`: it has a current document, be it at `/ai` alone, which is not authoritative and makes no service. `other-dialect`: it has none but publishes another dialect, such as llms.txt. `other-format`: the discovery paths have documents of another published format. `catch-all`: it gives the same answer to every path. `withheld-by-robots`: robots.txt forbids the requests. `unreadable`: the discovery paths have something that is not a document. `failing`: the discovery paths answer with an error. `nothing`: it answers and publishes nothing. `silent`: it does not answer. `unvisited`: no visit has ended. `unknown`: the last visit was after the date and the history says nothing of it."},
	{Name: "state", Title: "The five states", Column: "state", Fixed: true, Values: stateValues,
		Definition: "Each host has one verdict (yes, no, unknown) on each of five states. `reachable`: it answered a request of the last visit. `well-formed`: every discovery document that it serves can be read. `conformant`: no document breaks a rule of its draft with severity error; unknown for a host without a document at an authoritative address. `consistent`: no document contradicts another one (WK110, WK111, DOC105): the AGIS summary has what the AGIS document has, and operations that the AI Discovery and the AGIS document both describe have the same effect; unknown for a host with one document. `answers`: every current document was served at the last visit. Operations are never called."},
	{Name: "level", Title: "Conformance levels", Column: "level", Fixed: true, Values: listValues("1", "2"),
		Definition: "The conformance level of a conformant host: 2 if its AGIS document declares all that Level 2 asks (AGIS §3.3), 1 otherwise."},
	{Name: "format", Title: "Formats", Column: "format", Values: formatValues,
		Definition: "A host has a format if it publishes a current document of it."},
	{Name: "formats", Title: "Formats together", Column: "formats", Values: formatsValues,
		Definition: "All formats of a host, in the order of the formats and joined by +. Only hosts with a document are counted."},
	{Name: "alias-only", Title: "Where AI Discovery is published", Column: "at /ai alone", Fixed: true, Values: listValues("yes", "no"),
		Definition: "`yes`: the host publishes an AI Discovery document at /ai and none at /.well-known/ai, which alone is authoritative (AI Discovery §4.1). `no`: it publishes one at /.well-known/ai."},
	{Name: "rule", Title: "Most frequently broken rules", Column: "rule", Link: pageLink("/rules/"), Values: ruleValues,
		Definition: "A host breaks a rule if a current document of it has a finding of that rule with severity error or warning. `of hosts` is the number of hosts with a current document of the rule's format. `basis` is the word of the draft (must, should, may), inferred where the draft leaves it open, or own for a rule of this program."},
	{Name: "verb", Title: "Verbs", Column: "verb", Strangers: true,
		Definition: "A host has a verb if an operation has it that counts for the host. The verb of an AI Discovery capability is derived from its id or description."},
	{Name: "namespace", Title: "Namespaces", Column: "namespace", Strangers: true,
		Definition: "The namespace that a current AGIS document (vocabulary.namespace) or summary (namespace) declares, or its domain if it declares none (AGIS §8.2), in lowercase."},
	{Name: "data-class", Title: "Classes of data", Column: "class of data", Strangers: true,
		Definition: "The classes of data that a current AGIS document (AGIS §8.3) or summary (data_classes) declares, in lowercase."},
	{Name: "category", Title: "Categories", Column: "category", Strangers: true, Link: func(v string) string { return "/services?" + url.Values{"category": {v}}.Encode() },
		Definition: "The categories that a current AI Discovery document declares, and the domain of a current AGIS document or summary, in lowercase."},
	{Name: "language", Title: "Languages", Column: "language", Strangers: true,
		Definition: "The languages of a current AI Discovery document (BCP 47), in lowercase: those it declares, or en, the default of the draft, if it declares none."},
	{Name: "size", Title: "Hosts by size of their documents", Column: "bytes", Fixed: true, Ranges: true, Values: rangeValues,
		Definition: "The number of bytes of a current document, as served and unpacked, in powers of two. A host counts once for each of these ranges that one of its documents has, so the sum is larger than the number of hosts."},
	{Name: "tokens", Title: "Hosts by tokens of their documents", Column: "tokens", Fixed: true, Ranges: true, Values: rangeValues,
		Definition: "The estimated number of tokens of a language model for a current document, in powers of two: ASCII characters / 4 + other characters / 1.5, rounded up. A host counts once for each range that one of its documents has. Documents whose bytes are not stored are not counted."},
	{Name: "operations", Title: "Hosts by operations of their documents", Column: "operations", Fixed: true, Ranges: true, Values: rangeValues,
		Definition: "The number of operations of a current document, in powers of two. A host counts once for each range that one of its documents has."},
	{Name: "tls", Title: "TLS", Column: "version", Values: tlsValues,
		Definition: "The protocol version of the last TLS connection to the host."},
	{Name: "media-type", Title: "Media types", Column: "format and media type", Strangers: true,
		Definition: "The format of a current document and the Content-Type that it was served with, without parameters and in lowercase."},
	{Name: "robots", Title: "robots.txt", Column: "robots.txt", Values: robotsValues,
		Definition: "The rules of the host's robots.txt for our crawler at the last visit. `none`: there is no such file. `open`: it forbids none of the paths that we request. `partly`: it forbids some. `closed`: it forbids everything. `failed`: it could not be read, which counts as closed (RFC 9309 §2.3.1.4). `unknown`: it was not requested."},
	{Name: "outcome", Title: "Outcomes of requests", Column: "format and outcome", Values: outcomeValues,
		Definition: "The format and how the last request for it ended. Hosts whose last visit was after the date are not counted."},
	{Name: "version-count", Title: "Hosts by versions of a document", Column: "versions", Fixed: true, Ranges: true, Values: rangeValues,
		Definition: "The number of stored versions of a format of the host, in powers of two. 1 means that the document has not changed since it was first seen."},
	{Name: "observed", Title: "Hosts by time observed", Column: "days at least", Fixed: true, Values: observedValues,
		Definition: "Hosts that were observed for at least that many days: from the first stored version until the date or, for a host that no longer publishes, until it ended. These are the hosts at risk of the survival table."},
	{Name: "duplicate", Title: "Duplicates", Column: "duplicate", Fixed: true, Values: listValues("yes", "no"),
		Definition: "`yes`: a current document of the host has the same bytes as a current document of another host or of another format. `no`: it publishes documents and none of them does."},
}

// Families returns the table of all families, in the order of the census.
func Families() []Family { return append([]Family(nil), families...) }

// FamilyOf returns the family of a name, and false for a name that is none.
func FamilyOf(name string) (Family, bool) {
	i := slices.IndexFunc(families, func(f Family) bool { return f.Name == name })
	if i < 0 {
		return Family{}, false
	}
	return families[i], true
}

// ListPath is the address of the hosts that have a feature.
func ListPath(f Feature) string {
	return "/census/hosts?" + url.Values{"figure": {f.String()}}.Encode()
}

// PageOf is the address of the list behind a figure: the page of the value or the list of its
// hosts.
func PageOf(f Feature) string {
	if family, ok := FamilyOf(f.Family); ok && family.Link != nil {
		return family.Link(f.Value)
	}
	return ListPath(f)
}

// stateFeature is the feature of a verdict on a state.
func stateFeature(state conformance.Name, verdict conformance.Verdict) Feature {
	return Feature{"state", string(state) + "=" + string(verdict)}
}

// standingFeatures are the features that a standing gives.
func standingFeatures(s conformance.Standing) []Feature {
	list := []Feature{{"class", string(s.Class)}}
	for _, name := range conformance.Names() {
		list = append(list, stateFeature(name, s.Verdict(name)))
	}
	if s.Conformant == conformance.Yes {
		list = append(list, Feature{"level", fmt.Sprint(s.Level)})
	}
	return list
}

// visitFeatures are the features that the last visit gives.
func visitFeatures(robots, tls string, fetches []liveFetch) []Feature {
	list := []Feature{{"robots", robots}}
	if tls != "" {
		list = append(list, Feature{"tls", tls})
	}
	for _, f := range fetches {
		if f.Kind != fetch.KindRobots {
			list = append(list, outcomeFeature(f.Kind, f.Outcome))
		}
	}
	return list
}

// outcomeFeature is the feature of the outcome of a request for a format.
func outcomeFeature(kind string, outcome fetch.Outcome) Feature {
	return Feature{"outcome", kind + " " + string(outcome)}
}

// documentFeatures are the features that one current document gives. Several documents of a host
// may give the same one.
func documentFeatures(d *Document) []Feature {
	list := []Feature{
		{"format", d.Kind}, {"size", powerOfTwo(d.Bytes)}, {"operations", powerOfTwo(len(d.Verbs))}, {"media-type", d.Kind + " " + valueOf(d.MediaType)},
	}
	if d.Tokens > 0 {
		list = append(list, Feature{"tokens", powerOfTwo(d.Tokens)})
	}
	for family, values := range map[string][]string{"rule": d.Rules, "namespace": d.Namespaces, "data-class": d.Classes, "category": d.Categories, "language": d.Languages} {
		for _, v := range values {
			list = append(list, Feature{family, valueOf(v)})
		}
	}
	return list
}

// verbFeatures are the features that the operations of a document give that count for its host; verbs
// are in order.
func verbFeatures(verbs []string) []Feature {
	var list []Feature
	for i, verb := range verbs {
		if verb != "" && (i == 0 || verb != verbs[i-1]) {
			list = append(list, Feature{"verb", valueOf(verb)})
		}
	}
	return list
}

// maxValue is the number of characters of an untrusted text that count.
const maxValue = 120

// valueOf returns an untrusted text as a value: without characters that addresses cannot contain or
// that hide text.
func valueOf(text string) string {
	return protocol.ClipRunes(format.Visible(text), maxValue)
}

// joinKinds names the formats of a host together: "ai+agis".
func joinKinds(published map[string]bool) string {
	var kinds []string
	for _, k := range document.Kinds() {
		if published[string(k)] {
			kinds = append(kinds, string(k))
		}
	}
	return strings.Join(kinds, "+")
}

// kindsFeatures are the features that the formats of a host give together.
func kindsFeatures(published map[string]bool) []Feature {
	kinds := joinKinds(published)
	if kinds == "" {
		return nil
	}
	list := []Feature{{"formats", kinds}}
	switch {
	case published[string(document.AI)]:
		list = append(list, Feature{"alias-only", "no"})
	case published[string(document.AIAlias)]:
		list = append(list, Feature{"alias-only", "yes"})
	}
	return list
}

// powerOfTwo returns the range of a number between two powers of two: "0", "1", "2-3", "4-7".
func powerOfTwo(n int) string {
	if n <= 1 {
		return fmt.Sprint(max(n, 0))
	}
	from := 1 << (bits.Len(uint(n)) - 1)
	return fmt.Sprintf("%d-%d", from, 2*from-1)
}

// missingRanges returns the ranges between two of [powerOfTwo]
func missingRanges(from, to string) (list []string) {
	for n := max(2*rangeStart(from), 1); n < rangeStart(to); n *= 2 {
		list = append(list, powerOfTwo(n))
	}
	return list
}

// rangeStart is the number at the beginning of a range, for its order.
func rangeStart(text string) (n int) {
	from, _, _ := strings.Cut(text, "-")
	if _, err := fmt.Sscanf(from, "%d", &n); err != nil {
		return -1
	}
	return n
}

// collectFeatures returns all features of the facts, each once. Whether a document is a duplicate
// is known only when all hosts are.
func (h *Facts) collectFeatures() map[Feature]bool {
	all := map[Feature]bool{}
	add := func(list []Feature) {
		for _, f := range list {
			all[f] = true
		}
	}
	add(standingFeatures(h.Standing))
	if h.Judged == FromVisit {
		add(visitFeatures(h.Robots, h.TLS, h.Fetches))
	}
	published := map[string]bool{}
	for i := range h.Documents {
		published[h.Documents[i].Kind] = true
		add(documentFeatures(&h.Documents[i]))
		add(verbFeatures(h.Documents[i].Counted))
	}
	add(kindsFeatures(published))
	add(versionFeatures(h.Versions))
	return all
}

// versionFeatures are the features that the stored versions of a host give. They are in order of
// format.
func versionFeatures(versions []Version) []Feature {
	var list []Feature
	for from := 0; from < len(versions); {
		to := from
		for to < len(versions) && versions[to].Kind == versions[from].Kind {
			to++
		}
		list = append(list, Feature{"version-count", powerOfTwo(to - from)})
		from = to
	}
	return list
}

// observedFeatures are the features of a host that was observed for a number of days.
func observedFeatures(days int) []Feature {
	var list []Feature
	for _, d := range tally.SurvivalDays {
		if d <= days {
			list = append(list, observedFeature(d))
		}
	}
	return list
}

func observedFeature(days int) Feature { return Feature{"observed", fmt.Sprint(days)} }
