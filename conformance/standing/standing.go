package standing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
	"gazetteer/store/follow"
)

// Options of [Open]. Only Store is required.
type Options struct {
	Store store.Store
	// Path is the file of the snapshot; without one, each start reads all records.
	Path string
	// Linger is how long records are gathered before they are applied together; 200 ms when 0.
	Linger time.Duration
	Log    *slog.Logger // discarded when nil
}

// A Follower knows the present states of all hosts. Its methods may be called from any goroutine;
// [Follower.Run] by one at a time.
type Follower struct {
	o        Options
	position follow.Position

	saving sync.Mutex // held while the snapshot is written

	mu      sync.RWMutex      // guards the following fields
	numbers map[string]uint32 // of hosts; a number is never given to another host
	hosts   []host            // by number
	labels  []uint8           // states by number: bit i is set when the i-th of [conformance.Names] holds
	shared  bool              // labels were handed out, and must not be changed
	order   []uint32          // numbers by reversed name
	figures StateCounts
}

// A host has the facts about one host.
type host struct {
	name string
	// track is that of the host's record, or what it would be for a record without one.
	track conformance.Track
	// visited reports whether there is a record of the host that was visited, known whether there
	// is one at all.
	known, visited bool
	blocked        conformance.PublisherClass // OptedOut or Excluded, "" for a host that may be visited
	firstTurn      time.Time                  // zero for a host without history
	links          []documentLinks            // to other hosts
	linkedFrom     []uint32                   // hosts that name this one, each once
}

// documentLinks are the links of one document to other hosts.
type documentLinks struct {
	kind   document.Kind
	digest uint64 // of the document's digest
	to     []uint32
}

// maxLinks is how many hosts of one document are kept as its related services.
const maxLinks = 256

// Open returns a follower that knows what its snapshot says. A snapshot that is missing, damaged or
// of another store costs only the time to read all records; the log gets a line.
func Open(o Options) *Follower {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	f := &Follower{o: o}
	f.forgetAll()
	if err := f.readSnapshot(); err != nil {
		f.o.Log.Warn("the snapshot of the hosts' states is of no use; all records are read", "error", err)
		f.forgetAll()
	}
	return f
}

// forgetAll empties the follower. Hosts keep their numbers, which others may hold.
func (f *Follower) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position.MoveTo(store.Cursor{})
	if f.numbers == nil {
		f.numbers = map[string]uint32{}
	}
	for n := range f.hosts {
		f.hosts[n] = host{name: f.hosts[n].name}
	}
	f.labels, f.shared = make([]uint8, len(f.hosts)), false
	f.figures = newFigures()
}

// Run follows the store until ctx ends, and then writes the snapshot. The error is that of the
// store.
func (f *Follower) Run(ctx context.Context) error {
	o := follow.Options{
		Name: "the states of hosts", Log: f.o.Log, Linger: f.o.Linger,
		Rebuild: func(context.Context) error { f.forgetAll(); return nil },
		Apply:   f.applyBatch,
	}
	if f.o.Path != "" {
		o.Save, o.SaveEvery = f.saveSnapshot, snapshotPause
	}
	return follow.Run(ctx, f.o.Store, &f.position, o)
}

// Cursor returns the place in the log up to which the follower knows everything.
func (f *Follower) Cursor() store.Cursor { return f.position.Cursor() }

// WaitFor waits until the follower knows every write up to a sequence. The error is that of ctx.
func (f *Follower) WaitFor(ctx context.Context, seq uint64) error {
	return f.position.WaitFor(ctx, seq)
}

// A change is one record as the follower reads it, before the lock is taken.
type change struct {
	prefix, host string // of the key
	deleted      bool

	// Of a host: its track, and whether it was visited.
	track   conformance.Track
	visited bool
	// Of a document: its links. unchanged is set when the follower knows them already.
	document  documentLinks
	names     []string // of the hosts that it links to
	unchanged bool
	blocked   conformance.PublisherClass // of a block
	turned    time.Time                  // of a turn
}

// applyBatch reads records and updates the state.
func (f *Follower) applyBatch(ctx context.Context, batch []store.Record, _ store.Cursor) error {
	changes := make([]change, 0, len(batch))
	for r := range follow.InTurns(batch) {
		c, ok, err := f.readRecord(ctx, r)
		if err != nil {
			return err
		}
		if ok {
			changes = append(changes, c)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	added := len(f.hosts)
	for _, c := range changes {
		f.applyChange(c)
	}
	f.sortHosts(added)
	return nil
}

// readRecord reads what the follower needs of a record; false for a record that it does not need.
// The error is one of the store. A record that cannot be read counts as deleted.
func (f *Follower) readRecord(ctx context.Context, r store.Record) (change, bool, error) {
	prefix, _, _ := strings.Cut(r.Key, "/")
	switch prefix + "/" {
	case store.HostPrefix, store.DocumentPrefix, store.BlockPrefix, store.TurnPrefix:
	default:
		return change{}, false, nil
	}
	parts := store.SplitKey(r.Key)
	if len(parts) < 2 {
		return change{}, false, nil
	}
	c := change{prefix: parts[0] + "/", host: parts[1], deleted: r.Deleted}
	var err error
	switch c.prefix {
	case store.HostPrefix:
		if !c.deleted {
			if err = f.readHost(ctx, &c, r.Value); err != nil && !isStoreError(ctx, err) {
				f.o.Log.Error("the record of a host cannot be read; its states are left out", "key", r.Key, "error", err)
				c.deleted, err = true, nil
			}
		}
	case store.DocumentPrefix:
		if len(parts) != 3 {
			return change{}, false, nil
		}
		c.document.kind = document.Kind(parts[2])
		if !c.deleted && f.readLinks(&c, r.Value) != nil {
			c.deleted = true // the index says so in the log
		}
	case store.BlockPrefix:
		c.blocked = conformance.OptedOut
		var b struct {
			By string `json:"by"`
		}
		// A damaged reason does not make the owner's block one of the operator.
		if !c.deleted && json.Unmarshal(r.Value, &b) == nil && b.By == "operator" {
			c.blocked = conformance.Excluded
		}
	case store.TurnPrefix:
		if len(parts) != 3 {
			return change{}, false, nil
		}
		if c.turned, err = time.Parse("20060102T150405.000Z", parts[2]); err != nil {
			return change{}, false, nil // a key that is none of ours
		}
	}
	return c, true, err
}

// isStoreError reports whether an error is one of the store, and not of a record.
func isStoreError(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknown)
}

// readHost reads the track of a host's record. It stops behind the track: the rest of the record is
// many times longer.
func (f *Follower) readHost(ctx context.Context, c *change, text []byte) error {
	var name string
	found := false
	err := eachMember(text, func(member string, value jsontext.Value) (more bool, err error) {
		switch member {
		case "name":
			err = json.Unmarshal(value, &name)
		case "track":
			found = true
			err = json.Unmarshal(value, &c.track)
		case "due": // a record of the crawler has its track between the name and this
			return name == "", nil
		}
		return !found || name == "", err
	})
	if err == nil && name != c.host {
		err = fmt.Errorf("it names the host %q", name)
	}
	if err != nil || found {
		c.visited = found
		return err
	}
	return f.judgeOldHost(ctx, c, text)
}

// judgeOldHost judges a host whose record has no track: it was visited before there was a history,
// or never.
func (f *Follower) judgeOldHost(ctx context.Context, c *change, text []byte) error {
	var h struct {
		Visited time.Time              `json:"visited"`
		Fetches map[string]fetch.Fetch `json:"fetches"`
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	if c.visited = !h.Visited.IsZero(); !c.visited {
		return nil
	}
	in := conformance.Input{Fetches: slices.Collect(maps.Values(h.Fetches))}
	for r, err := range store.Readable(f.o.Store.List(ctx, store.DocumentsOf(c.host), "")) {
		if err != nil {
			return err
		}
		var d document.Document
		if json.Unmarshal(r.Value, &d) == nil {
			in.Documents = append(in.Documents, d)
		}
	}
	at := h.Visited.UTC()
	c.track = conformance.Track{Standing: conformance.Judge(in).Standing(), At: at}
	return nil
}

// readLinks reads the hosts that a document names as related services, unless the follower has read
// the same version.
func (f *Follower) readLinks(c *change, text []byte) error {
	known := f.knownDigest(c.host, c.document.kind)
	var list []document.Link
	err := eachMember(text, func(member string, value jsontext.Value) (more bool, err error) {
		switch member {
		case "digest":
			sum := fnv.New64a()
			sum.Write(value)
			c.document.digest = sum.Sum64()
			if c.document.digest == known {
				c.unchanged = true
				return false, nil
			}
		case "links":
			return false, json.Unmarshal(value, &list)
		}
		return true, nil
	})
	for _, l := range list {
		if l.Rel == document.RelRelated && l.Host != "" && l.Host != c.host && len(c.names) < maxLinks && !slices.Contains(c.names, l.Host) {
			c.names = append(c.names, l.Host)
		}
	}
	return err
}

// knownDigest returns the digest of the version whose links are known, 0 for none.
func (f *Follower) knownDigest(name string, kind document.Kind) uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if n, ok := f.numbers[name]; ok {
		for _, l := range f.hosts[n].links {
			if l.kind == kind {
				return l.digest
			}
		}
	}
	return 0
}

// eachMember calls visit with the members of a JSON object until it returns false.
func eachMember(text []byte, visit func(member string, value jsontext.Value) (more bool, err error)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return cmp.Or(err, errNoObject)
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		member := t.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if more, err := visit(member, value); !more || err != nil {
			return err
		}
	}
	return nil
}

var errNoObject = errors.New("it is no JSON object")

// numberOf returns the number of a host, a new one for an unknown host. f.mu is held.
func (f *Follower) numberOf(name string) uint32 {
	n, ok := f.numbers[name]
	if !ok {
		n = uint32(len(f.hosts))
		f.numbers[name] = n
		f.hosts = append(f.hosts, host{name: name})
		f.unshareLabels()
		f.labels = append(f.labels, 0)
	}
	return n
}

func (f *Follower) unshareLabels() {
	if f.shared {
		f.labels, f.shared = slices.Clone(f.labels), false
	}
}

// applyChange updates the state with one change. f.mu is held.
func (f *Follower) applyChange(c change) {
	if _, known := f.numbers[c.host]; !known && c.deleted {
		return
	}
	n := f.numberOf(c.host)
	h := &f.hosts[n]
	f.figures.countHost(h, -1)
	switch c.prefix {
	case store.HostPrefix:
		h.known, h.visited, h.track = !c.deleted, c.visited && !c.deleted, c.track
		if c.deleted {
			h.track = conformance.Track{}
		}
	case store.DocumentPrefix:
		f.setLinks(n, c)
		h = &f.hosts[n] // new hosts may have moved it
	case store.BlockPrefix:
		if h.blocked = c.blocked; c.deleted {
			h.blocked = ""
		}
	case store.TurnPrefix:
		switch {
		case c.deleted && h.firstTurn.Equal(c.turned):
			h.firstTurn = time.Time{}
		case !c.deleted && (h.firstTurn.IsZero() || c.turned.Before(h.firstTurn)):
			h.firstTurn = c.turned
		}
	}
	f.figures.countHost(h, +1)
	if label := h.packStates(); label != f.labels[n] {
		f.unshareLabels()
		f.labels[n] = label
	}
}

// setLinks replaces the links of a document. f.mu is held.
func (f *Follower) setLinks(n uint32, c change) {
	if c.unchanged {
		return
	}
	var to []uint32
	for _, name := range c.names {
		to = append(to, f.numberOf(name))
	}
	h := &f.hosts[n]
	before := h.linkTargets()
	h.links = slices.DeleteFunc(h.links, func(l documentLinks) bool { return l.kind == c.document.kind })
	if !c.deleted {
		c.document.to = to
		h.links = append(h.links, c.document)
	}
	after := h.linkTargets()
	for _, t := range before {
		if !slices.Contains(after, t) {
			f.hosts[t].linkedFrom = slices.DeleteFunc(f.hosts[t].linkedFrom, func(from uint32) bool { return from == n })
		}
	}
	for _, t := range after {
		if !slices.Contains(before, t) {
			f.hosts[t].linkedFrom = append(f.hosts[t].linkedFrom, n)
		}
	}
}

// linkTargets returns the hosts that a host names, each once.
func (h *host) linkTargets() []uint32 {
	var to []uint32
	for _, l := range h.links {
		to = append(to, l.to...)
	}
	slices.Sort(to)
	return slices.Compact(to)
}

// sortHosts puts the hosts from a number on into the order of names. f.mu is held.
func (f *Follower) sortHosts(from int) {
	if from == len(f.hosts) {
		return
	}
	added := make([]uint32, 0, len(f.hosts)-from)
	for n := from; n < len(f.hosts); n++ {
		added = append(added, uint32(n))
	}
	compare := func(a, b uint32) int { return compareReversed(f.hosts[a].name, f.hosts[b].name) }
	slices.SortFunc(added, compare)
	merged := make([]uint32, 0, len(f.hosts)+len(f.hosts)/8)
	old := f.order
	for len(old) > 0 && len(added) > 0 {
		if compare(old[0], added[0]) < 0 {
			merged, old = append(merged, old[0]), old[1:]
		} else {
			merged, added = append(merged, added[0]), added[1:]
		}
	}
	f.order = append(append(merged, old...), added...)
}

// compareReversed orders host names as the keys of the store do: by their reversed form.
func compareReversed(a, b string) int {
	for {
		i, j := strings.LastIndexByte(a, '.'), strings.LastIndexByte(b, '.')
		// The last part of the name, with the dot that follows it in the key.
		x, y := a[i+1:], b[j+1:]
		if x != y {
			if i >= 0 {
				x += "."
			}
			if j >= 0 {
				y += "."
			}
			return strings.Compare(x, y)
		}
		switch {
		case i < 0 && j < 0:
			return 0
		case i < 0:
			return -1
		case j < 0:
			return 1
		}
		a, b = a[:i], b[:j]
	}
}

// packStates returns the states of a host as bits, in the order of [conformance.Names].
func (h *host) packStates() uint8 {
	var bits uint8
	if h.visited && h.blocked == "" {
		for i, name := range conformance.Names() {
			if h.track.Standing.Verdict(name) == conformance.Yes {
				bits |= 1 << i
			}
		}
	}
	return bits
}

// hostClass returns the class of a host, "" for one that is only named.
func (h *host) hostClass() conformance.PublisherClass {
	switch {
	case h.blocked != "":
		return h.blocked
	case h.visited:
		return h.track.Standing.Class
	case h.known:
		return conformance.Unvisited
	}
	return ""
}
