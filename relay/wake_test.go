package relay_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/internal/fakenet"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
)

// network answers wake-ups in the place of real hosts.
type network struct {
	mu       sync.Mutex
	requests []*http.Request
	at       []time.Time
	answers  map[string]func(r *http.Request) (*http.Response, error) // by host; 204 for others
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.requests, n.at = append(n.requests, r), append(n.at, time.Now())
	answer := n.answers[strings.ToLower(r.URL.Hostname())]
	n.mu.Unlock()
	if answer != nil {
		return answer(r)
	}
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func (n *network) asked(host string) (times []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, r := range n.requests {
		if r.URL.Hostname() == host {
			times = append(times, n.at[i])
		}
	}
	return times
}

// wakeRelay runs a relay in a bubble whose inboxes have wake-up addresses.
func wakeRelay(t *testing.T, n *network, urls map[string]string) *relay.Relay {
	t.Helper()
	r, _ := startWakeRelay(t, n, newMemoryQueue(), urls)
	return r
}

// startWakeRelay is wakeRelay over a queue that an earlier relay may have used.
func startWakeRelay(t *testing.T, n *network, queue *memoryQueue, urls map[string]string) (r *relay.Relay, end func()) {
	t.Helper()
	r = newRelay(t, queue, func(o *relay.Options) { o.Wake, o.Host = n, "relay.example" })
	for inbox, url := range urls {
		setRules(t, r, inbox, relay.Rules{WakeURL: url})
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return r, end
}

func setRules(t *testing.T, r *relay.Relay, inbox string, rules relay.Rules) {
	t.Helper()
	reader, err := r.ReadUnsigned(t.Context(), inbox)
	if err != nil {
		t.Fatal(err)
	}
	rules.Signed = time.Now()
	if err := reader.SetRules(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
}

// memoryQueue takes everything and keeps the rules and the wake-ups alone: the bubble of synctest has
// no disk.
type memoryQueue struct {
	relay.Queue
	mu     sync.Mutex
	number uint64
	rules  map[string]relay.Rules
	wakes  relay.Wakes
	// expired is called by Expire.
	expired func(forget time.Time)
	// pushed, if set, is called when Push has taken a message and before it returns.
	pushed func()
}

func newMemoryQueue() *memoryQueue {
	return &memoryQueue{rules: map[string]relay.Rules{}, wakes: relay.Wakes{Pending: map[string]uint64{}, Hosts: map[string]relay.WakeHost{}}}
}

func (q *memoryQueue) Push(_ context.Context, in relay.Incoming) (uint64, error) {
	if q.pushed != nil {
		defer q.pushed() // after the lock is free
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.number++
	if in.Wake {
		q.wakes.Pending[in.Inbox] = q.number
	}
	return q.number, nil
}

func (q *memoryQueue) Wakes(context.Context) (relay.Wakes, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return relay.Wakes{Pending: maps.Clone(q.wakes.Pending), Hosts: maps.Clone(q.wakes.Hosts)}, nil
}

func (q *memoryQueue) EndWake(_ context.Context, inbox string, number uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.wakes.Pending[inbox] <= number {
		delete(q.wakes.Pending, inbox)
	}
	return nil
}

func (q *memoryQueue) SetWakeHost(_ context.Context, host string, state relay.WakeHost) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakes.Hosts[host] = state
	return nil
}

func (q *memoryQueue) Expire(_ context.Context, _, forget time.Time, _ int) (int, error) {
	if q.expired != nil {
		q.expired(forget)
	}
	return 0, nil
}
func (q *memoryQueue) CountAll(context.Context) (relay.Waiting, error) { return relay.Waiting{}, nil }
func (q *memoryQueue) SetRules(_ context.Context, box string, r relay.Rules) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rules[box] = r
	return nil
}

func (q *memoryQueue) Rules(_ context.Context, box string) (relay.Rules, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rules[box], nil
}

func pushTo(t *testing.T, r *relay.Relay, inbox string) {
	t.Helper()
	push(t, r, inbox, time.Now())
}

func push(t *testing.T, r *relay.Relay, inbox string, at time.Time) {
	t.Helper()
	if _, err := r.Accept(t.Context(), inbox, signOffer(t, "alice", inbox, at), netip.Addr{}); err != nil {
		t.Fatal(err)
	}
}

// A wake-up is an empty POST that the relay signed. Mail that arrives soon after it shares the next
// one.
func TestWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		r := wakeRelay(t, n, map[string]string{"bob": "https://bob.example/wake?token=1"})
		begun := time.Now()
		pushTo(t, r, "bob")
		synctest.Wait() // the first wake-up leaves before more mail arrives
		for range 49 {
			pushTo(t, r, "bob")
		}
		pushTo(t, r, "carol") // has no address
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		times := n.asked("bob.example")
		if len(n.requests) != len(times) || len(times) != 2 || times[0].Sub(begun) != 0 || times[1].Sub(begun) != 30*time.Second {
			t.Fatalf("woken %v after %v, %d requests", times, begun, len(n.requests))
		}
		request := n.requests[0]
		if request.Method != "POST" || request.Body != http.NoBody || request.ContentLength != 0 || request.URL.RawQuery != "token=1" {
			t.Errorf("%s %s with %d bytes", request.Method, request.URL, request.ContentLength)
		}
		text := fmt.Sprint(request.Header)
		for _, secret := range []string{"alice", "bob", "table"} {
			if strings.Contains(text, secret) {
				t.Errorf("the wake-up tells %s: %s", secret, text)
			}
		}
		m := httpsig.FromRequest(request, nil)
		m.Authority, m.Scheme = request.URL.Host, "https"
		signatures, err := httpsig.Read(m)
		if err != nil || signatures[0].KeyID != "did:wba:registry.test#relay-1" {
			t.Fatalf("%+v, %v", signatures, err)
		}
		policy := httpsig.Requirements{Require: httpsig.ReadComponents(), Now: begun, MaxAge: time.Minute, MaxAhead: time.Minute}
		if err := signatures[0].Verify(m, agentKey("relay").Public().(ed25519.PublicKey), policy); err != nil {
			t.Error(err)
		}
		if m := r.Metrics(); m.Woken != 2 || m.WakeFailures != 0 {
			t.Errorf("%+v", m)
		}
	})
}

// A host that fails is asked less and less often, and is given up in the end; others are not kept
// waiting, not by one that never answers either. An owner who sets an address there gives it another
// chance.
func TestWakeUpsToDeadHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		n := &network{answers: map[string]func(*http.Request) (*http.Response, error){
			"silent.example": silent,
			"moved.example": func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://bob.example/other"}}, Body: http.NoBody}, nil
			},
			"dead.example": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		}}
		r := wakeRelay(t, n, map[string]string{
			"a": "https://silent.example/", "b": "https://moved.example/", "c": "https://dead.example/1", "d": "https://DEAD.example/2", "bob": "https://bob.example/",
		})
		for _, inbox := range []string{"a", "b", "c", "d", "bob"} {
			pushTo(t, r, inbox)
		}
		synctest.Wait()
		if len(n.asked("bob.example")) != 1 {
			t.Error("bob waits for the others")
		}
		time.Sleep(10 * 24 * time.Hour)
		synctest.Wait()
		if asked := n.asked("bob.example"); len(asked) != 1 {
			t.Errorf("bob was woken %d times: a redirect was followed", len(asked))
		}
		for _, host := range []string{"silent.example", "moved.example"} {
			times := n.asked(host)
			if len(times) != 20 {
				t.Fatalf("%s was asked %d times, want 20", host, len(times))
			}
			for i := 2; i < len(times); i++ {
				if before, now := times[i-1].Sub(times[i-2]), times[i].Sub(times[i-1]); now < before-11*time.Second || now > 6*time.Hour+11*time.Second {
					t.Errorf("%s: attempt %d after %s, the one before after %s", host, i, now, before)
				}
			}
		}
		// Both inboxes of the dead host share its attempts.
		dead := len(n.asked("dead.example")) + len(n.asked("DEAD.example"))
		if dead != 20 {
			t.Errorf("the dead host was asked %d times, want 20", dead)
		}
		pushTo(t, r, "c")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if again := len(n.asked("dead.example")) + len(n.asked("DEAD.example")); again != dead {
			t.Errorf("a host that was given up was asked %d times more", again-dead)
		}
		setRules(t, r, "c", relay.Rules{WakeURL: "https://dead.example/3"})
		pushTo(t, r, "c")
		synctest.Wait()
		if len(n.asked("dead.example"))+len(n.asked("DEAD.example")) != dead+1 {
			t.Error("new rules give the host no other chance")
		}
	})
}

// TestSlowHostsLeaveWakeUps checks that any number of slow hosts below one domain, which its owner makes
// with one record, do not delay the wake-ups of others.
func TestSlowHostsLeaveWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := map[string]string{"bob": "https://bob.example/"}
		n := &network{answers: map[string]func(*http.Request) (*http.Response, error){}}
		for i := range 100 {
			host := fmt.Sprintf("h%d.crowd.example", i)
			urls[fmt.Sprint("inbox", i)] = "https://" + host + "/"
			n.answers[host] = func(*http.Request) (*http.Response, error) {
				time.Sleep(9 * time.Second)
				return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
			}
		}
		r := wakeRelay(t, n, urls)
		for i := range 100 {
			pushTo(t, r, fmt.Sprint("inbox", i))
		}
		synctest.Wait()
		pushTo(t, r, "bob")
		synctest.Wait()
		if len(n.asked("bob.example")) != 1 {
			t.Error("bob waits for the slow hosts")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i := range 100 {
			if host := fmt.Sprintf("h%d.crowd.example", i); len(n.asked(host)) != 1 {
				t.Errorf("%s was asked %d times", host, len(n.asked(host)))
			}
		}
	})
}

// TestManySlowDomainsLeaveWakeUps checks that the owner of many domains with slow hosts holds all places
// for wake-ups only once.
func TestManySlowDomainsLeaveWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := map[string]string{"bob": "https://bob.example/"}
		n := &network{answers: map[string]func(*http.Request) (*http.Response, error){}}
		for i := range 400 {
			host := fmt.Sprintf("h%d.crowd%d.example", i, i%20)
			urls[fmt.Sprint("inbox", i)] = "https://" + host + "/"
			n.answers[host] = func(*http.Request) (*http.Response, error) {
				time.Sleep(9 * time.Second)
				return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
			}
		}
		r := wakeRelay(t, n, urls)
		for i := range 400 {
			pushTo(t, r, fmt.Sprint("inbox", i))
		}
		time.Sleep(12 * time.Second)
		pushTo(t, r, "bob")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if len(n.asked("bob.example")) != 1 {
			t.Error("bob waits for the slow hosts after their first requests")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i := range 400 {
			if host := fmt.Sprintf("h%d.crowd%d.example", i, i%20); len(n.asked(host)) != 1 {
				t.Errorf("%s was asked %d times", host, len(n.asked(host)))
			}
		}
	})
}

// TestWakeUpsFollowTheClock checks that the backoff of a host that fails is over by the relay's clock, and
// that a clock which was ahead postpones no wake-up until that time.
func TestWakeUpsFollowTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		n := &network{answers: map[string]func(*http.Request) (*http.Response, error){
			"dead.example": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		}}
		queue := newMemoryQueue()
		start := func() (r *relay.Relay, end func()) {
			r = newRelay(t, queue, func(o *relay.Options) { o.Wake, o.Host, o.Now = n, "relay.example", clock })
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			return r, sync.OnceFunc(func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		}
		r, end := start()
		setRules(t, r, "a", relay.Rules{WakeURL: "https://dead.example/a"})
		setRules(t, r, "b", relay.Rules{WakeURL: "https://bob.example/b"})
		nudge := func() { // makes the relay look for due wake-ups
			setRules(t, r, "c", relay.Rules{WakeURL: "https://carol.example/c"})
			push(t, r, "c", clock())
			time.Sleep(time.Second)
			synctest.Wait()
		}
		push(t, r, "a", clock())
		time.Sleep(50 * time.Hour)
		synctest.Wait()
		before := len(n.asked("dead.example"))
		ahead.Store(int64(6 * time.Hour))
		nudge()
		if got := len(n.asked("dead.example")); got != before+1 {
			t.Errorf("six hours later by the clock the host was asked %d times more, want once", got-before)
		}
		ahead.Store(int64(1000 * time.Hour))
		push(t, r, "b", clock())
		time.Sleep(time.Minute)
		nudge() // the host fails again, for hours from the wrong time
		before = len(n.asked("dead.example"))
		end()
		ahead.Store(0)
		r, end = start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(n.asked("dead.example")); got != before+1 {
			t.Errorf("after the clock was ahead the host was asked %d times more, want once", got-before)
		}
		end()
	})
}

// Wake-ups that wait, and hosts that fail or were given up, are not forgotten when the relay starts
// again; one that was cut off by the end of the process counts as no failure of the host.
func TestWakeUpsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answers: map[string]func(*http.Request) (*http.Response, error){
			"silent.example": func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			"dead.example": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		}}
		queue := newMemoryQueue()
		r, end := startWakeRelay(t, n, queue, map[string]string{"a": "https://silent.example/", "b": "https://dead.example/", "bob": "https://bob.example/", "carol": "https://carol.example/"})
		pushTo(t, r, "b")
		time.Sleep(10 * 24 * time.Hour)
		synctest.Wait()
		if asked := len(n.asked("dead.example")); asked != 20 {
			t.Fatalf("the dead host was asked %d times", asked)
		}
		pushTo(t, r, "bob")
		synctest.Wait()
		pushTo(t, r, "bob") // its wake-up waits for 30 seconds
		pushTo(t, r, "a")
		pushTo(t, r, "carol")
		synctest.Wait()
		end()
		if bob, carol := len(n.asked("bob.example")), len(n.asked("carol.example")); bob != 1 || carol != 1 {
			t.Fatalf("bob was woken %d times, carol %d times", bob, carol)
		}

		n.answers["silent.example"] = nil
		r, _ = startWakeRelay(t, n, queue, nil)
		pushTo(t, r, "b")
		time.Sleep(time.Hour)
		synctest.Wait()
		for host, want := range map[string]int{"bob.example": 2, "carol.example": 1, "silent.example": 2, "dead.example": 20} {
			if asked := len(n.asked(host)); asked != want {
				t.Errorf("%s was asked %d times, want %d", host, asked, want)
			}
		}
		if m := r.Metrics(); m.WakeFailures != 0 {
			t.Errorf("%+v", m)
		}
		setRules(t, r, "b", relay.Rules{WakeURL: "https://dead.example/again"})
		if state := queue.wakes.Hosts["dead.example"]; state.Failures != 0 {
			t.Errorf("a host that has another chance: %+v", state)
		}
	})
}

// TestOneWakeUpForMailThatArrivesAtTheStart checks that mail which the relay finds in its queue when it
// starts, and which its sender's request then reports, wakes the owner once.
func TestOneWakeUpForMailThatArrivesAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		queue := newMemoryQueue()
		r := newRelay(t, queue, func(o *relay.Options) { o.Wake, o.Host = n, "relay.example" })
		setRules(t, r, "bob", relay.Rules{WakeURL: "https://bob.example/"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		queue.pushed = func() {
			go func() { ended <- r.Run(ctx) }()
			synctest.Wait()
		}
		pushTo(t, r, "bob")
		time.Sleep(5 * time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if asked := n.asked("bob.example"); len(asked) != 1 {
			t.Errorf("bob was woken %d times, at %v", len(asked), asked)
		}
	})
}

// TestRefusedRules checks that rules are refused whose addresses lead to the relay or into its
// network, or whose lists have invalid entries.
func TestRefusedRules(t *testing.T) {
	r := newRelay(t, newMemoryQueue(), func(o *relay.Options) { o.Wake, o.Host = &network{}, "relay.example" })
	reader, err := r.ReadUnsigned(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	long := make([]string, 1001)
	for i := range long {
		long[i] = "example.com"
	}
	refused := map[string]relay.Rules{
		"the relay itself":  {WakeURL: "https://Relay.example/inbox/bob"},
		"loopback":          {WakeURL: "https://127.0.0.1/"},
		"loopback by name":  {WakeURL: "https://localhost/"},
		"IPv6 loopback":     {WakeURL: "https://[::1]/"},
		"a private address": {WakeURL: "https://10.0.0.1/"},
		"a decimal address": {WakeURL: "https://2130706433/"},
		"a private name":    {WakeURL: "https://printer.local/"},
		"no TLS":            {WakeURL: "http://bob.example/"},
		"another port":      {WakeURL: "https://bob.example:25/"},
		"a password":        {WakeURL: "https://a:b@bob.example/"},
		"another scheme":    {WakeURL: "file:///etc/passwd"},
		"no URL":            {WakeURL: "bob.example"},
		"a long one":        {WakeURL: "https://bob.example/" + strings.Repeat("x", 2048)},
		"nobody":            {Allow: []string{"nobody at all"}},
		"a DID of no host":  {Block: []string{"did:key:z6Mk"}},
		"a long list":       {Block: long},
	}
	for _, form := range fakenet.AddressForms() {
		refused[form] = relay.Rules{WakeURL: "https://" + form + "/wake"}
	}
	for name, rules := range refused {
		err := reader.SetRules(t.Context(), rules)
		if refusal, ok := errors.AsType[*relay.Refusal](err); !ok || refusal.Status != 400 || refusal.Code != "invalid_rules" {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := relay.Rules{Allow: []string{"did:web:a.example", "b.example"}, Block: []string{"did:wba:c.example:agents:AIR-AAAA-AAAA-AAAA"}, WakeURL: "https://bob.example/wake"}
	if err := reader.SetRules(t.Context(), good); err != nil {
		t.Error(err)
	}
}
