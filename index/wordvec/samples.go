package wordvec

import (
	_ "embed"
	"strings"
)

//go:embed samples.txt
var samples string

// Samples returns texts of a few thousand real operations, their words in lower
// case: what sums of any table's words look like.
func Samples() []string { return strings.Split(strings.TrimSpace(samples), "\n") }
