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
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"gazetteer/internal/fakenet"
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

// rotationLimit is the time in which an owner wants a rotation to be done: in the long form with
// the restarts of the server, in the short one, which runs beside other tests, without them.
const rotationLimit = 5 * time.Second

// siegeMemory bounds the resident memory of the server.
const siegeMemory = 640 << 20

// chooseSiege returns the plan that the environment asks for.
func chooseSiege() siegePlan {
	plan := shortSiege
	if n, err := strconv.Atoi(os.Getenv(siegeEnv)); err == nil {
		plan = longSiege
		plan.networks = n
	}
	return plan
}

// TestSiege attacks the unmodified program from hundreds of networks at once (SIEGE=2000 for the
// long form): idle connections, slow bodies, streams of the status and of the changes without a
// reader, writes to unknown agents, wrong secrets, registrations, reports, checks of domains and of the
// log, searches, validations, requests in the name of owners of hosts, submissions, and foreign DIDs,
// whose hosts accept connections and never answer. Meanwhile it kills the program again and again and
// fills its disk for a while. Honest owners rotate their keys from new
// networks; no acknowledged write is lost, only the kills end the process, and its memory is
// bounded.
//
// The server has its own processor, before the siege and during it; the clients use the others, and
// the attackers are a separate process with a lower priority than the honest clients. So the
// measured times are those of the server, and not those of the machine that also runs the
// attackers.
func TestSiege(t *testing.T) {
	if why := os.Getenv(impossible); why != "" {
		need.Missing(t, "no private network, which takes root or user namespaces: %s", why)
	}
	plan := chooseSiege()
	s := newSiege(t, plan)
	s.divideProcessors()
	s.start()
	owners := s.registerOwners()

	ctx, endOwners := context.WithCancel(t.Context())
	defer endOwners()
	var honest sync.WaitGroup
	for _, o := range owners {
		honest.Go(func() { s.rotateOften(ctx, o) })
	}
	s.pause(ctx, settling)
	calm, besieged := &timings{}, &timings{}
	s.readFor(s.plan.quiet, owners, calm)
	s.rotated.Store(0) // what follows is judged

	strangers := s.sendStrangers(owners)
	begun := time.Now()
	honest.Go(func() { s.read(ctx, owners, besieged) })

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
	s.lasted = time.Since(begun)
	strangers.recall()
	s.judge(owners, calm, besieged)
}

// A siege is one run of TestSiege.
type siege struct {
	t       *testing.T
	plan    siegePlan
	dir     string // a file system of its own
	address netip.AddrPort
	server  unix.CPUSet // the processor of the server; none on a machine that has only one

	mu      sync.Mutex // guards the following fields
	command *exec.Cmd
	killed  bool // the running process is to end
	ended   chan struct{}
	stderr  string // its file: a pipe would make the server wait for this process, which is busy
	memory  int64  // the most that a process took, in bytes
	// registered has the AIR IDs of the agents whose registration by strangers was acknowledged.
	registered []string

	isFull atomic.Bool
	isDown atomic.Bool // between a kill and the answers of the next process
	// servesSince is when the process began to answer, in Unix nanoseconds, and restarts is how many
	// nanoseconds it did not answer in all because it was killed.
	servesSince atomic.Int64
	restarts    atomic.Int64
	killedAt    time.Time
	rotated     atomic.Int64
	late        atomic.Int64
	atFull      atomic.Int64 // rotations that the full disk refused
	requests    atomic.Int64 // of strangers, answered or not
	refused     atomic.Int64 // of those, with 429
	invalid     atomic.Value // a request of strangers that attacks nothing, because it is malformed
	wrongs      sync.Map     // failures of the server, by text: none is accepted
	delays      sync.Map     // what was slow, by text: judged by its share, because the machine may be slow
	networkOf   atomic.Int64 // the next honest network
	lasted      time.Duration
}

// besieged is the address of the server.
var besieged = netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, 7, 0, 1}), 8080)

// newSiege returns a siege of a server on an empty directory.
func newSiege(t *testing.T, plan siegePlan) *siege {
	t.Helper()
	s := &siege{t: t, plan: plan, dir: t.TempDir(), address: besieged}
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
	c := exec.Command(filepath.Join(os.Getenv(insideDir), "gazetteer"), "serve", "--listen", s.address.String(), "--data-dir", filepath.Join(s.dir, "data"),
		"--set", "registry.checkpoint_copy="+filepath.Join(s.t.TempDir(), "checkpoint"))
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	stderr, err := os.CreateTemp(s.t.TempDir(), "stderr")
	if err != nil {
		s.t.Fatal(err)
	}
	defer stderr.Close()
	c.Stdout, c.Stderr = stderr, stderr
	if err := s.startAlone(c); err != nil {
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
			if s.isDown.Load() {
				s.restarts.Add(int64(time.Since(s.killedAt)))
			}
			s.isDown.Store(false)
			return
		}
		s.pause(s.t.Context(), 20*time.Millisecond)
	}
	s.t.Fatalf("the server does not answer: %s", tail(stderr.Name()))
}

// The nice values of the server and its honest clients, and of the attackers. If the tests have the
// permission, the server and its clients have priority over everything else on the machine, so that
// other work does not affect the measurement.
const (
	firstNice = -20
	lastNice  = 19
)

// shortestSlice is the shortest time slice that the kernel grants.
const shortestSlice = 100 * time.Microsecond

// divideProcessors gives the server one processor and the tests the others, until the end of the test.
func (s *siege) divideProcessors() {
	s.t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		s.t.Fatal(err)
	}
	if all.Count() < 2 {
		s.t.Log("there is one processor: the reads' times are not judged")
		s.plan.judged = false
		return
	}
	others := all
	for i := 0; s.server.Count() == 0; i++ {
		if all.IsSet(i) {
			s.server.Set(i)
			others.Clear(i)
		}
	}
	if err := errors.Join(scheduleThreads(&others, firstNice), scheduleSession(os.Getpid(), firstNice)); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := errors.Join(scheduleThreads(&all, 0), scheduleSession(os.Getpid(), 0)); err != nil {
			s.t.Error(err)
		}
	})
}

// scheduleThreads sets the processors and the nice value of all threads of this process; those that
// they start have the same.
func scheduleThreads(processors *unix.CPUSet, nice int) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := scheduleThread(id, processors, nice); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// scheduleThread sets the processors of a thread, and its nice value where the tests have the right.
func scheduleThread(id int, processors *unix.CPUSet, nice int) error {
	if err := unix.SchedSetaffinity(id, processors); err != nil {
		return fmt.Errorf("choose the processors of a thread: %w", err)
	}
	schedule := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice)}
	if nice == firstNice {
		schedule.Runtime = uint64(shortestSlice.Nanoseconds()) // it preempts those with longer slices at once
	}
	if err := unix.SchedSetAttr(id, schedule, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("set the nice value of a thread: %w", err)
	}
	return nil
}

// scheduleSession sets the nice value of the session of a process, where the tests have the right
// and the kernel groups processes so (man 7 sched, "The autogroup feature").
func scheduleSession(process, nice int) error {
	for {
		err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", process), strconv.AppendInt(nil, int64(nice), 10), 0)
		switch {
		case errors.Is(err, unix.EAGAIN): // it was set within the last tenth of a second
			runtime.Gosched()
		case err == nil, errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, unix.EINVAL):
			return nil
		default:
			return fmt.Errorf("set the nice value of a session: %w", err)
		}
	}
}

// startAlone starts the server on its processor, in a new session: a child inherits the processors
// of the thread that starts it.
func (s *siege) startAlone(c *exec.Cmd) error {
	if s.server.Count() == 0 {
		return c.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := scheduleThread(0, &s.server, firstNice); err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(c.Start(), unix.SchedSetaffinity(0, &before)); err != nil {
		return err
	}
	return scheduleSession(c.Process.Pid, firstNice)
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
	s.killedAt = time.Now()
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

// strangerAddress is an address of the n-th network of the attackers, each a /16.
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

// send sends one request over a new connection, signed if there is a key.
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

// registerOwners registers the honest agents before the siege, each from its own network.
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
	begun, full, restarts := time.Now(), s.isFull.Load(), s.restarts.Load()
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
			took := time.Since(begun)
			if !s.plan.judged {
				took -= time.Duration(s.restarts.Load() - restarts)
			}
			if s.rotated.Add(1); took > rotationLimit {
				s.late.Add(1)
				count(&s.delays, "a late rotation: "+why, 1)
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
	count(&s.delays, "no rotation: "+why, 1)
}

// complain counts a failure of the server.
func (s *siege) complain(what string) { count(&s.wrongs, what, 1) }

func count(events *sync.Map, what string, times int64) {
	n, _ := events.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(times)
}

// describe yields the texts of events, with their numbers.
func describe(events *sync.Map) iter.Seq[string] {
	return func(yield func(string) bool) {
		events.Range(func(what, n any) bool { return yield(fmt.Sprintf("%d times %s", n.(*atomic.Int64).Load(), what)) })
	}
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

// settling is the time after a start in which thousands of connections that the kill cut come back
// at once.
const settling = 2 * time.Second

// read reads DID documents and records, some fifty a second, from new networks. What is asked while
// there is no process, or while the next one settles, is not counted.
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
					switch {
					case errors.Is(err, os.ErrDeadlineExceeded):
						count(&s.delays, fmt.Sprintf("a read without an answer: %v", err), 1)
					case err != nil || answer.status != http.StatusOK:
						s.complain(fmt.Sprintf("a read: %d %.300s %v", answer.status, answer.body, err))
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

// strangersEnv makes a process of this binary the attackers of the agents that it names.
const strangersEnv = "SIEGE_STRANGERS"

// strangers is the process of the attackers.
type strangers struct {
	siege   *siege
	command *exec.Cmd
	stdin   io.Closer // its end ends the attack
	report  bytes.Buffer
}

// A strangersReport is the final report of the attackers.
type strangersReport struct {
	Requests, Refused int64
	Registered        []string
	Invalid           string
	Wrongs            map[string]int64
}

// sendStrangers starts the attackers.
func (s *siege) sendStrangers(victims []*owner) *strangers {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	names := make([]string, len(victims))
	for i, v := range victims {
		names[i] = v.airID
	}
	x := &strangers{siege: s, command: exec.CommandContext(s.t.Context(), self)}
	x.command.Env = append(os.Environ(), strangersEnv+"="+strings.Join(names, " "))
	x.command.Stdout, x.command.Stderr, x.command.SysProcAttr = &x.report, os.Stderr, &syscall.SysProcAttr{Setsid: true}
	if x.stdin, err = x.command.StdinPipe(); err == nil {
		err = x.command.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// recall ends the attack and adds up the report of the attackers.
func (x *strangers) recall() {
	t := x.siege.t
	t.Helper()
	x.stdin.Close()
	var report strangersReport
	if err := x.command.Wait(); err != nil {
		t.Fatalf("the strangers: %v", err)
	}
	if err := json.Unmarshal(x.report.Bytes(), &report); err != nil || report.Requests == 0 {
		t.Fatalf("the report of the strangers: %v: %s", err, &x.report)
	}
	if report.Invalid != "" {
		t.Errorf("a request of the strangers is malformed: %s", report.Invalid)
	}
	x.siege.requests.Store(report.Requests)
	x.siege.refused.Store(report.Refused)
	x.siege.registered = report.Registered
	for what, n := range report.Wrongs {
		count(&x.siege.wrongs, what, n)
	}
}

// beStrangers attacks until the standard input ends. It is the main function of the attackers'
// process, which has a lower priority than the honest clients.
func beStrangers(airIDs []string) error {
	var processors unix.CPUSet
	if err := errors.Join(unix.SchedGetaffinity(0, &processors), scheduleThreads(&processors, lastNice)); err != nil {
		return err
	}
	s := &siege{plan: chooseSiege(), address: besieged}
	var victims []*owner
	for _, id := range airIDs {
		victims = append(victims, &owner{airID: id})
	}
	closeHosts, err := openSilentHosts()
	if err != nil {
		return err
	}
	defer closeHosts()
	ctx, lift := context.WithCancel(context.Background())
	var all sync.WaitGroup
	s.attack(ctx, &all, victims)
	io.Copy(io.Discard, os.Stdin)
	lift()
	all.Wait()
	report := strangersReport{Requests: s.requests.Load(), Refused: s.refused.Load(), Registered: s.registered, Wrongs: map[string]int64{}}
	report.Invalid, _ = s.invalid.Load().(string)
	s.wrongs.Range(func(what, n any) bool {
		report.Wrongs[what.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return json.NewEncoder(os.Stdout).Encode(report)
}

// openSilentHosts opens the name server of the attackers, which leads every tenth question to one
// address and knows no answer to the others, and a server there that accepts connections and never
// answers.
func openSilentHosts() (closeAll func(), err error) {
	host := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, 8, 0, 1}), 443)
	listener, err := net.Listen("tcp", host.String())
	if err != nil {
		return nil, err
	}
	server, err := fakenet.OpenNameServer("127.0.0.1:53", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
		if rand.IntN(10) > 0 { // otherwise most clients of the attackers wait, and send little
			return failing(dnsmessage.RCodeNameError)(0, q, m)
		}
		return at(host.Addr())(0, q, m)
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(io.Discard, conn) // until the other side has waited long enough
			}()
		}
	}()
	return func() {
		listener.Close()
		server.Close()
	}, nil
}

// attack starts the attackers.
func (s *siege) attack(ctx context.Context, all *sync.WaitGroup, victims []*owner) {
	for range s.plan.idle {
		all.Go(func() { s.hold(ctx, "", 0) })
	}
	for i := range s.plan.deaf {
		path := []string{"/api/v1/status/stream", "/api/v1/changes/stream"}[i%2]
		all.Go(func() { s.hold(ctx, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 0) })
	}
	for range s.plan.slow {
		all.Go(func() {
			s.hold(ctx, "POST /api/v1/agents/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n", 500*time.Millisecond)
		})
	}
	document := largeDocument()
	kinds := []func(context.Context){
		func(ctx context.Context) {
			s.strike(ctx, "PUT", "/api/v1/agents/AIR-0000-0000-0000", `{"description":"x"}`, "X-Agent-Secret", "x")
		},
		func(ctx context.Context) {
			s.strike(ctx, "PUT", "/api/v1/agents/"+victims[rand.IntN(len(victims))].airID, `{"description":"x"}`, "X-Agent-Secret", fmt.Sprintf("%032x", rand.Uint64()))
		},
		s.strikeRegistration,
		func(ctx context.Context) {
			s.strike(ctx, "GET", "/api/v1/audit/verify", "")
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
		func(ctx context.Context) {
			s.strike(ctx, "POST", "/api/v1/agents/"+victims[rand.IntN(len(victims))].airID+"/reports", `{"reason":"spam","text":"x"}`)
		},
		func(ctx context.Context) { s.strike(ctx, "POST", "/api/v1/validate", document) },
		func(ctx context.Context) {
			s.strike(ctx, "POST", "/api/v1/services/"+foreignHost()+[]string{"/opt-out", "/opt-in", "/recrawl"}[rand.IntN(3)], "{}")
		},
		func(ctx context.Context) {
			s.strike(ctx, "POST", "/api/v1/submissions", fmt.Sprintf(`{"hosts":[%q,%q,%q]}`, foreignHost(), foreignHost(), foreignHost()))
		},
		func(ctx context.Context) { s.strike(ctx, "GET", identifiersPath+"did:wba:"+foreignHost(), "") },
	}
	for _, kind := range kinds {
		all.Go(func() { s.strikeOften(ctx, kind, time.Second*time.Duration(len(kinds))/time.Duration(s.plan.rate)) })
	}
}

// foreignHost returns the name of one of ten thousand hosts.
func foreignHost() string {
	return fmt.Sprintf("host%d.site%d.example", rand.IntN(20), rand.IntN(500))
}

// largeDocument is a document with fifty operations.
func largeDocument() string {
	var operations []string
	for i := range 50 {
		operations = append(operations, fmt.Sprintf(`{"id":"book_table_%d","description":"Books a table for some guests at a time","endpoint":"/api/tables/%d","method":"POST","returns":"a number"}`, i, i))
	}
	return `{"aiendpoint":"1.0","service":{"name":"Restaurant","description":"Books tables."},"capabilities":[` + strings.Join(operations, ",") + `]}`
}

// strikeOften sends requests of one kind at random moments with a mean interval, from many clients
// at once: strangers in thousands of networks act independently of each other.
func (s *siege) strikeOften(ctx context.Context, kind func(context.Context), interval time.Duration) {
	const together = 40
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, together)
	for next := time.Now(); ; {
		next = next.Add(time.Duration(rand.ExpFloat64() * float64(interval)))
		if s.pause(ctx, time.Until(next)); ctx.Err() != nil {
			return
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

// strike sends one request of an attacker.
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
	if isFailure(path, answer.status) {
		s.complain(fmt.Sprintf("%s %.60s: %d %.300s", method, path, answer.status, answer.body))
	}
	switch answer.status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		s.invalid.Store(fmt.Sprintf("%s %.60s: %d %.300s", method, path, answer.status, answer.body))
	}
	return answer
}

// identifiersPath is where foreign DIDs are resolved: the only route of the siege whose answer
// passes on the failure of a foreign host.
const identifiersPath = "/1.0/identifiers/"

// isFailure reports whether a status is a failure of the server: a refusal for lack of space, time
// or connections is none, and neither is the failure of a foreign host.
func isFailure(path string, status int) bool {
	switch status {
	case http.StatusServiceUnavailable:
		return false
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return !strings.HasPrefix(path, identifiersPath)
	}
	return status >= 500
}

// TestFailuresInSiege checks which answers the siege takes for failures of the server.
func TestFailuresInSiege(t *testing.T) {
	for _, c := range []struct {
		path   string
		status int
		want   bool
	}{
		{"/api/v1/search?q=x", 0, false}, // no answer
		{"/api/v1/search?q=x", 200, false},
		{"/api/v1/search?q=x", 429, false},
		{"/api/v1/search?q=x", 500, true},
		{"/api/v1/search?q=x", 501, true},
		{"/api/v1/search?q=x", 502, true},
		{"/api/v1/search?q=x", 503, false},
		{"/api/v1/search?q=x", 504, true},
		{"/api/v1/validate", 502, true},
		{identifiersPath + "did:wba:a.example", 500, true},
		{identifiersPath + "did:wba:a.example", 501, true},
		{identifiersPath + "did:wba:a.example", 502, false},
		{identifiersPath + "did:wba:a.example", 504, false},
		{identifiersPath + "did:wba:a.example", 505, true},
	} {
		if got := isFailure(c.path, c.status); got != c.want {
			t.Errorf("%s: %d is a failure: %v, want %v", c.path, c.status, got, c.want)
		}
	}
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
		s.mu.Lock()
		s.registered = append(s.registered, made.AirID)
		s.mu.Unlock()
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

// holdTime is how long a silent connection is held on average before it is opened again.
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
	begun, held := time.Now(), holdTime/2+rand.N(holdTime)
	for ctx.Err() == nil && time.Since(begun) < held {
		if every == 0 {
			s.pause(ctx, held)
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
func (s *siege) judge(owners []*owner, calm, besieged *timings) {
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
	missing := 0
	for _, id := range s.registered {
		answer, err := s.send(s.t.Context(), honestAddress(s.networkOf.Add(1)), "GET", "/api/v1/agents/"+id, nil, nil)
		switch {
		case err != nil:
			s.t.Fatalf("the agent of a stranger: %v", err)
		case answer.status != http.StatusOK:
			missing++
		}
	}
	if missing > 0 || len(s.registered) == 0 {
		s.t.Errorf("%d of %d acknowledged registrations of strangers were lost", missing, len(s.registered))
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
	ratio := float64(during) / float64(max(before, time.Microsecond))
	s.t.Logf("%d networks, %d requests of strangers (%d refused with 429), %d kills: %d rotations, %d not within %v, %d refused by the full disk; %d reads before, %d in the siege: p50 %v and %v, p99 %v and %v, %.1f times; %d acknowledged rotations lost, and %d of %d registrations of strangers; %d MiB of memory at the most",
		s.plan.networks, s.requests.Load(), s.refused.Load(), s.plan.kills, rotated, late, rotationLimit, s.atFull.Load(), reads, more,
		half.Round(10*time.Microsecond), halfDuring.Round(10*time.Microsecond), before.Round(10*time.Microsecond), during.Round(10*time.Microsecond), ratio, lost, missing, len(s.registered), memory>>20)
	for what := range describe(&s.delays) {
		s.t.Log(what)
	}
	for what := range describe(&s.wrongs) {
		s.t.Error(what)
	}
	if sent, wanted := s.requests.Load(), int64(s.lasted.Seconds()*float64(s.plan.rate)); sent < wanted/2 && s.plan.judged {
		s.t.Errorf("the strangers sent %d requests, and %d were planned: this machine is too busy", sent, wanted)
	}
	if lost > 0 {
		s.t.Errorf("%d acknowledged rotations were lost", lost)
	}
	if rotated == 0 || late*100 > rotated && s.plan.judged || late*10 > rotated {
		s.t.Errorf("%d of %d rotations were not done within %v", late, rotated, rotationLimit)
	}
	if memory > siegeMemory {
		s.t.Errorf("the server took %d MiB of memory", memory>>20)
	}
	if ratio > 3 && s.plan.judged {
		s.t.Errorf("the reads' p99 is %.1f times that before the siege", ratio)
	}
}
