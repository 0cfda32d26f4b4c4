package census

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/conformance"
	"gazetteer/document"
)

// A ServiceQuery selects services and a part of their list. The zero value selects all, by name.
type ServiceQuery struct {
	// Words must all be in the name or the host of a service.
	Words string
	// Category is one that the service names, in any case; "" for any.
	Category string
	// State is one that must hold, or with Not set must not be known to hold; "" for any.
	State conformance.Name
	Not   bool
	Order ServiceOrder
	// Offset and Limit are the part of the list.
	Offset, Limit int
}

// ServiceOrder is an order of services. Services that exist to test readers are last in each.
type ServiceOrder int

// The orders: by name, those whose documents changed last first, and those with most operations
// first.
const (
	ByName ServiceOrder = iota
	ByChange
	ByOperations
	numOrders
)

// ServiceList is a part of a list of services.
type ServiceList struct {
	Hosts []string
	// Total counts the selected services, All those without any condition.
	Total, All int
	// Categories are the most frequent categories of the services that the words and the state select.
	Categories []CategoryCount
}

// CategoryCount says how many services name a category.
type CategoryCount struct {
	Name     string
	Services int
}

// maxCategories is how many categories of a list are counted.
const maxCategories = 100

// serviceListing has all services in their orders. It is made anew after the figures.
type serviceListing struct {
	of      *Stats     // the figures after which it was made
	ids     *rowsOwner // whose numbers the services have
	all     *roaring.Bitmap
	ordered [numOrders][]listedService
}

// rowsOwner identifies one reading of the store: the numbers of hosts of another one differ.
type rowsOwner struct{ _ byte }

type listedService struct {
	id         uint32
	text       string // name and host, in lower case
	host       string
	changed    time.Time
	operations int
	test       bool
}

// maxListedName is how many bytes of a name count in orders and conditions.
const maxListedName = 100

// Services returns a part of the list of services, as they were at the last refresh of the figures.
// It reads nothing from the store.
func (l *Live) Services(q ServiceQuery) ServiceList {
	lst := l.currentListing()
	l.mu.RLock()
	if lst.ids != l.owner { // the store is read anew
		l.mu.RUnlock()
		lst = l.makeListing()
		l.mu.RLock()
	}
	defer l.mu.RUnlock()
	selected := lst.all
	if q.State != "" {
		holds := l.hostsWith(stateFeature(q.State, conformance.Yes))
		if q.Not {
			selected = roaring.AndNot(selected, holds)
		} else {
			selected = roaring.And(selected, holds)
		}
	}
	if words := strings.Fields(strings.ToLower(q.Words)); len(words) > 0 {
		selected = lst.selectWords(selected, words)
	}
	list := ServiceList{All: int(lst.all.GetCardinality()), Categories: l.countCategories(selected)}
	if q.Category != "" {
		selected = roaring.And(selected, l.hostsWith(CategoryFeature(q.Category)))
	}
	list.Total = int(selected.GetCardinality())
	ordered := lst.ordered[q.Order]
	if list.Total == list.All {
		for _, s := range ordered[min(max(q.Offset, 0), len(ordered)):min(max(q.Offset+q.Limit, 0), len(ordered))] {
			list.Hosts = append(list.Hosts, s.host)
		}
		return list
	}
	if q.Offset >= list.Total {
		return list
	}
	skip := q.Offset
	for i := range ordered {
		if !selected.Contains(ordered[i].id) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if list.Hosts = append(list.Hosts, ordered[i].host); len(list.Hosts) >= q.Limit {
			break
		}
	}
	return list
}

// selectWords returns those of the selected services that have all words in their name or host.
func (lst *serviceListing) selectWords(selected *roaring.Bitmap, words []string) *roaring.Bitmap {
	found := roaring.New()
	for i := range lst.ordered[ByName] {
		s := &lst.ordered[ByName][i]
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s.text, w) }) && selected.Contains(s.id) {
			found.Add(s.id)
		}
	}
	return found
}

// hostsWith returns the hosts with a feature. l.mu is held; the caller does not change the set.
func (l *Live) hostsWith(f Feature) *roaring.Bitmap {
	if n, known := l.features[f]; known {
		return l.hosts[n]
	}
	return roaring.New()
}

// countCategories counts the categories of services. Those that most hosts name are looked at. l.mu is
// held.
func (l *Live) countCategories(services *roaring.Bitmap) []CategoryCount {
	var counts []CategoryCount
	for _, row := range l.stats.Load().Table("category").Rows {
		if n := services.AndCardinality(l.hostsWith(row.Feature)); n > 0 {
			counts = append(counts, CategoryCount{row.Feature.Value, int(n)})
		}
	}
	slices.SortFunc(counts, func(a, b CategoryCount) int {
		return cmp.Or(b.Services-a.Services, strings.Compare(a.Name, b.Name))
	})
	return counts[:min(len(counts), maxCategories)]
}

// currentListing returns the list of services after the last refresh of the figures. While one caller
// makes it the others get the one before.
func (l *Live) currentListing() *serviceListing {
	lst := l.listing.Load()
	if lst != nil && (lst.of == l.stats.Load() || !l.listings.TryLock()) {
		return lst
	}
	if lst == nil {
		l.listings.Lock()
	}
	defer l.listings.Unlock()
	if lst = l.listing.Load(); lst == nil || lst.of != l.stats.Load() {
		lst = l.makeListing()
		l.listing.Store(lst)
	}
	return lst
}

// makeListing lists and orders all services.
func (l *Live) makeListing() *serviceListing {
	lst := &serviceListing{of: l.stats.Load(), all: roaring.New()}
	l.mu.RLock()
	lst.ids = l.owner
	test := l.hostsWith(Feature{"category", testCategory})
	services := make([]listedService, 0, lst.of.Services)
	for id, h := range l.rows {
		if s, ok := h.listService(uint32(id)); ok {
			s.test = test.Contains(s.id)
			lst.all.Add(s.id)
			services = append(services, s)
		}
	}
	l.mu.RUnlock()
	for order, compare := range map[ServiceOrder]func(a, b *listedService) int{
		ByName:       func(a, b *listedService) int { return 0 },
		ByChange:     func(a, b *listedService) int { return b.changed.Compare(a.changed) },
		ByOperations: func(a, b *listedService) int { return b.operations - a.operations },
	} {
		ordered := slices.Clone(services)
		slices.SortFunc(ordered, func(a, b listedService) int {
			return cmp.Or(compareBools(a.test, b.test), compare(&a, &b), strings.Compare(a.text, b.text))
		})
		lst.ordered[order] = ordered
	}
	return lst
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// listService returns the host as a service, and false if it publishes nothing of its own. The name is
// that of the document that describes a service best.
func (h *liveHost) listService(id uint32) (s listedService, ok bool) {
	if !h.Known {
		return s, false
	}
	name, rank := "", 0
	full := slices.ContainsFunc(h.Documents, func(d liveDocument) bool {
		kind := document.Kind(d.Kind)
		return d.Operations > 0 && kind != document.AGISSummary && !kind.IsAlias()
	})
	for i := range h.Documents {
		d := &h.Documents[i]
		kind := document.Kind(d.Kind)
		ok = ok || !kind.IsAlias()
		if f, _ := document.FormatOf(kind); d.Name != "" && (name == "" || f.Rank < rank) {
			name, rank = d.Name, f.Rank
		}
		if d.Changed.After(s.changed) {
			s.changed = d.Changed
		}
		if !kind.IsAlias() && (kind != document.AGISSummary || !full) {
			s.operations += d.Operations
		}
	}
	s.id, s.host, s.text = id, h.Host, strings.ToLower(cmp.Or(name, h.Host))+" "+h.Host
	return s, ok
}

// HasFeature returns a function that reports whether a host has a feature at the moment of the call.
// It may be called by any goroutine.
func (l *Live) HasFeature(f Feature) func(host string) bool {
	return func(host string) bool {
		l.mu.RLock()
		defer l.mu.RUnlock()
		id, known := l.ids[host]
		return known && l.hostsWith(f).Contains(id)
	}
}

// CategoryFeature is the feature of the hosts that name a category, in any case.
func CategoryFeature(category string) Feature {
	return Feature{"category", valueOf(strings.ToLower(strings.TrimSpace(category)))}
}
