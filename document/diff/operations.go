package diff

import (
	"strings"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/effect"
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
			c.addChange(OperationReplaced, p.a.name, c.describeOperation(p.a), c.describeOperation(p.b))
			continue
		}
		c.compareOperation(p)
	}
}

// describeOperation returns what an operation does, as its document says.
func (c *comparison) describeOperation(o *operation) value {
	if o.intent == nil {
		return textValue(o.node, o.name)
	}
	return valueOf(o.intent)
}

// compareOperation compares one operation. Nothing more is said of one that was replaced by
// another: whatever else differs has the same cause.
func (c *comparison) compareOperation(p pair) {
	if p.renamed {
		c.compareNames(p)
	}
	verdict := judgeMeaning(p.a.intent.Str(), p.b.intent.Str())
	if verdict == replaced || c.methodContradicts(p) {
		c.addChange(OperationReplaced, p.a.name, c.describeOperation(p.a), c.describeOperation(p.b))
		return
	}
	if verdict == rewritten {
		c.addChange(IntentRewritten, p.a.name, valueOf(p.a.intent), valueOf(p.b.intent))
	}
	switch c.a.kind {
	case document.AI:
		c.compareCapability(p)
	case document.AGIS:
		c.compareEndpoint(p)
	default:
		c.compareMembers(p.a.name, p.a.node, p.b.node, setOf("name method"))
	}
}

// compareNames records the new name of an operation.
func (c *comparison) compareNames(p pair) {
	for i, n := range p.a.nameNodes {
		if !strings.EqualFold(n.Str(), p.b.nameNodes[i].Str()) {
			place := n
			if place == nil {
				place = p.a.node
			}
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

func (c *comparison) compareCapability(p pair) {
	c.compareCalls(p)
	c.compareParams(p)
	c.compareReturns(p)
	c.eachMember(p.a.node, p.b.node, func(name string, a, b *protocol.Node) {
		switch name {
		case "id", "description", "endpoint", "method", "params", "returns":
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
	c.compareMembers(p.a.name, p.a.node, p.b.node, setOf("method path semantic input output errors"))
}

func (c *comparison) compareContract(p pair, block string, input bool) {
	a, b := nilIfNull(p.a.node.Member(block)), nilIfNull(p.b.node.Member(block))
	at := schemaPlace{operation: p.a.name, input: input}
	empty := &protocol.Node{Kind: protocol.Object}
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		empty.Pointer, empty.Line, empty.Column = b.Pointer, b.Line, b.Column
		a = empty
	case b == nil:
		empty.Pointer, empty.Line, empty.Column = a.Pointer, a.Line, a.Column
		b = empty
	}
	c.compareSchemas(at, a, b)
}

// compareSemanticMember compares one member of what an operation declares about itself.
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

// dangers orders the effects; one that is not declared stands lowest.
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
