package boltqueue

import "sync"

// watches are the inboxes that somebody waits for.
type watches struct {
	mu      sync.Mutex // guards the following fields
	inboxes map[string]*watch
}

type watch struct {
	pushed  chan struct{}
	waiting int
}

// Watch returns a channel that is closed by the next Push: see relay.Queue.
func (q *Queue) Watch(inbox string) (pushed <-chan struct{}, stop func()) {
	w := &q.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inboxes == nil {
		w.inboxes = map[string]*watch{}
	}
	entry := w.inboxes[inbox]
	if entry == nil {
		entry = &watch{pushed: make(chan struct{})}
		w.inboxes[inbox] = entry
	}
	entry.waiting++
	return entry.pushed, sync.OnceFunc(func() { w.removeWatch(inbox, entry) })
}

// removeWatch ends one wait, and forgets the inbox with the last.
func (w *watches) removeWatch(inbox string, entry *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry.waiting--
	if entry.waiting == 0 && w.inboxes[inbox] == entry {
		delete(w.inboxes, inbox)
	}
}

// notifyInbox wakes everyone who waits for the inbox.
func (w *watches) notifyInbox(inbox string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if entry := w.inboxes[inbox]; entry != nil {
		close(entry.pushed)
		delete(w.inboxes, inbox)
	}
}
