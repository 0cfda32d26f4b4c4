package standing

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"gazetteer/conformance"
)

// StateCounts say how many hosts there are, and how they stand.
type StateCounts struct {
	// Hosts counts the hosts of all classes.
	Hosts int `json:"hosts"`
	// Classes counts hosts by class, States by state and verdict. A host that was never visited has
	// no states.
	Classes map[conformance.PublisherClass]int               `json:"classes"`
	States  map[conformance.Name]map[conformance.Verdict]int `json:"states"`
	// Levels counts the conformant hosts by the level that they reach.
	Levels map[int]int `json:"levels"`
	// Flapping counts the hosts whose states change all the time.
	Flapping int `json:"flapping"`
	// Begins is when the history of states begins, zero for a store without any.
	Begins time.Time `json:"history_begins,omitzero"`
	// Visited is when the last visit to any host ended.
	Visited time.Time `json:"visited,omitzero"`
}

func newFigures() StateCounts {
	f := StateCounts{Classes: map[conformance.PublisherClass]int{}, States: map[conformance.Name]map[conformance.Verdict]int{}, Levels: map[int]int{}}
	for _, name := range conformance.Names() {
		f.States[name] = map[conformance.Verdict]int{}
	}
	return f
}

// countHost adds a host to the figures, or takes it out (by -1).
func (f *StateCounts) countHost(h *host, by int) {
	class := h.hostClass()
	if class == "" {
		return
	}
	f.Hosts += by
	if f.Classes[class] += by; f.Classes[class] == 0 {
		delete(f.Classes, class)
	}
	if !h.visited || h.blocked != "" {
		return
	}
	for _, name := range conformance.Names() {
		verdicts, v := f.States[name], h.track.Standing.Verdict(name)
		if verdicts[v] += by; verdicts[v] == 0 {
			delete(verdicts, v)
		}
	}
	if level := h.track.Standing.Level; h.track.Standing.Conformant == conformance.Yes {
		if f.Levels[level] += by; f.Levels[level] == 0 {
			delete(f.Levels, level)
		}
	}
	if h.track.Flapping {
		f.Flapping += by
	}
}

// Figures returns the figures of this moment. The caller may keep them.
func (f *Follower) Figures() StateCounts {
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := f.figures
	out.Classes, out.Levels, out.States = maps.Clone(out.Classes), maps.Clone(out.Levels), maps.Clone(out.States)
	for name, verdicts := range out.States {
		out.States[name] = maps.Clone(verdicts)
	}
	for i := range f.hosts {
		h := &f.hosts[i]
		if at := h.firstTurn; !at.IsZero() && (out.Begins.IsZero() || at.Before(out.Begins)) {
			out.Begins = at
		}
		if at := h.track.At; at.After(out.Visited) {
			out.Visited = at
		}
	}
	return out
}

// HostStates has the present states of one host.
type HostStates struct {
	Name  string
	Class conformance.PublisherClass
	// Track has the states; it is empty for a host that was never visited, or is not visited any
	// more. Its By and Since are empty for a host that was not visited since there is a history.
	Track conformance.Track
	// HistoryBegins is when the first turn of the host was recorded, zero for none.
	HistoryBegins time.Time
}

// Host returns the states of a host; false if the host has no record. name is a normalized name.
func (f *Follower) Host(name string) (HostStates, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, ok := f.numbers[name]
	if !ok {
		return HostStates{}, false
	}
	h := &f.hosts[n]
	out := HostStates{Name: name, Class: h.hostClass(), HistoryBegins: h.firstTurn}
	if h.blocked == "" {
		out.Track = h.track
	}
	return out, out.Class != ""
}

// A HostFilter says which hosts [Follower.List] returns. The zero value selects all.
type HostFilter struct {
	// Is are states that must hold, Not states that must not: neither no nor unknown is yes.
	Is, Not []conformance.Name
	// Class, when set, is that of the hosts.
	Class conformance.PublisherClass
	// Publishing leaves out hosts without a current document.
	Publishing bool
}

// List returns the names of the selected hosts behind a name, in the order of the store's keys, at
// most limit of them. next is the name to continue behind, "" at the end.
func (f *Follower) List(s HostFilter, after string, limit int) (names []string, next string) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	from := 0
	if after != "" {
		from = sort.Search(len(f.order), func(i int) bool { return compareReversed(f.hosts[f.order[i]].name, after) > 0 })
	}
	is, not := stateBits(s.Is), stateBits(s.Not)
	for _, n := range f.order[from:] {
		label := f.labels[n]
		if label&is != is || label&not != 0 {
			continue
		}
		h := &f.hosts[n]
		class := h.hostClass()
		if class == "" || s.Class != "" && class != s.Class {
			continue
		}
		if s.Publishing && !publishesDocument(class) {
			continue
		}
		if len(names) == limit {
			return names, names[len(names)-1]
		}
		names = append(names, h.name)
	}
	return names, ""
}

// publishesDocument reports whether hosts of a class have a current document.
func publishesDocument(c conformance.PublisherClass) bool {
	return c == conformance.Publishes || c == conformance.OtherDialect
}

// stateBits returns states as bits, in the order of [conformance.Names].
func stateBits(names []conformance.Name) uint8 {
	var bits uint8
	for i, name := range conformance.Names() {
		if slices.Contains(names, name) {
			bits |= 1 << i
		}
	}
	return bits
}

// Links returns the hosts that name a host as a related service (in), and those that it names
// (out), sorted, at most limit of each, and how many there are.
func (f *Follower) Links(name string, limit int) (in, out []string, numIn, numOut int) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, ok := f.numbers[name]
	if !ok {
		return nil, nil, 0, 0
	}
	targets := f.hosts[n].linkTargets()
	return f.firstNames(f.hosts[n].linkedFrom, limit), f.firstNames(targets, limit), len(f.hosts[n].linkedFrom), len(targets)
}

// firstNames returns the names of hosts, sorted, at most limit. f.mu is held.
func (f *Follower) firstNames(numbers []uint32, limit int) []string {
	var names []string
	for _, n := range numbers {
		names = append(names, f.hosts[n].name)
	}
	slices.SortFunc(names, strings.Compare)
	return names[:min(len(names), limit)]
}

// HostNumber returns the number under which [Follower.HostLabels] has a host. It stays the same for
// as long as the process runs.
func (f *Follower) HostNumber(name string) (uint32, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, ok := f.numbers[name]
	return n, ok
}

// HostLabels returns for each host number the states that hold, as bits in the order of
// [conformance.Names]. It never changes; a number behind its end has no states.
func (f *Follower) HostLabels() []uint8 {
	f.mu.RLock()
	labels, shared := f.labels, f.shared
	f.mu.RUnlock()
	if shared {
		return labels
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shared = true
	return f.labels
}
