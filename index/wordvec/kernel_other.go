//go:build !amd64

package wordvec

import "math"

// block is the number of numbers that assembly functions process at a time: there are none for this
// processor, and no vector is that long.
const block = math.MaxInt

// wide and hasWide say the same of wider blocks.
const (
	wide    = math.MaxInt
	hasWide = false
)

func dotInt8Wide(_, _ *int8, _ int) int32                 { panic("no block is so long") }
func dotInt8Blocks(_, _ *int8, _ int) int32               { panic("no block is so long") }
func dotBlocks(_, _ *float32, _ int, _ *[4]float32)       { panic("no block is so long") }
func addBlocks(_, _ *float32, _ int, _ float32)           { panic("no block is so long") }
func addInt8Blocks(_ *float32, _ *int8, _ int, _ float32) { panic("no block is so long") }
