package aidiscovery

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol"
)

// A Saving is one way to make a document cost fewer tokens.
type Saving struct {
	// Pointer is the RFC 6901 pointer of the value to change; "" is the whole text.
	Pointer string
	// Tokens is the number of tokens saved, as [protocol.Tokens] counts them.
	Tokens int
	// Message describes the change.
	Message string
	// Remove says that the whole member can be removed. Text is the replacement of a string. If
	// neither is set and Pointer is not empty, a person must decide on the change.
	Remove bool
	Text   string
}

// Savings lists the parts that a document does not need, the largest saving first. Each value is in
// at most one saving, and each saving is counted on the compact form. So the tokens of the text are
// those of the shortened compact text plus all savings, except for rounding. Documents of other
// formats, and values without extents, get the savings that can be computed.
func Savings(root *protocol.Node) []Saving {
	if root == nil {
		return nil
	}
	c := savingFinder{strict: root.Member("aiendpoint").Str() == "1.0"}
	c.findSpellingSavings(root)
	if root.Member("aiendpoint") != nil || root.Member("capabilities") != nil {
		c.visitDocument(root)
	}
	slices.SortStableFunc(c.savings, func(a, b Saving) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return c.savings
}

type savingFinder struct {
	savings []Saving
	strict  bool // members that the draft does not define are known as such
	// said counts the long texts seen before, by their words.
	said map[string]int
}

// addSaving adds a saving of at least one token.
func (c *savingFinder) addSaving(s Saving, cost float64) {
	if s.Tokens = int(math.Round(cost)); s.Tokens > 0 {
		c.savings = append(c.savings, s)
	}
}

// findSpellingSavings finds the tokens that another spelling of the same values would save.
func (c *savingFinder) findSpellingSavings(root *protocol.Node) {
	if root.End == 0 {
		return
	}
	white := root.End - root.Offset - bareLength(root)
	c.addSaving(Saving{Message: "serve it compact, without line breaks and indentation: its readers are programs"}, float64(white)/4)
	c.addSaving(Saving{Message: `write characters in UTF-8, not as \u escapes`}, escapedCost(root))
}

// bareLength returns the length of a value in bytes without white space, with names, strings and
// numbers as they are spelled.
func bareLength(n *protocol.Node) int {
	if n.Kind != protocol.Array && n.Kind != protocol.Object {
		return n.End - n.Offset
	}
	size := 2 + max(0, len(n.Items)-1)
	for _, item := range n.Items {
		size += bareLength(item)
		if n.Kind == protocol.Object {
			size += item.KeyEnd - item.KeyOffset + 1
		}
	}
	return size
}

// escapedCost returns the cost of escapes beyond that of the characters they stand for.
func escapedCost(n *protocol.Node) float64 {
	cost := 0.0
	if n.Kind == protocol.String {
		cost = escapeCost(n.Text, n.End-n.Offset)
	}
	if n.KeyEnd > n.KeyOffset {
		cost += escapeCost(n.Key, n.KeyEnd-n.KeyOffset)
	}
	for _, item := range n.Items {
		cost += escapedCost(item)
	}
	return cost
}

// escapeCost compares a spelling of a given length with the shortest one. Only the length of the
// spelling is known, so it assumes that a program wrote the string: either all characters outside
// ASCII are escaped, or none.
func escapeCost(text string, spelled int) float64 {
	short := quoteText(text)
	if len(short) == spelled {
		return 0
	}
	ascii := 0
	for _, r := range short {
		switch {
		case r < utf8.RuneSelf:
			ascii++
		case r > 0xFFFF:
			ascii += 12 // two escapes of six
		default:
			ascii += 6
		}
	}
	if ascii > spelled { // some are escaped, some are not
		return 0
	}
	return float64(spelled)/4 - protocol.TokenCost(short)
}

func quoteText(text string) string {
	return string(protocol.WriteJSON(&protocol.Node{Kind: protocol.String, Text: text}, ""))
}

// suggestRemoval suggests to remove a member.
func (c *savingFinder) suggestRemoval(n *protocol.Node, message string) {
	cost := protocol.TokenCost(quoteText(n.Key)) + protocol.TokenCost(string(protocol.WriteJSON(n, ""))) + 2.0/4 // colon and comma
	c.addSaving(Saving{Pointer: n.Pointer, Message: message, Remove: true}, cost)
}

// suggestReplacement suggests a shorter text for a string.
func (c *savingFinder) suggestReplacement(n *protocol.Node, text string, reasons []string) {
	cost := protocol.TokenCost(quoteText(n.Text)) - protocol.TokenCost(quoteText(text))
	c.addSaving(Saving{Pointer: n.Pointer, Message: strings.Join(reasons, "; "), Text: text}, cost)
}

// suggestShortening suggests to shorten a text to the advised number of characters. A person must
// choose which ones.
func (c *savingFinder) suggestShortening(n *protocol.Node, most int, whose string) bool {
	l := protocol.Length(n.Text)
	if l <= most {
		return false
	}
	rest := string([]rune(n.Text)[most:])
	c.addSaving(Saving{Pointer: n.Pointer, Message: fmt.Sprintf("shorten it: it has %d characters, %s %d", l, whose, most)}, protocol.TokenCost(rest))
	return true
}

func (c *savingFinder) visitDocument(root *protocol.Node) {
	c.said = map[string]int{}
	for _, m := range root.Items {
		switch m.Key {
		case "service":
			c.visitService(m)
		case "capabilities":
			for _, item := range m.Elements() {
				c.visitCapability(item)
			}
		case "auth":
			c.visitAuth(m)
		case "token_hints":
			c.visitHints(m)
		case "rate_limits":
			c.visitMembers(m, []string{"requests_per_minute", "agent_tier_available"})
		case "meta":
			c.visitMeta(m)
		case "aiendpoint":
		default:
			c.visitUnknownMember(m)
		}
	}
}

// visitUnknownMember suggests to remove a member that the draft does not define, unless it has a place
// under another name or in another object: its content is meant for readers.
func (c *savingFinder) visitUnknownMember(m *protocol.Node) {
	parent := m.Pointer[:strings.LastIndexByte(m.Pointer, '/')]
	if c.strict && suggestPlace(protocol.PointerShape(parent), m.Key) == noPlace {
		c.suggestRemoval(m, "remove "+protocol.Quote(m.Key)+", which the draft does not define here")
	}
}

// visitMembers suggests to remove the members of an object that the draft does not define, or the
// object if nothing else is in it. It returns the other members.
func (c *savingFinder) visitMembers(n *protocol.Node, names []string) []*protocol.Node {
	if n.Kind != protocol.Object {
		return nil
	}
	if len(n.Items) == 0 {
		c.suggestRemoval(n, n.Key+" is empty: leave it out")
	}
	var left []*protocol.Node
	for _, m := range n.Items {
		if slices.Contains(names, m.Key) {
			left = append(left, m)
		} else {
			c.visitUnknownMember(m)
		}
	}
	return left
}

func (c *savingFinder) visitService(n *protocol.Node) {
	for _, m := range c.visitMembers(n, []string{"name", "description", "category", "language"}) {
		switch {
		case m.Key == "description" && m.Kind == protocol.String:
			if !c.suggestShortening(m, 200, "and the draft advises") {
				c.visitProse(m)
			}
		case m.Key == "language" && len(m.Items) == 1 && m.Items[0].Str() == "en":
			c.suggestRemoval(m, `leave language out: ["en"] is the default`)
		}
	}
}

// adviceForParam is the length in characters from which the description of a parameter is reported.
// The draft asks for compact ones without a number.
const adviceForParam = 120

func (c *savingFinder) visitCapability(n *protocol.Node) {
	for _, m := range c.visitMembers(n, []string{"id", "description", "endpoint", "method", "params", "returns"}) {
		switch {
		case m.Key == "description" && m.Kind == protocol.String:
			c.visitProse(m)
		case m.Key == "returns" && m.Kind == protocol.String && !NamesFields(m.Text):
			c.suggestRemoval(m, "name the fields of the answer, or omit returns: this has no content")
		case m.Key == "returns" && m.Kind == protocol.String:
			c.visitProse(m)
		case m.Key == "params" && m.Kind == protocol.Object:
			if len(m.Items) == 0 {
				c.suggestRemoval(m, "params is empty: leave it out")
			}
			for _, p := range m.Items {
				if p.Kind == protocol.String {
					c.visitParam(p)
				}
			}
		}
	}
}

func (c *savingFinder) visitParam(n *protocol.Node) {
	p := ParseParam(n.Text)
	if repeatsName(n.Key, p.Description) && p.Dialect != FreeText {
		p.Description = ""
		c.suggestReplacement(n, p.String(), []string{"its description only repeats its name"})
		return
	}
	if c.isRepeated(p.Description) && p.Dialect != FreeText {
		p.Description = ""
		c.suggestReplacement(n, p.String(), []string{"its description repeats an earlier one in this document"})
		return
	}
	if !c.suggestShortening(n, adviceForParam, "and so short a form is meant for less than") {
		c.visitProse(n)
	}
}

// isRepeated reports whether a long text occurred in the document before.
func (c *savingFinder) isRepeated(text string) bool {
	const short = 40 // characters; what is shorter costs less than to look it up
	if len(text) < short {
		return false
	}
	c.said[text]++
	return c.said[text] > 1
}

// repeatsName reports whether a description only repeats words of the parameter's name.
func repeatsName(name, description string) bool {
	fold := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	words, parts := fold(description), fold(name)
	for _, word := range words {
		if word != "the" && word != "a" && word != "an" && word != "of" && !slices.Contains(parts, word) {
			return false
		}
	}
	return len(words) > 0
}

// visitProse suggests to remove words without information from a text.
func (c *savingFinder) visitProse(n *protocol.Node) {
	text := n.Text
	var reasons []string
	if spaced := strings.Join(strings.Fields(text), " "); spaced != text {
		text = spaced
		reasons = append(reasons, "one space is enough")
	}
	if rest, ok := withoutOpening(text); ok {
		reasons = append(reasons, "leave out "+protocol.Quote(strings.TrimSpace(text[:len(text)-len(rest)]))+": every reader knows what it reads")
		text = capitalizeFirst(rest)
	}
	if text != n.Text && text != "" {
		c.suggestReplacement(n, text, reasons)
	}
}

// openings are phrases that fit every description: "This API endpoint allows you to find …". Each
// element is one step; a step may be left out if it is optional.
var openings = [][]step{
	{{words: "this the"}, {words: "api rest http ai", optional: true}, {words: "endpoint api route method capability operation function call tool service request"}, {words: "can", optional: true}, {words: "be is will", optional: true}, {words: "used", optional: true}, {words: "allows lets enables helps permits", optional: true}, {words: "you users user agents agent one callers clients", optional: true}, {words: "to", optional: true}},
	{{words: "use"}, {words: "this"}, {words: "api", optional: true}, {words: "endpoint api route method capability operation function tool", optional: true}, {words: "to"}},
	{{words: "allows lets enables helps permits"}, {words: "you users user agents agent callers clients"}, {words: "to", optional: true}},
	{{words: "an a", optional: true}, {words: "api", optional: true}, {words: "endpoint route"}, {words: "to for that which"}},
	{{words: "used"}, {words: "to"}},
}

type step struct {
	words    string // any of these
	optional bool
}

// withoutOpening returns a text without such an opening, and whether it had one and two or more
// words follow.
func withoutOpening(text string) (string, bool) {
	for _, steps := range openings {
		rest, ok := text, true
		for _, s := range steps {
			word, after, _ := strings.Cut(rest, " ")
			if slices.Contains(strings.Fields(s.words), strings.ToLower(word)) {
				rest = after
			} else if !s.optional {
				ok = false
				break
			}
		}
		if ok && strings.Contains(rest, " ") {
			return rest, true
		}
	}
	return text, false
}

func capitalizeFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

func (c *savingFinder) visitAuth(n *protocol.Node) {
	for _, m := range c.visitMembers(n, []string{"type", "header", "docs"}) {
		if m.Key != "header" {
			continue
		}
		switch n.Member("type").Str() {
		case "bearer":
			if strings.EqualFold(m.Str(), "Authorization") {
				c.suggestRemoval(m, "leave header out: bearer always uses Authorization")
			}
		case "none":
			c.suggestRemoval(m, "leave header out: type none needs none")
		}
	}
}

// visitHints suggests to remove hints that are false, which is their default, or the whole object
// if it has no others.
func (c *savingFinder) visitHints(n *protocol.Node) {
	names := []string{"compact_mode", "field_filtering", "delta_support"}
	isDefault := func(m *protocol.Node) bool {
		return m.Kind == protocol.Bool && !m.True() && slices.Contains(names, m.Key)
	}
	if n.Kind == protocol.Object && len(n.Items) > 0 && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !isDefault(m) }) {
		c.suggestRemoval(n, "leave token_hints out: false is the default of every hint")
		return
	}
	for _, m := range c.visitMembers(n, names) {
		if isDefault(m) {
			c.suggestRemoval(m, "leave "+m.Key+" out: false is the default")
		}
	}
}

func (c *savingFinder) visitMeta(n *protocol.Node) {
	if n.Kind != protocol.Object {
		return
	}
	if len(n.Items) == 0 {
		c.suggestRemoval(n, "meta is empty: leave it out")
	}
	for _, m := range n.Items {
		if c.strict && !slices.Contains(memberNames["/meta"], m.Key) && !namesAgent(n.Member(m.Key)) {
			c.suggestRemoval(m, "remove "+protocol.Quote(m.Key)+" unless agents need it: every one of them pays for it")
		}
	}
}
