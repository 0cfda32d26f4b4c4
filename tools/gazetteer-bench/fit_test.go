package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWeightsOfTheListExist checks that each weight of the list is a number in its file.
func TestWeightsOfTheListExist(t *testing.T) {
	o := fitOptions{root: filepath.Join("..", ".."), weights: filepath.Join("tools", "gazetteer-bench", "weights.txt")}
	weights, err := o.readWeights()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, w := range weights {
		if w.value <= 0 || names[w.name()] {
			t.Errorf("%s is %g, listed before: %v", w.name(), w.value, names[w.name()])
		}
		names[w.name()] = true
	}
	if len(weights) == 0 {
		t.Error("the list is empty")
	}
}

func TestUnclearWeightsAreErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "const a = 1\nconst ba = 2\n", "list": "a.go\ta = \n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := fitOptions{root: dir, weights: "list"}
	if _, err := o.readWeights(); err == nil {
		t.Error("a text that the file has twice names a weight")
	}
}

// TestGainWithoutOneSet checks that the rounds that nobody reads do not decide, and that one set alone is
// no reason.
func TestGainWithoutOneSet(t *testing.T) {
	before := map[string]float64{"a": 10, "b": 10, "c": 10, "round13": 10}
	all, least, unseen := gainOf(map[string]float64{"a": 14, "b": 9, "c": 10.5, "round13": 12}, before)
	if all != 3.5 || least != -.5 || unseen != 2 {
		t.Errorf("the gain is %g, at least %g, unseen %g", all, least, unseen)
	}
}
