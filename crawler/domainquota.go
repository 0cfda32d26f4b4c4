package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/store"
)

// A DomainQuota records the hosts that links have added below one registrable domain. Names below a
// domain cost its owner nothing, so the number of hosts accepted is limited. The limit grows with
// the number of other registrable domains that link there, because those cost something.
type DomainQuota struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"` // start of the period that Added counts in
	Added int       `json:"added"`
	// Linked are fingerprints of other registrable domains that linked here.
	Linked []uint32 `json:"linked,omitempty"`
}

const (
	quotaPeriod  = 30 * oneDay
	quotaBase    = 100  // hosts below one domain that links add in a period
	quotaGrowth  = 10   // and for each further domain that links there
	quotaCeiling = 1000 // but no more
)

// hostQuota returns how many hosts links may add in one period.
func (d *DomainQuota) hostQuota() int {
	return min(quotaBase+quotaGrowth*max(len(d.Linked)-1, 0), quotaCeiling)
}

// A domainWrite is a Domain to be written; seq is the sequence it is based on.
type domainWrite struct {
	domain DomainQuota
	seq    uint64
}

// admitHost charges a newly linked host to the quota of its domain and reports whether the quota
// has room for it.
func (b *batch) admitHost(ctx context.Context, host, from string) (bool, error) {
	name := psl.Domain(host)
	w := b.domains[name]
	if w == nil {
		w = &domainWrite{domain: DomainQuota{Name: name, Since: b.now}}
		r, err := b.c.store.Get(ctx, store.DomainKey(name))
		switch {
		case err == nil:
			w.seq = r.Seq
			if err := json.Unmarshal(r.Value, &w.domain); err != nil {
				b.c.log.Error("the record of a domain cannot be read; it starts again", "domain", name, "error", err)
			}
		case errors.Is(err, store.ErrCorrupt):
			return false, nil // nothing is added below it until it is repaired
		case !errors.Is(err, store.ErrNotFound):
			return false, fmt.Errorf("read the record of the domain %s: %w", name, err)
		}
		b.domains[name] = w
	}
	d := &w.domain
	if b.now.Sub(d.Since) >= quotaPeriod {
		d.Since, d.Added = b.now, 0
	}
	if other := psl.Domain(from); other != name {
		h := fnv.New32a()
		h.Write([]byte(other))
		if print := h.Sum32(); len(d.Linked) <= (quotaCeiling-quotaBase)/quotaGrowth && !slices.Contains(d.Linked, print) {
			d.Linked = append(d.Linked, print)
		}
	}
	if d.Added >= d.hostQuota() {
		return false, nil
	}
	d.Added++
	return true, nil
}
