package feed

import (
	"cmp"
	"slices"
	"sync"

	"gazetteer/changefeed"
)

// maxEventBytes is how many bytes of texts [changeEvents] holds.
const maxEventBytes = 4 << 20

// A changeEvent is a change as streams send it.
type changeEvent struct {
	position uint64
	kind     changefeed.Kind
	host     string
	text     []byte
}

// changeEvents holds the events that were made last, so that each is made once for all streams: a
// change wakes them all at the same moment. The zero value is ready.
type changeEvents struct {
	making sync.Mutex // held while events are made, so that streams do not make the same ones

	mu      sync.Mutex // guards what follows
	edition uint64     // of the feed that the events are of
	events  map[uint64]changeEvent
	order   []uint64 // the positions of events, the one that was made first in front
	size    int      // of their texts
}

// find returns the events at selected positions in their order, and calls makeEvents for those that
// it does not hold. Events that makeEvents does not return are left out: the items are gone.
func (c *changeEvents) find(selected changefeed.Selection, makeEvents func(positions []uint64) ([]changeEvent, error)) ([]changeEvent, error) {
	found, missing := c.lookup(selected)
	if len(missing) == 0 {
		return found, nil
	}
	c.making.Lock()
	defer c.making.Unlock()
	if found, missing = c.lookup(selected); len(missing) == 0 { // another stream has made them meanwhile
		return found, nil
	}
	made, err := makeEvents(missing)
	if err != nil {
		return nil, err
	}
	c.add(made, selected.Edition)
	found = append(found, made...)
	slices.SortFunc(found, func(a, b changeEvent) int { return cmp.Compare(a.position, b.position) })
	return found, nil
}

// lookup returns the events that are held, and the positions of the others. It forgets all events of
// an earlier edition: they can be those of items that were removed.
func (c *changeEvents) lookup(selected changefeed.Selection) (found []changeEvent, missing []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if selected.Edition > c.edition {
		c.edition, c.events, c.order, c.size = selected.Edition, nil, nil, 0
	}
	for _, position := range selected.Positions {
		if e, ok := c.events[position]; ok {
			found = append(found, e)
		} else {
			missing = append(missing, position)
		}
	}
	return found, missing
}

// add holds new events, and forgets the oldest ones if there are too many. Events that were made at
// an earlier edition than those that are held are not kept.
func (c *changeEvents) add(made []changeEvent, edition uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if edition < c.edition {
		return
	}
	if c.events == nil {
		c.events = map[uint64]changeEvent{}
	}
	for _, e := range made {
		c.events[e.position] = e
		c.order = append(c.order, e.position)
		c.size += len(e.text)
	}
	for c.size > maxEventBytes {
		oldest := c.order[0]
		c.size -= len(c.events[oldest].text)
		delete(c.events, oldest)
		c.order = c.order[1:]
	}
}
