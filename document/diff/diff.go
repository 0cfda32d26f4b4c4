// Package diff compares two versions of a document by the meaning of the changes for callers of the
// service: which operation moved to another host, which requires another parameter, which costs
// more.
//
// Begin with Compare. It reads both versions, pairs their operations and returns one [Change] for
// each difference, the most severe first. Differences in form only are not changes: the order of
// members, YAML instead of JSON, 0.010 instead of 0.01, a default written out.
//
// The kinds of changes and their severities are the table in kinds.go, which docs/validate.md explains.
package diff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gazetteer/document"
	"gazetteer/protocol"
)

// RulesVersion is the number of the rules of [Compare]. It grows with every change of the rules that
// changes a severity, so that those who keep severities know which to find again.
const RulesVersion = 3

// ErrUnlike is wrapped by the error of [Compare] for two texts of different formats.
var ErrUnlike = errors.New("documents of different formats")

// Input is one version of a document.
type Input struct {
	Kind document.Kind
	// URL is where the text was published. Relative endpoints are resolved against it. It may be
	// empty; then a relative endpoint names another host than every absolute one.
	URL   string
	Bytes []byte
}

// A Result holds the changes between two versions.
type Result struct {
	// Severity is the worst of Changes, None if there are none.
	Severity Severity `json:"severity"`
	// Changes are ordered by severity, the worst first, and then by their place in the text.
	Changes []Change `json:"changes"`
	// Invalid names the versions that break a rule of their draft: "a", "b" or both.
	Invalid []string `json:"invalid,omitempty"`
}

// A Change is one thing that changed. Its texts quote the documents, so they are untrusted: escape
// them on output.
type Change struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Operation is the operation's id (AI Discovery) or "METHOD /path" (AGIS) in version A, or in
	// version B for an addition. It is nil for a change of the service.
	Operation *string `json:"operation"`
	// Path is the JSON Pointer of the changed value in version A, or in version B for an addition.
	Path string `json:"path"`
	// From and To are the values before and after, nil where there was or is none. Long texts are
	// cut.
	From *string `json:"from"`
	To   *string `json:"to"`
	// Help tells callers what to do.
	Help string `json:"help"`
}

// Compare returns what changed from version a to version b. The error wraps [ErrUnlike],
// [document.ErrUnreadable] or [document.ErrOtherFormat].
func Compare(a, b Input) (*Result, error) {
	before, after, err := readVersions(a, b)
	if err != nil {
		return nil, err
	}
	if before.kind != after.kind {
		return nil, fmt.Errorf("%w: %s and %s cannot be compared", ErrUnlike, describeKind(a.Kind), describeKind(b.Kind))
	}
	c := &comparison{a: before, b: after, moves: map[string]origins{}}
	c.compareVersions()
	result := &Result{Changes: c.mergeChanges()}
	for _, change := range result.Changes {
		result.Severity = max(result.Severity, change.Severity)
	}
	for name, v := range map[string]*version{"a": before, "b": after} {
		if !v.valid {
			result.Invalid = append(result.Invalid, name)
		}
	}
	slices.Sort(result.Invalid)
	return result, nil
}

// largeInput is the size in bytes from which on versions are read side by side: reading takes most
// of the time of a comparison.
const largeInput = 16 << 10

func readVersions(a, b Input) (before, after *version, err error) {
	var errA, errB error
	if len(a.Bytes) >= largeInput && len(b.Bytes) >= largeInput {
		var reading sync.WaitGroup
		reading.Go(func() { after, errB = readVersion(b) })
		before, errA = readVersion(a)
		reading.Wait()
	} else if before, errA = readVersion(a); errA == nil {
		after, errB = readVersion(b)
	}
	switch {
	case errA != nil:
		return nil, nil, fmt.Errorf("version a: %w", errA)
	case errB != nil:
		return nil, nil, fmt.Errorf("version b: %w", errB)
	}
	return before, after, nil
}

func describeKind(k document.Kind) string { return "an " + k.Describe() }

// comparison collects the changes between two versions.
type comparison struct {
	a, b    *version
	changes []placed
	// paired counts the capabilities that both versions have; moves has the old and the new place
	// of their endpoints, by the name of the operation.
	paired int
	moves  map[string]origins
	// nodes counts the pairs of schemas that were compared.
	nodes int
}

// placed is a change with what orders it among the others.
type placed struct {
	Change
	line, column int
}

// value is a changed value: its node, and its text in a message. The zero value means no value.
type value struct {
	node *protocol.Node
	text string
}

func valueOf(n *protocol.Node) value {
	if n == nil {
		return value{}
	}
	return value{n, showNode(n)}
}

// textValue is a value that is only a part of its node.
func textValue(n *protocol.Node, text string) value { return value{n, text} }

// addChange records a change of an operation, or of the service if the name is empty. Its place is
// that of from, or of to for an addition.
func (c *comparison) addChange(kind Kind, operation string, from, to value) {
	place := from.node
	place = cmp.Or(place, to.node)
	c.addAt(kind, operation, place, from, to)
}

// addAt records a change at a place of its own.
func (c *comparison) addAt(kind Kind, operation string, place *protocol.Node, from, to value) {
	change := placed{Change: Change{Kind: kind, Severity: kind.Severity(), From: valueText(from), To: valueText(to), Help: kind.Help()}}
	if operation != "" {
		change.Operation = &operation
	}
	if place != nil {
		change.Path, change.line, change.column = place.Pointer, place.Line, place.Column
	}
	c.changes = append(c.changes, change)
}

// valueText returns the text of a value as a member of [Change].
func valueText(v value) *string {
	if v.node == nil {
		return nil
	}
	text := clipValue(v.text)
	return &text
}

// mergeChanges merges the changes with one cause and sorts them.
func (c *comparison) mergeChanges() []Change {
	c.mergeSharedPlaces()
	c.mergeMovedEverywhere()
	slices.SortStableFunc(c.changes, func(x, y placed) int {
		return cmp.Or(cmp.Compare(y.Severity, x.Severity), cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	})
	out := make([]Change, len(c.changes))
	for i, change := range c.changes {
		out[i] = change.Change
	}
	return out
}

// mergeSharedPlaces merges the changes of a schema that several operations refer to: they are one
// change of the service.
func (c *comparison) mergeSharedPlaces() {
	type identity struct {
		kind Kind
		path string
	}
	first := map[identity]int{}
	kept := c.changes[:0]
	for _, change := range c.changes {
		id := identity{change.Kind, change.Path}
		if i, seen := first[id]; seen && change.Path != "" && equalText(kept[i].From, change.From) && equalText(kept[i].To, change.To) {
			if !equalText(kept[i].Operation, change.Operation) {
				kept[i].Operation = nil
			}
			continue
		}
		first[id] = len(kept)
		kept = append(kept, change)
	}
	// A change of the text is not reported beside a change of the type at the same place.
	c.changes = slices.DeleteFunc(kept, func(change placed) bool {
		_, typed := first[identity{ParameterTypeChanged, change.Path}]
		return change.Kind == TextChanged && typed && change.Path != ""
	})
}

// minMoved is the number of moved operations from which one change of the service reports the
// move.
const minMoved = 3

// mergeMovedEverywhere reports once, for the service, a change that all endpoints have in common:
// another host, or another transport.
func (c *comparison) mergeMovedEverywhere() {
	for _, kind := range []Kind{EndpointHostChanged, TransportWeakened} {
		var moved []placed
		same := true
		for _, change := range c.changes {
			if change.Kind == kind && change.Operation != nil {
				moved = append(moved, change)
				same = same && c.moves[*change.Operation] == c.moves[*moved[0].Operation]
			}
		}
		if len(moved) < minMoved || len(moved) < c.paired || !same {
			continue
		}
		where := c.moves[*moved[0].Operation]
		once := moved[0]
		once.Operation, once.From, once.To = nil, &where.from, &where.to
		c.changes = slices.DeleteFunc(c.changes, func(change placed) bool { return change.Kind == kind && change.Operation != nil })
		c.changes = append(c.changes, once)
	}
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
