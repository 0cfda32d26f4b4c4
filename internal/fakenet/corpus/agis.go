package corpus

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

type agisDocument struct {
	AGIS         string         `json:"agis" yaml:"agis"`
	Service      string         `json:"service" yaml:"service"`
	AGTP         string         `json:"agtp" yaml:"agtp"`
	Description  string         `json:"description" yaml:"description"`
	Version      string         `json:"version" yaml:"version"`
	Vocabulary   agisVocabulary `json:"vocabulary" yaml:"vocabulary"`
	DataManifest *agisManifest  `json:"data_manifest,omitempty" yaml:"data_manifest,omitempty"`
	Endpoints    []agisEndpoint `json:"endpoints" yaml:"endpoints"`
}

type agisVocabulary struct {
	DeclaredVerbs []string `json:"declared_verbs" yaml:"declared_verbs,flow"`
	Domain        string   `json:"domain" yaml:"domain"`
	Namespace     string   `json:"namespace" yaml:"namespace"`
	Version       string   `json:"version" yaml:"version"`
	Negotiable    bool     `json:"negotiable,omitempty" yaml:"negotiable,omitempty"`
}

type agisManifest struct {
	AvailableData    []agisDataClass `json:"available_data" yaml:"available_data"`
	PreAuthDiscovery bool            `json:"pre_auth_discovery" yaml:"pre_auth_discovery"`
}

type agisDataClass struct {
	Class       string   `json:"class" yaml:"class"`
	Description string   `json:"description" yaml:"description"`
	Formats     []string `json:"formats" yaml:"formats,flow"`
	Sensitivity string   `json:"sensitivity" yaml:"sensitivity"`
}

type agisEndpoint struct {
	Method   string       `json:"method" yaml:"method"`
	Path     string       `json:"path" yaml:"path"`
	Semantic agisSemantic `json:"semantic" yaml:"semantic"`
	Input    agisInput    `json:"input" yaml:"input"`
	Output   agisSchema   `json:"output" yaml:"output"`
	Errors   []string     `json:"errors" yaml:"errors,flow"`
}

type agisSemantic struct {
	Intent     string  `json:"intent" yaml:"intent"`
	Actor      string  `json:"actor" yaml:"actor"`
	Outcome    string  `json:"outcome" yaml:"outcome"`
	Capability string  `json:"capability" yaml:"capability"`
	Confidence float64 `json:"confidence_guidance" yaml:"confidence_guidance"`
	ImpactTier string  `json:"impact_tier" yaml:"impact_tier"`
	Idempotent bool    `json:"is_idempotent" yaml:"is_idempotent"`
}

// agisInput is an agisSchema that always says which parameters are required
// (AGIS 7), also when none is.
type agisInput struct {
	Type       string                `json:"type" yaml:"type"`
	Required   []string              `json:"required" yaml:"required,flow"`
	Properties map[string]agisSchema `json:"properties" yaml:"properties,flow"`
}

// agisSchema is as much of JSON Schema as a derived document needs.
type agisSchema struct {
	Type       string                `json:"type" yaml:"type"`
	Properties map[string]agisSchema `json:"properties,omitempty" yaml:"properties,flow,omitempty"`
}

type agisSummary struct {
	AGIS                 string   `json:"agis"`
	Service              string   `json:"service"`
	AGTP                 string   `json:"agtp"`
	AGISDocument         string   `json:"agis_document"`
	Methods              []string `json:"methods"`
	Domain               string   `json:"domain"`
	Namespace            string   `json:"namespace"`
	Negotiable           bool     `json:"negotiable"`
	CapabilitySummary    []string `json:"capability_summary"`
	DataClasses          []string `json:"data_classes"`
	PreAuthDiscovery     bool     `json:"pre_auth_discovery"`
	Version              string   `json:"version"`
	InteractionProtocols []string `json:"interaction_protocols"`
	RelatedServices      []string `json:"related_services"`
}

// asAGIS returns the service as a full AGIS document of at most so many endpoints.
// It is none when it has no endpoint.
func (s Service) asAGIS(host string, most int) agisDocument {
	doc := agisDocument{
		AGIS: "1.0", Service: clipText(plainText(s.Name), 100), AGTP: "agtp://" + host,
		Description: s.describe(), Version: "1.0.0",
		Vocabulary: agisVocabulary{
			Domain:    s.domainOf(),
			Namespace: namespaceOf(host),
			Version:   "1.0.0",
		},
	}
	seen := map[string]bool{}
	for _, op := range s.Operations {
		if len(doc.Endpoints) == most {
			break
		}
		e, ok := op.asEndpoint()
		if key := e.Method + " " + template.ReplaceAllString(e.Path, "{}"); ok && !seen[key] {
			seen[key] = true
			doc.Endpoints = append(doc.Endpoints, e)
			if !slices.Contains(doc.Vocabulary.DeclaredVerbs, e.Method) {
				doc.Vocabulary.DeclaredVerbs = append(doc.Vocabulary.DeclaredVerbs, e.Method)
			}
		}
	}
	return doc
}

// addDataClasses declares the data classes of the service, open to proposals of new
// endpoints (AGIS 8.3).
func (s Service) addDataClasses(doc *agisDocument) {
	classes := s.dataClasses()
	if len(classes) == 0 {
		return
	}
	doc.Vocabulary.Negotiable = true
	doc.DataManifest = &agisManifest{PreAuthDiscovery: true}
	for _, c := range classes {
		doc.DataManifest.AvailableData = append(doc.DataManifest.AvailableData, agisDataClass{
			Class: c, Description: "Data on " + strings.ReplaceAll(c, "-", " ") + " that " + doc.Service + " holds",
			Formats: []string{"json"}, Sensitivity: "informational",
		})
	}
}

// asSummary is the answer of /.well-known/agis.json for doc.
func (s Service) asSummary(doc agisDocument, documentURL string, related []string) agisSummary {
	sum := agisSummary{
		AGIS: "1.0", Service: doc.Service, AGTP: doc.AGTP, AGISDocument: documentURL,
		Methods: doc.Vocabulary.DeclaredVerbs, Domain: doc.Vocabulary.Domain, Namespace: doc.Vocabulary.Namespace,
		Negotiable: doc.Vocabulary.Negotiable, DataClasses: s.dataClasses(), PreAuthDiscovery: true, Version: doc.Version,
		InteractionProtocols: []string{"request"}, RelatedServices: related,
	}
	informs := false
	for _, e := range doc.Endpoints {
		informs = informs || e.Semantic.ImpactTier == "informational"
		if !slices.Contains(sum.CapabilitySummary, e.Semantic.Capability) {
			sum.CapabilitySummary = append(sum.CapabilitySummary, e.Semantic.Capability)
		}
	}
	if informs {
		sum.InteractionProtocols = append(sum.InteractionProtocols, "query")
	}
	if sum.Negotiable {
		sum.InteractionProtocols = append(sum.InteractionProtocols, "negotiate")
	}
	return sum
}

var (
	nounSegment  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	paramSegment = regexp.MustCompile(`^\{[A-Za-z][A-Za-z0-9_.-]*\}$`)
	className    = nounSegment
)

// asEndpoint returns the operation as an AGIS endpoint, and false for one whose
// path names no entity.
func (op Operation) asEndpoint() (agisEndpoint, bool) {
	path, nouns, params, ok := op.nounPath()
	if !ok {
		return agisEndpoint{}, false
	}
	verb, intent := op.verbAndIntent(params, nouns)
	object := strings.ReplaceAll(nouns[0], "-", " ")
	if m := objectless.FindStringSubmatch(intent); m != nil && !strings.Contains(strings.ToLower(intent), object) {
		if m[1] == "Creates" {
			object = withArticle(singularOf(object))
		}
		intent = m[1] + " " + object + intent[len(m[1]):]
	}
	does := actions[verb]
	for _, n := range nouns {
		if strings.HasPrefix(n, strings.ToLower(verb)) {
			return agisEndpoint{}, false // AGIS 5(e)
		}
	}
	one := len(params) > 0 && strings.HasSuffix(path, "}")
	noun := nouns[len(nouns)-1]
	outcome := outcomeText(does, noun, one)
	if op.text != "" {
		outcome = outcomeOfText(does, op.text)
	}
	e := agisEndpoint{
		Method: verb, Path: path,
		Semantic: agisSemantic{
			Intent: intent, Actor: "agent", Outcome: outcome,
			Idempotent: does <= computes || op.Method == "PUT" || op.Method == "DELETE",
		},
		Input:  agisInput{Type: "object", Required: []string{}, Properties: map[string]agisSchema{}},
		Output: outputSchema(does, noun, one),
		Errors: errorCodes(does, noun, one),
	}
	e.Semantic.Capability, e.Semantic.ImpactTier, e.Semantic.Confidence = effectOf(does)
	for _, p := range params {
		e.Input.Required = append(e.Input.Required, p)
		e.Input.Properties[p] = agisSchema{Type: typeOf(p)}
	}
	for _, a := range op.Parameters {
		if name := toSnakeCase(a); name != "" && isTaskParameter(a) {
			e.Input.Properties[name] = agisSchema{Type: typeOf(a)}
		}
	}
	return e, true
}

// objectless matches an intent without an object: "Creates from a collection".
var objectless = regexp.MustCompile(`^(Creates|Retrieves|Searches) (?:by|from) `)

// nounPath brings the path to the rules of AGIS 5: lower case, nouns, parameters
// in snake_case, no verb. It returns the nouns and the parameters beside it.
func (op Operation) nounPath() (path string, nouns, params []string, ok bool) {
	for segment := range strings.SplitSeq(strings.TrimPrefix(op.Path, "/"), "/") {
		switch {
		case paramSegment.MatchString(segment):
			name := toSnakeCase(segment[1 : len(segment)-1])
			if name == "" || slices.Contains(params, name) {
				return "", nil, nil, false
			}
			params = append(params, name)
			path += "/{" + name + "}"
		case nounSegment.MatchString(segment):
			first, _, _ := strings.Cut(segment, "-")
			if segmentVerbs[first] || segmentVerbs[segment] || isVerbAndObject(segment) {
				continue
			}
			nouns = append(nouns, segment)
			path += "/" + segment
		default:
			return "", nil, nil, false
		}
	}
	ok = len(nouns) > 0 && !strings.HasPrefix(path, "/{")
	return path, nouns, params, ok
}

func methodVerb(method string, one bool) string {
	switch {
	case method == "GET" && one:
		return "RETRIEVE"
	case method == "GET":
		return "LIST"
	case method == "PUT":
		return "REPLACE"
	case method == "PATCH":
		return "UPDATE"
	case method == "DELETE":
		return "REMOVE"
	default:
		return "CREATE"
	}
}

func effectOf(does action) (capability, tier string, confidence float64) {
	switch does {
	case reads:
		return "retrieval", "informational", 0.6
	case searches:
		return "discovery", "informational", 0.6
	case computes:
		return "analysis", "informational", 0.7
	case sends:
		return "notification", "irreversible", 0.9
	case transacts:
		return "transaction", "irreversible", 0.9
	case ends:
		return "modification", "irreversible", 0.9
	case creates:
		return "transaction", "reversible", 0.8
	default:
		return "modification", "reversible", 0.8
	}
}

func outputSchema(does action, noun string, one bool) agisSchema {
	name := toSnakeCase(noun)
	properties := map[string]agisSchema{}
	switch {
	case does == searches, does == reads && !one:
		properties[name] = agisSchema{Type: "array"}
	case does == reads:
		properties[singularOf(name)] = agisSchema{Type: "object"}
	case does == computes:
		properties["result"] = agisSchema{Type: "object"}
	case does == creates, does == sends, does == transacts:
		properties[singularOf(name)+"_id"] = agisSchema{Type: "string"}
		properties["status"] = agisSchema{Type: "string"}
	default:
		properties["status"] = agisSchema{Type: "string"}
	}
	return agisSchema{Type: "object", Properties: properties}
}

func errorCodes(does action, noun string, one bool) []string {
	thing := singularOf(toSnakeCase(noun))
	switch does {
	case reads:
		if one {
			return []string{thing + "_not_found"}
		}
		return []string{thing + "_data_unavailable"}
	case searches:
		return []string{"no_matching_" + thing}
	case computes:
		return []string{"unsupported_" + thing}
	case creates:
		return []string{"invalid_" + thing, thing + "_already_exists"}
	case changes:
		return []string{thing + "_not_found", "invalid_" + thing}
	case ends:
		return []string{thing + "_not_found", thing + "_already_ended"}
	case sends:
		return []string{"invalid_" + thing, thing + "_not_accepted"}
	case transacts:
		return []string{"invalid_" + thing, thing + "_declined"}
	default:
		return []string{thing + "_not_found", thing + "_state_conflict"}
	}
}

// domainOf is the first category, so that the two formats of a service have one vocabulary.
func (s Service) domainOf() string {
	if categories := s.categoriesOf(); len(categories) > 0 {
		return categories[0]
	}
	return "general"
}

// dataClasses are the data classes that name a kind of data, at most six. The directory has taken
// them from paths, which hold verbs and adjectives, too.
func (s Service) dataClasses() []string {
	out := []string{}
	for _, c := range s.DataClasses {
		if namesData(c) && len(out) < 6 && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// namesData reports whether a segment of a path can name a kind of data: up to three words, none of
// them a verb, a relation or the name of a format.
func namesData(segment string) bool {
	if !className.MatchString(segment) || segmentVerbs[segment] || isVerbAndObject(segment) {
		return false
	}
	words := strings.Split(segment, "-")
	return len(words) <= 3 && !segmentVerbs[words[0]] && !slices.ContainsFunc(words, func(w string) bool {
		return len(w) < 3 || noData[w] || strings.ContainsFunc(w, unicode.IsDigit)
	})
}

// namespaceOf derives the namespace from the host: it must begin with a letter.
func namespaceOf(host string) string {
	n := strings.ReplaceAll(strings.TrimSuffix(host, ".test"), ".", "-")
	if !unicode.IsLetter(rune(n[0])) {
		return "n" + n
	}
	return n
}

// toSnakeCase turns camelCase, dots and hyphens into snake_case, and returns "" for
// what has no form in it.
func toSnakeCase(name string) string {
	var b strings.Builder
	var last rune
	for i, r := range name {
		switch {
		case r == '-' || r == '.' || r == '_' || r == ' ':
			r = '_'
		case unicode.IsUpper(r):
			if i > 0 && (unicode.IsLower(last) || unicode.IsDigit(last)) {
				b.WriteByte('_')
			}
		}
		last = r
		b.WriteRune(unicode.ToLower(r))
	}
	out := strings.Trim(b.String(), "_")
	if !snakeName.MatchString(out) {
		return ""
	}
	return out
}

var snakeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
