package repair

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"gazetteer/document"
	"gazetteer/protocol"
)

// A Repair is the correction of one finding.
type Repair struct {
	// Finding is the finding that was repaired. Its place is in the text after the earlier repairs.
	Finding protocol.Finding
	// Edits are the changes, with offsets in the same text as the place of the finding.
	Edits []protocol.Edit
}

// maxReadings is how many times one text is read to try repairs. Ordinary documents need fewer than
// ten.
const maxReadings = 100

// Fix repairs a document of a kind. It returns the text unchanged and no repairs if nothing can be
// repaired safely. The error means that the kind is unknown, or, wrapping [protocol.ErrUnreadable]
// or [protocol.ErrOtherFormat], that the text is not a document of that kind and could not be
// repaired to one.
func Fix(kind document.Kind, text []byte) (fixed []byte, repaired []Repair, err error) {
	format, ok := document.FormatOf(kind)
	if !ok {
		return text, nil, fmt.Errorf("repair a document: %w", &document.UnknownKindError{Kind: kind})
	}
	m := &repairer{format: format}
	now := m.readText(text)
	if format.Syntax != document.PlainText && (now.err != nil || MayBePasted(now.root)) {
		if clean, pasted := m.removePaste(text); clean != nil {
			if fixed, repaired, err := m.fix(clean); err == nil && m.readings <= maxReadings {
				return fixed, append(pasted, repaired...), nil
			}
		}
	}
	return m.fix(now)
}

// removePaste reads a text without what was pasted with its document; nil if nothing was.
func (m *repairer) removePaste(text []byte) (clean *reading, repairs []Repair) {
	_, faults := FindPasteFaults(text)
	var edits []protocol.Edit
	for _, f := range faults {
		finding := protocol.Finding{Code: CodePasted, Severity: protocol.Error, Message: f.Message, Help: f.Help, Section: "lint"}
		finding.Line, finding.Column = protocol.Place(text, f.Offset)
		repairs, edits = append(repairs, Repair{finding, f.Edits}), append(edits, f.Edits...)
	}
	fixed, err := protocol.ApplyEdits(text, edits)
	if err != nil || len(faults) == 0 {
		return nil, nil
	}
	return m.readText(fixed), repairs
}

// fix repairs a text that was read.
func (m *repairer) fix(now *reading) (fixed []byte, repaired []Repair, err error) {
	text := now.text
	for {
		better, repairs := m.repairOnce(now)
		if m.readings > maxReadings {
			// Only hostile texts need so many readings. To keep half of the repairs would make the
			// result depend on the limit.
			return text, nil, nil
		}
		if better == nil {
			break
		}
		now, repaired = better, append(repaired, repairs...)
	}
	return now.text, repaired, now.err
}

// Diff returns the difference between two texts in unified form, nil when they are equal. name is
// the name of the text in it.
func Diff(name string, before, after []byte) []byte {
	return diff.Diff(name, before, name+" (repaired)", after)
}

type repairer struct {
	format   document.Format
	readings int
}

// repairOnce applies the repairs found in one reading of the text. It returns nil when there are
// none.
func (m *repairer) repairOnce(now *reading) (*reading, []Repair) {
	candidates := dropOverlapping(proposeRepairs(now))
	if len(candidates) == 0 {
		return nil, nil
	}
	t := &trial{repairer: m, before: now}
	t.keepImproving(candidates)
	return t.best, t.kept
}

// dropOverlapping drops repairs that touch the same bytes as an earlier one. The next round tries
// them again.
func dropOverlapping(repairs []Repair) []Repair {
	var taken []protocol.Edit // by offset
	free := func(e protocol.Edit) (int, bool) {
		i, _ := slices.BinarySearchFunc(taken, e, func(a, b protocol.Edit) int { return a.Offset - b.Offset })
		for i < len(taken) && taken[i].Offset == e.Offset {
			if taken[i].End > taken[i].Offset && e.End > e.Offset {
				return i, false
			}
			i++
		}
		return i, (i == 0 || taken[i-1].End <= e.Offset) && (i == len(taken) || e.End <= taken[i].Offset)
	}
	var out []Repair
	for _, c := range repairs {
		if slices.ContainsFunc(c.Edits, func(e protocol.Edit) bool { _, ok := free(e); return !ok }) {
			continue
		}
		for _, e := range c.Edits {
			i, _ := free(e)
			taken = slices.Insert(taken, i, e)
		}
		out = append(out, c)
	}
	return out
}

// A trial finds the repairs that may be kept.
type trial struct {
	*repairer
	before *reading
	best   *reading // with the repairs kept so far, nil for none
	kept   []Repair
}

// keepImproving keeps the repairs if together they improve the document, and otherwise tries each
// half.
func (t *trial) keepImproving(repairs []Repair) {
	if t.readings > maxReadings {
		return
	}
	var edits []protocol.Edit
	for _, m := range append(t.kept[:len(t.kept):len(t.kept)], repairs...) {
		edits = append(edits, m.Edits...)
	}
	base := t.best
	base = cmp.Or(base, t.before)
	if text, err := protocol.ApplyEdits(t.before.text, edits); err == nil {
		if after := t.readText(text); after.isBetterThan(base) {
			t.best, t.kept = after, append(t.kept, repairs...)
			return
		}
	}
	if half := len(repairs) / 2; half > 0 {
		t.keepImproving(repairs[:half])
		t.keepImproving(repairs[half:])
	}
}
