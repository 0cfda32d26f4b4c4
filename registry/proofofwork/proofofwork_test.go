package proofofwork_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry/proofofwork"
)

var key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)

// TestSolutionsBeginWithZeros checks the hash of a solution as the documentation of a Task defines it.
func TestSolutionsBeginWithZeros(t *testing.T) {
	solution, err := proofofwork.Solve(t.Context(), proofofwork.Task{Challenge: "c1", Bits: 12}, key)
	if err != nil {
		t.Fatal(err)
	}
	challenge, number, _ := strings.Cut(solution, ".")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(challenge+"."+did.FormatMultikey(key)+"."+number)))
	if challenge != "c1" || !strings.HasPrefix(sum, "000") {
		t.Errorf("solution %s has the hash %s", solution, sum)
	}
	if zeros := proofofwork.CountZeros(solution, key); zeros < 12 {
		t.Errorf("solution %s has %d zero bits", solution, zeros)
	}
	for _, other := range []string{"c1", "c1.", "c1.x", "c1.-1", "c1.1.2", ""} {
		if zeros := proofofwork.CountZeros(other, key); zeros != -1 {
			t.Errorf("%q has %d zero bits", other, zeros)
		}
	}
}

// TestSolveEnds checks that the search ends with its context.
func TestSolveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proofofwork.Solve(ctx, proofofwork.Task{Challenge: "c1", Bits: 64}, key); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkSolve reports how long one try takes, in units of the hash that it computes.
func BenchmarkSolve(b *testing.B) {
	const hashes = 1 << 18
	text := make([]byte, 90) // as long as a hashed text
	begin := time.Now()
	for range hashes {
		sha256.Sum256(text)
	}
	hash := time.Since(begin) / hashes
	tries, begin := 0.0, time.Now()
	for n := 0; b.Loop(); n++ {
		solution, err := proofofwork.Solve(b.Context(), proofofwork.Task{Challenge: fmt.Sprint("c", n), Bits: 14}, key)
		if err != nil {
			b.Fatal(err)
		}
		_, number, _ := strings.Cut(solution, ".")
		last, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		tries += float64(last + 1)
	}
	b.ReportMetric(float64(time.Since(begin))/tries/float64(hash), "of-hash")
}
