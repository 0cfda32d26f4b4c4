package proof

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// An Inclusion proves that a tree contains a leaf; tlog.CheckRecord checks it with the root of the
// tree.
type Inclusion struct {
	Index  int64
	Size   int64 // of the tree
	Leaf   tlog.Hash
	Hashes tlog.RecordProof // from the leaf's sibling upwards
}

const proofHeader = "c2sp.org/tlog-proof@v1"

// Text writes a proof with the signed checkpoint of its tree as one text that can be checked
// offline, in the form of C2SP tlog-proof. [Check] reads it.
func (p Inclusion) Text(checkpoint []byte) []byte {
	out := fmt.Appendf(nil, "%s\nindex %d\n", proofHeader, p.Index)
	for _, h := range p.Hashes {
		out = fmt.Appendf(out, "%s\n", h)
	}
	return append(append(out, '\n'), checkpoint...)
}

// Check checks the text of a proof: the log with the given key must have signed a tree that
// contains the leaf. It returns the proof and the checkpoint.
func Check(text, leaf []byte, verifier note.Verifier) (Inclusion, checkpoint.Checkpoint, error) {
	p, signed, err := parseInclusion(text)
	if err != nil {
		return Inclusion{}, checkpoint.Checkpoint{}, fmt.Errorf("read the proof: %w", err)
	}
	c, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		return Inclusion{}, checkpoint.Checkpoint{}, err
	}
	p.Size, p.Leaf = c.N, tlog.RecordHash(leaf)
	if p.Index >= p.Size {
		return Inclusion{}, checkpoint.Checkpoint{}, fmt.Errorf("the proof is for leaf %d, the checkpoint has %d leaves", p.Index, p.Size)
	}
	if err := tlog.CheckRecord(p.Hashes, p.Size, c.Hash, p.Index, p.Leaf); err != nil {
		return Inclusion{}, checkpoint.Checkpoint{}, fmt.Errorf("the proof does not lead from the leaf to the root %s of the checkpoint: the leaf is another one, or the proof is", c.Hash)
	}
	return p, c, nil
}

// parseInclusion reads the lines of a proof, and returns the checkpoint that follows them.
func parseInclusion(text []byte) (Inclusion, []byte, error) {
	if len(text) > checkpoint.MaxSize+8192 {
		return Inclusion{}, nil, fmt.Errorf("it has %d bytes", len(text))
	}
	lines, signed, found := bytes.Cut(text, []byte("\n\n"))
	if !found {
		return Inclusion{}, nil, errors.New("it has no empty line before the checkpoint")
	}
	head, rest, _ := strings.Cut(string(lines), "\n")
	if head != proofHeader {
		return Inclusion{}, nil, fmt.Errorf("its first line is not %s", proofHeader)
	}
	if extra, found := strings.CutPrefix(rest, "extra "); found {
		_, rest, _ = strings.Cut(extra, "\n")
	}
	line, rest, _ := strings.Cut(rest, "\n")
	number, found := strings.CutPrefix(line, "index ")
	if !found {
		return Inclusion{}, nil, errors.New("it has no line with the index")
	}
	index, err := checkpoint.ParseNumber(number)
	if err != nil {
		return Inclusion{}, nil, err
	}
	hashes, err := checkpoint.ParseHashes(rest)
	return Inclusion{Index: index, Hashes: hashes}, signed, err
}
