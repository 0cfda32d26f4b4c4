package registry

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"strings"

	"gazetteer/registry/proofofwork"
)

// NewWork returns the work for a registration. It stores nothing.
func (r *Registry) NewWork(zeros int) (proofofwork.Task, error) {
	text, err := r.work.issueChallenge(io.MultiReader(bytes.NewReader([]byte{byte(zeros)}), r.rand), r.steady().Add(challengeLifetime))
	return proofofwork.Task{Challenge: text, Bits: zeros, Expires: r.challengeExpiry()}, err
}

// UseWork checks a solution of [proofofwork.Solve], marks its challenge as used, and returns a function
// to call when the registration fails. The error is a [*Refusal].
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
	if proofofwork.CountZeros(solution, key) < int(head[8]) {
		return nil, &Refusal{Kind: ErrUnauthorized, Code: "work-wrong", Message: "the number does not solve the challenge for this public key",
			Help: "hash CHALLENGE.MULTIKEY.NUMBER with SHA-256, and count up until it begins with the wanted zero bits"}
	}
	if err := r.work.useChallenge(challenge, expires, now); err != nil {
		return nil, err
	}
	return func() { r.work.releaseChallenge(challenge) }, nil
}
