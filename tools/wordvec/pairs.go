package main

// A rawExample is two texts that mean the same, in words.
type rawExample struct {
	left, right []rawPart
	group       string // examples of one group are never held against each other
	asked       bool   // whether the left side may be put as a person asks
}

// A rawPart is some words of a text that are taken or left together when an
// example is drawn.
type rawPart struct {
	words []string
	keep  float32 // how often the part is taken; 1 for always
}

func always(words []string) []rawPart { return []rawPart{{words, 1}} }

// An example is a rawExample in the numbers of words.
type example struct {
	left, right []part
	group       int32
	asked       bool
}

type part struct {
	words []int32
	keep  float32
}

// examples numbers the words; examples that lose a whole side are left out.
func (v *vocabulary) examples(raw []rawExample) []example {
	groups := map[string]int32{}
	var out []example
	for _, r := range raw {
		g, ok := groups[r.group]
		if !ok {
			g = int32(len(groups))
			groups[r.group] = g
		}
		e := example{v.parts(r.left), v.parts(r.right), g, r.asked}
		if len(e.left) > 0 && len(e.right) > 0 {
			out = append(out, e)
		}
	}
	return out
}

func (v *vocabulary) parts(raw []rawPart) []part {
	var out []part
	for _, r := range raw {
		if words := v.numbers(r.words); len(words) > 0 {
			out = append(out, part{words, r.keep})
		}
	}
	return out
}

// count tells how often each word is used.
func count(raw []rawExample) map[string]int {
	counts := map[string]int{}
	for _, e := range raw {
		for _, side := range [][]rawPart{e.left, e.right} {
			for _, p := range side {
				for _, w := range p.words {
					counts[w]++
				}
			}
		}
	}
	return counts
}

// textsOf returns both sides of each example as one text.
func textsOf(examples []example) [][]int32 {
	texts := make([][]int32, len(examples))
	for i, e := range examples {
		for _, side := range [][]part{e.left, e.right} {
			for _, p := range side {
				texts[i] = append(texts[i], p.words...)
			}
		}
	}
	return texts
}
