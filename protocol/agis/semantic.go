package agis

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
)

var (
	actors       = []string{"agent", "user", "system"}
	capabilities = []string{"discovery", "transaction", "modification", "retrieval", "analysis", "notification"}
	impactTiers  = []string{"informational", "reversible", "irreversible"}
)

// readSemantic reads a semantic block into the typed declaration.
func readSemantic(n *protocol.Node) Semantic {
	s := Semantic{
		Intent:      n.Member("intent").Str(),
		Actor:       n.Member("actor").Str(),
		Outcome:     n.Member("outcome").Str(),
		Capability:  n.Member("capability").Str(),
		ImpactTier:  strings.ToLower(n.Member("impact_tier").Str()),
		Transition:  !isEmpty(n.Member("state_transition")),
		MCPToolName: n.Member("mcp_tool_name").Str(),
	}
	if v, ok := readConfidence(n.Member("confidence_guidance")); ok {
		s.Confidence = &v
	}
	if m := n.Member("is_idempotent"); m != nil && m.Kind == protocol.Bool {
		v := m.True()
		s.Idempotent = &v
	}
	for _, m := range tree.Members(n.Member("parameter_hints")) {
		s.Hints = append(s.Hints, Hint{Parameter: m.Key, Texts: m.Strs()})
	}
	return s
}

// readConfidence reads a number from 0.0 to 1.0.
func readConfidence(n *protocol.Node) (float64, bool) {
	if n == nil || n.Kind != protocol.Number {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.Text, 64)
	return v, err == nil && v >= 0 && v <= 1
}

// checkSemantics is pass 5 (§6).
func (c *checker) checkSemantics(endpoints []*protocol.Node) {
	tools := map[string]bool{}
	for i, endpoint := range endpoints {
		n := endpoint.Member("semantic")
		if isEmpty(n) || n.Kind != protocol.Object {
			c.Add("AGIS501", placeOfAbsence(n, endpoint), "an endpoint has no semantic block", "add semantic with intent, actor and outcome")
			c.checkRecommendedFields(endpoint, nil)
			continue
		}
		c.checkFields(n, semanticFields...)
		c.checkSentence(n, "intent", "AGIS502", "what the endpoint does for the caller, in one sentence")
		c.checkActor(n)
		c.checkSentence(n, "outcome", "AGIS505", "what is true after success, in one sentence")
		c.checkOptionalFields(n, c.doc.Endpoints[i], tools)
		c.checkRecommendedFields(n, n)
		if m := endpoint.Member("proposed"); m.True() {
			c.AddKey("AGIS522", m, "a published document contains a proposed endpoint", "proposed endpoints belong to one session; remove proposed when the endpoint is here to stay")
		}
	}
	if service := c.doc.Root.Member("service"); service.Str() != "" {
		c.checkInstruction(service, "service")
	}
	c.checkTexts(c.doc.Root)
}

func (c *checker) checkActor(parent *protocol.Node) {
	n := parent.Member("actor")
	switch {
	case n == nil || n.Kind == protocol.Null:
		c.Add("AGIS503", placeOfAbsence(n, parent), "actor is missing", "add actor: agent, user or system: the one that initiates the action")
	case !slices.Contains(actors, n.Str()):
		c.Add("AGIS504", n, "actor is "+quoteNode(n)+", not agent, user or system", english.DidYouMean(n.Str(), actors)+"say who initiates the action: agent, user or system")
	}
}

// checkSentence checks an intent or an outcome.
func (c *checker) checkSentence(parent *protocol.Node, field, missing, what string) {
	text := c.readName(parent, field, missing, what)
	if text == "" {
		return
	}
	n := parent.Member(field)
	c.checkInstruction(n, field)
	if l := protocol.Length(text); l > 500 {
		c.Add("AGIS518", n, fmt.Sprintf("%s has %d characters, more than 500", field, l), "say it in one short sentence")
	}
	text = clipText(text)
	if hasSeveralSentences(text) {
		c.Add("AGIS506", n, field+" has more than one sentence", "say it in one sentence")
	}
	if field == "intent" && mayBeInternal(text) && internal.MatchString(text) {
		c.Add("AGIS507", n, "intent describes internal steps of the system, not the goal of the caller", `write the caller's goal, for example "Books a restaurant reservation on behalf of the requesting agent"`)
	}
}

// internal matches descriptions of internal steps, of which the draft gives an example (§6.1): rows
// inserted into tables, statements executed, procedures called.
var internal = regexp.MustCompile(`(?i)\b(?:(?:insert|write|update|delete|select|append|store|save|add|remove)e?s?\b.*\b(?:rows?|records?|entry|entries|tuples?|documents?)\b.*\b(?:(?:tables?|databases?|db|collections?|indexe?s?|caches?)\W*\z|(?:into|in|from)\s+(?:\w+\s+){0,3}(?:tables?|databases?|db)\b)` +
	`|(?:execute|run|issue|perform)s?\s+(?:an?\s+|the\s+)?(?:sql|insert|select|update|delete|database)\s+(?:quer(?:y|ies)|statements?|transactions?)\b` +
	`|(?:call|invoke|execute|run)s?\s+(?:an?\s+|the\s+)?(?:stored procedure|internal (?:function|method|service|api|handler))\b)`)

// maxJudged is the number of bytes of an intent whose words are checked. A conforming intent has at
// most 500 characters.
const maxJudged = 2000

// clipText cuts a text that is far too long.
func clipText(text string) string {
	if len(text) <= maxJudged {
		return text
	}
	return strings.ToValidUTF8(text[:maxJudged], "")
}

// mayBeInternal is a fast test that nearly every valid intent fails, so that the pattern rarely
// runs.
func mayBeInternal(text string) bool {
	text = strings.ToLower(text)
	words := []string{"row", "record", "entr", "tuple", "document", "statement", "quer", "transaction", "procedure", "internal"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

var (
	sentenceEnd  = regexp.MustCompile(`(\S+)[.!?]["')\]]*\s+["'(\[]*(\pL)|[。！？]\s*\S`)
	abbreviation = regexp.MustCompile(`(?i)(?:^|[("'\[])(?:\pL|\d+|e\.g|i\.e|etc|vs|no|nr|dr|mr|mrs|ms|st|inc|ltd|corp|co|approx|jr|sr|dept|est|max|min|incl|excl|resp|p\.m|a\.m|u\.s|u\.k)$`)
)

// hasSeveralSentences reports whether text follows the end of the first sentence. A full stop after
// an abbreviation or before a lowercase letter does not end a sentence.
func hasSeveralSentences(text string) bool {
	text = strings.TrimRight(text, " .!?\"')]")
	if !strings.ContainsAny(text, ".!?。！？") {
		return false // what most texts are, and much cheaper to tell
	}
	for _, m := range sentenceEnd.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			return true // a CJK full stop
		}
		next := []rune(m[2])[0]
		if unicode.IsUpper(next) && !abbreviation.MatchString(m[1]) {
			return true
		}
	}
	return false
}

// checkOptionalFields checks the fields of §6.2.
func (c *checker) checkOptionalFields(n *protocol.Node, e Endpoint, tools map[string]bool) {
	if m := n.Member("capability"); m != nil && !slices.Contains(capabilities, m.Str()) {
		c.Add("AGIS508", m, "capability is "+quoteNode(m)+", not one of the six classes", english.DidYouMean(m.Str(), capabilities)+"use "+strings.Join(capabilities, ", "))
	}
	if m := n.Member("confidence_guidance"); m != nil {
		if _, ok := readConfidence(m); !ok {
			c.Add("AGIS509", m, "confidence_guidance is not a number from 0.0 to 1.0", "write a number such as 0.85, without quotes")
		}
	}
	c.checkImpact(n, e.Semantic)
	c.booleanField(n, "is_idempotent", "AGIS512")
	if m := n.Member("parameter_hints"); m != nil {
		c.checkHints(m, e)
	}
	if m := n.Member("state_transition"); m != nil && m.Kind != protocol.Null {
		c.checkTransition(m)
	}
	if m := n.Member("mcp_tool_name"); m != nil {
		if !toolName.MatchString(m.Str()) {
			c.Add("AGIS515", m, "mcp_tool_name does not consist of lowercase letters, digits and underscores", `write a name such as "book_reservation"`)
		} else if tools[m.Text] {
			c.Add("AGIS515", m, "the mcp_tool_name "+protocol.Quote(m.Text)+" is used twice", "give each endpoint its own name")
		}
		tools[m.Str()] = true
	}
}

var toolName = regexp.MustCompile(`\A[a-z0-9_]+\z`)

func (c *checker) checkImpact(n *protocol.Node, s Semantic) {
	m := n.Member("impact_tier")
	if m == nil {
		return
	}
	if !slices.Contains(impactTiers, s.ImpactTier) {
		c.Add("AGIS510", m, "impact_tier is "+quoteNode(m)+", not informational, reversible or irreversible", english.DidYouMean(m.Str(), impactTiers)+"use one of "+strings.Join(impactTiers, ", "))
		return
	}
	if m.Text != s.ImpactTier {
		c.Add("AGIS511", m, "impact_tier "+protocol.Quote(m.Text)+" is not in lowercase", "write "+s.ImpactTier)
	}
	if s.ImpactTier != "irreversible" {
		return
	}
	if g := n.Member("confidence_guidance"); g == nil || s.Confidence != nil && *s.Confidence < 0.85 {
		c.Add("AGIS517", placeOfAbsence(g, m), "an irreversible endpoint asks for less than 0.85 confidence", "set confidence_guidance to 0.85 or more")
	}
}

func (c *checker) checkHints(n *protocol.Node, e Endpoint) {
	const help = `write {parameter: ["how people say it", …]}`
	if n.Kind != protocol.Object {
		c.Add("AGIS513", n, "parameter_hints is "+describeKind(n.Kind)+", not a mapping", help)
		return
	}
	input := c.doc.Resolve(e.Input, e.Input)
	properties := input.Member("properties")
	open := properties == nil || input.Member("allOf") != nil || input.Member("anyOf") != nil || input.Member("oneOf") != nil
	for _, m := range n.Items {
		if m.Kind != protocol.Array || len(m.Strs()) != len(m.Items) {
			c.Add("AGIS513", m, "the hints for "+protocol.Quote(m.Key)+" are not a list of strings", help)
		}
		for _, text := range m.Elements() {
			if text.Kind == protocol.String {
				c.checkInstruction(text, "a hint")
			}
		}
		if !open && c.doc.refs.findMember(properties, m.Key) == nil {
			c.AddKey("AGIS516", m, "the input has no parameter "+protocol.Quote(m.Key), "use the names of input.properties")
		}
	}
}

// checkTransition checks each text of a state_transition, in lists and objects alike.
func (c *checker) checkTransition(n *protocol.Node) {
	if n.Kind == protocol.Object || n.Kind == protocol.Array {
		for _, m := range n.Items {
			c.checkTransition(m)
		}
		return
	}
	from, to, ok := strings.Cut(n.Str(), "->")
	if !ok || strings.TrimSpace(from) == "" || strings.TrimSpace(to) == "" {
		c.Add("AGIS514", n, "a state transition is not of the form FROM -> TO", `write for example status: "PENDING -> CONFIRMED"`)
	}
}

// checkRecommendedFields reports, once per endpoint, the missing fields that Level 2 requires
// (Table 4). block is nil if the endpoint has no semantic block.
func (c *checker) checkRecommendedFields(place, block *protocol.Node) {
	var absent []string
	for _, field := range []string{"capability", "confidence_guidance", "impact_tier", "is_idempotent"} {
		if isEmpty(block.Member(field)) {
			absent = append(absent, field)
		}
	}
	tier := strings.ToLower(block.Member("impact_tier").Str())
	changes := slices.Contains(impactTiers, tier) && tier != "informational"
	if c.level >= 2 && changes && isEmpty(block.Member("state_transition")) {
		absent = append(absent, "state_transition")
	}
	switch {
	case len(absent) == 0:
	case c.level >= 2:
		c.Add("AGIS520", place, strings.Join(absent, ", ")+": required at Level 2 and absent", "declare the members named here for this endpoint; state_transition is required for endpoints that change something")
	default:
		c.Add("AGIS520", place, strings.Join(absent, ", ")+": recommended and absent", "declare what you can say of it: agents act on these, and Level 2 needs them")
	}
}

// LevelTwo reports whether every endpoint declares the fields that Level 2 requires (Table 4). Only
// endpoints that change something need a state transition.
func (d *Document) LevelTwo() bool {
	for _, e := range d.Endpoints {
		s := e.Semantic
		if s.Capability == "" || s.Confidence == nil || s.ImpactTier == "" || s.Idempotent == nil ||
			s.ImpactTier != "informational" && !s.Transition {
			return false
		}
	}
	return len(d.Endpoints) > 0
}
