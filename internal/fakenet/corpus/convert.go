package corpus

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file turns a service into an AI Discovery document and into an AGIS
// document with its summary. What the directory does not say is derived by the
// rules that testdata/README.md lists. Nothing here is random: the same service
// always becomes the same bytes.

type aiDocument struct {
	AIEndpoint   string         `json:"aiendpoint"`
	Service      aiService      `json:"service"`
	Capabilities []aiCapability `json:"capabilities"`
	Auth         *aiAuth        `json:"auth,omitempty"`
}

type aiService struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Category    []string `json:"category,omitempty"`
}

type aiCapability struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Endpoint    string            `json:"endpoint"`
	Method      string            `json:"method"`
	Params      map[string]string `json:"params,omitempty"`
	Returns     string            `json:"returns,omitempty"`
}

type aiAuth struct {
	Type   string `json:"type"`
	Header string `json:"header,omitempty"`
	Docs   string `json:"docs,omitempty"`
}

// asAI returns the service as an AI Discovery document of at most so many
// capabilities, and how many they are. The document lacks capabilities, so it is
// none, when the count is 0.
func (s Service) asAI(most int) ([]byte, int, error) {
	doc := aiDocument{
		AIEndpoint: "1.0",
		Service:    aiService{Name: clipText(plainText(s.Name), 100), Description: s.describe(), Category: s.categoriesOf()},
		Auth:       s.authOf(),
	}
	seen := map[string]bool{}
	for _, op := range s.Operations {
		if len(doc.Capabilities) == most {
			break
		}
		if c, ok := op.asCapability(); ok && !seen[c.ID] {
			seen[c.ID] = true
			doc.Capabilities = append(doc.Capabilities, c)
		}
	}
	text, err := marshalCompact(doc)
	return text, len(doc.Capabilities), err
}

var (
	capabilityID = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	endpointPath = regexp.MustCompile(`^(/([A-Za-z0-9._~$:,-]|\{[A-Za-z0-9_.-]+\})+)+/?$`)
	template     = regexp.MustCompile(`\{([A-Za-z0-9_.-]+)\}`)
	argName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// asCapability returns the operation as an AI Discovery capability, and false for
// one that the draft's members cannot carry.
func (op Operation) asCapability() (aiCapability, bool) {
	text := clipText(dropTitle(spellOutID(plainText(op.Intent))), 200)
	if text == "" || !capabilityID.MatchString(op.ID) || !endpointPath.MatchString(op.Endpoint) ||
		strings.Contains(op.Endpoint, "/:") || !slices.Contains([]string{"GET", "POST", "PUT", "DELETE", "PATCH"}, op.Method) {
		return aiCapability{}, false
	}
	if op.text != "" {
		text = op.text
	}
	c := aiCapability{ID: op.ID, Description: text, Endpoint: op.Endpoint, Method: op.Method, Params: map[string]string{}}
	for _, m := range template.FindAllStringSubmatch(op.Endpoint, -1) {
		c.Params[m[1]] = typeOf(m[1]) + ", required -- part of the path"
	}
	for _, a := range op.Parameters {
		if isTaskParameter(a) && c.Params[a] == "" {
			c.Params[a] = typeOf(a) + ", optional"
		}
	}
	return c, true
}

// typeOf guesses the type of a parameter from its name; the directory has none.
func typeOf(name string) string {
	switch strings.ToLower(name) {
	case "limit", "offset", "page", "per_page", "perpage", "page_size", "pagesize", "count", "skip", "top", "size",
		"adults", "rooms", "party_size", "max", "start_index", "maxresults":
		return "integer"
	case "lat", "lng", "lon", "long", "latitude", "longitude", "amount", "radius", "price", "price_min", "price_max":
		return "number"
	default:
		return "string"
	}
}

// describe is the description of the service: whole sentences up to 200
// characters, or a cut first sentence.
func (s Service) describe() string {
	if s.text != "" {
		return s.text
	}
	text := headings.ReplaceAllString(plainText(s.Description), "")
	if text == "" || text == plainText(s.Name) {
		return clipText("The programming interface of "+plainText(s.Name)+".", 300)
	}
	if utf8.RuneCountInString(text) <= 200 {
		return text
	}
	cut := clipText(text, 200)
	if i := strings.LastIndex(cut, ". "); i > 40 {
		return cut[:i+1]
	}
	return cut
}

func (s Service) authOf() *aiAuth {
	if slices.Contains(s.Categories, "open_data") && !slices.ContainsFunc(s.Operations, func(op Operation) bool { return op.Method != "GET" }) {
		return &aiAuth{Type: "none"}
	}
	a := &aiAuth{Type: "apikey", Header: "X-API-Key"}
	if u, err := url.Parse(s.URL); err == nil && u.Scheme == "https" && u.Host != "" && !strings.ContainsAny(s.URL, "{} ") {
		a.Docs = s.URL
	}
	return a
}

// categories maps the directory's categories to those of AI Discovery 3.2.
var categories = map[string]string{
	"financial": "finance", "payment": "finance", "ecommerce": "ecommerce", "media": "media", "entertainment": "media",
	"open_data": "data", "analytics": "data", "machine_learning": "data", "text": "data", "developer_tools": "developer",
	"cloud": "developer", "security": "developer", "hosting": "developer", "backend": "developer", "monitoring": "developer",
	"messaging": "communication", "telecom": "communication", "email": "communication", "social": "communication",
	"support": "communication", "collaboration": "productivity", "location": "maps", "transport": "travel",
	"education": "education", "search": "search", "storage": "storage", "time_management": "calendar",
	"project_management": "productivity", "marketing": "productivity", "customer_relation": "productivity",
	"forms": "productivity", "tools": "productivity", "enterprise": "productivity",
}

// topics adds the categories that the directory has no word for.
var topics = []struct{ category, words string }{
	{"weather", `(?i)\b(weather|forecast|uv index|air quality)\b`},
	{"food", `(?i)\b(recipes?|food|restaurants?|wine|grocery)\b`},
	{"health", `(?i)\b(health|patients?|medical|symptoms?|covid)\b`},
	{"travel", `(?i)\b(flights?|airports?|hotels?|trips?|travel|train)\b`},
	{"news", `(?i)\b(news|articles)\b`},
	{"calendar", `(?i)\b(calendars?|appointments?|holidays)\b`},
	{"government", `(?i)\b(parliament|government|federal|legislat\w+)\b`},
}

var topicWords = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, t := range topics {
		out = append(out, regexp.MustCompile(t.words))
	}
	return out
}()

func (s Service) categoriesOf() []string {
	var out []string
	add := func(c string) {
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for i, t := range topics {
		if topicWords[i].MatchString(s.Name + " " + s.describe()) {
			add(t.category)
		}
	}
	for _, c := range s.Categories {
		add(categories[c])
	}
	return out
}

var (
	markdownLink   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	markdownEscape = regexp.MustCompile(`\\([_*.()\[\]-])`)
	markup         = regexp.MustCompile("<[^>]*>|[*`#]+|^[-=>]+ ")
	// loosePunctuation stands behind a space, where markup was before it.
	loosePunctuation = regexp.MustCompile(` +([.,;:!?])( |$)`)
	headings         = regexp.MustCompile(`^(?:(?:Introduction|Overview|Background|Documentation|Getting Started|Important) )+`)
)

// plainText takes Markdown and markup out of a description and makes it one line.
func plainText(text string) string {
	text = markdownEscape.ReplaceAllString(markdownLink.ReplaceAllString(text, "$1"), "$1")
	text = markup.ReplaceAllString(text, " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	text = loosePunctuation.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1$2")
	return strings.ReplaceAll(text, ".. ", ". ")
}

// clipText shortens text to so many characters, at a word.
func clipText(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	cut := string(runes[:most-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

// marshalCompact writes compact JSON without the escapes that are for HTML.
func marshalCompact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
