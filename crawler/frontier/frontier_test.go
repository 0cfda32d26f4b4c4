package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/store"
)

// A model of the frontier is a map: whatever is added, visited, moved and removed
// in whatever order, both hand out the same hosts, none early and none twice.
func TestFrontierEqualsMapModel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := New(0, 1, 0)
		now := time.Unix(1e9, 0)
		due := map[string]time.Time{}
		flying := map[string]*DueHost{}
		for range 5000 {
			name := fmt.Sprintf("h%d.d%d.test", r.IntN(40), r.IntN(200))
			_, inFlight := flying[name]
			when := now.Add(time.Duration(r.IntN(5000)) * time.Second)
			switch r.IntN(8) {
			case 0, 1:
				if _, known := due[name]; !known && !inFlight {
					due[name] = when
				}
				f.AddHost(name, now, when)
			case 2:
				if !inFlight {
					due[name] = when
				}
				f.SetDueTime(name, now, when)
			case 3:
				if !inFlight {
					delete(due, name)
					f.RemoveHost(name)
				}
			case 4, 5:
				now = now.Add(time.Duration(r.IntN(300)) * time.Second)
			case 6:
				for e, ok := f.NextHost(now); ok; e, ok = f.NextHost(now) {
					if due[e.Name].After(now) || due[e.Name].IsZero() {
						t.Fatalf("seed %d: %s is handed out at %v, due %v", seed, e.Name, now, due[e.Name])
					}
					delete(due, e.Name)
					flying[e.Name] = e
				}
				busy := map[string]bool{}
				for name := range flying {
					busy[psl.Domain(name)] = true
				}
				for name, at := range due {
					if !at.After(now) && !busy[psl.Domain(name)] {
						t.Fatalf("seed %d: %s was due at %v and is not handed out at %v", seed, name, at, now)
					}
				}
			case 7:
				for name, e := range flying {
					f.FinishSession(e, now, when)
					due[name] = when
					delete(flying, name)
				}
			}
			if at, ok := f.WakeAt(); ok && f.dueHosts == 0 && at.After(now.Add(5000*time.Second)) {
				t.Fatalf("seed %d: nothing happens before %v", seed, at)
			}
			if f.known != len(due)+len(flying) || f.inFlight != len(flying) || f.Counts().Waiting < 0 || f.Counts().Waiting > len(due) {
				t.Fatalf("seed %d: known %d, in flight %d, due %d; want %d and %d", seed, f.known, f.inFlight, f.dueHosts, len(due)+len(flying), len(flying))
			}
		}
	}
}

func TestReservedHostsReturn(t *testing.T) {
	f := New(time.Minute, 1, 0)
	now := time.Unix(1e9, 0)
	f.AddHost("a.test", now, now)
	e, _ := f.NextHost(now)
	f.Postpone(e, now, now.Add(30*time.Second))
	if !f.IsDue("a.test", now) {
		t.Error("a host that waits for the turn of its address is not due")
	}
	if _, ok := f.NextHost(now.Add(29 * time.Second)); ok {
		t.Error("handed out before the turn of its address")
	}
	e, ok := f.NextHost(now.Add(30 * time.Second))
	if !ok || !e.Reserved {
		t.Errorf("not handed out at its turn, or without its booking: %+v", e)
	}
}

func TestSnapshot(t *testing.T) {
	now := time.Unix(1e9, 0)
	f := New(0, 1, 0)
	for i := range 1000 {
		f.AddHost(fmt.Sprintf("h%d.test", i), now, now.Add(time.Duration(i)*time.Hour))
	}
	f.RemoveHost("h7.test")
	var file bytes.Buffer
	want := store.Cursor{Store: "s", Incarnation: 3, Seq: 77}
	if err := f.WriteSnapshot(&file, want); err != nil {
		t.Fatal(err)
	}
	again, cursor, err := ReadSnapshot(file.Bytes(), 0, 1, now)
	if err != nil || cursor != want || again.known != 999 {
		t.Fatalf("%+v with %d hosts, %v", cursor, again.known, err)
	}
	for i := range 1000 {
		name := fmt.Sprintf("h%d.test", i)
		n, known := again.hosts.findHost(name)
		if known != (i != 7) || known && int64(*again.hosts.due.at(n)) != now.Unix()+int64(i)*3600 {
			t.Errorf("%s: known %v", name, known)
		}
	}
	whole := file.Bytes()
	for i := 0; i < len(whole); i += 97 {
		broken := append([]byte(nil), whole...)
		broken[i] ^= 1
		for _, text := range [][]byte{broken, whole[:i]} {
			if _, _, err := ReadSnapshot(text, 0, 1, now); !errors.Is(err, ErrDamaged) {
				t.Fatalf("damaged at byte %d: %v", i, err)
			}
		}
	}
}
