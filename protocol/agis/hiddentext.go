package agis

import (
	"strings"

	"gazetteer/protocol"
)

// checkInstruction reports a text that speaks to a model instead of describing something,
// or hides characters from the reader (§13). The rule names intent and outcome;
// other texts of a document reach the same models and people.
func (c *checker) checkInstruction(n *protocol.Node, what string) {
	found, ok := protocol.Instruction(n.Text)
	if !ok {
		return
	}
	c.Add("AGIS519", n, what+" holds "+found+describeDeceit(found), deceitHelp)
	if c.told == nil {
		c.told = map[*protocol.Node]bool{}
	}
	c.told[n] = true
}

// describeDeceit says what is wrong with what [protocol.Instruction] found.
func describeDeceit(found string) string {
	if strings.HasPrefix(found, "the words") {
		return ", which address a model instead of describing something"
	}
	return ", which people do not see and models do"
}

const deceitHelp = "describe the service only, in characters that can be seen"

// checkTexts looks through what stands below n for such texts that no other rule has
// looked at: every name and value for hidden characters, and descriptions for
// their words as well.
func (c *checker) checkTexts(n *protocol.Node) {
	for _, m := range n.Items {
		if !isASCII(m.Key) {
			if found, ok := protocol.Instruction(m.Key); ok {
				c.AddKey("AGIS519", m, "the name "+protocol.Quote(m.Key)+" holds "+found+describeDeceit(found), deceitHelp)
			}
		}
		if m.Kind == protocol.String && (m.Key == "description" || !isASCII(m.Text)) && !c.told[m] {
			what := "a text"
			if m.Key != "" {
				what = m.Key
			}
			c.checkInstruction(m, what)
		}
		c.checkTexts(m)
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
