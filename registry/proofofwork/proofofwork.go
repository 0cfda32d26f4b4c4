// Package proofofwork computes what a registration costs while very many agents are registered: a
// number that is slow to find and quick to check. Begin with [Solve].
package proofofwork

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"gazetteer/protocol/did"
)

// MaxBits is the largest number of zero bits that a registry requires. It takes one processor about a minute.
const MaxBits = 28

// A Task is the work for one registration: to find a number for which the SHA-256 of
// "CHALLENGE.MULTIKEY.NUMBER" begins with the required zero bits, where MULTIKEY is the public key
// of the agent. Each challenge counts once.
type Task struct {
	Challenge string    `json:"challenge" doc:"the first part of the hashed text"`
	Bits      int       `json:"bits" doc:"how many zero bits the SHA-256 begins with"`
	Expires   time.Time `json:"expires" doc:"until when the solution is accepted"`
}

// Solve returns the solution of a task as the header Registration-Work has it: the challenge, a dot
// and the number. It ends with an error when ctx ends.
func Solve(ctx context.Context, t Task, key ed25519.PublicKey) (string, error) {
	text := workPrefix(t.Challenge, key)
	prefix := len(text)
	for n := uint64(0); ; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		text = strconv.AppendUint(text[:prefix], n, 10)
		if leadingZeros(text) >= t.Bits {
			return t.Challenge + "." + string(text[prefix:]), nil
		}
	}
}

// CountZeros returns the number of zero bits with which the hash of a solution begins, up to 64; -1
// for a text that is no solution.
func CountZeros(solution string, key ed25519.PublicKey) int {
	challenge, number, _ := strings.Cut(solution, ".")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return -1
	}
	return leadingZeros(append(workPrefix(challenge, key), number...))
}

// workPrefix returns the hashed text up to the number.
func workPrefix(challenge string, key ed25519.PublicKey) []byte {
	multikey := ""
	if len(key) > 0 {
		multikey = did.FormatMultikey(key)
	}
	return []byte(challenge + "." + multikey + ".")
}

func leadingZeros(text []byte) int {
	sum := sha256.Sum256(text)
	return bits.LeadingZeros64(binary.BigEndian.Uint64(sum[:8]))
}
