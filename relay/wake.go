package relay

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/protocol/httpsig"
)

// Limits of wake-ups. A host that fails is asked again after wakeBackoff, then twice as long each
// time up to wakeBackoffMost; after wakeFailures in a row it is given up until an owner sets the rules
// of an inbox with an address there.
const (
	wakeEvery       = 30 * time.Second // between two wake-ups for one inbox
	wakeTime        = 10 * time.Second // for one request
	wakeBackoff     = time.Minute
	wakeBackoffMost = 6 * time.Hour
	wakeFailures    = 20
	wakeRunning     = 64 // requests at a time, one for each host
	wakeDomain      = 4  // of those, to the hosts below one registrable domain
	wakeSlow        = 32 // of those, to domains with a slow host in the last hour
	slowAnswer      = 2 * time.Second
	slowPeriod      = time.Hour
	wakeMost        = 10_000 // inboxes that wait for their wake-up, and hosts that are remembered
)

// wakes tells recipients that mail has come, by an empty signed POST to the address in the rules of
// the inbox. It tells nothing else: not who wrote, not how much. Redirects are not followed, and the
// answer is not read. The queue notes which inboxes wait for theirs and which hosts fail, so that a
// restart changes nothing.
type wakes struct {
	transport http.RoundTripper // decides which addresses may be reached
	queue     Queue
	keyID     string
	key       ed25519.PrivateKey
	log       *slog.Logger
	now       func() time.Time

	sent, failed atomic.Uint64

	mu      sync.Mutex // guards the following fields
	pending map[string]pendingWake
	hosts   map[string]*wakeHost
	running int
	domains map[string]int // running requests by registrable domain
	// slow contains the domains below which a request took longer than slowAnswer, with the time at
	// which that is forgotten. The owner of many domains with slow hosts holds all places only once.
	slow        map[string]time.Time
	runningSlow int
	closing     bool
	next        *time.Timer // of the next attempt, nil when none is planned
	ctx         context.Context
	posts       sync.WaitGroup
}

// pendingWake is the wake-up of one inbox.
type pendingWake struct {
	url    *url.URL
	domain string    // registrable domain of its host
	due    time.Time // not before
	mail   bool      // mail has come since the last wake-up
	number uint64    // of the newest mail
	slow   bool      // counts in runningSlow while it runs
}

// wakeHost is the state of a host of wake-up addresses.
type wakeHost struct {
	WakeHost
	busy bool
}

func (h *wakeHost) givenUp() bool { return h.Failures >= wakeFailures }

// sendUntilDone sends wake-ups until ctx ends, and waits for those under way. It begins with those
// that an earlier process left.
func (w *wakes) sendUntilDone(ctx context.Context) {
	if w.transport != nil {
		w.loadPending(ctx)
	}
	w.mu.Lock()
	w.ctx = ctx
	w.startDue()
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	w.closing = true
	if w.next != nil {
		w.next.Stop()
	}
	w.mu.Unlock()
	w.posts.Wait()
}

// loadPending reads what the queue notes about wake-ups.
func (w *wakes) loadPending(ctx context.Context) {
	noted, err := w.queue.Wakes(ctx)
	if err != nil {
		w.log.Error("read the wake-ups that wait", "error", err)
		return
	}
	w.mu.Lock()
	for name, state := range noted.Hosts {
		if w.hosts[name] == nil {
			w.hosts[name] = &wakeHost{WakeHost: state}
		}
	}
	w.mu.Unlock()
	for inbox, number := range noted.Pending {
		rules, err := w.queue.Rules(ctx, inbox)
		switch {
		case err != nil:
			w.log.Error("read the rules of an inbox", "inbox", inbox, "error", err)
		case rules.WakeURL == "":
			w.noteResult(w.queue.EndWake(ctx, inbox, number))
		default:
			w.addPending(inbox, rules.WakeURL, number)
		}
	}
}

// noteResult logs that the result of a wake-up could not be stored; it is sent again after a restart.
func (w *wakes) noteResult(err error) {
	if err != nil {
		w.log.Warn("note what became of a wake-up", "error", err)
	}
}

// addPending notes that mail with a number has come into an inbox.
func (w *wakes) addPending(inbox, address string, number uint64) {
	if w.transport == nil || address == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil {
		return // it was checked when it was set
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.pending[inbox]
	switch {
	case !known && len(w.pending) >= wakeMost:
		return
	case known && number <= p.number: // loadPending found it in the queue, or newer mail was noted first
		return
	}
	p.url, p.domain, p.mail, p.number = u, psl.Domain(hostName(u)), true, number
	w.pending[inbox] = p
	if !known { // else its time is planned
		w.startDue()
	}
}

// forgetHost gives a host another chance: an owner has set an address there.
func (w *wakes) forgetHost(ctx context.Context, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return
	}
	w.mu.Lock()
	h := w.hosts[hostName(u)]
	known := h != nil && !h.busy
	if known {
		delete(w.hosts, hostName(u))
	}
	w.mu.Unlock()
	if known && h.Failures > 0 {
		w.noteResult(w.queue.SetWakeHost(ctx, hostName(u), WakeHost{}))
	}
}

func hostName(u *url.URL) string { return strings.ToLower(u.Hostname()) }

// startDue starts the due wake-ups and schedules the next attempt. The caller holds mu.
func (w *wakes) startDue() {
	if w.ctx == nil || w.closing {
		return
	}
	now := w.now()
	wait := time.Duration(-1)
	for inbox, p := range w.pending {
		host := w.hosts[hostName(p.url)]
		if host == nil {
			host = &wakeHost{}
			w.hosts[hostName(p.url)] = host
		}
		if host.Next.After(now.Add(wakeBackoffMost)) { // by a clock that was ahead
			host.Next = now
		}
		if p.due.After(now.Add(wakeEvery)) {
			p.due = now
			w.pending[inbox] = p
		}
		at := p.due
		if host.Next.After(at) {
			at = host.Next
		}
		switch {
		case !p.mail && !now.Before(p.due), host.givenUp():
			delete(w.pending, inbox)
		case host.busy || p.mail && !w.hasPlace(p.domain, now):
			// the end of a request dispatches again
		case at.After(now):
			if left := at.Sub(now); wait < 0 || left < wait {
				wait = left
			}
		default:
			host.busy = true
			w.running++
			w.domains[p.domain]++
			p.mail, p.due, p.slow = false, now.Add(wakeEvery), w.isSlow(p.domain, now)
			if p.slow {
				w.runningSlow++
			}
			w.pending[inbox] = p
			w.posts.Go(func() { w.wakeOne(inbox, p) })
		}
	}
	w.trimHosts(now)
	if w.next != nil {
		w.next.Stop()
	}
	if wait >= 0 {
		w.next = time.AfterFunc(wait, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.startDue()
		})
	}
}

// hasPlace reports whether a request to a host below a domain may start now. The caller holds mu.
func (w *wakes) hasPlace(domain string, now time.Time) bool {
	return w.running < wakeRunning && w.domains[domain] < wakeDomain && (w.runningSlow < wakeSlow || !w.isSlow(domain, now))
}

// isSlow reports whether a host below the domain was slow. The caller holds mu.
func (w *wakes) isSlow(domain string, now time.Time) bool { return w.slow[domain].After(now) }

// noteSlow records a domain with a slow host. The caller holds mu.
func (w *wakes) noteSlow(domain string, now time.Time) {
	maps.DeleteFunc(w.slow, func(_ string, until time.Time) bool { return len(w.slow) >= wakeMost && !until.After(now) })
	if _, known := w.slow[domain]; known || len(w.slow) < wakeMost {
		w.slow[domain] = now.Add(slowPeriod)
	}
}

// trimHosts forgets hosts that have nothing to remember, when there are too many. The caller holds mu.
func (w *wakes) trimHosts(now time.Time) {
	if len(w.hosts) <= wakeMost {
		return
	}
	for name, h := range w.hosts {
		if !h.busy && (h.Failures == 0 || len(w.hosts) > 2*wakeMost && now.After(h.Next)) {
			delete(w.hosts, name)
		}
	}
}

// wakeOne sends one wake-up and records its result. No other request goes to the host meanwhile.
func (w *wakes) wakeOne(inbox string, p pendingWake) {
	begun := w.now()
	err := w.postRequest(p.url)
	name := hostName(p.url)
	w.mu.Lock()
	host := w.hosts[name]
	before, closing := host.Failures, err != nil && w.ctx.Err() != nil // the host did not fail: we end
	switch {
	case closing:
	case err == nil:
		w.sent.Add(1)
		host.WakeHost = WakeHost{}
	default:
		w.failed.Add(1)
		host.Failures++
		host.Next = w.now().Add(min(wakeBackoff<<min(host.Failures-1, 20), wakeBackoffMost))
	}
	after := host.WakeHost
	w.mu.Unlock()
	if after.Failures != before {
		w.noteResult(w.queue.SetWakeHost(context.WithoutCancel(w.ctx), name, after))
	}
	if err == nil {
		w.noteResult(w.queue.EndWake(context.WithoutCancel(w.ctx), inbox, p.number))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if p.slow {
		w.runningSlow--
	}
	if now := w.now(); now.Sub(begun) > slowAnswer {
		w.noteSlow(p.domain, now)
	}
	if w.domains[p.domain]--; w.domains[p.domain] == 0 {
		delete(w.domains, p.domain)
	}
	host.busy = false
	if err != nil {
		if host.givenUp() {
			w.log.Info("wake-ups are given up", "host", name, "failures", host.Failures, "error", err)
		} else if p, known := w.pending[inbox]; known {
			p.mail = true
			w.pending[inbox] = p
		}
	}
	w.startDue()
}

// postRequest sends the request. Anything but a status of 2xx is a failure.
func (w *wakes) postRequest(u *url.URL) error {
	ctx, cancel := context.WithTimeout(w.ctx, wakeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "Gazetteer relay")
	if err := httpsig.Sign(request, nil, w.key, httpsig.SignOptions{KeyID: w.keyID, Tag: "a2a-wake", Created: w.now()}); err != nil {
		return err
	}
	response, err := w.transport.RoundTrip(request) // follows no redirects
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the host answers %d", response.StatusCode)
	}
	return nil
}
