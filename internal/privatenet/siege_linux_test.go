package privatenet

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/need"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
)

// siegeEnv sets from how many networks TestSiege attacks, and has the long form run.
const siegeEnv = "SIEGE"

// siegePlan is the size of a siege.
type siegePlan struct {
	networks int // from which strangers come, each an IPv4 /16
	owners   int // honest ones
	kills    int
	idle     int           // connections that are held and silent
	deaf     int           // streams that nobody reads
	slow     int           // bodies that are sent byte by byte
	rate     int           // other requests of strangers in a second
	quiet    time.Duration // to measure reads before the siege
	between  time.Duration // two kills
	fullDisk time.Duration
	rotate   time.Duration // between two rotations of an owner
	disk     int           // bytes of the file system
	judged   bool          // whether the ratio of the reads' times is judged
}

var shortSiege = siegePlan{networks: 200, owners: 12, kills: 3, idle: 300, deaf: 20, slow: 20, rate: 150,
	quiet: 3 * time.Second, between: 2 * time.Second, fullDisk: 2 * time.Second, rotate: 2 * time.Second, disk: 256 << 20}

var longSiege = siegePlan{networks: 2000, owners: 300, kills: 20, idle: 4000, deaf: 200, slow: 200, rate: 300,
	quiet: 30 * time.Second, between: 10 * time.Second, fullDisk: time.Minute, rotate: 20 * time.Second, disk: 1 << 30, judged: true}

// rotationLimit is the time in which an owner wants a rotation to be done, restarts of the server included.
const rotationLimit = 5 * time.Second

// siegeMemory bounds the resident memory of the server.
const siegeMemory = 768 << 20

// TestSiege attacks the program as it ships, from hundreds of networks at once (SIEGE=2000 for the long
// form): idle connections, slow bodies, streams that nobody reads, writes to unknown agents, wrong secrets,
// registrations, checks of domains, checks of the log; meanwhile it is killed again and again, and its disk
// is full for a while. Honest owners rotate their keys from networks that were never seen; nothing that they
// were told is lost; the process ends by the kills alone; memory is bounded.
func TestSiege(t *testing.T) {
	if why := os.Getenv(impossible); why != "" {
		need.Missing(t, "no private network, which takes root or user namespaces: %s", why)
	}
	plan := shortSiege
	if n, err := strconv.Atoi(os.Getenv(siegeEnv)); err == nil {
		plan = longSiege
		plan.networks = n
	}
	s := newSiege(t, plan, 1)
	s.start()
	owners := s.registerOwners()
	// The twin runs on the same machine at the same time, and nobody attacks it.
	plan.owners = 12
	twin := newSiege(t, plan, 2)
	twin.start()
	twinOwners := twin.registerOwners()

	calm, unattacked := &timings{}, &timings{}
	s.readFor(s.plan.quiet, owners, calm)

	ctx, lift := context.WithCancel(t.Context())
	var strangers, honest sync.WaitGroup
	s.attack(ctx, &strangers, owners)
	besieged := &timings{}
	ownersEnd, endOwners := context.WithCancel(ctx)
	for _, o := range owners {
		honest.Go(func() { s.rotateOften(ownersEnd, o) })
	}
	honest.Go(func() { s.read(ownersEnd, owners, besieged) })
	honest.Go(func() { twin.read(ownersEnd, twinOwners, unattacked) })

	s.pause(ctx, plan.quiet)
	for range plan.kills {
		s.kill()
		s.start()
		s.pause(ctx, plan.between/2+rand.N(plan.between))
	}
	s.fillDisk(ctx, plan.fullDisk)
	s.pause(ctx, plan.between)
	endOwners()
	honest.Wait()
	lift()
	strangers.Wait()
	s.judge(owners, calm, besieged, unattacked)
}

// A siege is one run of TestSiege.
type siege struct {
	t       *testing.T
	plan    siegePlan
	dir     string // a file system of its own
	address netip.AddrPort

	mu      sync.Mutex // guards following
	command *exec.Cmd
	killed  bool // the running process is to end
	ended   chan struct{}
	stderr  string // its file: a pipe would make the server wait for this process, which is busy
	memory  int64  // the most that a process took, in bytes

	isFull atomic.Bool
	isDown atomic.Bool // between a kill and the answers of the next process
	// servesSince is when the process began to answer, in Unix nanoseconds.
	servesSince atomic.Int64
	rotated     atomic.Int64
	late        atomic.Int64
	atFull      atomic.Int64 // rotations that the full disk refused
	requests    atomic.Int64 // of strangers, answered or not
	refused     atomic.Int64 // of those, with 429
	wrongs      sync.Map     // what went wrong, by text
	networkOf   atomic.Int64 // the next honest network
}

// newSiege returns a siege of the n-th server.
func newSiege(t *testing.T, plan siegePlan, n byte) *siege {
	t.Helper()
	s := &siege{t: t, plan: plan, dir: t.TempDir(), address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, 7, 0, n}), 8080)}
	if err := syscall.Mount("tmpfs", s.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", plan.disk)); err != nil {
		need.Missing(t, "no file system of its own can be mounted: %v", err)
	}
	t.Cleanup(func() {
		s.kill()
		if err := syscall.Unmount(s.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts the server and waits until it answers.
func (s *siege) start() {
	s.t.Helper()
	// The process is left its own limits: that of open files, too.
	c := exec.Command(filepath.Join(os.Getenv(insideDir), "gazetteer"), "serve", "--no-crawl", "--listen", s.address.String(), "--data-dir", filepath.Join(s.dir, "data"),
		"--set", "registry.checkpoint_copy="+filepath.Join(s.t.TempDir(), "checkpoint"))
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	stderr, err := os.CreateTemp(s.t.TempDir(), "stderr")
	if err != nil {
		s.t.Fatal(err)
	}
	defer stderr.Close()
	c.Stdout, c.Stderr = stderr, stderr
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.command, s.killed, s.ended, s.stderr = c, false, ended, stderr.Name()
	s.mu.Unlock()
	go func() {
		c.Wait()
		s.mu.Lock()
		if !s.killed {
			s.t.Errorf("the process ended by itself: %v\n%s", c.ProcessState, tail(stderr.Name()))
		}
		s.mu.Unlock()
		close(ended)
	}()
	begun := time.Now()
	for time.Since(begun) < time.Minute {
		if answer, err := s.send(s.t.Context(), honestAddress(1), "GET", "/healthz", nil, nil); err == nil && answer.status == 200 {
			s.servesSince.Store(time.Now().UnixNano())
			s.isDown.Store(false)
			return
		}
		s.pause(s.t.Context(), 20*time.Millisecond)
	}
	s.t.Fatalf("the server does not answer: %s", tail(stderr.Name()))
}

// tail is the end of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// kill ends the process without warning.
func (s *siege) kill() {
	s.mu.Lock()
	c, ended := s.command, s.ended
	s.mu.Unlock()
	if c == nil {
		return
	}
	s.noteMemory()
	s.isDown.Store(true)
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	c.Process.Kill()
	<-ended
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// noteMemory reads what the process took at most.
func (s *siege) noteMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return // ended already
	}
	if m := peakMemory.FindSubmatch(text); m != nil {
		if n, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			s.memory = max(s.memory, n<<10)
		}
	}
}

// pause waits for a time, or until ctx ends.
func (s *siege) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// strangerAddress is an address of the n-th network of the strangers, each a /16.
func (s *siege) strangerAddress() netip.Addr {
	n := rand.IntN(s.plan.networks)
	return netip.AddrFrom4([4]byte{byte(20 + n/250), byte(n % 250), byte(rand.IntN(256)), byte(1 + rand.IntN(250))})
}

// honestAddress is an address of the n-th network of honest people, each a /24.
func honestAddress(n int64) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(100 + n/60000%20), byte(n / 250 % 250), byte(n % 250), 9})
}

// An exchange is the answer to a request.
type exchange struct {
	status int
	body   []byte
}

// dialFrom connects to the server from an address.
func (s *siege) dialFrom(ctx context.Context, from netip.Addr) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: rotationLimit}
	return d.DialContext(ctx, "tcp", s.address.String())
}

// send sends one request over a connection of its own, signed if there is a key.
func (s *siege) send(ctx context.Context, from netip.Addr, method, path string, body []byte, sign func(r *http.Request) error, headers ...string) (exchange, error) {
	conn, err := s.dialFrom(ctx, from)
	if err != nil {
		return exchange{}, err
	}
	defer conn.Close()
	end := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer end()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		return exchange{}, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return exchange{}, err
	}
	r.Close = true
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if sign != nil {
		if err := sign(r); err != nil {
			return exchange{}, err
		}
	}
	if err := r.Write(conn); err != nil {
		return exchange{}, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return exchange{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return exchange{answer.StatusCode, text}, err
}

// An owner is an honest agent.
type owner struct {
	airID string
	id    string // its DID
	key   ed25519.PrivateKey

	rotated []string // the multikeys that the server has acknowledged, oldest first
	next    ed25519.PrivateKey
}

func multikey(key ed25519.PrivateKey) string {
	return did.FormatMultikey(key.Public().(ed25519.PublicKey))
}

// registerOwners registers the honest agents before the siege, each from a network of its own.
func (s *siege) registerOwners() (owners []*owner) {
	s.t.Helper()
	for i := range s.plan.owners {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			s.t.Fatal(err)
		}
		body := fmt.Appendf(nil, `{"name":"owner %d","public_key":%q}`, i, did.FormatPublicKey(key.Public().(ed25519.PublicKey)))
		answer, err := s.send(s.t.Context(), netip.AddrFrom4([4]byte{60, byte(i), 0, 1}), "POST", "/api/v1/agents/register", body, func(r *http.Request) error {
			return httpsig.Sign(r, body, key, httpsig.SignOptions{KeyID: multikey(key)})
		})
		var made struct {
			AirID string `json:"air_id"`
			DID   string `json:"creator_did"`
		}
		if err == nil && answer.status == http.StatusCreated {
			err = json.Unmarshal(answer.body, &made)
		}
		if err != nil || made.AirID == "" {
			s.t.Fatalf("register an owner: %v, %d %s", err, answer.status, answer.body)
		}
		owners = append(owners, &owner{airID: made.AirID, id: "did:wba:localhost:agents:" + made.AirID, key: key})
	}
	return owners
}

// rotateOften rotates the key of an owner again and again.
func (s *siege) rotateOften(ctx context.Context, o *owner) {
	for ctx.Err() == nil {
		s.rotateOnce(ctx, o)
		s.pause(ctx, s.plan.rotate/2+rand.N(s.plan.rotate))
	}
}

// rotateOnce rotates a key, and tries again while there is no answer, as the CLI's users do.
func (s *siege) rotateOnce(ctx context.Context, o *owner) {
	_, next, err := ed25519.GenerateKey(nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	begun, full := time.Now(), s.isFull.Load()
	o.next = next
	// What has begun is ended: the end of the test must not look like a refusal.
	ctx = context.WithoutCancel(ctx)
	x := registry.NewRotation(o.id, o.key, next, "", time.Now())
	body, err := json.Marshal(map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"old_signature": x.OldSignature, "new_signature": x.NewSignature})
	if err != nil {
		s.t.Error(err)
		return
	}
	why := ""
	for time.Since(begun) < 4*rotationLimit {
		answer, err := s.send(ctx, honestAddress(s.networkOf.Add(1)), "POST", "/api/v1/agents/"+o.airID+"/keys", body, nil)
		full = full || s.isFull.Load()
		switch {
		case err != nil:
			why = err.Error()
		case answer.status == http.StatusOK, answer.status == http.StatusConflict && bytes.Contains(answer.body, []byte("key-retired")):
			// The second: it was done, and the answer was lost with the process.
			o.key, o.next = next, nil
			o.rotated = append(o.rotated, multikey(next))
			if s.rotated.Add(1); time.Since(begun) > rotationLimit {
				s.late.Add(1)
				s.complain(fmt.Sprintf("late: %s", why))
			}
			return
		case bytes.Contains(answer.body, []byte("key-rotations")):
			s.pause(s.t.Context(), time.Second) // often enough for a day
			return
		case answer.status == http.StatusServiceUnavailable && full:
			s.atFull.Add(1)
			return
		default:
			why = fmt.Sprintf("%d %.300s", answer.status, answer.body)
		}
		s.pause(ctx, 50*time.Millisecond)
	}
	if full {
		s.atFull.Add(1)
		return
	}
	s.rotated.Add(1)
	s.late.Add(1)
	s.complain("not rotated: " + why)
}

// complain counts what went wrong.
func (s *siege) complain(what string) {
	n, _ := s.wrongs.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// timings are how long answers took.
type timings struct {
	mu   sync.Mutex // guards all
	took []time.Duration
}

// quantile returns the time within which so many of a hundred answers came.
func (x *timings) quantile(percent int) (time.Duration, int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.took) == 0 {
		return 0, 0
	}
	slices.Sort(x.took)
	return x.took[len(x.took)*percent/100], len(x.took)
}

// readFor reads for a time.
func (s *siege) readFor(d time.Duration, owners []*owner, x *timings) {
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	s.read(ctx, owners, x)
}

// settling is the time after a start in which thousands of connections that the kill cut come back at once.
const settling = 2 * time.Second

// read reads DID documents and records, some fifty a second, from new networks. What is asked while there is
// no process, or while the next one settles, is not counted.
func (s *siege) read(ctx context.Context, owners []*owner, x *timings) {
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				o := owners[rand.IntN(len(owners))]
				path := "/api/v1/agents/" + o.airID
				if rand.IntN(2) == 0 {
					path += "/did-document"
				}
				down, begun := s.isDown.Load(), time.Now()
				answer, err := s.send(context.WithoutCancel(ctx), honestAddress(s.networkOf.Add(1)), "GET", path, nil, nil)
				took := time.Since(begun)
				if !down && !s.isDown.Load() && begun.UnixNano()-s.servesSince.Load() > int64(settling) {
					if err != nil || answer.status != http.StatusOK {
						s.complain(fmt.Sprintf("a read: %d %v", answer.status, err))
					}
					x.mu.Lock()
					x.took = append(x.took, took)
					x.mu.Unlock()
				}
				s.pause(ctx, 40*time.Millisecond)
			}
		})
	}
	readers.Wait()
}

// attack sends the strangers.
func (s *siege) attack(ctx context.Context, all *sync.WaitGroup, victims []*owner) {
	for range s.plan.idle {
		all.Go(func() { s.hold(ctx, "", 0) })
	}
	for range s.plan.deaf {
		all.Go(func() { s.hold(ctx, "GET /api/v1/status/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", 0) })
	}
	for range s.plan.slow {
		all.Go(func() {
			s.hold(ctx, "POST /api/v1/agents/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n", 500*time.Millisecond)
		})
	}
	kinds := []func(context.Context){
		func(ctx context.Context) {
			s.strike(ctx, "PUT", "/api/v1/agents/AIR-0000-0000-0000", `{"description":"x"}`, "X-Agent-Secret", "x")
		},
		func(ctx context.Context) {
			s.strike(ctx, "PUT", "/api/v1/agents/"+victims[rand.IntN(len(victims))].airID, `{"description":"x"}`, "X-Agent-Secret", fmt.Sprintf("%032x", rand.Uint64()))
		},
		s.strikeRegistration,
		func(ctx context.Context) {
			s.strike(ctx, "GET", "/api/v1/audit/verify?air_id="+victims[rand.IntN(len(victims))].airID, "")
		},
		func(ctx context.Context) {
			s.strike(ctx, "POST", "/api/v1/agents/"+victims[rand.IntN(len(victims))].airID+"/domains", `{"domain":"victim.example"}`, "X-Agent-Secret", "x")
		},
		func(ctx context.Context) {
			s.strike(ctx, "POST", "/api/v1/validate", `{"url":"https://victim.example/.well-known/ai"}`)
		},
		func(ctx context.Context) {
			s.strike(ctx, "GET", "/api/v1/search?q="+strings.Repeat("every+word+", 20), "")
		},
		func(ctx context.Context) { s.strike(ctx, "POST", "/api/v1/challenges", "{}") },
	}
	for _, kind := range kinds {
		all.Go(func() { s.strikeOften(ctx, kind) })
	}
}

// strikeOften sends requests of one kind at its share of the rate, from many clients at once.
func (s *siege) strikeOften(ctx context.Context, kind func(context.Context)) {
	const kinds, together = 8, 40
	tick := time.NewTicker(time.Second * kinds / time.Duration(s.plan.rate))
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, together)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case free <- struct{}{}:
			running.Go(func() {
				defer func() { <-free }()
				kind(ctx)
			})
		default: // all clients wait for answers
		}
	}
}

// strike sends one request of a stranger.
func (s *siege) strike(ctx context.Context, method, path, body string, headers ...string) exchange {
	var text []byte
	if body != "" {
		text = []byte(body)
	}
	answer, err := s.send(ctx, s.strangerAddress(), method, path, text, nil, headers...)
	s.requests.Add(1)
	if err == nil && answer.status == http.StatusTooManyRequests {
		s.refused.Add(1)
	}
	if answer.status >= 500 && answer.status != http.StatusServiceUnavailable {
		s.complain(fmt.Sprintf("%s %.60s: %d %.300s", method, path, answer.status, answer.body))
	}
	return answer
}

// strikeRegistration registers an agent, and has a domain checked for it.
func (s *siege) strikeRegistration(ctx context.Context) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return
	}
	answer := s.strike(ctx, "POST", "/api/v1/agents/register", fmt.Sprintf(`{"name":"stranger","public_key":%q}`, did.FormatPublicKey(public)))
	var made struct {
		AirID  string `json:"air_id"`
		Secret string `json:"agent_secret"`
	}
	if answer.status == http.StatusCreated && json.Unmarshal(answer.body, &made) == nil {
		s.strike(ctx, "POST", "/api/v1/agents/"+made.AirID+"/domains", `{"domain":"victim.example"}`, "X-Agent-Secret", made.Secret)
		s.strike(ctx, "PUT", "/api/v1/agents/"+made.AirID, `{"username":"victim_example"}`, "X-Agent-Secret", made.Secret)
	}
}

// hold keeps a connection open, sends a text, and then a byte now and then; it reads nothing. When the
// server closes the connection, it opens another.
func (s *siege) hold(ctx context.Context, text string, every time.Duration) {
	for ctx.Err() == nil {
		s.holdOnce(ctx, text, every)
		s.pause(ctx, 200*time.Millisecond)
	}
}

// holdTime is how long a silent connection is held before it is opened again.
const holdTime = 8 * time.Second

func (s *siege) holdOnce(ctx context.Context, text string, every time.Duration) {
	conn, err := s.dialFrom(ctx, s.strangerAddress())
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return
	}
	begun := time.Now()
	for ctx.Err() == nil && time.Since(begun) < holdTime {
		if every == 0 {
			s.pause(ctx, holdTime)
			continue
		}
		if s.pause(ctx, every); conn.SetWriteDeadline(time.Now().Add(time.Second)) != nil {
			return
		}
		if _, err := conn.Write([]byte("x")); err != nil {
			return
		}
	}
}

// fillDisk leaves no room on the disk for a while.
func (s *siege) fillDisk(ctx context.Context, d time.Duration) {
	s.t.Helper()
	path := filepath.Join(s.dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.isFull.Store(true)
	block := make([]byte, 1<<20)
	for size := len(block); size >= 512; size /= 2 {
		for {
			if _, err := f.Write(block[:size]); err != nil {
				break
			}
		}
	}
	s.pause(ctx, d)
	if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
		s.t.Error(err)
	}
	s.pause(ctx, time.Second) // what runs ends
	s.isFull.Store(false)
}

// judge says how the siege came out.
func (s *siege) judge(owners []*owner, calm, besieged, unattacked *timings) {
	s.t.Helper()
	s.noteMemory()
	lost := 0
	for _, o := range owners {
		answer, err := s.send(s.t.Context(), honestAddress(s.networkOf.Add(1)), "GET", "/api/v1/agents/"+o.airID+"/keys", nil, nil)
		if err != nil || answer.status != http.StatusOK {
			s.t.Fatalf("the keys of an owner: %d %v", answer.status, err)
		}
		for _, key := range o.rotated {
			if !bytes.Contains(answer.body, []byte(key)) {
				lost++
			}
		}
	}
	s.mu.Lock()
	stderr := s.stderr
	s.killed = true
	c, ended, memory := s.command, s.ended, s.memory
	s.mu.Unlock()
	c.Process.Signal(os.Interrupt)
	<-ended
	if !c.ProcessState.Success() {
		s.t.Errorf("the server did not stop as it should: %v\n%s", c.ProcessState, tail(stderr))
	}
	check := exec.CommandContext(s.t.Context(), filepath.Join(os.Getenv(insideDir), "gazetteer"), "check", "--data-dir", filepath.Join(s.dir, "data"))
	if out, err := check.CombinedOutput(); err != nil {
		s.t.Errorf("check after the siege: %v\n%s", err, out)
	}
	before, reads := calm.quantile(99)
	during, more := besieged.quantile(99)
	half, _ := calm.quantile(50)
	halfDuring, _ := besieged.quantile(50)
	rotated, late := s.rotated.Load(), s.late.Load()
	twin, _ := unattacked.quantile(99)
	ratio := float64(during) / float64(max(before, time.Microsecond))
	share := float64(during) / float64(max(before, twin, time.Microsecond))
	s.t.Logf("%d networks, %d requests of strangers (%d refused with 429), %d kills: %d rotations, %d not within %v, %d refused by the full disk; %d reads before, %d in the siege: p50 %v and %v, p99 %v and %v, %.1f times; %v for a server beside it that nobody attacks, %.1f times; %d acknowledged rotations lost; %d MiB of memory at the most",
		s.plan.networks, s.requests.Load(), s.refused.Load(), s.plan.kills, rotated, late, rotationLimit, s.atFull.Load(), reads, more,
		half.Round(10*time.Microsecond), halfDuring.Round(10*time.Microsecond), before.Round(10*time.Microsecond), during.Round(10*time.Microsecond), ratio, twin.Round(10*time.Microsecond), share, lost, memory>>20)
	s.wrongs.Range(func(what, n any) bool {
		s.t.Logf("%d times %s", n.(*atomic.Int64).Load(), what)
		return true
	})
	if lost > 0 {
		s.t.Errorf("%d acknowledged rotations were lost", lost)
	}
	if rotated == 0 || late*100 > rotated && s.plan.judged || late*10 > rotated {
		s.t.Errorf("%d of %d rotations were not done within %v", late, rotated, rotationLimit)
	}
	if memory > siegeMemory {
		s.t.Errorf("the server took %d MiB of memory", memory>>20)
	}
	// The strangers run on the same processors: what they take from every process is no failure of the server.
	if share > 3 && s.plan.judged {
		s.t.Errorf("the reads' p99 is %.1f times that of a server that nobody attacks", share)
	}
}
