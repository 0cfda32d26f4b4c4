package crawler

import (
	"sync"
	"time"
)

// A pauseWatch detects times in which the process did not run: it was stopped, or the machine slept
// or was paused. A timer that expired in such a time tells nothing about the host that a session
// was waiting for. It watches only while sessions run.
type pauseWatch struct {
	mu       sync.Mutex // guards the following fields
	sessions int
	last     time.Time // of the latest tick
	ended    time.Time // of the latest pause
	timer    *time.Timer
}

// A tick that is later than pauseTick by pauseLeast ends a pause.
const (
	pauseTick  = time.Second
	pauseLeast = 4 * time.Second
)

// beginSession starts watching for one session; endSession, which must follow, stops it.
func (w *pauseWatch) beginSession() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions++; w.sessions > 1 {
		return
	}
	w.last = time.Now()
	w.timer = time.AfterFunc(pauseTick, w.tick)
}

func (w *pauseWatch) endSession() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions--; w.sessions == 0 {
		w.timer.Stop()
	}
}

func (w *pauseWatch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkPause()
	if w.sessions > 0 {
		w.timer.Reset(pauseTick)
	}
}

// checkPause records the time since the latest tick as a pause if it was too long. The wall clock
// shows the sleep of a machine, during which the monotonic clock stops. w.mu is held.
func (w *pauseWatch) checkPause() {
	now := time.Now()
	if max(now.Sub(w.last), now.Round(0).Sub(w.last.Round(0))) > pauseTick+pauseLeast {
		w.ended = now
	}
	w.last = now
}

// pausedSince reports whether the process paused after a time at which a session ran already.
func (w *pauseWatch) pausedSince(t time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkPause()
	return w.ended.After(t)
}
