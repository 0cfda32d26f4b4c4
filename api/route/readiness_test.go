package route

import (
	"testing"

	"gazetteer/store"
)

func TestReadiness(t *testing.T) {
	at := func(seq uint64) store.Cursor { return store.Cursor{Store: "s", Incarnation: 1, Seq: seq} }
	r := &readiness{target: at(500), maxLag: 100}
	for _, step := range []struct {
		name        string
		index, head store.Cursor
		want        bool
	}{
		{"before the index has begun", store.Cursor{}, at(500), false},
		{"near the head of the start, but not there", at(499), at(500), false},
		{"behind the head of the start, a little behind the head of now", at(499), at(590), false},
		{"at the head of the start", at(500), at(600), true},
		{"a little behind", at(501), at(601), true},
		{"far behind", at(501), at(602), false},
		{"caught up", at(602), at(602), true},
		{"a rebuild has begun", at(0), at(602), false},
		{"during the rebuild", at(550), at(640), false},
		{"at the head of its beginning", at(602), at(640), true},
		{"of another incarnation", store.Cursor{Store: "s", Incarnation: 2, Seq: 640}, at(640), false},
		{"of this one again", at(640), at(640), true},
	} {
		if got := r.ObserveCursors(step.index, step.head); got != step.want {
			t.Errorf("%s: ready is %v, want %v", step.name, got, step.want)
		}
	}
	empty := &readiness{maxLag: 100}
	if !empty.ObserveCursors(store.Cursor{}, store.Cursor{Store: "s", Incarnation: 1}) {
		t.Error("an empty store has nothing to wait for")
	}
}
