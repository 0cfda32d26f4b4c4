package changefeed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// projection makes items of one batch of records. Nothing is visible before it is written.
type projection struct {
	feed    *Feed
	hosts   map[string]*hostState // as this batch leaves them; nil for those that are forgotten
	items   map[uint64]*Item      // new or replaced, by position
	removed map[uint64]bool       // positions whose items go
	horizon uint64                // items before it were dropped, 0 when none were
	// terms are those of the stored items that are replaced or removed, by position: write sets them.
	terms map[uint64][]string
}

func (p *projection) hasChanges() bool { return len(p.items)+len(p.hosts)+len(p.removed) > 0 }

// readRecord makes the item of one record, if there is one. A record that cannot be read makes
// none.
func (p *projection) readRecord(ctx context.Context, r store.Record) error {
	parts := store.SplitKey(r.Key)
	var err error
	switch {
	case parts[0] == "ver" && len(parts) == 4 && !r.Deleted:
		err = p.readVersion(ctx, r, parts[1], parts[2])
	case parts[0] == "doc" && len(parts) == 3 && r.Deleted:
		err = p.readRemoval(ctx, r, parts[1], parts[2])
	case parts[0] == "block" && len(parts) == 2 && !r.Deleted:
		err = p.readBlock(r, parts[1])
	case parts[0] == "turn" && len(parts) == 3 && !r.Deleted:
		err = p.readTurn(r, parts[1])
	case parts[0] == "agent" && len(parts) == 3 && !r.Deleted:
		err = p.readEntry(r, parts[1])
	}
	if errors.Is(err, store.ErrCorrupt) {
		p.feed.log.Error("a record is left out of the change feed", "key", r.Key, "error", err)
		return nil
	}
	return err
}

// hostState returns the remembered state of a host, nil for an unknown host.
func (p *projection) hostState(host string) (*hostState, error) {
	if h, ok := p.hosts[host]; ok {
		return h, nil
	}
	var h *hostState
	err := p.feed.file.View("read the change feed", func(tx *bolt.Tx) error {
		text := tx.Bucket(hostsBucket).Get([]byte(store.ReverseHost(host)))
		if text == nil {
			return nil
		}
		h = &hostState{}
		return json.Unmarshal(text, h)
	})
	if err != nil {
		return nil, fmt.Errorf("read what the change feed knows of %s: %w", host, err)
	}
	return h, nil
}

// readVersion makes the item of a version that was seen for the first time.
func (p *projection) readVersion(ctx context.Context, r store.Record, host, kind string) error {
	var v crawler.Version
	if err := r.Decode(&v); err != nil {
		return err
	}
	state, err := p.hostState(host)
	if err != nil {
		return err
	}
	item := &Item{Kind: DocumentChanged, At: v.Seen, Host: host, Documents: []document.Kind{document.Kind(kind)}, To: v.Digest}
	if state == nil {
		state = &hostState{Documents: map[string]*documentState{}}
		item.Kind = ServiceAppeared
	}
	published := state.countPublished()
	d := state.Documents[kind]
	switch {
	case d == nil:
		d = &documentState{}
		state.Documents[kind] = d
		if item.Kind != ServiceAppeared {
			item.Kind = DocumentAdded
			if published == 0 {
				item.Kind = ServiceReturned
			}
		}
	case d.Gone && published == 0:
		item.Kind = ServiceReturned
	case d.Gone:
		item.Kind = DocumentReturned
	}
	p.hosts[host] = state
	texts, err := p.describeVersion(ctx, item, v, d)
	if err != nil {
		return err
	}
	return p.placeChange(r.Seq, item, d, v.Digest, texts)
}

// readRemoval makes the item of a document that is gone.
func (p *projection) readRemoval(ctx context.Context, r store.Record, host, kind string) error {
	state, err := p.hostState(host)
	if err != nil || state == nil || state.Documents[kind] == nil || state.Documents[kind].Gone {
		return err // withdrawn with its host, or never told
	}
	// The host's record says when; it is gone where the host is withdrawn, which makes an item
	// itself.
	record, err := p.feed.store.Get(ctx, store.HostKey(host))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the record of %s: %w", host, err)
	}
	var h crawler.Host
	if err := record.Decode(&h); err != nil {
		return err
	}
	d := state.Documents[kind]
	d.Gone = true
	p.hosts[host] = state
	at := h.Fetches[kind].At
	if at.IsZero() {
		at = h.Visited
	}
	item := &Item{Kind: DocumentRemoved, At: at, Severity: diff.Medium, Host: host, Documents: []document.Kind{document.Kind(kind)}, From: d.Digest}
	if state.countPublished() == 0 {
		item.Kind = ServiceGone
	}
	return p.placeChange(r.Seq, item, d, "", titleTexts{})
}

// placeChange adds the item of a change of a document, or counts the change in the item of a
// document that changes back and forth.
func (p *projection) placeChange(position uint64, item *Item, d *documentState, digest string, texts titleTexts) error {
	restless, returns := d.isRestless(digest, item.At)
	change := recentChange{Digest: digest, At: item.At, Return: returns}
	switch {
	case !restless:
		d.Flap = nil
	case d.Flap != nil:
		counted, err := p.countFlap(d.Flap, item)
		if err != nil {
			return err
		}
		if counted {
			d.addRecentChange(change)
			return nil
		}
	default:
		// The item that counts takes the place of the returns before it.
		for i := range d.Recent {
			if c := &d.Recent[i]; c.Return && c.Position > 0 {
				p.removeItem(c.Position)
				c.Position = 0
			}
		}
		item.Since, item.Count = item.At, 1
		if len(d.Recent) > 0 {
			item.Since, item.Count = d.Recent[0].At, len(d.Recent)
		}
		item.Kind = DocumentFlapping
		item.ID = nameItem(string(DocumentFlapping), item.Host, string(item.Documents[0]), item.Since.UTC().Format(time.RFC3339Nano))
		item.Title = titleOf(item, texts)
		d.Flap = &flapState{Position: position, Last: item.At}
		d.addRecentChange(change)
		p.putItem(position, item)
		return nil
	}
	change.Position = position
	d.addRecentChange(change)
	if p.mergeVisit(item) {
		return nil
	}
	item.ID = nameItem(string(item.Kind), item.Host, string(item.Documents[0]), digest, item.At.UTC().Format(time.RFC3339Nano))
	item.Title = titleOf(item, texts)
	p.putItem(position, item)
	return nil
}

// countFlap counts a change in the combined item. It returns false if the change has a higher
// severity than all before, so that it gets its own item, or if the item was dropped.
func (p *projection) countFlap(flap *flapState, change *Item) (bool, error) {
	item, err := p.itemAt(flap.Position)
	if err != nil || item == nil {
		return false, err
	}
	weighsMore := change.Severity > item.Severity
	item.Severity = max(item.Severity, change.Severity)
	item.Count++
	item.At, flap.Last = change.At, change.At
	item.From, item.To, item.Changes, item.MoreChanges = change.From, change.To, change.Changes, change.MoreChanges
	item.Title = titleOf(item, titleTexts{})
	p.putItem(item.Position, item)
	return !weighsMore, nil
}

// itemAt returns the item at a position as this batch leaves it, nil when there is none.
func (p *projection) itemAt(position uint64) (*Item, error) {
	if i := p.items[position]; i != nil {
		return i, nil
	}
	if p.removed[position] {
		return nil, nil
	}
	items, err := p.feed.ReadItems([]uint64{position})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return &items[0], nil
}

// mergeVisit adds the second document of a visit to the item of the first, so that the appearance,
// removal or return of a host is one item.
func (p *projection) mergeVisit(item *Item) bool {
	for at, first := range p.items {
		if first.Host != item.Host || len(first.Documents) == 0 || item.At.Sub(first.At).Abs() > time.Minute {
			continue
		}
		switch {
		case (first.Kind == ServiceAppeared || first.Kind == ServiceReturned) && (item.Kind == DocumentAdded || item.Kind == DocumentReturned):
			if !slices.Contains(first.Documents, item.Documents[0]) {
				first.Documents = append(first.Documents, item.Documents[0])
			}
			first.Verbs = limitTexts(append(first.Verbs, item.Verbs...), maxVerbs)
			first.RulesBroken = limitTexts(append(first.RulesBroken, item.RulesBroken...), maxRules)
			first.Namespace = cmp.Or(first.Namespace, item.Namespace)
			return true
		case item.Kind == ServiceGone && first.Kind == DocumentRemoved:
			item.Documents = append(item.Documents, first.Documents...)
			p.removeItem(at)
		}
	}
	return false
}

func (p *projection) putItem(position uint64, item *Item) {
	item.Position = position
	delete(p.removed, position)
	p.items[position] = item
}

func (p *projection) removeItem(position uint64) {
	delete(p.items, position)
	p.removed[position] = true
}

// removeMatching removes all items of a filter.
func (p *projection) removeMatching(f Filter, matches func(*Item) bool) {
	for _, position := range p.feed.matchingPositions(f) {
		p.removeItem(position)
	}
	for position, item := range p.items {
		if matches(item) {
			p.removeItem(position)
		}
	}
}

// readBlock removes all items about a withdrawn host. Only a host that the feed knows gets an item:
// a block list of the operator can name hosts that never appeared here.
func (p *projection) readBlock(r store.Record, host string) error {
	var b crawler.Block
	if err := r.Decode(&b); err != nil {
		return err
	}
	known, err := p.knownHosts(host, b.Subdomains)
	if err != nil || len(known) == 0 {
		return err
	}
	p.removeMatching(Filter{Hosts: known}, func(i *Item) bool { return slices.Contains(known, i.Host) })
	for _, name := range known {
		p.hosts[name] = nil
	}
	item := &Item{
		Kind: ServiceWithdrawn, At: b.Since, Severity: diff.Medium, Host: host, By: string(b.By),
		ID: nameItem(string(ServiceWithdrawn), host, b.Since.UTC().Format(time.RFC3339Nano)),
	}
	item.Title = titleOf(item, titleTexts{hosts: len(known)})
	p.putItem(r.Seq, item)
	return nil
}

// knownHosts returns a host, and with subdomains those below it, of those that the feed knows.
func (p *projection) knownHosts(host string, subdomains bool) ([]string, error) {
	var known []string
	err := p.feed.file.View("read the change feed", func(tx *bolt.Tx) error {
		c, exact := tx.Bucket(hostsBucket).Cursor(), store.ReverseHost(host)
		for key, _ := c.Seek([]byte(exact)); key != nil && strings.HasPrefix(string(key), exact); key, _ = c.Next() {
			if name := string(key); name == exact || subdomains && strings.HasPrefix(name, exact+".") {
				known = append(known, store.ReverseHost(name))
			}
		}
		return nil
	})
	for name, state := range p.hosts {
		below := name == host || subdomains && strings.HasSuffix(name, "."+host)
		if i := slices.Index(known, name); state == nil && i >= 0 {
			known = slices.Delete(known, i, i+1)
		} else if state != nil && i < 0 && below {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known, err
}

// readTurn makes the item of a host whose states changed while it published documents. The states
// of a host without documents are left out, and the appearance or removal of a host has an item
// already.
func (p *projection) readTurn(r store.Record, host string) error {
	var t conformance.Turn
	if err := r.Decode(&t); err != nil {
		return err
	}
	if t.First() || t.Standing.Class != conformance.Publishes || t.Before.Class != conformance.Publishes {
		return nil
	}
	item := &Item{Kind: StateChanged, At: t.Time(), Host: host, Severity: diff.Low, Unsettled: t.Flapping, ID: nameItem("turn", r.Key)}
	for _, name := range conformance.Names() {
		from, to := t.Before.Verdict(name), t.Standing.Verdict(name)
		if from == to {
			continue
		}
		item.States = append(item.States, StateChange{Name: string(name), From: string(from), To: string(to)})
		if to == conformance.No && name != conformance.Consistent {
			item.Severity = diff.Medium
		}
	}
	if t.Before.Level > 0 && t.Standing.Level > 0 && t.Before.Level != t.Standing.Level {
		item.States = append(item.States, StateChange{Name: "level", From: strconv.Itoa(t.Before.Level), To: strconv.Itoa(t.Standing.Level)})
	}
	for _, e := range t.Evidence {
		if e.Code != "" {
			item.RulesBroken = append(item.RulesBroken, e.Code)
		}
	}
	item.RulesBroken = limitTexts(item.RulesBroken, maxRules)
	if len(item.States) == 0 && !item.Unsettled {
		return nil
	}
	item.Title = titleOf(item, titleTexts{})
	p.putItem(r.Seq, item)
	return nil
}

// agentKinds are the kinds of items by the event of an agent's history; other events are updates.
var agentKinds = map[string]Kind{
	registry.EventRegistered: AgentRegistered, registry.EventImported: AgentRegistered,
	registry.EventRotated: AgentRotated, registry.EventRecovered: AgentRotated,
	registry.EventDeactivated: AgentEnded, registry.EventSuspended: AgentEnded, registry.EventDeleted: AgentEnded,
	registry.EventErased: AgentEnded, registry.EventMerged: AgentEnded,
	registry.EventRestored: AgentRestored,
}

// agentSeverities say how much an item may matter to those who write to the agent.
var agentSeverities = map[Kind]diff.Severity{AgentRotated: diff.Medium, AgentEnded: diff.Medium, AgentRestored: diff.Low, AgentRegistered: diff.Low}

// readEntry makes the item of an entry of an agent's history. An agent that was erased has no other
// items.
func (p *projection) readEntry(r store.Record, airID string) error {
	var e registry.HistoryEntry
	if err := r.Decode(&e); err != nil {
		return err
	}
	if e.Event == registry.EventApproved {
		return nil // an approval writes the registration, which has an item, in the same moment
	}
	item := &Item{Kind: AgentUpdated, At: e.At, Agent: airID, Event: e.Event, Fields: e.Fields, ID: nameItem("agent", r.Key)}
	if kind, ok := agentKinds[e.Event]; ok {
		item.Kind = kind
	}
	item.Severity = agentSeverities[item.Kind]
	texts := titleTexts{domain: describeDomain(e)}
	if e.Agent != nil {
		texts.name, texts.handle = e.Agent.Name, e.Agent.Handle
	}
	if e.Event == registry.EventErased {
		p.removeMatching(Filter{Agents: []string{airID}}, func(i *Item) bool { return i.Agent == airID })
	}
	item.Title = titleOf(item, texts)
	p.putItem(r.Seq, item)
	return nil
}

// dropOldest drops the oldest items beyond the limit.
func (p *projection) dropOldest() {
	f := p.feed
	f.mu.RLock()
	defer f.mu.RUnlock()
	excess := int(f.postings.live.GetCardinality()) + len(p.items) - len(p.removed) - f.keep
	if excess <= 0 {
		return
	}
	// Some more, so that not every batch has to.
	it := f.postings.live.Iterator()
	for excess += f.keep / 100; excess > 0 && it.HasNext(); excess-- {
		position := f.postings.positionOf(it.Next())
		p.removeItem(position)
		p.horizon = position
	}
}

// writeBatch writes the batch and the cursor in one transaction.
func (p *projection) writeBatch(ctx context.Context, upTo store.Cursor) error {
	values := make(map[uint64][]byte, len(p.items))
	for position, item := range p.items {
		value, err := encodeItem(item)
		if err != nil {
			return err
		}
		values[position] = value
	}
	return p.feed.writeFile(ctx, func(tx *boltfile.Tx) error {
		p.terms = map[uint64][]string{}
		items, hosts := tx.Bucket(itemsBucket), tx.Bucket(hostsBucket)
		noteTerms := func(key []byte, position uint64) {
			if terms, _, err := splitValue(items.Get(key)); err == nil {
				p.terms[position] = splitTerms(terms)
			}
		}
		for position := range p.removed {
			key := positionKey(position)
			noteTerms(key, position)
			if err := items.Delete(key); err != nil {
				return err
			}
		}
		for position, value := range values {
			key := positionKey(position)
			noteTerms(key, position)
			if err := items.Put(key, value); err != nil {
				return err
			}
		}
		for host, state := range p.hosts {
			key := []byte(store.ReverseHost(host))
			if state == nil {
				if err := hosts.Delete(key); err != nil {
					return err
				}
				continue
			}
			text, err := json.Marshal(state)
			if err != nil {
				return err
			}
			if err := hosts.Put(key, text); err != nil {
				return err
			}
		}
		if p.horizon > 0 {
			if err := tx.Bucket(stateBucket).Put(horizonKey, positionKey(p.horizon)); err != nil {
				return err
			}
		}
		return putCursor(tx, upTo)
	})
}

func putCursor(tx *boltfile.Tx, cursor store.Cursor) error {
	text, err := json.Marshal(cursor)
	if err != nil {
		return err
	}
	return tx.Bucket(stateBucket).Put(cursorKey, text)
}

// applyTo updates the postings with the written items.
func (p *projection) applyTo(all *postings) {
	for position, terms := range p.terms {
		all.remove(position, terms)
	}
	for _, position := range slices.Sorted(maps.Keys(p.items)) {
		all.add(position, p.items[position].listTerms())
	}
	all.dropDeadPositions()
}

// limitTexts sorts texts, and returns each once, not more than most.
func limitTexts(texts []string, most int) []string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	return texts[:min(len(texts), most)]
}

// brokenRules returns the rules that findings of at least a warning break, each once.
func brokenRules(findings []protocol.Finding) []string {
	var codes []string
	for _, f := range findings {
		if f.Severity >= protocol.Warning {
			codes = append(codes, f.Code)
		}
	}
	return limitTexts(codes, len(codes))
}
