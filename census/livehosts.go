package census

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/fetch"
	"gazetteer/index/entry"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/store"
)

// liveHost is a host as Live holds it. Its members are exported for the snapshot.
type liveHost struct {
	Host      string
	Known     bool // there is a record of the host
	Added     time.Time
	Visited   time.Time
	Fetches   []liveFetch
	Visit     []uint32 // features of the last visit
	Documents []liveDocument
	Versions  []liveVersion // in order of format and time
	Turns     []liveTurn
	all       []uint32 // features that the sets have, in order
}

type liveFetch struct {
	Kind    string
	Outcome fetch.Outcome
	Status  int
}

type liveDocument struct {
	Kind       string
	Digest     string
	Level      int
	Stated     int // operations
	Operations int // those that no other document of the host describes, too
	Judged     []protocol.Finding
	Features   []uint32
	// Verbs are the features of the verbs of these operations, VerbCounts how many have each of them.
	Verbs, VerbCounts []uint32
	Fetched           time.Time
	// Name is that of the service, cut after maxListedName bytes; Changed is when the bytes changed.
	Name    string
	Changed time.Time
}

type liveVersion struct {
	Kind string
	Seen time.Time
	// Digest is the beginning of the digest, which tells versions of one millisecond apart.
	Digest string
	// Severity is that of the change from the version before, "" where it was not compared yet.
	Severity string
}

// digestLength is how many bytes of a digest a liveVersion holds.
const digestLength = len("sha256:") + 4

// orderVersions orders as the keys do: by format, time and digest.
func orderVersions(a, b liveVersion) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), a.Seen.Compare(b.Seen), strings.Compare(a.Digest, b.Digest))
}

type liveTurn struct {
	Key      string // its time as the key has it
	At       time.Time
	Standing uint16
}

// decoded is a record that was read before the lock is taken.
type decoded struct {
	key      string
	parts    []string
	deleted  bool
	host     *hostRecord
	document *Document
	isSame   bool   // the document has the bytes and the operations that it had
	name     string // of its service
	changed  time.Time
	yielding *Document // what yields to the changed document, if there is any
	turn     *turnRecord
	agent    *registry.Agent
	block    *blockRecord
}

// decodeChange reads a record; false for one that does not count. One that cannot be read counts as
// gone.
func (l *Live) decodeChange(ctx context.Context, r store.Record) (d decoded, ok bool, err error) {
	if !slices.ContainsFunc(followed, func(p string) bool { return strings.HasPrefix(r.Key, p) }) {
		return d, false, nil
	}
	d = decoded{key: r.Key, parts: store.SplitKey(r.Key), deleted: r.Deleted || r.Value == nil}
	if d.deleted && d.parts[0]+"/" != store.DocumentPrefix {
		return d, len(d.parts) > 1, nil
	}
	switch d.parts[0] + "/" {
	case store.HostPrefix:
		d.host = new(hostRecord)
		d.deleted = decodeRecord(r.Value, d.host) != nil
	case store.DocumentPrefix:
		err := l.decodeDocument(ctx, r, &d)
		return d, len(d.parts) > 1, err
	case store.TurnPrefix:
		d.turn = new(turnRecord)
		d.deleted = decodeRecord(r.Value, d.turn) != nil
	case store.AgentPrefix:
		if len(d.parts) != 2 {
			return d, false, nil
		}
		d.agent = new(registry.Agent)
		d.deleted = r.Decode(d.agent) != nil
	case store.BlockPrefix:
		d.block = new(blockRecord)
		_ = decodeRecord(r.Value, d.block) // a damaged reason does not lift the block
	}
	return d, len(d.parts) > 1, nil
}

// decodeDocument reads a document, and finds the operations that another document of the host also
// describes.
func (l *Live) decodeDocument(ctx context.Context, r store.Record, d *decoded) error {
	var documents []Document
	if !d.deleted {
		var record documentRecord
		if d.deleted = decodeRecord(r.Value, &record) != nil; !d.deleted {
			w := walker{store: l.o.Store}
			body, err := w.readBlob(ctx, record.Digest)
			if err != nil {
				return err
			}
			d.name, d.changed = strings.Clone(protocol.ClipBytes(record.Service.Name, maxListedName)), record.ChangedAt
			documents = append(documents, newDocument(&record, protocol.Tokens(string(body))))
			if d.isSame = l.hasDocument(d.parts[1], &documents[0]); d.isSame { // what it shares with another one does not change, either
				d.document = &documents[0]
				d.document.Counted, d.document.operations = d.document.Verbs, nil
				return nil
			}
		}
	}
	if other := otherTwin(d.parts); other != "" {
		var record documentRecord
		r, err := l.o.Store.Get(ctx, other)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && decodeRecord(r.Value, &record) == nil {
			documents = append(documents, newDocument(&record, 0))
		}
	}
	yields, _ := entry.TwinKinds()
	repeated := findTwins(documents)
	for i := range documents {
		doc := &documents[i]
		doc.Counted = doc.Verbs
		if doc.Kind == string(yields) {
			doc.Counted = leaveOut(doc, repeated)
		}
		doc.operations = nil
		switch {
		case doc.Kind == d.parts[2]:
			d.document = doc
		case doc.Kind == string(yields):
			d.yielding = doc
		}
	}
	return nil
}

// hasDocument reports whether a document of a host has the same bytes and as many operations as before.
func (l *Live) hasDocument(host string, d *Document) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	id, known := l.ids[host]
	return known && slices.ContainsFunc(l.rows[id].Documents, d.isSameAs)
}

func (d *Document) isSameAs(old liveDocument) bool {
	return old.Kind == d.Kind && old.Digest == d.Digest && old.Stated == len(d.Verbs)
}

// otherTwin returns the key of the document that can describe the same operations as that with a key of
// these parts; "" if there can be none.
func otherTwin(parts []string) string {
	yields, remains := entry.TwinKinds()
	switch {
	case len(parts) != 3:
		return ""
	case parts[2] == string(yields):
		return store.DocumentKey(parts[1], string(remains))
	case parts[2] == string(remains):
		return store.DocumentKey(parts[1], string(yields))
	}
	return ""
}

// applyChange updates the facts about a host or agent. l.mu is held.
func (l *Live) applyChange(d *decoded, touched map[uint32]bool) {
	switch d.parts[0] + "/" {
	case store.AgentPrefix:
		delete(l.agents, d.parts[1])
		if !d.deleted && d.agent.Status == registry.Active {
			l.agents[d.parts[1]] = slimAgent(d.agent)
		}
		return
	case store.BlockPrefix:
		delete(l.blocks, d.parts[1])
		if !d.deleted {
			l.blocks[d.parts[1]] = *d.block
		}
		return
	}
	id := l.idOf(d.parts[1])
	h := l.rows[id]
	touched[id] = true
	switch d.parts[0] + "/" {
	case store.HostPrefix:
		h.Known, h.Fetches, h.Visit = !d.deleted, nil, nil
		if !d.deleted {
			h.Added, h.Visited = d.host.Added, d.host.Visited
			h.Fetches = d.host.listFetches()
			tls := ""
			if d.host.TLS != nil {
				tls = d.host.TLS.Version
			}
			h.Visit = l.featureNumbers(visitFeatures(d.host.robotsState(), tls, h.Fetches))
		}
	case store.DocumentPrefix:
		if len(d.parts) != 3 {
			return
		}
		var before liveDocument
		h.Documents = slices.DeleteFunc(h.Documents, func(old liveDocument) bool {
			if old.Kind == d.parts[2] {
				before = old
			}
			return old.Kind == d.parts[2]
		})
		if !d.deleted {
			doc := d.document
			live := liveDocument{
				Kind: strings.Clone(d.parts[2]), Digest: doc.Digest, Level: doc.Level, Stated: len(doc.Verbs), Judged: doc.judged, Features: l.featureNumbers(documentFeatures(doc)), Fetched: doc.Fetched,
				Name: d.name, Changed: d.changed,
			}
			if d.isSame && doc.isSameAs(before) {
				live.Operations, live.Verbs, live.VerbCounts = before.Operations, before.Verbs, before.VerbCounts
			} else {
				l.countVerbs(&live, doc.Counted)
			}
			h.Documents = append(h.Documents, live)
			slices.SortFunc(h.Documents, func(a, b liveDocument) int { return strings.Compare(a.Kind, b.Kind) })
		}
		if d.yielding != nil {
			for i := range h.Documents {
				if h.Documents[i].Kind == d.yielding.Kind {
					l.countVerbs(&h.Documents[i], d.yielding.Counted)
				}
			}
		}
	case store.VersionPrefix:
		l.addVersion(h, d)
		l.uncompared[id] = true
	case store.TurnPrefix:
		if len(d.parts) != 3 {
			return
		}
		h.Turns = slices.DeleteFunc(h.Turns, func(t liveTurn) bool { return t.Key == d.parts[2] })
		if !d.deleted {
			at := d.turn.At
			if !d.turn.Measured.IsZero() {
				at = d.turn.Measured
			}
			h.Turns = append(h.Turns, liveTurn{strings.Clone(d.parts[2]), at, l.standingNumber(d.turn.Standing)})
			slices.SortFunc(h.Turns, func(a, b liveTurn) int { return strings.Compare(a.Key, b.Key) })
		}
	}
}

func (l *Live) addVersion(h *liveHost, d *decoded) {
	if len(d.parts) != 4 {
		return
	}
	seen, digest, _ := strings.Cut(d.parts[3], "-")
	at, err := time.Parse(keyTime, seen)
	if err != nil {
		return
	}
	v := liveVersion{Kind: d.parts[2], Seen: at, Digest: digest[:min(len(digest), digestLength)]}
	i, found := slices.BinarySearchFunc(h.Versions, v, orderVersions)
	switch {
	case found && d.deleted:
		h.Versions = slices.Delete(h.Versions, i, i+1)
	case !found && !d.deleted:
		v.Kind, v.Digest = strings.Clone(v.Kind), strings.Clone(v.Digest)
		h.Versions = slices.Insert(h.Versions, i, v)
		i++
	default:
		return
	}
	if i < len(h.Versions) { // another version stands before it now
		h.Versions[i].Severity = ""
	}
}

// countVerbs counts the operations of a document, and those of each verb; verbs are in order. l.mu
// is held.
func (l *Live) countVerbs(d *liveDocument, verbs []string) {
	d.Operations, d.Verbs, d.VerbCounts = len(verbs), nil, nil
	for i, verb := range verbs {
		switch {
		case verb == "":
		case i > 0 && verb == verbs[i-1]:
			d.VerbCounts[len(d.VerbCounts)-1]++
		default:
			d.Verbs = append(d.Verbs, l.featureNumbers([]Feature{{"verb", valueOf(verb)}})[0])
			d.VerbCounts = append(d.VerbCounts, 1)
		}
	}
}

// slimAgent keeps what evidence is counted by.
func slimAgent(a *registry.Agent) registry.Agent {
	slim := registry.Agent{AirID: a.AirID, PublicKey: a.PublicKey, KeySince: a.KeySince, KeyProof: a.KeyProof, Created: a.Created, Imported: a.Imported, Status: a.Status, Standing: a.Standing}
	for _, d := range a.Domains {
		d.Probes, d.EarlierProbes = nil, nil
		slim.Domains = append(slim.Domains, d)
	}
	if len(a.Observed) > 0 {
		slim.Observed = map[string]registry.Observation{}
		for signal := range a.Observed {
			o, current := a.Observation(signal)
			if !current {
				continue
			}
			kept := registry.Observation{Holds: o.Holds, At: o.At}
			if signal == registry.SignalAGIS {
				kept.Source = o.Source // compared with the domains; the others with members that are left out
			}
			slim.Observed[signal] = kept
		}
	}
	return slim
}

// idOf returns the number of a host, a new one if it has none. l.mu is held.
func (l *Live) idOf(host string) uint32 {
	id, known := l.ids[host]
	if !known {
		host = strings.Clone(host)
		id = uint32(len(l.rows))
		l.ids[host] = id
		l.rows, l.domains = append(l.rows, &liveHost{Host: host}), append(l.domains, l.numbers.NumberOf(host))
	}
	return id
}

// featureNumbers returns the numbers of features. l.mu is held.
func (l *Live) featureNumbers(list []Feature) []uint32 {
	numbers := make([]uint32, 0, len(list))
	for _, f := range list {
		n, known := l.features[f]
		if !known {
			f = Feature{strings.Clone(f.Family), strings.Clone(f.Value)}
			n = uint32(len(l.names))
			l.features[f] = n
			l.names = append(l.names, f)
			l.hosts = append(l.hosts, roaring.New())
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func (l *Live) standingNumber(s conformance.Standing) uint16 {
	n, known := l.standings[s]
	if !known {
		n = uint16(len(l.turnsOf))
		l.standings[s] = n
		l.turnsOf = append(l.turnsOf, s)
	}
	return n
}

// updateFeatures updates the sets with the facts about a host. l.mu is held.
func (l *Live) updateFeatures(id uint32) {
	h := l.rows[id]
	var all []uint32
	if h.Known {
		all = append(all, h.Visit...)
		docs := make([]Document, len(h.Documents))
		published, full := map[string]bool{}, h.hasFullDocument()
		for i, d := range h.Documents {
			all = append(all, d.Features...)
			if countsOperations(d.Kind, full) {
				all = append(all, d.Verbs...)
			}
			docs[i] = Document{Kind: d.Kind, Level: d.Level, judged: d.Judged}
			published[d.Kind] = true
		}
		all = append(all, l.featureNumbers(standingFeatures(judgeHost(h.Fetches, docs)))...)
		all = append(all, l.featureNumbers(kindsFeatures(published))...)
		all = append(all, l.featureNumbers(versionFeatures(h.storedVersions(time.Time{})))...)
		slices.Sort(all)
		all = slices.Clip(slices.Compact(all))
	}
	for _, n := range h.all {
		if _, stays := slices.BinarySearch(all, n); !stays {
			l.hosts[n].Remove(id)
		}
	}
	for _, n := range all {
		l.hosts[n].Add(id)
	}
	h.all = all
}

// storedVersions returns the stored versions as the figures want them: those since a time with the
// severities of their changes.
func (h *liveHost) storedVersions(since time.Time) []Version {
	list := make([]Version, len(h.Versions))
	for i, v := range h.Versions {
		list[i] = Version{Kind: v.Kind, Seen: v.Seen, First: i == 0 || h.Versions[i-1].Kind != v.Kind}
		if !list[i].First && v.Seen.After(since) {
			list[i].Severity = cmp.Or(v.Severity, notCompared)
		}
	}
	return list
}

// A HostList is a part of the hosts with a feature, in the order in which this server first read them.
type HostList struct {
	Hosts []string
	// Last is the position of the last one, 0 if no host follows.
	Last uint32
	// All says how many hosts have the feature, Of how many could have it: the known hosts, and for a
	// rule about documents those with a document of its format.
	All tally.Count
	Of  int
	// At is when they were counted.
	At time.Time
}

// Hosts returns up to limit hosts with a feature after a position.
func (l *Live) Hosts(f Feature, after uint32, limit int) HostList {
	l.mu.RLock()
	defer l.mu.RUnlock()
	stats := l.stats.Load()
	list := HostList{At: stats.Counted, Of: stats.Hosts}
	if formats := FormatsOfRule(f.Value); f.Family == "rule" && formats != nil {
		list.Of = 0
		for _, format := range formats {
			if n, known := l.features[Feature{"format", format}]; known {
				list.Of += int(l.hosts[n].GetCardinality())
			}
		}
	}
	n, known := l.features[f]
	if !known {
		return list
	}
	set := l.hosts[n]
	i := set.Iterator()
	i.AdvanceIfNeeded(after)
	for i.HasNext() && len(list.Hosts) < limit {
		id := i.Next()
		list.Hosts, list.Last = append(list.Hosts, l.rows[id].Host), id+1
	}
	if !i.HasNext() {
		list.Last = 0
	}
	total := int(set.GetCardinality())
	list.Of = max(list.Of, total)                              // the figures are some seconds old
	if list.All = stats.Features[f]; list.All.Hosts != total { // counting again takes milliseconds for a million hosts
		list.At = l.o.Now().UTC()
		list.All = tally.Count{Hosts: total, Domains: tally.NewDomainCounter(l.domains, len(l.numbers)).Count(set)}
	}
	return list
}

// refreshRegularly refreshes the figures when they have changed, until ctx ends.
