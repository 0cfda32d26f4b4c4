package diff

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/document/diff/meaning"
	"gazetteer/protocol"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/wording"
)

// compareOperations compares the operations of both versions.
func (c *comparison) compareOperations() {
	pairs, removed, added := c.matchOperations()
	replaced := c.findReplaced(pairs)
	for _, o := range removed {
		c.addChange(OperationRemoved, o.name, textValue(o.node, o.name), value{})
	}
	for _, o := range added {
		c.addChange(OperationAdded, o.name, value{}, textValue(o.node, o.name))
	}
	for _, p := range pairs {
		if replaced[p.a] {
			c.addReplaced(p)
			continue
		}
		c.compareOperation(p)
	}
}

// addReplaced adds the change of an operation that another one of its name replaces. Its place is the
// method if that alone tells them apart.
func (c *comparison) addReplaced(p pair) {
	from, to := c.describeOperation(p.a), c.describeOperation(p.b)
	if a, b := p.a.node.Member("method"), p.b.node.Member("method"); a != nil && b != nil && a.Str() != b.Str() && p.a.intent.Str() == p.b.intent.Str() {
		from, to = valueOf(a), valueOf(b)
	}
	c.addChange(OperationReplaced, p.a.name, from, to)
}

// describeOperation returns the description of an operation in its document.
func (c *comparison) describeOperation(o *operation) value {
	if o.intent == nil {
		return textValue(o.node, o.name)
	}
	return valueOf(o.intent)
}

// compareOperation compares one operation. For an operation that was replaced by another it reports
// only where and under which protection it is called now: all other differences have that cause.
func (c *comparison) compareOperation(p pair) {
	if p.renamed {
		c.compareNames(p)
	}
	relation := meaning.Compare(p.a.intent.Str(), p.b.intent.Str())
	if relation == meaning.Replaced { // most descriptions have not changed
		relation = meaning.CompareCall(p.a.intent.Str(), p.b.intent.Str(), c.wordsOfCall(p))
	}
	if relation == meaning.Replaced || c.methodContradicts(p) || c.verbContradicts(p) || relation == meaning.Rewritten && c.replacesContract(p) {
		c.addReplaced(p)
		c.compareProtection(p)
		return
	}
	if relation == meaning.Rewritten {
		c.addChange(IntentRewritten, p.a.name, valueOf(p.a.intent), valueOf(p.b.intent))
	}
	switch c.a.kind {
	case document.AI:
		c.compareCapability(p)
	case document.AGIS:
		c.compareEndpoint(p)
	default:
		c.compareMembers(p.a.name, p.a.node, p.b.node, wording.WordSet("name method"))
	}
}

// compareNames records the new name of an operation.
func (c *comparison) compareNames(p pair) {
	for i, n := range p.a.nameNodes {
		if !strings.EqualFold(n.Str(), p.b.nameNodes[i].Str()) {
			place := n
			place = cmp.Or(place, p.a.node)
			c.addAt(OperationRenamed, p.a.name, place, textValue(p.a.node, p.a.name), textValue(p.b.node, p.b.name))
			return
		}
	}
}

// methodContradicts reports whether a capability is called by an HTTP method that does the opposite
// of the one before, or removes what its description does not speak of removing.
func (c *comparison) methodContradicts(p pair) bool {
	if c.a.kind != document.AI {
		return false
	}
	before, after := strings.ToUpper(p.a.node.Member("method").Str()), strings.ToUpper(p.b.node.Member("method").Str())
	switch {
	case before == after || before == "" || after == "":
		return false
	case before == "GET" && after == "DELETE" || before == "DELETE" && after == "GET":
		return true
	}
	return after == "DELETE" && effect.Compare("DELETE", p.b.intent.Str()).Verdict == effect.Contradicts
}

// verbContradicts reports whether the intent of an endpoint contradicts its verb and did not before.
func (c *comparison) verbContradicts(p pair) bool {
	if c.a.kind != document.AGIS || equalValues(p.a.intent, p.b.intent) {
		return false
	}
	return effect.Compare(p.b.verb, p.b.intent.Str()).Verdict == effect.Contradicts && effect.Compare(p.a.verb, p.a.intent.Str()).Verdict != effect.Contradicts
}

// replacesContract reports whether an operation neither takes a parameter nor returns a value that it
// took or returned before. Its description cannot mean the same then, whatever its words.
func (c *comparison) replacesContract(p pair) bool {
	inputA, outputA := c.a.namesOf(p.a)
	inputB, outputB := c.b.namesOf(p.b)
	return areDisjoint(inputA, inputB) && areDisjoint(outputA, outputB)
}

// areDisjoint reports whether two lists of names have none in common, and neither is empty.
func areDisjoint(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// namesOf returns the names of the parameters and of the results of an operation.
func (v *version) namesOf(o *operation) (input, output []string) {
	if v.kind == document.AI {
		output, _ = returnedNames(o.node.Member("returns").Str())
		return memberNames(paramsByName(o.node.Member("params"))), output
	}
	names := func(block *protocol.Node) []string {
		return memberNames(v.resolveSchema(block, block).Member("properties"))
	}
	return names(o.node.Member("input")), names(o.node.Member("output"))
}

// nameWord is a word of a name: "price" of "maxPrice", "max_price" and "/prices/max-price".
var nameWord = regexp.MustCompile(`\p{Lu}?\p{Ll}+|\p{Lu}+|[^\p{Lu}\p{Ll}\W\d_]+`)

// wordsOfCall returns the words of the path of an operation and of the names of its parameters and
// results that both versions have, none if it is called in another way.
func (c *comparison) wordsOfCall(p pair) []string {
	var path string
	switch {
	case c.a.kind == document.AI && c.a.callOf(p.a) == c.b.callOf(p.b):
		path = c.a.resolveEndpoint(p.a.node.Member("endpoint").Str()).rest
	case c.a.kind == document.AGIS && p.a.verb == p.b.verb && p.a.node.Member("path").Str() == p.b.node.Member("path").Str():
		path = p.a.node.Member("path").Str()
	default:
		return nil
	}
	inputA, outputA := c.a.namesOf(p.a)
	inputB, outputB := c.b.namesOf(p.b)
	names := []string{path}
	for _, name := range append(inputA, outputA...) {
		if slices.Contains(inputB, name) || slices.Contains(outputB, name) {
			names = append(names, name)
		}
	}
	words := nameWord.FindAllString(strings.Join(names, " "), -1)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return words
}

func memberNames(n *protocol.Node) []string {
	if n == nil || n.Kind != protocol.Object {
		return nil
	}
	names := make([]string, len(n.Items))
	for i, m := range n.Items {
		names[i] = m.Key
	}
	return names
}

// compareProtection compares what another operation under the same name does not explain: that it is
// called at another host, without encryption or with weaker authentication. AGIS has this for the
// service only.
func (c *comparison) compareProtection(p pair) {
	if c.a.kind != document.AI {
		return
	}
	before := len(c.changes)
	c.compareCalls(p)
	c.compareOwnAuthentication(p)
	kept := slices.DeleteFunc(c.changes[before:], func(change placed) bool { return change.Severity != High })
	c.changes = c.changes[:before+len(kept)]
}

// compareOwnAuthentication compares the authentication of a capability. One that has none has that of
// the service.
func (c *comparison) compareOwnAuthentication(p pair) {
	a, b := nilIfNull(p.a.node.Member("auth")), nilIfNull(p.b.node.Member("auth"))
	if a != nil || b != nil {
		c.compareMember(p.a.name, "auth", cmp.Or(a, c.a.memberAt("auth")), cmp.Or(b, c.b.memberAt("auth")))
	}
}

func (c *comparison) compareCapability(p pair) {
	c.compareCalls(p)
	c.compareParams(p)
	c.compareReturns(p)
	c.compareOwnAuthentication(p)
	c.eachMember(p.a.node, p.b.node, func(name string, a, b *protocol.Node) {
		switch name {
		case "id", "description", "endpoint", "method", "params", "returns", "auth":
		default:
			c.compareSemanticMember(p.a.name, name, a, b)
		}
	})
}

func (c *comparison) compareEndpoint(p pair) {
	c.eachMember(p.a.node.Member("semantic"), p.b.node.Member("semantic"), func(name string, a, b *protocol.Node) {
		if name != "intent" {
			c.compareSemanticMember(p.a.name, name, a, b)
		}
	})
	c.compareContract(p, "input", true)
	c.compareContract(p, "output", false)
	c.compareErrors(p)
	c.compareMembers(p.a.name, p.a.node, p.b.node, wording.WordSet("method path semantic input output errors"))
}

func (c *comparison) compareContract(p pair, block string, input bool) {
	a, b := nilIfNull(p.a.node.Member(block)), nilIfNull(p.b.node.Member(block))
	at := schemaPlace{operation: p.a.name, input: input}
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		a = emptySchema(b)
	case b == nil:
		b = emptySchema(a)
	}
	c.compareSchemas(at, a, b)
}

// emptySchema returns a schema of the same type in the same place, without properties.
func emptySchema(of *protocol.Node) *protocol.Node {
	empty := &protocol.Node{Kind: protocol.Object, Pointer: of.Pointer, Line: of.Line, Column: of.Column}
	if t := of.Member("type"); t != nil {
		empty.Items = append(empty.Items, t)
	}
	return empty
}

// compareSemanticMember compares one member of an operation's semantic declaration.
func (c *comparison) compareSemanticMember(operation, name string, a, b *protocol.Node) {
	switch name {
	case "impact_tier", "effect":
		c.compareEffects(operation, a, b)
	case "is_idempotent", "idempotent":
		c.compareIdempotence(operation, a, b)
	default:
		c.compareMember(operation, name, a, b)
	}
}

// dangers orders the effects by danger; an undeclared effect is lowest.
var dangers = map[string]int{"informational": 1, "reversible": 2, "irreversible": 3}

func (c *comparison) compareEffects(operation string, a, b *protocol.Node) {
	x, y := strings.ToLower(strings.TrimSpace(a.Str())), strings.ToLower(strings.TrimSpace(b.Str()))
	switch {
	case x == y:
	case dangers[y] < dangers[x]:
		c.addChange(EffectLowered, operation, valueOf(a), valueOf(b))
	case dangers[y] > dangers[x]:
		c.addChange(EffectRaised, operation, valueOf(a), valueOf(b))
	default:
		c.addChange(TextChanged, operation, valueOf(a), valueOf(b))
	}
}

// compareIdempotence compares whether an operation may be repeated without doing more: one that may
// is declared less dangerous.
func (c *comparison) compareIdempotence(operation string, a, b *protocol.Node) {
	switch {
	case b.True() && !a.True():
		c.addChange(EffectLowered, operation, valueOf(a), valueOf(b))
	case a.True() && !b.True():
		c.addChange(EffectRaised, operation, valueOf(a), valueOf(b))
	}
}
