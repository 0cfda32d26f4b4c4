package toolhost

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/altar"
	"gazetteer/store"
)

// Options are what a [Host] is made of. Store and Dir are required.
type Options struct {
	Store store.Store // holds the contracts
	Dir   string      // holds identities and the audit trail; made if it is not there
	ID    string      // host_id of AcknowledgeRuntime; a random one when empty

	SessionTTL    time.Duration // of a session that names none; an hour when 0
	MaxSessionTTL time.Duration // the ceiling; a day when 0
	CallTimeout   time.Duration // of a contract that names none; 30 s when 0
	MaxTimeout    time.Duration // the ceiling of a contract's own; 5 minutes when 0

	SessionsPerClient int // sessions that one client may have open; 20,000 when 0
	CallsPerClient    int // calls of one client that may run at once; 1,024 when 0
	CallsPerMinute    int // calls of one client to one tool; 0 or negative: no limit

	// AdmitClient is asked before each call; an error refuses it. Nil admits every client that the
	// policy of the contract allows.
	AdmitClient func(ctx context.Context, client string) error
	// Blocked reports whether a host is not visited any more, because its owner or the operator
	// said so: contracts of its documents then cannot be called. Nil: no host is blocked.
	Blocked func(ctx context.Context, host string) (bool, error)
	// AuditParameters also writes the parameters of calls into the audit trail.
	AuditParameters bool
	// AuditBytes is how large a file of the audit trail grows; there are at most four. 16 MiB when 0.
	AuditBytes int64

	Limits *limit.Set
	Log    *slog.Logger // nil: silent
	// Now is the clock of sessions, confirmations, kept results and the audit trail; nil: time.Now.
	// The time of a running call is that of the machine.
	Now func() time.Time
}

// Host is an Altar Host. Make one with [Open].
type Host struct {
	o       Options
	id      string
	key     []byte // authenticates confirmations
	prefix  string // of the invocation ids towards runtimes
	counter atomic.Uint64
	calls   *limit.Limiter // of a client and a tool; nil: none
	audit   *auditTrail
	conns   sync.WaitGroup // connections that transports serve
	wakes   sync.Pool      // empty channels of callers that have left

	// Counters for the operator.
	dropped atomic.Uint64 // frames of runtimes that answered nothing
	callers atomic.Int64  // callers that have not left

	changing sync.Mutex // held while contracts or identities are changed; taken before mu

	mu                     sync.Mutex // guards the following fields
	known                  map[string]Contract
	contracts              map[string]*contract // those that may be called
	identities             []Identity
	byToken, byCertificate map[digest]Identity            // by the SHA-256 of the credential
	runtimes               map[string]*Runtime            // by runtime id, connected
	offers                 map[string]*offer              // by runtime id, for all sessions, also of runtimes that are gone
	fulfillers             map[string]map[string]*Runtime // by tool and runtime id: who offers it for all sessions, connected
	answered               chan struct{}                  // closed and replaced when a runtime has said what it executes, or is gone
	sessions               map[string]*session
	sessionsByRuntimeID    map[string]*session
	byClient               map[string]*clientState
	mcpSessions            map[string]string // by client: the session of its MCP calls
	replays                []*invocation     // finished, oldest first
	replayBytes            int
	running                int
	idle                   chan struct{} // closed when running becomes 0 while draining; nil otherwise
	draining               bool
	stops                  map[*func()]struct{} // of connections: called when draining begins
}

// clientState counts what one client uses.
type clientState struct{ sessions, calls int }

// Open returns a host with the contracts of the store and the identities of the directory. [Host.Run]
// must run for the audit trail to be written.
func Open(ctx context.Context, o Options) (*Host, error) {
	o.SessionTTL = cmp.Or(o.SessionTTL, time.Hour)
	o.MaxSessionTTL = cmp.Or(o.MaxSessionTTL, 24*time.Hour)
	o.CallTimeout = cmp.Or(o.CallTimeout, 30*time.Second)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, 5*time.Minute)
	o.SessionsPerClient = cmp.Or(o.SessionsPerClient, 20_000)
	o.CallsPerClient = cmp.Or(o.CallsPerClient, 1024)
	o.AuditBytes = cmp.Or(o.AuditBytes, 16<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	h := &Host{
		o: o, id: cmp.Or(o.ID, "host-"+randomHex(8)), key: make([]byte, 32), prefix: newCallPrefix(),
		known: map[string]Contract{}, contracts: map[string]*contract{}, runtimes: map[string]*Runtime{}, offers: map[string]*offer{},
		fulfillers: map[string]map[string]*Runtime{}, sessions: map[string]*session{}, sessionsByRuntimeID: map[string]*session{}, byClient: map[string]*clientState{}, mcpSessions: map[string]string{}, stops: map[*func()]struct{}{},
		answered: make(chan struct{}),
	}
	rand.Read(h.key) // never fails
	if o.CallsPerMinute > 0 {
		h.calls = o.Limits.Limiter(limit.Rule{Name: "tool-calls", Each: o.CallsPerMinute, All: -1, Span: time.Minute})
	}
	if err := h.loadIdentities(); err != nil {
		return nil, fmt.Errorf("open the identities: %w", err)
	}
	h.indexIdentities()
	if err := h.loadContracts(ctx); err != nil {
		return nil, err
	}
	var err error
	if h.audit, err = openAudit(o.Dir, o.AuditBytes, o.Log); err != nil {
		return nil, fmt.Errorf("open the audit trail: %w", err)
	}
	return h, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Close releases the files. Run must have ended.
func (h *Host) Close() error { return h.audit.closeFile() }

// sweepInterval is how often results that need not be replayed any more are forgotten.
const sweepInterval = 10 * time.Second

// Run writes the audit trail until ctx ends, then drains: calls that run get the time of grace, then
// runtimes are disconnected.
func (h *Host) Run(ctx context.Context, grace time.Duration) error {
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	written := make(chan error, 1)
	go func() { written <- h.audit.writeEntries(writing) }()
	sweep := time.NewTicker(sweepInterval)
	defer sweep.Stop()
	var err error
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case err = <-written:
			return errors.Join(err, h.drainCalls(0))
		case <-sweep.C:
			h.forgetResults(h.o.Now())
		}
	}
	err = h.drainCalls(grace)
	stopWriting()
	return errors.Join(err, <-written)
}

// drainCalls ends everything: no call begins, those that run have the time of grace.
func (h *Host) drainCalls(grace time.Duration) error {
	h.mu.Lock()
	h.draining = true
	idle := make(chan struct{})
	if h.running == 0 {
		close(idle)
	} else {
		h.idle = idle
	}
	stops := slices.Collect(maps.Keys(h.stops))
	h.mu.Unlock()
	for _, stop := range stops {
		(*stop)()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
	h.mu.Lock()
	runtimes, sessions := slices.Collect(maps.Values(h.runtimes)), slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		h.endSession(s, "the Host stops")
	}
	for _, r := range runtimes {
		r.conn.Close(CloseStopping, "the Host stops")
	}
	h.conns.Wait()
	return nil
}

// AddConnection counts a connection that a transport serves, so that draining waits for it. stop is
// called when draining begins, unless it is nil; the connections of runtimes are closed later. The
// transport calls done when the connection has ended. It returns false when the host drains.
func (h *Host) AddConnection(stop func()) (done func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, false
	}
	h.conns.Add(1)
	if stop == nil {
		return h.conns.Done, true
	}
	key := &stop
	h.stops[key] = struct{}{}
	return func() {
		h.mu.Lock()
		delete(h.stops, key)
		h.mu.Unlock()
		h.conns.Done()
	}, true
}

// Counts has the connections, sessions, calls and contracts of a host, for the operator.
type Counts struct {
	Runtimes  int    `json:"runtimes"`
	Sessions  int    `json:"sessions"`
	Running   int    `json:"running"`
	Callers   int    `json:"callers"` // clients that wait for calls; several may wait for one
	Contracts int    `json:"contracts"`
	Dropped   uint64 `json:"dropped"`    // frames of runtimes that answered no running call
	AuditLost uint64 `json:"audit_lost"` // entries that the audit trail lacks
}

// Figures returns the present counts of the host.
func (h *Host) Figures() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Counts{len(h.runtimes), len(h.sessions), h.running, int(h.callers.Load()), len(h.contracts), h.dropped.Load(), h.audit.countLost()}
}

var errDraining = altar.Errorf(altar.RuntimeUnavailable, "the Host stops")
