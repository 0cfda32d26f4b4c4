package registry

import (
	"math"
)

// A Score is the trust score of the AIR reference, 0 to 1000. It is computed from the agent's own
// statements, for clients that read it; it is not evidence, and no list is sorted by it.
type Score struct {
	Total      int
	Grade      string // "AAA" to "C"
	Components Components
}

// Components are the parts of a [Score], each 0 to 1000.
type Components struct {
	Provenance       int
	Behavioral       int
	Transparency     int
	Security         int
	PeerAttestations int
}

// Weights of the components of a trust score, in percent.
const (
	WeightProvenance       = 25
	WeightBehavioral       = 25
	WeightTransparency     = 20
	WeightSecurity         = 15
	WeightPeerAttestations = 15
)

// TrustScore computes the score of an agent by the reference's formula.
func TrustScore(a Agent) Score {
	weight := a.Standing.RoundedWeight()
	c := Components{
		Provenance:       min(600, 300+100*countTrue(a.CreatorDID != "", a.CreatorName != "", a.CreatorType == "organization")),
		Behavioral:       500,
		Transparency:     min(650, 300+150*countTrue(a.OpenSource)+100*countTrue(a.CodeRepository != "", a.DocumentationURL != "")),
		Security:         300 + min(300, 100*len(a.SecurityCertifications)),
		PeerAttestations: min(1000, 300+int(math.Floor(18*math.Sqrt(float64(weight))+0.5))),
	}
	// In hundredths and rounded half up, so that no machine rounds differently.
	hundredths := WeightProvenance*c.Provenance + WeightBehavioral*c.Behavioral + WeightTransparency*c.Transparency +
		WeightSecurity*c.Security + WeightPeerAttestations*c.PeerAttestations
	total := (hundredths + 50) / 100
	return Score{Total: total, Grade: scoreGrade(total), Components: c}
}

func countTrue(facts ...bool) int {
	n := 0
	for _, fact := range facts {
		if fact {
			n++
		}
	}
	return n
}

func scoreGrade(total int) string {
	for _, g := range []struct {
		from int
		name string
	}{{950, "AAA"}, {850, "AA"}, {700, "A"}, {600, "BBB"}, {500, "BB"}, {400, "B"}} {
		if total >= g.from {
			return g.name
		}
	}
	return "C"
}

// TrustScore is the whole score.
func (a Agent) TrustScore() int { return TrustScore(a).Total }
