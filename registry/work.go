package registry

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"gazetteer/protocol/did"
)

// MaxWork is the largest proof of work that a registry requires, in bits. It takes some minutes.
const MaxWork = 28

// WorkProof is a proof of work that a registration needs while registrations are flooded: a number
// for which the SHA-256 of "CHALLENGE.MULTIKEY.NUMBER" begins with the required zero bits, where
// MULTIKEY is the public key of the agent. Each challenge counts once.
type WorkProof struct {
	Challenge string    `json:"challenge" doc:"the first part of the hashed text"`
	Bits      int       `json:"bits" doc:"how many zero bits the SHA-256 begins with"`
	Expires   time.Time `json:"expires" doc:"until when the solution is accepted"`
}

// NewWork returns the work for a registration. It stores nothing.
func (r *Registry) NewWork(zeros int) (WorkProof, error) {
	text, err := r.work.issueChallenge(io.MultiReader(bytes.NewReader([]byte{byte(zeros)}), r.rand), r.steady().Add(challengeLifetime))
	return WorkProof{text, zeros, r.challengeExpiry()}, err
}

// UseWork checks a solution of [SolveWork], marks its challenge as used, and returns a function to
// call when the registration fails. The error is a [*Refusal].
func (r *Registry) UseWork(solution string, key ed25519.PublicKey) (release func(), err error) {
	challenge, _, _ := strings.Cut(solution, ".")
	now := r.steady()
	expires, err := r.work.checkChallenge(challenge, now)
	if err != nil {
		return nil, err
	}
	head, err := base64.RawURLEncoding.DecodeString(challenge)
	if err != nil {
		return nil, err // checked above
	}
	_, number, _ := strings.Cut(solution, ".")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil || countZeros(challenge, key, number) < int(head[8]) {
		return nil, &Refusal{Kind: ErrUnauthorized, Code: "work-wrong", Message: "the number does not solve the challenge for this public key",
			Help: "hash CHALLENGE.MULTIKEY.NUMBER with SHA-256, and count up until it begins with the wanted zero bits"}
	}
	if err := r.work.useChallenge(challenge, expires, now); err != nil {
		return nil, err
	}
	return func() { r.work.releaseChallenge(challenge) }, nil
}

// SolveWork returns the solution of work as the header Registration-Work has it. It ends with an
// error when ctx ends.
func SolveWork(ctx context.Context, w WorkProof, key ed25519.PublicKey) (string, error) {
	for n := uint64(0); ; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		if number := strconv.FormatUint(n, 10); countZeros(w.Challenge, key, number) >= w.Bits {
			return w.Challenge + "." + number, nil
		}
	}
}

// countZeros counts the zero bits with which the hash of a solution begins, up to 64.
func countZeros(challenge string, key ed25519.PublicKey, number string) int {
	multikey := ""
	if len(key) > 0 {
		multikey = did.FormatMultikey(key)
	}
	sum := sha256.Sum256([]byte(challenge + "." + multikey + "." + number))
	return bits.LeadingZeros64(binary.BigEndian.Uint64(sum[:8]))
}
