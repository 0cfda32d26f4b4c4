package agis

import (
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// checkInstruction reports a text that addresses a model instead of describing something, or that
// hides characters from the reader (§13). The draft names intent and outcome; other texts of a
// document reach the same models and people.
func (c *checker) checkInstruction(n *protocol.Node, what string) {
	found, ok := protocol.Instruction(n.Text)
	if !ok {
		return
	}
	c.Add("AGIS519", n, what+" holds "+protocol.DescribeInstruction(found), deceitHelp)
	if c.told == nil {
		c.told = map[*protocol.Node]bool{}
	}
	c.told[n] = true
}

const deceitHelp = "describe the service only, in characters that can be seen"

// checkTexts checks all texts below n that no other rule has checked: every name and value for
// hidden characters, and descriptions for instructions to models as well.
func (c *checker) checkTexts(n *protocol.Node) {
	for _, m := range n.Items {
		if !isASCII(m.Key) {
			if found, ok := protocol.Instruction(m.Key); ok {
				c.AddKey("AGIS519", m, "the name "+protocol.Quote(m.Key)+" holds "+protocol.DescribeInstruction(found), deceitHelp)
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
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
