package census

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/store"
)

// A ServiceQuery selects services and a part of their list. The zero value selects all, by name.
type ServiceQuery struct {
	// Words must all be in the name or the host of a service.
	Words string
	// Category is one that the service names, in any case; "" for any.
	Category string
	// Format is one in which the services have a current document; "" for any.
	Format document.Kind
	// Is are states that must hold, Not those that must not be known to hold.
	Is, Not []conformance.Name
	Order   ServiceOrder
	// Offset and Limit are the part of the list.
	Offset, Limit int
	// After is the host behind which a part begins in place of Offset, in the order ByHost alone.
	After string
	// Counted asks for Categories of the list.
	Counted bool
}

// ServiceOrder is an order of services. Services that exist to test readers are last in each.
type ServiceOrder int

// The orders: by name, those whose documents changed last first, those with most operations first,
// and that of the keys of the hosts, in which services that exist to test readers have no place of
// their own.
const (
	ByName ServiceOrder = iota
	ByChange
	ByOperations
	ByHost
	numOrders
)

// ServiceList is a part of a list of services.
type ServiceList struct {
	Hosts []string
	// More reports whether there are services behind the last of Hosts.
	More bool
	// Seq is the last sequence number of the store that the list includes.
	Seq uint64
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

// serviceListing has all services in each order. It is computed after the figures.
type serviceListing struct {
	of       *Stats     // the figures after which it was made
	ids      *rowsOwner // whose numbers the services have
	all      *roaring.Bitmap
	services []listedService
	ordered  [numOrders][]uint32 // places in services
	// texts are those of all services, a line each; ends says where each line ends.
	texts string
	ends  []int
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
// It reads nothing from the store. The only error is the end of ctx.
func (l *Live) Services(ctx context.Context, q ServiceQuery) (ServiceList, error) {
	lst, err := l.listing.Get(ctx, func(lst *serviceListing) bool { return lst.of == l.stats.Load() },
		func() (*serviceListing, error) { return l.makeListing(), nil })
	if err != nil {
		return ServiceList{}, err
	}
	l.mu.RLock()
	if lst.ids != l.owner { // the store is read again
		l.mu.RUnlock()
		lst = l.makeListing()
		l.mu.RLock()
	}
	defer l.mu.RUnlock()
	selected := lst.all
	for _, name := range q.Is {
		selected = roaring.And(selected, l.hostsWith(stateFeature(name, conformance.Yes)))
	}
	for _, name := range q.Not {
		selected = roaring.AndNot(selected, l.hostsWith(stateFeature(name, conformance.Yes)))
	}
	if q.Format != "" {
		selected = roaring.And(selected, l.hostsWith(Feature{Family: "format", Value: string(q.Format)}))
	}
	if words := strings.Fields(strings.ToLower(q.Words)); len(words) > 0 {
		selected = lst.selectWords(selected, words)
	}
	list := ServiceList{Seq: lst.of.Cursor.Seq, All: int(lst.all.GetCardinality())}
	if q.Counted {
		list.Categories = l.countCategories(selected)
	}
	if q.Category != "" {
		selected = roaring.And(selected, l.hostsWith(CategoryFeature(q.Category)))
	}
	list.Total = int(selected.GetCardinality())
	list.Hosts, list.More = lst.selectPart(selected, q)
	return list, nil
}

// selectPart returns the part of the selected services that a query wants, and whether there are more.
func (lst *serviceListing) selectPart(selected *roaring.Bitmap, q ServiceQuery) (hosts []string, more bool) {
	places, skip := lst.ordered[q.Order], q.Offset
	switch {
	case selected.IsEmpty():
		return nil, false
	case q.Order == ByHost && q.After != "":
		from, found := slices.BinarySearchFunc(places, q.After, func(place uint32, after string) int {
			return strings.Compare(store.HostKey(lst.services[place].host), store.HostKey(after))
		})
		if found {
			from++
		}
		places, skip = places[from:], 0
	case selected == lst.all:
		places, skip = places[min(max(skip, 0), len(places)):], 0
	}
	for _, place := range places {
		s := &lst.services[place]
		switch {
		case !selected.Contains(s.id):
		case skip > 0:
			skip--
		case len(hosts) == q.Limit:
			return hosts, true
		default:
			hosts = append(hosts, s.host)
		}
	}
	return hosts, false
}

// selectWords returns those of the selected services that have all words in their name or host. It
// searches for one word in all texts at once, and for the others where it found that one.
func (lst *serviceListing) selectWords(selected *roaring.Bitmap, words []string) *roaring.Bitmap {
	found := roaring.New()
	longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
	for at := 0; at < len(lst.texts); {
		next := strings.Index(lst.texts[at:], longest)
		if next < 0 {
			break
		}
		place, _ := slices.BinarySearch(lst.ends, at+next+1)
		s := &lst.services[place]
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s.text, w) }) && selected.Contains(s.id) {
			found.Add(s.id)
		}
		at = lst.ends[place]
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

// makeListing lists and orders all services.
func (l *Live) makeListing() *serviceListing {
	lst := &serviceListing{of: l.stats.Load(), all: roaring.New()}
	l.mu.RLock()
	lst.ids = l.owner
	test := l.hostsWith(Feature{"category", testCategory})
	keys, names := make([]string, 0, lst.of.Services), make([]string, 0, lst.of.Services)
	for id, h := range l.rows {
		if s, ok := h.listService(uint32(id)); ok {
			s.test = test.Contains(s.id)
			lst.all.Add(s.id)
			lst.services, keys = append(lst.services, s), append(keys, store.HostKey(s.host))
			names = append(names, protocol.WithoutMarks(s.text)) // Bäckerei comes before Bank
		}
	}
	l.mu.RUnlock()
	lst.joinTexts()
	byName := func(x, y uint32) int {
		return cmp.Or(compareBools(lst.services[x].test, lst.services[y].test), strings.Compare(names[x], names[y]))
	}
	for order, compare := range map[ServiceOrder]func(x, y uint32) int{
		ByHost: func(x, y uint32) int { return strings.Compare(keys[x], keys[y]) },
		ByName: byName,
		ByChange: func(x, y uint32) int {
			a, b := &lst.services[x], &lst.services[y]
			return cmp.Or(compareBools(a.test, b.test), b.changed.Compare(a.changed), byName(x, y))
		},
		ByOperations: func(x, y uint32) int {
			a, b := &lst.services[x], &lst.services[y]
			return cmp.Or(compareBools(a.test, b.test), b.operations-a.operations, byName(x, y))
		},
	} {
		places := make([]uint32, len(lst.services))
		for i := range places {
			places[i] = uint32(i)
		}
		slices.SortFunc(places, compare)
		lst.ordered[order] = places
	}
	return lst
}

// joinTexts makes one text of those of all services, and has them share its memory. No word has a line
// break, so none is found across two services.
func (lst *serviceListing) joinTexts() {
	var all strings.Builder
	lst.ends = make([]int, len(lst.services))
	for i := range lst.services {
		all.WriteString(strings.ReplaceAll(lst.services[i].text, "\n", " "))
		all.WriteByte('\n')
		lst.ends[i] = all.Len()
	}
	lst.texts = all.String()
	begin := 0
	for i, end := range lst.ends {
		lst.services[i].text, begin = lst.texts[begin:end-1], end
	}
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

// hasFullDocument is that of [Facts].
func (h *liveHost) hasFullDocument() bool {
	return slices.ContainsFunc(h.Documents, func(d liveDocument) bool { return describesOperations(d.Kind, d.Operations) })
}

// listService returns the host as a service, and false if it publishes nothing of its own. The name is
// that of the document that describes a service best.
func (h *liveHost) listService(id uint32) (s listedService, ok bool) {
	if !h.Known {
		return s, false
	}
	name, named, full := "", document.Kind(""), h.hasFullDocument()
	for i := range h.Documents {
		d := &h.Documents[i]
		kind := document.Kind(d.Kind)
		ok = ok || !kind.IsAlias()
		if d.Name != "" && (name == "" || kind.Rank() < named.Rank()) {
			name, named = d.Name, kind
		}
		if d.Changed.After(s.changed) {
			s.changed = d.Changed
		}
		if countsOperations(d.Kind, full) {
			s.operations += d.Operations
		}
	}
	s.id, s.host, s.text = id, h.Host, strings.ToLower(cmp.Or(name, h.Host))+" "+h.Host
	return s, ok
}

// CategoryFeature is the feature of the hosts that name a category, in any case.
func CategoryFeature(category string) Feature {
	return Feature{"category", valueOf(strings.ToLower(strings.TrimSpace(category)))}
}
