package index

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"gazetteer/conformance"
	"gazetteer/index/query"
	"gazetteer/internal/teststore"
)

// hostStates are states that a test sets.
type hostStates struct {
	names  []string
	labels []uint8
}

func (h *hostStates) HostNumber(host string) (uint32, bool) {
	n := slices.Index(h.names, host)
	return uint32(max(n, 0)), n >= 0
}

func (h *hostStates) HostLabels() []uint8 { return h.labels }

// The values of is: are the states that are measured, in the order of their bits.
func TestStatesEqualMeasured(t *testing.T) {
	var names []string
	for _, name := range conformance.Names() {
		names = append(names, string(name))
	}
	if !slices.Equal(names, query.StateNames()) {
		t.Errorf("is: has the values %q, measured are %q", query.StateNames(), names)
	}
}

func TestSearchByState(t *testing.T) {
	s := teststore.New(t)
	for _, host := range []string{"a.test", "b.test", "c.test"} {
		put(t, s, agis(host, "BOOK table"))
	}
	states := &hostStates{names: []string{"a.test", "b.test"}, labels: []uint8{0b10111, 0b00001}}
	x, err := Open(context.Background(), Options{Dir: t.TempDir(), Store: s, States: states, Linger: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	stop := running(t, x)
	defer stop()
	catchUp(t, x, s)
	wantHosts := func(text, want string) {
		t.Helper()
		q, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := x.Hosts(t.Context(), q)
		slices.Sort(hosts)
		if err != nil || fmt.Sprint(hosts) != want {
			t.Errorf("%s finds %v, %v; want %s", text, hosts, err, want)
		}
		r, err := x.Search(t.Context(), q)
		if err != nil || fmt.Sprintf("[%d]", r.Total) != fmt.Sprintf("[%d]", len(hosts)) {
			t.Errorf("%s finds %d operations, %v", text, r.Total, err)
		}
	}
	wantHosts("is:reachable", "[a.test b.test]")
	wantHosts("book is:reachable", "[a.test b.test]")
	wantHosts("book is:reachable is:answers", "[a.test]") // all must hold
	wantHosts("is:consistent", "[]")
	wantHosts("-is:answers", "[b.test c.test]") // nothing is known of c.test
	wantHosts("is:reachable -is:answers", "[b.test]")
	wantHosts("host:b.test is:answers", "[]")
	r, err := x.Search(t.Context(), query.Query{Words: "book", Facets: []string{"is"}})
	if err != nil || fmt.Sprint(r.Facets["is"]) != "[{reachable 2} {answers 1} {conformant 1} {well-formed 1}]" {
		t.Errorf("the facet is %v, %v", r.Facets["is"], err)
	}

	// A host that becomes known later, and a change without a document, are seen at once.
	states.names = append(states.names, "c.test")
	states.labels = []uint8{0, 0b00001, 0b10001}
	wantHosts("is:reachable", "[b.test c.test]")
	wantHosts("is:answers", "[c.test]")
}
