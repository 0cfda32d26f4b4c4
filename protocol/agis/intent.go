package agis

import (
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/effect"
)

// checkIntents is pass 6 (§6.3): it compares each intent with its method, and checks whether the
// verb can have the declared impact. It checks indexed endpoints only, because reading sentences is
// expensive and no valid document has more.
func (c *checker) checkIntents(endpoints []*protocol.Node) {
	for i, endpoint := range endpoints[:min(len(endpoints), MaxEndpoints)] {
		e := c.doc.Endpoints[i]
		if c.refused[endpoint] {
			continue // there is no verb yet that an intent could say
		}
		n := endpoint.Member("semantic")
		if strings.TrimSpace(e.Semantic.Intent) != "" {
			c.checkIntent(n.Member("intent"), e.Method)
		}
		c.impactFits(n, e)
	}
}

// checkIntent compares an intent with its method. An intent that cannot be judged is a hint, never
// an error: a verb may be new or from another language (§13).
func (c *checker) checkIntent(n *protocol.Node, method string) {
	switch j := effect.Compare(method, clipText(n.Text)); j.Verdict {
	case effect.Contradicts:
		c.Add("AGIS601", n, j.Why, describeRepair(j, method))
	case effect.Doubtful:
		c.Add("AGIS602", n, j.Why, "if both are right, write the intent with the verb of the method; if not, fix the one that is wrong")
	case effect.NotJudged:
		c.Add("AGIS603", n, j.Why+", so intent and method could not be compared",
			"nothing needs fixing if a person finds that they agree; an English sentence that begins with a verb can be checked")
	}
}

// describeRepair says how to make method and intent agree, by a change of either.
func describeRepair(j effect.Comparison, method string) string {
	verbs := "another verb"
	for _, v := range examples {
		if j.Class&v.class != 0 {
			verbs = "a verb such as " + v.verbs
			break
		}
	}
	return "if the intent is right, make the method " + verbs + "; if the method is right, say in the intent what " +
		strings.ToUpper(method) + " does for the caller"
}

// examples lists common methods for each effect of a verb.
var examples = []struct {
	class effect.Class
	verbs string
}{
	{effect.Read, "FIND or RETRIEVE"},
	{effect.Compute, "CALCULATE or SUMMARIZE"},
	{effect.Commit, "CREATE or ORDER"},
	{effect.Change, "UPDATE or ADJUST"},
	{effect.End, "CANCEL or REMOVE"},
	{effect.Tell, "NOTIFY or ALERT"},
}

// impactFits reports a declared impact or capability that the verb cannot have. It checks only
// verbs for which all readings agree.
func (c *checker) impactFits(n *protocol.Node, e Endpoint) {
	const acts = effect.Commit | effect.Change | effect.End
	const looks = effect.Read | effect.Compute
	class := effect.Of(e.Method)
	if class == 0 {
		return
	}
	verb := strings.ToUpper(e.Method)
	s := e.Semantic
	tier, capability := n.Member("impact_tier"), n.Member("capability")
	switch {
	case s.ImpactTier == "informational" && class&^acts == 0:
		c.Add("AGIS521", tier, "impact_tier is informational, and "+verb+" changes something for others",
			"declare reversible or irreversible; informational is for operations that change nothing")
	case (s.ImpactTier == "reversible" || s.ImpactTier == "irreversible") && class&^looks == 0:
		c.Add("AGIS521", tier, "impact_tier is "+s.ImpactTier+", and "+verb+" changes nothing",
			"declare informational, or use a verb for the change")
	}
	switch {
	case (s.Capability == "discovery" || s.Capability == "retrieval" || s.Capability == "analysis") && class&^acts == 0:
		c.Add("AGIS521", capability, "capability is "+s.Capability+", and "+verb+" changes something for others",
			"declare transaction or modification")
	case (s.Capability == "transaction" || s.Capability == "modification") && class&^looks == 0:
		c.Add("AGIS521", capability, "capability is "+s.Capability+", and "+verb+" changes nothing",
			"declare discovery, retrieval or analysis")
	}
}
