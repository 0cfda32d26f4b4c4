package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/store"
)

// A Standing is the part of a [Judgment] that makes history when it changes: the class, the five
// verdicts and the conformance level. Two standings can be compared with ==.
type Standing struct {
	Class      PublisherClass `json:"class"`
	Reachable  Verdict        `json:"reachable"`
	WellFormed Verdict        `json:"well_formed"`
	Conformant Verdict        `json:"conformant"`
	Consistent Verdict        `json:"consistent"`
	Answers    Verdict        `json:"answers"`
	// Level is the conformance level where Conformant is yes, and 0 elsewhere.
	Level int `json:"level,omitempty"`
}

// Standing returns the part of the judgment whose changes are recorded.
func (j Judgment) Standing() Standing {
	s := Standing{Class: j.Class, Level: j.State(Conformant).Level}
	for _, name := range Names() {
		*s.verdictOf(name) = j.State(name).Verdict
	}
	return s
}

// Verdict returns the verdict on one state, [Unknown] for a name that is none.
func (s Standing) Verdict(name Name) Verdict {
	if v := s.verdictOf(name); v != nil && *v != "" {
		return *v
	}
	return Unknown
}

func (s *Standing) verdictOf(name Name) *Verdict {
	switch name {
	case Reachable:
		return &s.Reachable
	case WellFormed:
		return &s.WellFormed
	case Conformant:
		return &s.Conformant
	case Consistent:
		return &s.Consistent
	case Answers:
		return &s.Answers
	}
	return nil
}

// A Turn is one entry in the history of a host: its standing from a visit on. The crawler writes it
// in the commit of that visit, and only when the standing differs from the one before. All turns of
// a host are removed when its owner opts out.
type Turn struct {
	Host string `json:"host"`
	// At orders the turns of a host: it is the time of the key, and later than that of the turn
	// before.
	At time.Time `json:"at"`
	// Measured is the time of the visit where it differs from At. The crawler sets it to what the
	// clock showed if that was behind the turn before. [Turns] corrects it.
	Measured time.Time `json:"measured,omitzero"`
	Standing Standing  `json:"standing"`
	// Before is the standing until then, nil at first sight.
	Before *Standing `json:"before,omitempty"`
	// Flapping is set when the standing has changed so often that single changes are no longer
	// recorded: see [Track]. The next turn ends it.
	Flapping bool `json:"flapping,omitempty"`
	// Known and Visits are set in the first turn of a host: when the host became known, and how
	// many visits were made earlier, without history.
	Known  time.Time `json:"known,omitzero"`
	Visits int       `json:"visits_before,omitempty"`
	// Evidence lists the reasons, at most twenty.
	Evidence []StateEvidence `json:"evidence,omitempty"`
	// By is the User-Agent of the crawler that made the visit.
	By string `json:"by"`
}

// StateEvidence is one reason why a state does not hold.
type StateEvidence struct {
	State Name `json:"state"`
	Evidence
}

// First reports whether the turn is the first sight of its host.
func (t Turn) First() bool { return t.Before == nil }

// Time returns when the turn took place.
func (t Turn) Time() time.Time {
	if !t.Measured.IsZero() {
		return t.Measured
	}
	return t.At
}

const (
	// settleTime is how long a standing must last to count as settled.
	settleTime = 48 * time.Hour
	// maxShort is how many standings in a row may last less than settleTime before the host counts
	// as flapping.
	maxShort = 6
	// turnEvidence is the most pieces of evidence that a turn keeps for one state, and turnText the
	// longest text of one in bytes.
	turnEvidence = 3
	turnText     = 300
)

// A Track is what the record of a host keeps of its history, so that a visit without change needs
// neither a read nor a write more. A host whose last six standings each lasted less than 48 hours
// is flapping: one turn says so, and no further ones are written until a visit finds that a
// standing has lasted 48 hours.
type Track struct {
	Standing Standing `json:"standing"`
	// Since is when the present standing began, Turned the time of the last turn.
	Since  time.Time `json:"since"`
	Turned time.Time `json:"turned"`
	// Short counts the standings in a row that lasted less than 48 hours.
	Short    int  `json:"short,omitempty"`
	Flapping bool `json:"flapping,omitempty"`
	// At is when the last visit ended, By the User-Agent of the crawler that made it.
	At time.Time `json:"at"`
	By string    `json:"by"`
}

// A Measurement is one visit as [Advance] judges it.
type Measurement struct {
	Host     string
	At       time.Time // when the visit ended
	By       string    // the User-Agent of the crawler
	Judgment Judgment
	// Known and Visits describe the host for its first turn: when it became known, and how many
	// visits were made before this one.
	Known  time.Time
	Visits int
}

// Advance returns the track of a host after a visit, and the turn to be written with it, nil for a
// visit that changed nothing. before is the track so far, nil at first sight.
func Advance(before *Track, m Measurement) (Track, *Turn) {
	// The store keeps times in milliseconds, in UTC.
	at := m.At.UTC().Truncate(time.Millisecond)
	standing := m.Judgment.Standing()
	if before == nil {
		t := Track{Standing: standing, Since: at, Turned: at, At: at, By: m.By}
		turn := newTurn(m, at, at)
		turn.Known, turn.Visits = m.Known.UTC(), m.Visits
		return t, turn
	}
	t := *before
	t.At, t.By = at, m.By
	if t.Since.After(at) { // the clock was ahead
		t.Since = at
	}
	lasted := at.Sub(t.Since)
	switch changed := standing != t.Standing; {
	case !changed && (!t.Flapping || lasted < settleTime):
		return t, nil
	case !changed:
		t.Flapping, t.Short = false, 0
	default:
		if t.Short++; lasted >= settleTime {
			t.Short = 0
		}
		t.Standing, t.Since = standing, at
		flapping := t.Short >= maxShort
		t.Short = min(t.Short, maxShort)
		if flapping && t.Flapping {
			return t, nil
		}
		t.Flapping = flapping
	}
	key := at
	if !key.After(t.Turned) {
		key = t.Turned.Add(time.Millisecond)
	}
	t.Turned = key
	turn := newTurn(m, key, at)
	turn.Before, turn.Flapping = &before.Standing, t.Flapping
	return t, turn
}

func newTurn(m Measurement, key, at time.Time) *Turn {
	t := &Turn{Host: m.Host, At: key, Standing: m.Judgment.Standing(), By: m.By}
	if !key.Equal(at) {
		t.Measured = at
	}
	for _, s := range m.Judgment.States {
		if s.Verdict != No {
			continue
		}
		for _, e := range s.Evidence[:min(len(s.Evidence), turnEvidence)] {
			e.Text, e.Help = protocol.ClipBytes(e.Text, turnText), ""
			e.URL, e.Pointer = protocol.ClipBytes(e.URL, turnText), protocol.ClipBytes(e.Pointer, turnText)
			t.Evidence = append(t.Evidence, StateEvidence{State: s.Name, Evidence: e})
		}
	}
	return t
}

// Write returns the write that stores the turn.
func (t *Turn) Write() (store.Write, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return store.Write{}, fmt.Errorf("write a turn of %s: %w", t.Host, err)
	}
	return store.Put(store.TurnKey(t.Host, t.At), text), nil
}

// Turns returns the history of a host, oldest first, with corrected times: a time after the
// reader's own, now, is replaced by that of the next turn, or by since for the last one; and a time
// before that of the turn before by that one. since is when the present standing began as far as
// the record of the host knows ([Track]), zero if it does not. Damaged records are left out. The
// error is a *[fetch.HostError] for a bad host name, or one of the store.
func Turns(ctx context.Context, s store.Store, host string, now, since time.Time) ([]Turn, error) {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	var turns []Turn
	for r, err := range s.List(ctx, store.TurnsOf(name), "") {
		if err != nil && !store.Damaged(r, err) {
			return nil, fmt.Errorf("read the history of %s: %w", name, err)
		}
		var t Turn
		if err == nil && json.Unmarshal(r.Value, &t) == nil && t.Host == name {
			turns = append(turns, t)
		}
	}
	correctTimes(turns, now, since)
	return turns, nil
}

// correctTimes sets the corrected times of a host's turns.
func correctTimes(turns []Turn, now, since time.Time) {
	next := now
	if !since.IsZero() && since.Before(now) {
		next = since
	}
	times := make([]time.Time, len(turns))
	var latest time.Time
	for i, t := range turns {
		if at := t.Time(); at.After(now) {
			continue
		} else if at.After(latest) {
			latest = at
		}
		times[i] = latest
	}
	if next.Before(latest) {
		next = latest
	}
	for i := len(turns) - 1; i >= 0; i-- {
		if times[i].IsZero() {
			times[i] = next
		}
		next = times[i]
		if turns[i].Measured = next; next.Equal(turns[i].At) {
			turns[i].Measured = time.Time{}
		}
	}
}
