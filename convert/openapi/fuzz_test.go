package openapi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
)

// accepted converts a text to each format and checks that the reader of the format finds no error
// in the result. It returns the number of results.
func accepted(t testing.TB, text []byte) int {
	t.Helper()
	outputs := 0
	for _, format := range []string{"yaml", "json"} {
		out, err := ToAGIS(text, conversion.Options{Format: format})
		if err == nil {
			readAGIS(t, out.Text)
			outputs++
		}
		mustBeTheTexts(t, err)
	}
	out, err := ToAIDiscovery(text, conversion.Options{})
	mustBeTheTexts(t, err)
	if err != nil {
		return outputs
	}
	_, findings, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Text)
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			t.Fatalf("%s at %s: %s\n%s", f.Code, f.Pointer, f.Message, out.Text)
		}
	}
	return outputs + 1
}

// mustBeTheTexts fails when an error is ours: it then is neither about a text
// that cannot be read nor about one of another format.
func mustBeTheTexts(t testing.TB, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, protocol.ErrUnreadable) && !errors.Is(err, protocol.ErrOtherFormat) && !strings.Contains(err.Error(), "no operation of the description") {
		t.Fatal(err)
	}
}

// TestScrambledDescriptions checks that descriptions with randomly swapped parts become accepted
// documents or errors that describe the problem.
func TestScrambledDescriptions(t *testing.T) {
	var trees, parts []*protocol.Node
	for name, text := range descriptions(t) {
		if strings.Contains(name, "operations") {
			continue
		}
		root, err := conversion.ReadText(text)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, root)
	}
	slices.SortFunc(trees, func(a, b *protocol.Node) int {
		return strings.Compare(string(protocol.WriteJSON(a, "")), string(protocol.WriteJSON(b, "")))
	})
	var collect func(n *protocol.Node)
	collect = func(n *protocol.Node) {
		parts = append(parts, n)
		for _, item := range n.Items {
			collect(item)
		}
	}
	for _, root := range trees {
		collect(root)
	}
	outputs := 0
	const rounds = 150
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 4))
		text := protocol.WriteJSON(scramble(r, trees[r.IntN(len(trees))], parts, 0), "")
		if t.Failed() {
			break
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { outputs += accepted(t, text) })
	}
	if outputs < rounds {
		t.Errorf("only %d outputs of %d texts: the test scrambles too much to show anything", outputs, rounds)
	}
}

// scramble copies a tree; some values are replaced by others, some members left
// out, some keys changed.
func scramble(r *rand.Rand, n *protocol.Node, parts []*protocol.Node, depth int) *protocol.Node {
	if depth > 2 && r.IntN(60) == 0 {
		n = parts[r.IntN(len(parts))]
	}
	out := &protocol.Node{Kind: n.Kind, Text: n.Text}
	if depth > 40 {
		return &protocol.Node{Kind: protocol.Null}
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		if depth > 1 && r.IntN(80) == 0 {
			continue
		}
		c := scramble(r, item, parts, depth+1)
		c.Key = item.Key
		if n.Kind == protocol.Object && depth > 1 && r.IntN(100) == 0 {
			if other := parts[r.IntN(len(parts))].Key; other != "" {
				c.Key = other
			}
		}
		if n.Kind == protocol.Object && seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		out.Items = append(out.Items, c)
	}
	return out
}

func FuzzOpenAPI(f *testing.F) {
	for name, text := range descriptions(f) {
		if !strings.Contains(name, "operations") {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < 1<<16 {
			accepted(t, text)
		}
	})
}
