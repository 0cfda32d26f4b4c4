package wordvec

import "golang.org/x/sys/cpu"

// block is the number of numbers that the functions below process at a time.
const block = 8

// dotInt8Blocks returns the inner product of a number of blocks.
//
//go:noescape
func dotInt8Blocks(a, b *int8, blocks int) int32

// wide is how many numbers dotInt8Wide processes at a time, which needs AVX2.
const wide = 32

var hasWide = cpu.X86.HasAVX2

// dotInt8Wide returns the inner product of a number of blocks of wide numbers, at least one.
//
//go:noescape
func dotInt8Wide(a, b *int8, pairs int) int32

// dotBlocks returns four sums, the i-th of a[8k+i]·b[8k+i] + a[8k+4+i]·b[8k+4+i].
//
//go:noescape
func dotBlocks(a, b *float32, blocks int, sums *[4]float32)

// addBlocks adds weight times v to to.
//
//go:noescape
func addBlocks(to, v *float32, blocks int, weight float32)

// addInt8Blocks does the same with integers.
//
//go:noescape
func addInt8Blocks(to *float32, v *int8, blocks int, weight float32)
