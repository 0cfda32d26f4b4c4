package aidiscovery

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// categories are the labels of §3.2. Other labels are valid but not used for filtering.
var categories = []string{
	"productivity", "ecommerce", "finance", "news", "weather", "maps", "search", "data", "communication",
	"calendar", "storage", "media", "health", "education", "travel", "food", "government", "developer",
}

// IsCategory reports whether a text is one of the categories that the draft defines (§3.2).
func IsCategory(text string) bool { return slices.Contains(categories, text) }

func (c *checker) readService(root *protocol.Node) {
	n := root.Member("service")
	if n == nil {
		c.addMissing("AI214", root, "service", `add "service": {"name": …, "description": …}`)
		return
	}
	if n.Kind != protocol.Object {
		c.Add("AI215", n, "service is "+describeKind(n.Kind)+", not an object", `write "service": {"name": …, "description": …}`)
		return
	}
	c.checkNestedMembers(n, "/service")
	s := &c.doc.Service
	s.Name = c.readTextMember(n, "name", textRule{missing: "AI301", kind: "AI302", length: "AI303", max: 100})
	s.Description = c.readTextMember(n, "description", textRule{missing: "AI304", kind: "AI305", length: "AI306", max: 300})
	if l := protocol.Length(s.Description); l > 200 && l <= 300 {
		c.Add("AI307", n.Member("description"), fmt.Sprintf("service.description has %d characters; 200 is advised", l), "shorten it to save tokens")
	}
	if m := n.Member("category"); m != nil {
		s.Category = c.readCategory(m)
	}
	if m := n.Member("language"); m != nil {
		s.Language = c.readLanguage(m)
	}
}

// textRule holds the codes for a required text: absent, not a string, length outside 1 to max
// characters.
type textRule struct {
	missing, kind, length string
	max                   int
}

func (c *checker) readTextMember(parent *protocol.Node, name string, r textRule) string {
	n := parent.Member(name)
	if n == nil {
		c.addMissing(r.missing, parent, name, fmt.Sprintf("add %s with 1 to %d characters", name, r.max))
		return ""
	}
	if n.Kind != protocol.String {
		c.Add(r.kind, n, name+" is "+describeKind(n.Kind)+", not a string", "put the text in quotes")
		return ""
	}
	switch l := protocol.Length(n.Text); {
	case l == 0:
		c.Add(r.length, n, name+" is empty", fmt.Sprintf("write a text of 1 to %d characters", r.max))
		return ""
	case l > r.max:
		c.Add(r.length, n, fmt.Sprintf("%s has %d characters, more than %d", name, l, r.max), fmt.Sprintf("shorten it to %d characters", r.max))
		return n.Text
	}
	if strings.TrimSpace(n.Text) == "" {
		c.Add("AI316", n, name+" is only white space", "write a text with content")
	} else if _, ok := protocol.ControlRune(n.Text); ok {
		c.Add("AI316", n, name+" contains a line break or another control character", "write it on one line")
	}
	return n.Text
}

func (c *checker) readCategory(n *protocol.Node) []string {
	values := c.stringArray(n, "AI308")
	if n.Kind == protocol.Array && len(n.Items) == 0 {
		c.Add("AI309", n, "category is empty", "name at least one category or leave the member out")
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		if n.Kind != protocol.Array || item.Kind != protocol.String {
			continue
		}
		if seen[item.Text] {
			c.Add("AI310", item, "the category "+protocol.Quote(item.Text)+" is listed twice", "remove one of them")
		} else if !slices.Contains(categories, item.Text) {
			c.Add("AI311", item, "the category "+protocol.Quote(item.Text)+" is not one of the 18 categories of the draft; readers may ignore it", english.DidYouMean(item.Text, categories)+"use one of: "+strings.Join(categories, ", "))
		}
		seen[item.Text] = true
	}
	return values
}

// languageNames has the tags of languages that documents call by their name, in English or in the
// language itself, or by the code of a country.
var languageNames = map[string]string{
	"arabic": "ar", "bengali": "bn", "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da",
	"deutsch": "de", "dutch": "nl", "english": "en", "espanol": "es", "estonian": "et", "finnish": "fi", "francais": "fr", "french": "fr",
	"german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "icelandic": "is", "indonesian": "id", "italian": "it",
	"italiano": "it", "japanese": "ja", "korean": "ko", "latvian": "lv", "lithuanian": "lt", "malay": "ms", "mandarin": "zh", "norwegian": "no",
	"persian": "fa", "polish": "pl", "polski": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk",
	"slovenian": "sl", "spanish": "es", "svenska": "sv", "swahili": "sw", "swedish": "sv", "tamil": "ta", "thai": "th", "turkish": "tr",
	"ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",

	"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "kz": "kk", "ua": "uk",
}

// suggestLanguage returns "did you mean en-US? " for a text that likelyLanguage understands, "" for
// others.
func suggestLanguage(text string) string {
	if tag := likelyLanguage(text); tag != "" {
		return "did you mean " + tag + "? "
	}
	return ""
}

// likelyLanguage returns the tag of a language with the wrong separator or by its name, such as
// english_US, and "" for other texts.
func likelyLanguage(text string) string {
	name, rest, more := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "_", "-"), "-")
	tag := name
	if known := languageNames[strings.ToLower(name)]; known != "" {
		tag = known
	} else if len(name) > 3 {
		return ""
	}
	if more {
		tag += "-" + rest
	}
	if !WellFormedLanguage(tag) || !namesLanguage(tag) {
		return ""
	}
	return tag
}

func (c *checker) readLanguage(n *protocol.Node) []string {
	values := c.stringArray(n, "AI312")
	if n.Kind == protocol.Array && len(n.Items) == 0 {
		c.Add("AI313", n, "language is empty", "name at least one language or leave the member out")
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		if n.Kind != protocol.Array || item.Kind != protocol.String {
			continue
		}
		folded := strings.ToLower(item.Text)
		if seen[folded] {
			c.Add("AI314", item, "the language "+protocol.Quote(item.Text)+" is listed twice", "remove one of them; letter case makes no difference")
		} else if !WellFormedLanguage(item.Text) {
			c.Add("AI315", item, protocol.Quote(item.Text)+" is not a language tag", suggestLanguage(item.Text)+`use BCP 47 tags, for example "en", "pt-BR" or "zh-Hant"; the separator is a hyphen`)
		} else if !namesLanguage(item.Text) {
			c.Add("AI317", item, "no language has the tag "+protocol.Quote(item.Text), suggestLanguage(item.Text)+`use the code of the language in BCP 47, for example "en", "pt-BR" or "zh-Hant"`)
		}
		seen[folded] = true
	}
	return values
}
