package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// A past simulates visits to one host and keeps the records that they write.
type past struct {
	t     *testing.T
	store store.Store
	host  string
	track *conformance.Track
	turns int
}

func (p *past) visit(at time.Time, in conformance.Input) *conformance.Turn {
	p.t.Helper()
	next, turn := conformance.Advance(p.track, conformance.Measurement{
		Host: p.host, At: at, By: "Gazetteer/test", Judgment: conformance.Judge(in), Known: noon.Add(-time.Hour),
	})
	p.track = &next
	if turn == nil {
		return nil
	}
	p.turns++
	w, err := turn.Write()
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.store.Apply(p.t.Context(), w); err != nil {
		p.t.Fatal(err)
	}
	return turn
}

var (
	good   = conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.OK, 200)}, Documents: []document.Document{valid(document.AI, 1)}}
	failed = conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.ServerError, 503)}, Documents: []document.Document{valid(document.AI, 1)}}
	silent = conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.Timeout, 0)}}
)

func TestTurnsAreChanges(t *testing.T) {
	p := &past{t: t, store: teststore.New(t), host: "a.example"}
	first := p.visit(noon, good)
	if first == nil || !first.First() || first.Known.IsZero() || first.By != "Gazetteer/test" {
		t.Fatalf("the first sight is %+v", first)
	}
	for day := range 30 {
		if turn := p.visit(noon.AddDate(0, 0, day+1), good); turn != nil {
			t.Fatalf("a visit without change wrote %+v", turn)
		}
	}
	turn := p.visit(noon.AddDate(0, 0, 40), failed)
	if turn == nil || turn.Before.Answers != conformance.Yes || turn.Standing.Answers != conformance.No {
		t.Fatalf("a change wrote %+v", turn)
	}
	if len(turn.Evidence) != 1 || turn.Evidence[0].State != conformance.Answers || turn.Evidence[0].Outcome != fetch.ServerError {
		t.Errorf("the evidence is %+v", turn.Evidence)
	}
	turns, err := conformance.Turns(t.Context(), p.store, "A.example", noon.AddDate(1, 0, 0), time.Time{})
	if err != nil || len(turns) != 2 || !turns[1].Time().Equal(noon.AddDate(0, 0, 40)) || turns[1].Standing.Verdict(conformance.Answers) != conformance.No {
		t.Errorf("the store has %+v, %v", turns, err)
	}
}

// A host that alternates each hour is one flapping host, and not a turn an hour.
func TestFlapping(t *testing.T) {
	p := &past{t: t, store: teststore.New(t), host: "a.example"}
	at := noon
	for hour := range 1000 {
		at = noon.Add(time.Duration(hour) * time.Hour)
		p.visit(at, []conformance.Input{good, failed, silent}[hour%3])
	}
	if p.turns != 7 || !p.track.Flapping {
		t.Fatalf("1,000 changes wrote %d turns, flapping %v; want 7", p.turns, p.track.Flapping)
	}
	p.visit(at.Add(time.Hour), good)
	if turn := p.visit(at.Add(40*time.Hour), good); turn != nil {
		t.Errorf("settled after 39 hours: %+v", turn)
	}
	turn := p.visit(at.Add(50*time.Hour), good)
	if turn == nil || turn.Flapping || turn.Standing.Answers != conformance.Yes || p.track.Flapping {
		t.Errorf("after two days it wrote %+v", turn)
	}
	turns, err := conformance.Turns(t.Context(), p.store, p.host, at.AddDate(1, 0, 0), time.Time{})
	if err != nil || len(turns) != 8 || !turns[6].Flapping || turns[5].Flapping {
		t.Errorf("the store has %+v, %v", turns, err)
	}
	if turn := p.visit(at.Add(60*time.Hour), failed); turn == nil || turn.Flapping {
		t.Errorf("the next change wrote %+v", turn)
	}
}

func TestWrongClocks(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct{ clock, want []time.Duration }{
		"right":                  {[]time.Duration{0, 3 * day, 6 * day}, []time.Duration{0, 3 * day, 6 * day}},
		"ahead once":             {[]time.Duration{0, 2000 * day, 6 * day}, []time.Duration{0, 6 * day, 6 * day}},
		"ahead at first":         {[]time.Duration{2000 * day, 3 * day, 6 * day}, []time.Duration{3 * day, 3 * day, 6 * day}},
		"ahead last":             {[]time.Duration{0, 3 * day, 2000 * day}, []time.Duration{0, 3 * day, 10 * day}},
		"back once":              {[]time.Duration{0, -2000 * day, 6 * day}, []time.Duration{0, 0, 6 * day}},
		"back, and stood still":  {[]time.Duration{0, 0, 0}, []time.Duration{0, 0, 0}},
		"ahead, and back a step": {[]time.Duration{0, 3 * day, 3*day - time.Hour}, []time.Duration{0, 3 * day, 3 * day}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &past{t: t, store: teststore.New(t), host: "a.example"}
			for i, at := range c.clock {
				p.visit(noon.Add(at), []conformance.Input{good, failed, silent}[i])
			}
			turns, err := conformance.Turns(t.Context(), p.store, p.host, noon.Add(10*day), time.Time{})
			if err != nil || len(turns) != len(c.want) {
				t.Fatalf("%d turns, %v; want %d", len(turns), err, len(c.want))
			}
			for i, turn := range turns {
				if got := turn.Time().Sub(noon); got != c.want[i] {
					t.Errorf("turn %d took place after %v, want %v", i, got, c.want[i])
				}
				if want := []conformance.Input{good, failed, silent}[i]; turn.Standing != conformance.Judge(want).Standing() {
					t.Errorf("turn %d is %+v: out of order", i, turn.Standing)
				}
			}
		})
	}
}

// TestClockAheadAtTheLastTurn has visits with a right clock after a turn of the future: the standing has
// lasted since the first of them, and not since today.
func TestClockAheadAtTheLastTurn(t *testing.T) {
	day := 24 * time.Hour
	p := &past{t: t, store: teststore.New(t), host: "a.example"}
	p.visit(noon, good)
	p.visit(noon.Add(2000*day), failed)
	p.visit(noon.Add(3*day), failed)
	p.visit(noon.Add(6*day), failed)
	turns, err := conformance.Turns(t.Context(), p.store, p.host, noon.Add(10*day), p.track.Since)
	if err != nil || len(turns) != 2 || !turns[1].Time().Equal(noon.Add(3*day)) {
		t.Fatalf("%+v, %v; want a second turn after three days", turns, err)
	}
	text, err := json.Marshal(turns[1])
	var read conformance.Turn
	if err != nil || json.Unmarshal(text, &read) != nil || !read.Time().Equal(noon.Add(3*day)) {
		t.Errorf("a reader of %s has another time, error %v", text, err)
	}
}

func TestTurnsLeaveOutDamagedRecords(t *testing.T) {
	s := teststore.New(t)
	p := &past{t: t, store: s, host: "a.test"}
	p.visit(noon, good)
	p.visit(noon.AddDate(0, 0, 5), failed)
	damaged := []store.Write{
		store.Put(store.TurnKey("a.test", noon.AddDate(0, 0, 6)), []byte("{")),
		store.Put(store.TurnKey("c.example", noon), []byte(`{"host":"other.example"}`)),
	}
	if _, err := s.Apply(t.Context(), damaged...); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string][]string{"a.test": {"22", "27"}, "c.example": nil} {
		var got []string
		turns, err := conformance.Turns(t.Context(), s, host, noon.AddDate(1, 0, 0), time.Time{})
		for _, turn := range turns {
			got = append(got, turn.Time().Format("02"))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the turns of %s are %q, error %v", host, got, err)
		}
	}
}
