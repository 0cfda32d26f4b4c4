package main

// block is how many numbers the functions below take at a time.
const block = 4

// dotsBlocks writes the four sums of the products of x with y, x with y2, x2 with
// y, and x2 with y2, over so many blocks: of each the sums of every fourth number,
// which dot adds up.
//
//go:noescape
func dotsBlocks(x, x2, y, y2 *float32, blocks int, sums *[16]float32)

// addBlocks adds by times v to to.
//
//go:noescape
func addBlocks(to, v *float32, blocks int, by float32)
