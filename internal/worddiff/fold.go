package worddiff

// A Block is a run of lines of a version: with a change nearby, or folded.
type Block struct {
	Later  bool // it belongs to the later version
	Folded int  // number of lines, 0 for a block that is shown
	Lines  [][]Part
}

// contextLines is the number of lines that are shown around a change; minFolded is the number of
// lines that are worth folding.
const (
	contextLines = 3
	minFolded    = 4
)

// FoldUnchanged divides a version into blocks. Lines that are far from the changes of the version and
// from the places where the other version has more are folded; none are in unmarked versions.
func FoldUnchanged(version, other []Part, later, unmarked bool) []Block {
	var lines [][]Part
	line := []Part{}
	changed := map[int]bool{}
	additions := changesOf(other)
	kept := 0 // bytes of unchanged text so far, which both versions have
	for _, part := range version {
		for i, text := range part.Lines() {
			if i > 0 {
				lines, line = append(lines, line), []Part{}
				if !part.Change {
					kept++
				}
			}
			line = append(line, Part{Text: text, Change: part.Change})
			if part.Change {
				changed[len(lines)] = true
				continue
			}
			for len(additions) > 0 && additions[0] <= kept+len(text) {
				changed[len(lines)] = true
				additions = additions[1:]
			}
			kept += len(text)
		}
	}
	lines = append(lines, line)
	near := func(n int) bool {
		for at := n - contextLines; at <= n+contextLines; at++ {
			if changed[at] {
				return true
			}
		}
		return unmarked
	}
	var blocks []Block
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && near(to) == near(from) {
			to++
		}
		block := Block{Later: later, Lines: lines[from:to]}
		if !near(from) && to-from >= minFolded {
			block.Folded = to - from
		}
		if last := len(blocks) - 1; last >= 0 && block.Folded == 0 && blocks[last].Folded == 0 {
			blocks[last].Lines = append(blocks[last].Lines, block.Lines...)
		} else {
			blocks = append(blocks, block)
		}
		from = to
	}
	return blocks
}

// changesOf returns the places of the changed parts of a version, as the number of bytes of unchanged
// text before each.
func changesOf(version []Part) (places []int) {
	kept := 0
	for _, part := range version {
		if part.Change {
			places = append(places, kept)
		} else {
			kept += len(part.Text)
		}
	}
	return places
}
