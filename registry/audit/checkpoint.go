package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// maxCheckpoint is the longest checkpoint that is read, signatures included.
const maxCheckpoint = 64 << 10

// A Checkpoint is a tree head of the log with that origin.
type Checkpoint struct {
	Origin string
	tlog.Tree
}

// Text is the body that is signed: origin, size and root hash, a line each
// (C2SP tlog-checkpoint).
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.N, c.Hash)
}

// sign returns the signed checkpoint.
func (c Checkpoint) sign(signer note.Signer) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the checkpoint of size %d: %w", c.N, err)
	}
	return signed, nil
}

// checkOrigin refuses what cannot stand in the first line of a checkpoint.
func checkOrigin(origin string) error {
	bad := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || c == '+' }
	if origin == "" || !utf8.ValidString(origin) || strings.ContainsFunc(origin, bad) {
		return fmt.Errorf("the origin %q is not a name without spaces and plus signs, such as registry.example/log", origin)
	}
	return nil
}

// parseText reads the body of a checkpoint. Extension lines are allowed and not
// looked at.
func parseText(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" || lines[0] == "" {
		return Checkpoint{}, errors.New("a checkpoint has an origin, a size and a root hash, each on a line")
	}
	for _, extension := range lines[3 : len(lines)-1] {
		if extension == "" {
			return Checkpoint{}, errors.New("a checkpoint has no empty extension lines")
		}
	}
	size, err := parseNumber(lines[1])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the size of a checkpoint: %w", err)
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil || root.String() != lines[2] {
		return Checkpoint{}, errors.New("the root hash of a checkpoint is 32 bytes in base64")
	}
	if size == 0 && root != emptyTree().Hash {
		return Checkpoint{}, errors.New("a checkpoint of size 0 has the hash of nothing")
	}
	return Checkpoint{Origin: lines[0], Tree: tlog.Tree{N: size, Hash: root}}, nil
}

// emptyTree is the tree without leaves.
func emptyTree() tlog.Tree {
	root, _ := tlog.TreeHash(0, nil) // asks for no hash
	return tlog.Tree{Hash: root}
}

// parseNumber reads a decimal number as the formats of C2SP write it: ASCII
// digits, no sign, no leading zero.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is not a decimal number without sign and leading zeros", clip(text))
	}
	return int64(n), nil
}

// clip shortens foreign text for a message.
func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}

// ParseCheckpoint checks the signature of a checkpoint with the log's key and
// returns what it says. The name of the key must be the checkpoint's origin.
func ParseCheckpoint(signed []byte, verifier note.Verifier) (Checkpoint, error) {
	if len(signed) > maxCheckpoint {
		return Checkpoint{}, fmt.Errorf("the checkpoint has %d bytes, more than %d", len(signed), maxCheckpoint)
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint is not signed by %s: %w", verifier.Name(), err)
	}
	c, err := parseText(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != verifier.Name() {
		return Checkpoint{}, fmt.Errorf("the checkpoint is of the log %q, not of %q", c.Origin, verifier.Name())
	}
	return c, nil
}

// readCheckpoint reads a file with our own last checkpoint, whose text alone
// counts: that it is ours is shown by the tree, which must contain it. The error
// is fs.ErrNotExist when there is no such file.
func readCheckpoint(path, origin string) (Checkpoint, []byte, error) {
	signed, err := os.ReadFile(path)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	damaged := func(problem string) error {
		return &DamagedError{File: path, Problem: problem,
			Remedy: "put back the newest checkpoint of this log that you can find: its own backup, a witness and every client that verified one have it"}
	}
	end := bytes.Index(signed, []byte("\n\n"))
	if end < 0 {
		return Checkpoint{}, nil, damaged("is not a signed checkpoint")
	}
	c, err := parseText(string(signed[:end+1]))
	if err != nil {
		return Checkpoint{}, nil, damaged("is damaged: " + err.Error())
	}
	if c.Origin != origin {
		return Checkpoint{}, nil, &DamagedError{File: path, Problem: fmt.Sprintf("is of the log %q, not of %q", c.Origin, origin),
			Remedy: "set the origin and key of that log, or begin this one in another directory"}
	}
	return c, signed, nil
}

// checkpointFiles are where the last signed checkpoint lies.
func checkpointFiles(dir, second string) []string {
	files := []string{filepath.Join(dir, checkpointFile)}
	if second != "" {
		files = append(files, second)
	}
	return files
}

// lastCheckpoint returns the newest of the checkpoints that lie in the files,
// and false when there is none in any. Two that contradict each other are found
// out by the tree, which cannot contain both.
func lastCheckpoint(files []string, origin string) (all []Checkpoint, err error) {
	for _, path := range files {
		c, _, err := readCheckpoint(path, origin)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
