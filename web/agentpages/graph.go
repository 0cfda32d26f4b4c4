package agentpages

import (
	"fmt"
	"slices"

	"gazetteer/api/answer"
	"gazetteer/registry"
	"gazetteer/web/frame"
)

// The drawing of attestations, in its own units: attesters on the left, the agent in the middle,
// the agents that it attests on the right.
const (
	graphWidth = 720
	graphRow   = 56
	boxWidth   = 184
	boxHeight  = 36
	maxNodes   = 8 // on each side
)

// graphView is a drawing of attestations.
type graphView struct {
	Says   string // what the drawing shows, for those who do not see it
	Height int
	Nodes  []graphNode
	Edges  []graphEdge
	Labels []graphLabel
}

type graphNode struct {
	X, Y, Width, Height int
	TextX, TextY        int
	Name                string
	Self                bool
}

type graphEdge struct {
	X1, Y1, X2, Y2 int
	Weak           bool // it counts as nothing
}

type graphLabel struct {
	X, Y int
	Text string
}

// graphOf draws the active attestations about and by an agent; nil when there
// are none.
func graphOf(d answer.AgentDetails) *graphView {
	active := func(all []registry.Attestation) []registry.Attestation {
		return slices.DeleteFunc(slices.Clone(all), func(t registry.Attestation) bool { return !t.Revoked.IsZero() })
	}
	about, issued := active(d.About), active(d.Issued)
	if len(about)+len(issued) == 0 {
		return nil
	}
	v := &graphView{Says: fmt.Sprintf("%s about %s, %s by it", frame.FormatCount(len(about), "active attestation"), frame.ClipPlain(60, d.Agent.Name), frame.FormatCount(len(issued), "active attestation"))}
	left, moreLeft := frame.SplitAt(about, maxNodes)
	right, moreRight := frame.SplitAt(issued, maxNodes)
	rows := max(len(left), len(right), 1)
	v.Height = rows * graphRow
	if moreLeft+moreRight > 0 {
		v.Height += graphRow / 2
	}
	middle := rows * graphRow / 2
	x := (graphWidth - boxWidth) / 2
	v.addBox(x, middle, d.Agent.Name, true)
	for i, t := range left {
		y := v.rowHeight(i, len(left), rows)
		v.Edges = append(v.Edges, graphEdge{boxWidth + 1, y, x - 2, middle, t.Weight == 0})
		v.addBox(1, y, nameOf(d, t.Attester), false)
	}
	for i, t := range right {
		y := v.rowHeight(i, len(right), rows)
		v.Edges = append(v.Edges, graphEdge{x + boxWidth, middle, graphWidth - boxWidth - 3, y, t.Weight == 0})
		v.addBox(graphWidth-boxWidth-1, y, nameOf(d, t.Subject), false)
	}
	for _, more := range []struct{ n, x int }{{moreLeft, 1}, {moreRight, graphWidth - boxWidth - 1}} {
		if more.n > 0 {
			v.Labels = append(v.Labels, graphLabel{more.x, v.Height - 6, fmt.Sprintf("and %d more", more.n)})
		}
	}
	return v
}

// rowHeight is the height of the i-th of n boxes, in the middle of the rows.
func (v *graphView) rowHeight(i, n, rows int) int {
	return (rows-n)*graphRow/2 + i*graphRow + graphRow/2
}

func (v *graphView) addBox(x, y int, name string, self bool) {
	v.Nodes = append(v.Nodes, graphNode{
		X: x, Y: y - boxHeight/2, Width: boxWidth, Height: boxHeight, TextX: x + boxWidth/2, TextY: y + 5, Name: frame.ClipPlain(22, name), Self: self,
	})
}

// nameOf is the name of another agent, its AIR ID where none is known.
func nameOf(d answer.AgentDetails, airID string) string {
	if name := d.Names[airID]; name != "" {
		return name
	}
	return airID
}
