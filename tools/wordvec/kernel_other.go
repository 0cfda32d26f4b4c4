//go:build !amd64

package main

import "math"

// block is how many numbers a processor's own functions take at a time: there are
// none for this one, and no vector is so long.
const block = math.MaxInt

func dotsBlocks(_, _, _, _ *float32, _ int, _ *[16]float32) { panic("no block is so long") }
func addBlocks(_, _ *float32, _ int, _ float32)             { panic("no block is so long") }
