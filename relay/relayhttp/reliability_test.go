package relayhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/internal/testclock"
	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store/boltfile"
)

// pulledIDs returns the ids of all mail in an inbox that anyone may read.
func pulledIDs(t *testing.T, base, inbox string) (ids []string) {
	t.Helper()
	for after := 0.0; ; {
		response, err := http.Get(fmt.Sprintf("%s/pull/%s?limit=200&since=%.0f", base, inbox, after))
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Messages []struct {
				ID string `json:"envelope_id"`
			}
			Cursor float64
			More   bool `json:"has_more"`
		}
		err = json.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			ids = append(ids, m.ID)
		}
		if after = page.Cursor; !page.More {
			return ids
		}
	}
}

// A relay that is stopped and started again has all that was not acknowledged, in order.
func TestRestartKeepsMailInOrder(t *testing.T) {
	dir := t.TempDir()
	serve := func() (base string, stop func()) {
		queue, err := boltqueue.Open(t.Context(), dir, boltqueue.Options{File: boltfile.Options{MinFree: -1}})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := newUnlimited(queue, &limit.Set{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: handler}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(l) }()
		return "http://" + l.Addr().String(), func() {
			server.Close()
			<-ended
			if err := queue.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	base, stop := serve()
	var want []string
	for n := range 300 {
		from := fmt.Sprint("sender-", n%3)
		e, err := a2a.Sign(a2a.Message{From: prefix + from, To: prefix + "bob", Body: a2a.Withdraw{}}, a2a.Wire, namedKey(from))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(base+"/inbox/bob", "application/json", bytes.NewReader(e.Text))
		if err != nil || response.StatusCode != http.StatusAccepted {
			t.Fatal(response, err)
		}
		response.Body.Close()
		want = append(want, e.ID)
	}
	body, _ := json.Marshal(map[string][]string{"envelope_ids": want[100:110]})
	response, err := http.Post(base+"/ack/bob", "application/json", bytes.NewReader(body))
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}
	response.Body.Close()
	want = slices.Delete(want, 100, 110)
	stop()
	base, stop = serve()
	defer stop()
	if got := pulledIDs(t, base, "bob"); !slices.Equal(got, want) {
		t.Errorf("%d envelopes in another order or number than the %d that were not acknowledged", len(got), len(want))
	}
}

// TestEmptyAndFullInboxesRefuseTheSame checks that without proof of identity an empty inbox answers
// exactly as a full one.
func TestEmptyAndFullInboxesRefuseTheSame(t *testing.T) {
	w := newWorld(t, nil)
	ask := func() (answers []string) {
		for _, by := range []string{"", alice} {
			for _, path := range []string{"/pull/" + bob, "/inbox/" + bob + "/pull", "/inbox/" + bob + "/stream", "/inbox/" + bob + "/rules"} {
				a := w.do("GET", path, by, "")
				answers = append(answers, fmt.Sprint(a.status, a.text))
			}
			a := w.do("POST", "/ack/"+bob, by, `{"envelope_ids":["x"]}`)
			answers = append(answers, fmt.Sprint(a.status, a.text))
		}
		return answers
	}
	empty := ask()
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	if full := ask(); !slices.Equal(empty, full) {
		t.Errorf("an empty inbox answers %q\na full one %q", empty, full)
	}
}

// TestAcknowledgementsWithoutEffect checks that acknowledgements of another inbox's mail, of
// unknown ids, of too many and of other types remove nothing.
func TestAcknowledgementsWithoutEffect(t *testing.T) {
	w := newWorld(t, nil)
	e := w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/"+bob, "", string(e.Text)), 202, "status", "queued")
	many := func(n int) string {
		body, _ := json.Marshal(map[string][]string{"envelope_ids": slices.Repeat([]string{"x"}, n)})
		return string(body)
	}
	for name, c := range map[string]struct {
		by, body string
		status   int
	}{
		"another's mail":      {alice, `{"envelope_ids":["` + e.ID + `"]}`, 200},
		"unknown ids":         {bob, `{"envelope_ids":["nope","","` + strings.Repeat("x", 300) + `","a\u0000b"]}`, 200},
		"501 ids":             {bob, many(501), 400},
		"a million ids":       {bob, many(1_000_000), 413},
		"a number":            {bob, `{"envelope_ids":[1]}`, 400},
		"an object":           {bob, `{"envelope_ids":{"` + e.ID + `":1}}`, 400},
		"the id as a pattern": {bob, `{"envelope_ids":["` + e.ID[:8] + `*","%","` + e.ID[:8] + `"]}`, 200},
		"no body":             {bob, ``, 400},
	} {
		if a := w.do("POST", "/ack/"+c.by, c.by, c.body); a.status != c.status || c.status == 200 && a.body["acked_count"] != 0.0 {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	w.want(w.do("POST", "/ack/"+bob, bob, `{"envelope_ids":["`+e.ID+`"]}`), 200, "acked_count", "1")
}

// The quota of a sender and that of an inbox hold for them alone.
func TestOneSenderAndOneInboxHaveQuotas(t *testing.T) {
	now := time.Now() // stands still, so that no rate recovers
	w := newWorld(t, func(o *relay.Options, h *relayhttp.Options) {
		o.SenderPerMinute, o.MaxMail = 20, 30
		o.Limits = &limit.Set{Now: func() time.Time { return now }}
		h.Limits = o.Limits
	})
	push := func(from, to string) int {
		return w.do("POST", "/inbox/"+to, "", string(w.envelope(from, to, nil).Text)).status
	}
	count := func(from, to string, n int) (accepted int) {
		for range n {
			if push(from, to) == http.StatusAccepted {
				accepted++
			}
		}
		return accepted
	}
	if n := count(alice, bob, 17); n != 15 {
		t.Errorf("%d of 17 pushes of one sender were accepted, want half of the inbox", n)
	}
	if a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)); a.status != http.StatusTooManyRequests || a.body["code"] != "sender_share_used" {
		t.Errorf("beyond half of the inbox: %d %s", a.status, a.text)
	}
	if n := count(alice, carol, 60); n != 2 {
		t.Errorf("%d of 60 more pushes of one sender were accepted, want 20 in all", n)
	}
	// Of the 15 that are free, another sender gets an eighth.
	if n := count(carol, bob, 15); n != 1 {
		t.Errorf("%d of 15 pushes of another sender were accepted", n)
	}
	if status := push(bob, bob); status != http.StatusAccepted {
		t.Errorf("a third sender: %d", status)
	}
	if status := push(bob, carol); status != http.StatusAccepted {
		t.Errorf("another inbox: %d", status)
	}
}

// pushFrom pushes an envelope under any DID, signed by the key of an agent.
func (w *world) pushFrom(from, key, to string) int {
	w.t.Helper()
	e, err := a2a.Sign(a2a.Message{From: from, To: prefix + to, Body: a2a.Withdraw{}}, a2a.Wire, w.agents.keys[key])
	if err != nil {
		w.t.Fatal(err)
	}
	return w.do("POST", "/inbox/"+to, "", string(e.Text)).status
}

// TestSenderHasOneNameInRulesAndQuotas checks that a blocked sender stays blocked, and has no second quota,
// when it writes under its other DID, or from a subdomain of a blocked host.
func TestSenderHasOneNameInRulesAndQuotas(t *testing.T) {
	now := time.Now() // stands still, so that no rate recovers
	w := newWorld(t, func(o *relay.Options, h *relayhttp.Options) {
		o.SenderPerMinute = 4
		o.Limits = &limit.Set{Now: func() time.Time { return now }}
		h.Limits = o.Limits
	})
	other := "did:web:registry.test:agents:"
	if got := w.pushFrom(other+blocked, blocked, bob); got != http.StatusForbidden {
		t.Errorf("the other DID of a sender that the operator has blocked: %d, want 403", got)
	}
	setRules := func(rules string) {
		t.Helper()
		now := w.do("PUT", "/inbox/"+bob+"/rules", bob, rules)
		if now.status != http.StatusOK {
			t.Fatalf("rules %s: %d %s", rules, now.status, now.text)
		}
	}
	setRules(`{"block": ["` + prefix + alice + `", "crowd.test"]}`)
	for _, from := range []string{prefix + alice, other + alice, "did:web:crowd.test:" + alice, "did:wba:a.b.crowd.test:" + alice} {
		if got := w.pushFrom(from, alice, bob); got != http.StatusForbidden {
			t.Errorf("%s is blocked: %d, want 403", from, got)
		}
	}
	if got := w.pushFrom("did:web:notcrowd.test:"+alice, alice, bob); got != http.StatusAccepted {
		t.Errorf("a host that only ends like the blocked one: %d", got)
	}
	accepted := 0
	for i := range 12 {
		if w.pushFrom([]string{prefix, other}[i%2]+carol, carol, bob) == http.StatusAccepted {
			accepted++
		}
	}
	if accepted != 4 {
		t.Errorf("%d of 12 pushes under two DIDs of one agent were accepted, want 4", accepted)
	}
}

// TestDIDsOfOneDomainShareAnInbox checks that the owner of a domain, who can make any number of DIDs, does
// not fill an inbox with them, and that the agents of the registry count one by one.
func TestDIDsOfOneDomainShareAnInbox(t *testing.T) {
	for _, domain := range []string{"crowd.test", "netlify.app"} { // a public suffix of a provider
		t.Run(domain, func(t *testing.T) { testDIDsOfOneDomain(t, domain) })
	}
}

func testDIDsOfOneDomain(t *testing.T, domain string) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.MaxMail = 40 })
	accepted := 0
	for i := range 50 {
		if w.pushFrom(fmt.Sprintf("did:web:h%d.%s:u%d:%s", i%5, domain, i, alice), alice, bob) == http.StatusAccepted {
			accepted++
		}
	}
	if accepted != 20 {
		t.Errorf("50 DIDs of one domain have %d of 40 places, want half", accepted)
	}
	for _, id := range []string{alice, carol, blocked, bob} {
		want := http.StatusAccepted
		if id == blocked {
			want = http.StatusForbidden
		}
		if got := w.pushFrom(prefix+id, id, bob); got != want {
			t.Errorf("the agent %s: %d, want %d", id, got, want)
		}
	}
}

// TestNewAgentsLeaveRoomInAnInbox checks that a crowd of new agents, which cost nothing, leaves a quarter
// of an inbox to senders with evidence, and to those to which its owner has written.
func TestNewAgentsLeaveRoomInAnInbox(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.MaxMail = 40 })
	if got := w.pushFrom(prefix+bob, bob, alice); got != http.StatusAccepted {
		t.Fatalf("the owner writes to another agent: %d", got)
	}
	accepted := 0
	for i := range 60 {
		id := fmt.Sprintf("AIR-CRWD-%04d-AAAA", i)
		w.agents.keys[id] = w.agents.keys[carol]
		if w.pushFrom(prefix+id, carol, bob) == http.StatusAccepted {
			accepted++
		}
	}
	if accepted != 30 {
		t.Errorf("60 new agents have %d of 40 places, want 30", accepted)
	}
	if a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(carol, bob, nil).Text)); a.status != http.StatusTooManyRequests || a.body["code"] != "inbox_room_reserved" {
		t.Errorf("one more new agent: %d %s", a.status, a.text)
	}
	const known = "AIR-KKKK-KKKK-KKKK"
	w.agents.keys[known] = w.agents.keys[carol]
	for name, sender := range map[string][2]string{
		"an agent to which the owner has written": {prefix + alice, alice},
		"an agent with evidence":                  {prefix + known, known},
		"an agent of another registry":            {"did:web:crowd.test:" + carol, carol},
	} {
		if got := w.pushFrom(sender[0], sender[1], bob); got != http.StatusAccepted {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := w.pushFrom("did:web:registry.test:agents:"+alice, alice, alice); got != http.StatusAccepted {
		t.Errorf("another inbox: %d", got)
	}
}

// TestFloodsDoNotAffectOthers checks that a sender that floods an inbox, and many senders that
// flood another, reach their quotas, while other senders are accepted and do not wait twice as long
// (measured in the long form).
func TestFloodsDoNotAffectOthers(t *testing.T) {
	const perMinute, maxMail = 100, 250
	bodies := sizeOf(t, "FLOOD", 400)
	senders := max(maxMail+50, bodies/10)
	queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	handler, err := newLimited(queue, &limit.Set{}, perMinute, maxMail)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	push := func(from, to string) (status int) {
		e, err := a2a.Sign(a2a.Message{From: prefix + from, To: prefix + to, Body: a2a.Withdraw{}}, a2a.Wire, namedKey(from))
		if err != nil {
			t.Error(err)
			return 0
		}
		response, err := http.Post(server.URL+"/inbox/"+to, "application/json", bytes.NewReader(e.Text))
		if err != nil {
			t.Error(err)
			return 0
		}
		response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		return response.StatusCode
	}
	probes := 0
	// probe pushes to other inboxes until stop says so, and returns what the slowest hundredth takes.
	probe := func(stop func() bool) time.Duration {
		var took []time.Duration
		for len(took) < 20 || !stop() {
			probes++
			begun := time.Now()
			if status := push(fmt.Sprint("other-", probes), fmt.Sprint("quiet-", probes)); status != http.StatusAccepted {
				t.Fatalf("a push to another inbox: %d", status)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	usual := probe(func() bool { return true })
	for _, flood := range []struct {
		name     string
		n        int
		from     func(n int) string
		accepted int
	}{
		{"one sender", bodies, func(int) string { return "flooder" }, perMinute},
		{"many senders", senders, func(n int) string { return fmt.Sprint("sender-", n) }, maxMail - maxMail/4},
	} {
		var next, accepted, running atomic.Int64
		var group sync.WaitGroup
		begun := time.Now()
		running.Store(4)
		for range 4 {
			group.Go(func() {
				defer running.Add(-1)
				for n := next.Add(1); n <= int64(flood.n); n = next.Add(1) {
					switch status := push(flood.from(int(n)), flood.name[:4]); status {
					case http.StatusAccepted:
						accepted.Add(1)
					case http.StatusTooManyRequests:
					default:
						t.Errorf("%s: %d", flood.name, status)
					}
				}
			})
		}
		slowest := probe(func() bool { return running.Load() == 0 })
		group.Wait()
		refilled := int64(0)
		if flood.accepted == perMinute {
			refilled = int64(time.Since(begun).Minutes()*perMinute) + 1
		}
		if n := accepted.Load(); n < int64(flood.accepted) || n > int64(flood.accepted)+refilled {
			t.Errorf("%s: %d of %d were accepted, want %d", flood.name, n, flood.n, flood.accepted)
		}
		t.Logf("%s: 99 of 100 pushes of others took at most %s, %s without the flood", flood.name, slowest, usual)
		if bodies >= 10_000 && slowest > max(2*usual, 20*time.Millisecond) {
			t.Errorf("%s: others wait %s, %s without the flood", flood.name, slowest, usual)
		}
	}
}

// TestEnvelopeSizes checks sizes at the limit, far above it, and forms that cost more than their
// size.
func TestEnvelopeSizes(t *testing.T) {
	w := newWorld(t, nil)
	good := string(w.envelope(alice, bob, nil).Text)
	padded := strings.Repeat(" ", a2a.MaxEnvelope-len(good)) + good
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"65,537 bytes", " " + padded, 413},
		{"5 MiB", strings.Repeat(" ", 5<<20), 413},
		{"30,000 levels", strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000), 400},
		{"8,000 keys", `{"id":"x","from":"y",` + strings.Repeat(`"k":1,`, 8_000) + `"z":1}`, 400},
		{"65,536 bytes", padded, 202},
	} {
		if a := w.do("POST", "/inbox/"+bob, "", c.text); a.status != c.status {
			t.Errorf("%s: %d %s", c.name, a.status, a.text)
		}
	}
}

// TestConnectionAfterTooLargeBody checks that a client that sends all of a body before it reads gets the
// answer 413, and that the connection then ends. A body of unknown size, a very large one, and one for
// which the client asks first are refused before they are sent.
func TestConnectionAfterTooLargeBody(t *testing.T) {
	w := newWorld(t, nil)
	size := 8 * a2a.MaxEnvelope
	for name, c := range map[string]struct{ head, body string }{
		"all of it":      {fmt.Sprintf("Content-Length: %d", size), strings.Repeat(" ", size)},
		"in chunks":      {"Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", a2a.MaxEnvelope+1, strings.Repeat(" ", a2a.MaxEnvelope+1))},
		"very large":     {fmt.Sprintf("Content-Length: %d", 1<<40), ""},
		"after a prompt": {fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue", size), ""},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /inbox/%s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", bob, c.head, c.body); err != nil {
			t.Errorf("%s: the server ended the connection before it had the body: %v", name, err)
		}
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		all := bufio.NewReader(conn)
		response, err := http.ReadResponse(all, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || !response.Close || !strings.Contains(string(text), "payload_too_large") {
			t.Errorf("%s: %d %s %v", name, response.StatusCode, text, err)
		}
		if _, err := all.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection goes on: %v", name, err)
		}
	}
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
}

// TestSlowPushersDoNotDelayOthers checks that clients that push slowly do not delay others, and
// that each is disconnected.
func TestSlowPushersDoNotDelayOthers(t *testing.T) {
	t.Parallel() // it waits for the limit of a body
	w := newWorld(t, nil)
	slow := make([]net.Conn, sizeOf(t, "SLOW_PUSHERS", 200))
	for i := range slow {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		slow[i] = conn
		fmt.Fprintf(conn, "POST /inbox/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", bob)
	}
	for range 20 {
		w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	}
	for i, conn := range slow {
		conn.SetReadDeadline(time.Now().Add(40 * time.Second))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusRequestTimeout {
			t.Fatalf("slow push %d: %v %v", i, response, err)
		}
	}
}

// A sender that fills its replay window is refused with the reason; others are not.
func TestReplayWindowIsPerSender(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.SenderPerWindow = 2 })
	push := func(from string) answer {
		return w.do("POST", "/inbox/"+bob, "", string(w.envelope(from, bob, nil).Text))
	}
	for range 2 {
		w.want(push(alice), 202, "status", "queued")
	}
	// Replay Window Exhausted would send the sender to a new thread, which has no room either (§9.2).
	a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, "draft-1")
	w.want(a, 429, "error", "Rate Limited")
	if a.header.Get("Retry-After") != "3600" || a.body["thread_id"] != nil {
		t.Errorf("%v %s", a.header, a.text)
	}
	w.want(push(carol), 202, "status", "queued")
}

// A stream whose reader stops reading is not buffered: the relay closes it, and the reader
// continues after its last envelope.
func TestReaderThatStopsReading(t *testing.T) {
	t.Parallel() // it waits until the stream is cut
	envelopes := sizeOf(t, "WAITING", 3000)
	queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	handler, err := newUnlimited(queue, &limit.Set{})
	if err != nil {
		t.Fatal(err)
	}
	var pushes sync.WaitGroup
	for s := range 8 {
		pushes.Go(func() {
			from := fmt.Sprint("sender-", s)
			for range envelopes / 8 {
				e, err := a2a.Sign(a2a.Message{From: prefix + from, To: prefix + "bob", Body: a2a.Offer{Description: strings.Repeat("𝄞", 2000), ExpiresAt: time.Now().Add(time.Hour), Price: a2a.Money{AmountCents: 1, Currency: "EUR"}}}, a2a.Wire, namedKey(from))
				if err == nil {
					_, err = handler.Relay.Accept(t.Context(), "bob", e.Text, netip.Addr{})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	pushes.Wait()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler.StreamWriteTime = time.Second
	cut := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(cut)
		handler.ServeHTTP(w, r)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	defer func() { server.Close(); <-ended }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fmt.Fprint(conn, "GET /pull/bob?stream=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	<-cut // a write took longer than it may
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d bytes are buffered for a reader that does not read", grown)
	}
	// What was sent before the cut is still in the buffers of the kernel.
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	sent, err := io.ReadAll(conn)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("the stream was not cut")
	}
	got := strings.Count(string(sent), "event: envelope")
	last := ""
	for line := range strings.Lines(string(sent)) {
		if id, isID := strings.CutPrefix(line, "id: "); isID && strings.HasSuffix(line, "\n") {
			last = strings.TrimSpace(id)
		}
	}
	if got == 0 || got >= envelopes || last == "" {
		t.Fatalf("%d of %d were sent before the cut, the last with the id %q", got, envelopes, last)
	}
	var number uint64
	fmt.Sscan(last, &number)
	reader, err := handler.Relay.ReadUnsigned(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	page, err := reader.Pull(t.Context(), number-1, 10)
	if err != nil || len(page.Mail) != 10 || page.Mail[0].Number != number {
		t.Errorf("going on behind %d: %d envelopes, %v", number, len(page.Mail), err)
	}
}

// TestMailExpiresOnTime checks that mail waits exactly as long as it may: one time for mail that was
// never pulled, another from the first pull on.
func TestMailExpiresOnTime(t *testing.T) {
	queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	received := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	clock := testclock.New(received)
	r := relay.New(relay.Options{
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: named{}}, Inboxes: named{}, DID: "did:wba:registry.test", Key: namedKey("relay"), Profile: a2a.Wire,
		Limits: &limit.Set{}, Now: clock.Now,
	})
	for _, inbox := range []string{"unread", "pulled", "late", "acknowledged"} {
		e, err := a2a.Sign(a2a.Message{ID: "018fde3a-1234-4abc-8def-aabbccddeeff", From: prefix + "alice", To: prefix + inbox, Timestamp: received, Body: a2a.Withdraw{}}, a2a.Wire, namedKey("alice"))
		if err == nil {
			_, err = r.Accept(t.Context(), inbox, e.Text, netip.Addr{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(inbox string) *relay.Reader {
		t.Helper()
		reader, err := r.ReadUnsigned(context.Background(), inbox)
		if err != nil {
			t.Fatal(err)
		}
		return reader
	}
	pull := func(inbox string) int {
		t.Helper()
		page, err := open(inbox).Pull(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Mail)
	}
	stored := func(inbox string) int {
		t.Helper()
		w, err := queue.Count(t.Context(), prefix+inbox)
		if err != nil {
			t.Fatal(err)
		}
		return w.Mail
	}
	const tick, keep, unread = time.Millisecond, relay.DefaultKeep, relay.DefaultKeepUnread
	for _, c := range []struct {
		after                              time.Duration
		unread, pulled, late, acknowledged int // how many are stored
	}{
		{0, 1, 1, 1, 0},
		{time.Hour, 1, 1, 1, 0},
		{keep - tick, 1, 1, 1, 0}, // unread mail is not delivered mail
		{keep, 1, 0, 1, 0},
		{unread - time.Hour, 1, 0, 1, 0},
		{unread - tick, 1, 0, 1, 0},
		{unread, 0, 0, 1, 0}, // late was pulled in the last hour
		{unread - time.Hour + keep - tick, 0, 0, 1, 0},
		{unread - time.Hour + keep, 0, 0, 0, 0},
	} {
		clock.Set(received.Add(c.after))
		if _, err := queue.Expire(t.Context(), clock.Now(), clock.Now(), 100); err != nil {
			t.Fatal(err)
		}
		switch c.after {
		case 0:
			if n, err := open("acknowledged").Acknowledge(t.Context(), []string{"018fde3a-1234-4abc-8def-aabbccddeeff"}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		case unread - time.Hour:
			pull("late")
		}
		if n := pull("pulled"); n != c.pulled {
			t.Errorf("after %s %d envelopes are pulled, want %d", c.after, n, c.pulled)
		}
		for inbox, want := range map[string]int{"unread": c.unread, "pulled": c.pulled, "late": c.late, "acknowledged": c.acknowledged} {
			if n := stored(inbox); n != want {
				t.Errorf("after %s %d envelopes of %s are stored, want %d", c.after, n, inbox, want)
			}
		}
	}
	if w, err := queue.CountAll(t.Context()); err != nil || w.Mail != 0 || w.Bytes != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}
