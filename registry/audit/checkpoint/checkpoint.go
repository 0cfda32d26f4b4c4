// Package checkpoint reads and signs the heads of transparency logs: checkpoints with their
// signatures and cosignatures, and the keys for both (C2SP tlog-checkpoint, tlog-cosignature,
// signed-note). Start with [Parse], [OpenKey] and [NewVerifier].
package checkpoint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxSize is the maximum size of a checkpoint with its signatures, in bytes.
const MaxSize = 64 << 10

// A Checkpoint is a tree head of the log with the given origin.
type Checkpoint struct {
	Origin string
	tlog.Tree
}

// Text returns the signed body: origin, size and root hash, one per line (C2SP tlog-checkpoint).
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.N, c.Hash)
}

// Sign signs the checkpoint with the key of its log.
func (c Checkpoint) Sign(key *Key) ([]byte, error) {
	signed, err := key.SignText(c.Text())
	if err != nil {
		return nil, fmt.Errorf("sign the checkpoint of size %d: %w", c.N, err)
	}
	return signed, nil
}

// parseText reads the body of a checkpoint. Extension lines are allowed and ignored.
func parseText(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" || lines[0] == "" {
		return Checkpoint{}, errors.New("a checkpoint has an origin, a size and a root hash, each on a line")
	}
	if slices.Contains(lines[3:len(lines)-1], "") {
		return Checkpoint{}, errors.New("a checkpoint has no empty extension lines")
	}
	size, err := ParseNumber(lines[1])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the size of a checkpoint: %w", err)
	}
	root, err := ParseHash(lines[2])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the root of a checkpoint: %w", err)
	}
	if size == 0 && root != EmptyTree().Hash {
		return Checkpoint{}, errors.New("a checkpoint of size 0 has the hash of nothing")
	}
	return Checkpoint{Origin: lines[0], Tree: tlog.Tree{N: size, Hash: root}}, nil
}

// EmptyTree returns the tree without leaves.
func EmptyTree() tlog.Tree {
	root, _ := tlog.TreeHash(0, nil) // needs no hash
	return tlog.Tree{Hash: root}
}

// ParseNumber reads a decimal number in the form of the C2SP formats: ASCII digits, no sign, no
// leading zero.
func ParseNumber(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is not a decimal number without sign and leading zeros", protocol.ClipBytes(text, MaxQuoted))
	}
	return int64(n), nil
}

// ParseHash reads a hash in canonical base64.
func ParseHash(text string) (tlog.Hash, error) {
	h, err := tlog.ParseHash(text)
	if err != nil || h.String() != text {
		return tlog.Hash{}, fmt.Errorf("%q is not a hash of 32 bytes in base64", protocol.ClipBytes(text, MaxQuoted))
	}
	return h, nil
}

// MaxHashes is the maximum number of hashes in a proof (C2SP tlog-witness).
const MaxHashes = 63

// ParseHashes reads one hash in base64 from each line.
func ParseHashes(text string) ([]tlog.Hash, error) {
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	if len(lines) > MaxHashes {
		return nil, fmt.Errorf("it has %d hashes, more than %d", len(lines), MaxHashes)
	}
	hashes := make([]tlog.Hash, len(lines))
	for i, line := range lines {
		var err error
		if hashes[i], err = ParseHash(line); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// Parse checks the signature of a checkpoint with the log's key and returns the
// checkpoint. The name of the key must be the checkpoint's origin. Signatures of other keys are
// ignored.
func Parse(signed []byte, verifier note.Verifier) (Checkpoint, error) {
	c, n, err := Open(signed, verifier)
	switch {
	case err != nil:
		return Checkpoint{}, err
	case len(n.Sigs) == 0:
		return Checkpoint{}, fmt.Errorf("the checkpoint of %q is not signed with the key %s+%08x: it is of another log, or another key is needed", protocol.ClipBytes(c.Origin, MaxQuoted), verifier.Name(), verifier.KeyHash())
	case c.Origin != verifier.Name():
		return Checkpoint{}, fmt.Errorf("the checkpoint is of the log %q, not of %q", protocol.ClipBytes(c.Origin, MaxQuoted), verifier.Name())
	}
	return c, nil
}

// Open reads a checkpoint. It may have only signatures of other keys; the note then has
// no verified signatures. A wrong signature of a known key is an error.
func Open(signed []byte, known ...note.Verifier) (Checkpoint, *note.Note, error) {
	if len(signed) > MaxSize {
		return Checkpoint{}, nil, fmt.Errorf("the checkpoint has %d bytes, more than %d", len(signed), MaxSize)
	}
	n, err := note.Open(signed, note.VerifierList(known...))
	var unverified *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case errors.As(err, &unverified):
		n = unverified.Note
	case errors.As(err, &invalid):
		return Checkpoint{}, nil, fmt.Errorf("the signature of %s is invalid: the text was changed, or the signature", invalid.Name)
	case err != nil:
		return Checkpoint{}, nil, errors.New("it is not a signed checkpoint: a text, an empty line and lines of signatures")
	}
	for _, signature := range n.Sigs {
		if _, err := base64.StdEncoding.Strict().DecodeString(signature.Base64); err != nil {
			return Checkpoint{}, nil, fmt.Errorf("the signature of %s is not in canonical base64: it was changed", signature.Name)
		}
	}
	c, err := parseText(n.Text)
	return c, n, err
}

// MaxQuoted is the number of bytes of a foreign text that a message quotes.
const MaxQuoted = 64
