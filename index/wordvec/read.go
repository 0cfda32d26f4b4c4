package wordvec

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a table in text form. They allow two million words of 300 numbers, the size of the
// largest public tables, and keep a wrong file from filling the memory.
const (
	maxWords   = 2_000_000
	maxDim     = 1024
	maxNumbers = 640_000_000 // words times dimensions
	maxWord    = 256         // bytes of a word
	maxLine    = 32 * maxDim // bytes of a row
)

// Read reads a table in text form, plain or gzipped, with one word a line. A line is either a word
// and its numbers, separated by spaces or tabs (the form of GloVe, and of word2vec with its line of
// sizes at the top):
//
//	invoice 0.12 -0.4 …
//
// or, in a third of the size, a word, its relative frequency, a scale and the base64 of one int8 a
// number, separated by tabs:
//
//	invoice	1.2e-04	0.00061	gTHGERTQOQ…
//
// Lines that begin with "# " are comments. Words are converted to lower case, and the first of
// several equal ones counts. The length of a vector is the weight of its word: in a table of
// another origin, where all lengths are about the same, scale the frequent words down first.
//
// An error names the line and the reason.
func Read(r io.Reader) (*Table, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if head, err := in.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("read word vectors: %w", err)
		}
		defer z.Close()
		in = bufio.NewReaderSize(z, 1<<16)
	}
	t := &Table{words: map[string]uint32{}}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	line := 0
	for scanner.Scan() {
		line++
		if err := t.readLine(scanner.Text(), line); err != nil {
			return nil, fmt.Errorf("read word vectors: line %d: %w", line, err)
		}
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		}
		return nil, fmt.Errorf("read word vectors: line %d: %w", line+1, err)
	}
	if len(t.scales) == 0 {
		return nil, errors.New("read word vectors: no word in it")
	}
	return t, nil
}

func (t *Table) readLine(line string, number int) error {
	if line == "" || strings.HasPrefix(line, "# ") {
		return nil
	}
	if !utf8.ValidString(line) {
		return errors.New("not UTF-8")
	}
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if number == 1 && len(fields) == 2 {
		return nil // word2vec's number of words and of dimensions
	}
	if len(fields) < 2 {
		return errors.New("a word without numbers")
	}
	var q []int8
	var scale float32
	var err error
	if len(fields) == 4 && !isNumber(fields[3]) {
		q, scale, err = packedRow(fields[2], fields[3])
	} else {
		q, scale, err = plainRow(fields[1:])
	}
	if err != nil {
		return err
	}
	return t.addWord(strings.ToLower(fields[0]), q, scale)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 32)
	return err == nil
}

// packedRow reads a scale and the base64 of int8 numbers.
func packedRow(scale, numbers string) ([]int8, float32, error) {
	s, err := parseNumber(scale)
	if err != nil {
		return nil, 0, err
	}
	raw, err := base64.StdEncoding.DecodeString(numbers)
	if err != nil {
		return nil, 0, fmt.Errorf("the numbers are not base64: %w", err)
	}
	q := make([]int8, len(raw))
	for i, b := range raw {
		q[i] = int8(b)
	}
	return q, s, nil
}

func plainRow(fields []string) ([]int8, float32, error) {
	v := make([]float32, len(fields))
	for i, f := range fields {
		x, err := parseNumber(f)
		if err != nil {
			return nil, 0, err
		}
		v[i] = x
	}
	q, scale := Quantize(v)
	return q, scale, nil
}

// parseNumber reads a number that is small enough to calculate with: sums of such numbers never
// overflow.
func parseNumber(s string) (float32, error) {
	x, err := strconv.ParseFloat(s, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no number", s)
	}
	if math.IsNaN(x) || math.Abs(x) > 1e6 {
		return 0, fmt.Errorf("%.40q is not between -1e6 and 1e6", s)
	}
	return float32(x), nil
}

// addWord adds a word, unless it exists already.
func (t *Table) addWord(word string, q []int8, scale float32) error {
	if t.dim == 0 {
		if len(q) > maxDim {
			return fmt.Errorf("%d numbers: at most %d are read", len(q), maxDim)
		}
		t.dim = len(q)
	}
	if len(q) != t.dim {
		return fmt.Errorf("%d numbers, where the first word has %d", len(q), t.dim)
	}
	if len(word) > maxWord {
		return fmt.Errorf("a word of %d bytes: at most %d are read", len(word), maxWord)
	}
	if _, twice := t.words[word]; twice {
		return nil
	}
	if len(t.scales) == maxWords || len(t.rows)+t.dim > maxNumbers {
		return fmt.Errorf("too large: at most %d words and %d numbers are read", maxWords, maxNumbers)
	}
	t.words[word] = uint32(len(t.scales))
	t.rows = append(t.rows, q...)
	t.scales = append(t.scales, scale)
	return nil
}
