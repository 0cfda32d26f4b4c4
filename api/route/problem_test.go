package route

import (
	"os"
	"regexp"
	"testing"
)

// TestEveryProblemIsDescribed checks that OpenAPI describes every kind of problem that is declared,
// except the one for the log alone.
func TestEveryProblemIsDescribed(t *testing.T) {
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`= (?:newKind\(|ProblemKind\{)"([a-z-]+)"`).FindAllSubmatch(source, -1)
	described := problemKinds
	if len(declared) < 40 {
		t.Fatalf("%d kinds of problems found", len(declared))
	}
	for _, m := range declared {
		if code := string(m[1]); described[code].Code != code && code != clientGone.Code {
			t.Errorf("no row for %s", code)
		}
	}
}
