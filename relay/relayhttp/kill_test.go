package relayhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store/boltfile"
)

// killDirEnv makes the test binary a relay on a queue in that directory, which TestKillsLoseNoMail
// kills.
const killDirEnv = "RELAY_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDirEnv); dir != "" {
		if err := serveQueue(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// named are agents whose keys are made of their names.
type named struct{}

func namedKey(name string) ed25519.PrivateKey {
	seed := make([]byte, 32)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func (named) FindInbox(_ context.Context, name string) (relay.Inbox, error) {
	id := prefix + strings.TrimPrefix(name, prefix)
	return relay.Inbox{Name: id, Addresses: []string{id}}, nil
}

func (named) VerifyRead(context.Context, relay.Inbox, httpsig.Message) error { return nil }

func (named) AdmitSender(context.Context, relay.Inbox, string) error { return nil }
func (named) KnowsSender(context.Context, string) bool               { return false }

func (named) Resolve(_ context.Context, id string) (did.Document, error) {
	key := namedKey(strings.TrimPrefix(id, prefix)).Public().(ed25519.PublicKey)
	return did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{
		ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key),
	}}}, nil
}

// newUnlimited returns the handler of a relay without limits.
func newUnlimited(queue relay.Queue, log *limit.Set) (*relayhttp.Handler, error) {
	return newLimited(queue, log, -1, 1<<30)
}

// newLimited returns the handler of a relay that limits the pushes of a sender in a minute and the mail
// in an inbox.
func newLimited(queue relay.Queue, log *limit.Set, senderPerMinute, maxMail int) (*relayhttp.Handler, error) {
	return relayhttp.New(relayhttp.Options{OpenDeployed: true, Limits: log, Relay: relay.New(relay.Options{
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: named{}}, Inboxes: named{}, DID: "did:wba:registry.test", Key: namedKey("relay"), Profile: a2a.Wire,
		SenderPerMinute: senderPerMinute, NetworkPerMinute: -1, SenderPerWindow: -1, MaxMail: maxMail, MaxBytes: 1 << 50, Limits: log,
	})})
}

// sizeOf returns the size of a test: usual, unless the environment asks for another, as make soak does.
func sizeOf(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("%s=%q is no size", variable, text)
	}
	return n
}

// serveQueue serves the queue in dir until it is killed. The first line says at which address.
func serveQueue(dir string) error {
	queue, err := boltqueue.Open(context.Background(), dir, boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		return err
	}
	handler, err := newUnlimited(queue, &limit.Set{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, handler)
}

// A killedRelay is a relay in a separate process that is killed again and again.
type killedRelay struct {
	t       *testing.T
	dir     string
	address atomic.Pointer[string]
	cmd     *exec.Cmd
	client  *http.Client
}

func (k *killedRelay) start() {
	k.t.Helper()
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	k.cmd = exec.Command(self)
	k.cmd.Env = append(os.Environ(), killDirEnv+"="+k.dir)
	k.cmd.Stderr = os.Stderr
	out, err := k.cmd.StdoutPipe()
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		k.t.Fatal(err)
	}
	address = "http://" + strings.TrimSpace(address)
	k.address.Store(&address)
}

func (k *killedRelay) kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait() // it was killed, and says so
}

// request repeats a request until the relay answers it.
func (k *killedRelay) request(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	for {
		r, err := http.NewRequestWithContext(ctx, method, *k.address.Load()+path, bytes.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		response, err := k.client.Do(r)
		if err == nil {
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && response.StatusCode < 500 {
				return response.StatusCode, text, nil
			}
		}
		select { // the relay is being killed or started
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestKillsLoseNoMail pushes ENVELOPES (3,000) from 32 senders to 100 inboxes through KILLS (5) times
// kill -9. Every envelope that was acknowledged to its sender arrives; none arrives after the
// acknowledgement of its recipient was answered; the mail of a sender stays in order; numbers grow.
// Every tenth recipient only knows since and never acknowledges: it gets each envelope once.
func TestKillsLoseNoMail(t *testing.T) {
	const senders, inboxes = 32, 100
	envelopes, kills := readEnv("ENVELOPES", 3000), readEnv("KILLS", 5)
	k := &killedRelay{t: t, dir: t.TempDir(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: time.Minute}}
	k.start()
	defer func() { k.kill() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	var accepted, repeated atomic.Int64
	progress := make(chan struct{}, 1)
	var writers, readers sync.WaitGroup
	for s := range senders {
		writers.Go(func() {
			for n := s; n < envelopes; n += senders {
				first, err := pushUntilAccepted(ctx, k, s, n, (n/senders+s)%inboxes)
				if err != nil {
					t.Errorf("push %d: %v", n, err)
					cancel()
					return
				}
				if accepted.Add(1); !first {
					repeated.Add(1)
				}
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	expected := make([]int, inboxes)
	for n := range envelopes {
		expected[(n/senders+n%senders)%inboxes]++
	}
	for i := range inboxes {
		readers.Go(func() {
			r := reader{k: k, path: prefix + fmt.Sprint("inbox-", i), sinceOnly: i%10 == 0, seen: map[string]bool{}, acknowledged: map[string]bool{}, last: map[string]int{}}
			if err := r.readAll(ctx, expected[i]); err != nil {
				t.Errorf("inbox %d: %v", i, err)
			}
		})
	}
	for done := range kills {
		for accepted.Load() < int64(envelopes*(done+1)/(kills+1)) && !t.Failed() { // the kills are spread over the run
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatal(ctx.Err())
			}
		}
		k.kill()
		k.start()
	}
	writers.Wait()
	readers.Wait()
	t.Logf("%d envelopes through %d kills; %d were pushed again because their answer was lost", accepted.Load(), kills, repeated.Load())
}

func readEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// pushUntilAccepted pushes one envelope until the relay has it. first is false when an answer was
// lost, so that the relay knew it already.
func pushUntilAccepted(ctx context.Context, k *killedRelay, sender, n, inbox int) (first bool, err error) {
	from, to := fmt.Sprint("sender-", sender), fmt.Sprint("inbox-", inbox)
	e, err := a2a.Sign(a2a.Message{ID: fmt.Sprintf("%d-%d", sender, n), From: prefix + from, To: prefix + to, Timestamp: time.Now(), Body: a2a.Withdraw{Reason: strings.Repeat("x", 500)}}, a2a.Wire, namedKey(from))
	if err != nil {
		return false, err
	}
	status, text, err := k.request(ctx, "POST", "/inbox/"+prefix+to, e.Text)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusAccepted, status == http.StatusConflict && bytes.Contains(text, []byte("duplicate_envelope")):
		return status == http.StatusAccepted, nil
	}
	return false, fmt.Errorf("%d %s", status, text)
}

// A reader pulls one inbox.
type reader struct {
	k            *killedRelay
	path         string
	sinceOnly    bool
	seen         map[string]bool
	acknowledged map[string]bool // the answer came
	last         map[string]int  // the newest envelope of each sender
	number       uint64          // of the newest envelope
}

// readAll reads until it has so many envelopes.
func (r *reader) readAll(ctx context.Context, want int) error {
	for len(r.seen) < want {
		path := "/pull/" + r.path + "?limit=50&wait=1"
		if r.sinceOnly {
			path += fmt.Sprint("&since=", r.number)
		}
		status, text, err := r.k.request(ctx, "GET", path, nil)
		if err != nil {
			return fmt.Errorf("%d of %d: %w", len(r.seen), want, err)
		}
		var page struct {
			Messages []struct {
				Seq uint64 `json:"seq"`
				ID  string `json:"envelope_id"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(text, &page); err != nil || status != 200 {
			return fmt.Errorf("%d %s: %w", status, text, err)
		}
		var ids []string
		for _, m := range page.Messages {
			if err := r.take(m.ID, m.Seq); err != nil {
				return err
			}
			ids = append(ids, m.ID)
		}
		if r.sinceOnly || len(ids) == 0 {
			continue
		}
		body, err := json.Marshal(map[string][]string{"envelope_ids": ids})
		if err != nil {
			return err
		}
		if status, text, err := r.k.request(ctx, "POST", "/ack/"+r.path, body); err != nil || status != 200 {
			return fmt.Errorf("acknowledge: %d %s: %w", status, text, err)
		}
		for _, id := range ids {
			r.acknowledged[id] = true
		}
	}
	return nil
}

func (r *reader) take(id string, number uint64) error {
	switch {
	case r.acknowledged[id]:
		return fmt.Errorf("%s came again after its acknowledgement", id)
	case r.seen[id] && r.sinceOnly:
		return fmt.Errorf("%s came twice", id)
	case r.seen[id]:
		return nil // its acknowledgement was lost with the process
	case number <= r.number:
		return fmt.Errorf("%s has the number %d behind %d", id, number, r.number)
	}
	sender, n, _ := strings.Cut(id, "-")
	count, err := strconv.Atoi(n)
	if err != nil || count < r.last[sender] {
		return errors.Join(err, fmt.Errorf("%s came behind number %d of its sender", id, r.last[sender]))
	}
	r.seen[id], r.number, r.last[sender] = true, number, count
	return nil
}
