package limit

import (
	"cmp"
	"container/list"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A ConnectionRule says how many connections a pool holds at the same time.
type ConnectionRule struct {
	All  int // of all clients together
	Each int // of one network of clients ([Network])
	Wide int // of the wider network around it ([WideNetwork])
	// Idle is how many of them may wait for another request after an answer. Those take some 20 kB
	// each, because net/http keeps their buffers.
	Idle int
	// Many is how many connections may be held before a quarter of Idle is the limit; 0 means any number.
	// Most of such a crowd never sends a request, and the memory is for them.
	Many int
	// FirstByte is how long a new connection may stay silent; 5 seconds when 0. Until its first
	// byte it takes some 4 kB.
	FirstByte time.Duration
	// Proxies are peers that connect for many clients. Their connections count against All alone,
	// as do those of loopback addresses.
	Proxies []netip.Prefix
	// Uncounted pools are not in the statistics of a set.
	Uncounted bool
}

// ConnectionStats is what a [ConnectionPool] has counted since the start.
type ConnectionStats struct {
	Open    int    // connections that are held now
	Idle    int    // those of them that wait for a request
	All     int    // how many may be held
	Refused uint64 // closed when they came: their network, or all together, had no room
	Dropped uint64 // closed because a new one needed the room, slow ones first
	Paused  uint64 // how often accepting paused because the process had no descriptor left
}

// A ConnectionPool bounds the connections of one or more listeners together, so that no client or
// crowd of clients can hold all of them. Make one with [Set.ConnectionPool].
//
//	 accepted ── first byte ──▶ to net/http ── active ◀──▶ idle ──▶ closed
//	(silent)                                  (active)    (idle)
//
// A connection that is silent or idle is closed as soon as a new one needs its room, the oldest one
// of the wider network that holds most of them first. Where none is silent or idle, the network
// that holds most gives up its longest active connection, unless the network of the new one holds
// as many: then the new one is closed.
type ConnectionPool struct {
	rule ConnectionRule

	mu       sync.Mutex // guards the following fields
	open     int
	networks map[netip.Prefix]int
	groups   map[netip.Prefix]*connGroup
	// byCount[n] are the groups that hold n connections, so that the largest is found at once.
	byCount []map[*connGroup]struct{}
	silent  *list.List // of *limitedConn, the oldest first
	idle    *list.List // of *limitedConn, the oldest first
	stats   ConnectionStats
}

// A ConnectionListener accepts connections within the bounds of a pool. Make one with
// [ConnectionPool.Listen], and hand its ConnState to [http.Server].
type ConnectionListener struct {
	net.Listener
	pool   *ConnectionPool
	ready  chan *limitedConn
	done   chan struct{} // closed by Close
	once   sync.Once
	work   sync.WaitGroup // of the goroutines that accept and that wait for a first byte
	start  time.Time
	woken  atomic.Int64  // when acceptSoon last woke acceptAll, in nanoseconds since start
	accept error         // why accepting ended; set before ended is closed
	ended  chan struct{} // closed when accepting has ended
}

// Phases of a connection.
const (
	phaseSilent = iota
	phaseIdle
	phaseActive
	phases
	phaseClosed
)

// A connGroup is the connections of one wider network.
type connGroup struct {
	network netip.Prefix
	proxy   bool // its active connections are never dropped
	count   int
	phases  [phases]list.List // of *limitedConn, the oldest first
}

// A WrappedConn is a connection inside of another. To embed it gives the outer one the methods that
// code looks for which a connection has besides those of net.Conn.
type WrappedConn struct{ net.Conn }

// NetConn returns the connection inside, for code that counts connections or writes without waiting.
func (c WrappedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite lets net/http end an answer so that the client can still read it.
func (c WrappedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A limitedConn is a connection that a listener counts.
type limitedConn struct {
	WrappedConn
	listener *ConnectionListener
	network  netip.Prefix // invalid: counted against all alone
	group    *connGroup
	first    [1]byte // what was read before the connection went to net/http
	unread   bool    // first has not been handed on; the goroutine that reads owns it

	// The pool's mutex guards following.
	phase int
	place *list.Element // in the group's list of the phase
	waits *list.Element // in the pool's list of silent or idle connections
}

const defaultFirstByte = 5 * time.Second

// ConnectionPool makes a pool, which the set lists.
func (s *Set) ConnectionPool(rule ConnectionRule) *ConnectionPool {
	rule.FirstByte = cmp.Or(rule.FirstByte, defaultFirstByte)
	p := &ConnectionPool{rule: rule, networks: map[netip.Prefix]int{}, groups: map[netip.Prefix]*connGroup{}, silent: list.New(), idle: list.New()}
	if s != nil && !rule.Uncounted {
		s.mu.Lock()
		s.pools = append(s.pools, p)
		s.mu.Unlock()
	}
	return p
}

// Listen counts the connections of a listener in the pool. It starts to accept at once; Close ends
// that, closes the connections that net/http has not got yet, and waits for its goroutines.
func (p *ConnectionPool) Listen(l net.Listener) *ConnectionListener {
	c := &ConnectionListener{Listener: l, pool: p, ready: make(chan *limitedConn), done: make(chan struct{}), ended: make(chan struct{}), start: time.Now()}
	c.work.Go(c.acceptAll)
	return c
}

// Accept returns the next connection of which a first byte has come.
func (l *ConnectionListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.ended:
		return nil, l.accept
	}
}

// Close stops accepting and closes the silent connections.
func (l *ConnectionListener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { close(l.done) })
	l.pool.mu.Lock()
	var silent []*limitedConn
	for e := l.pool.silent.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*limitedConn); c.listener == l {
			silent = append(silent, c)
		}
	}
	l.pool.mu.Unlock()
	for _, c := range silent {
		c.Close()
	}
	l.work.Wait()
	return err
}

// Stats returns the counts of the pool.
func (p *ConnectionPool) Stats() ConnectionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open, s.Idle, s.All = p.open, p.idle.Len()+p.silent.Len(), p.rule.All
	return s
}

// The pause after a failure to accept, which doubles up to the longest.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// acceptAll accepts until the listener is closed. Where the process or the system has no descriptor
// left, it drops a connection and pauses.
func (l *ConnectionListener) acceptAll() {
	pause := firstPause
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			pause = firstPause
			l.admitConnection(conn)
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && l.setAcceptDeadline(time.Time{}) == nil { // acceptSoon woke it
			continue
		}
		if !IsShortage(err) {
			l.accept = err
			close(l.ended)
			return
		}
		l.pool.dropForShortage()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.done:
			timer.Stop()
		}
		pause = min(2*pause, longestPause)
	}
}

// wakePeriod is the shortest time between two wake-ups by acceptSoon: each costs some two microseconds.
const wakePeriod = 500 * time.Microsecond

// acceptSoon wakes acceptAll, which then accepts the connections that wait. Without it they wait until Go
// asks the operating system for events, which it does only every 10 ms while all its processors
// have other work.
func (l *ConnectionListener) acceptSoon() {
	now, last := int64(time.Since(l.start)), l.woken.Load()
	if now-last >= int64(wakePeriod) && l.woken.CompareAndSwap(last, now) {
		l.setAcceptDeadline(time.Unix(1, 0)) // Accept ends at once, and acceptAll calls it again
	}
}

// setAcceptDeadline sets when Accept ends without a connection, where the listener can do that.
func (l *ConnectionListener) setAcceptDeadline(t time.Time) error {
	if deadline, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		return deadline.SetDeadline(t)
	}
	return errors.ErrUnsupported
}

// IsShortage reports whether err says that the process or the system has run out of descriptors or
// memory for them, which passes.
func IsShortage(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR, syscall.ECONNABORTED},
		func(passing error) bool { return errors.Is(err, passing) })
}

func (p *ConnectionPool) dropForShortage() {
	p.mu.Lock()
	p.stats.Paused++
	victim := p.findVictim(nil) // the silent and idle ones first
	p.evictConnection(victim)
	p.mu.Unlock()
	victim.resetConnection()
}

// admitConnection counts a new connection and waits for its first byte in a goroutine, or closes
// it.
func (l *ConnectionListener) admitConnection(conn net.Conn) {
	c := &limitedConn{WrappedConn: WrappedConn{conn}, listener: l}
	p := l.pool
	wide := p.identifyClient(c)
	p.mu.Lock()
	victim, ok := p.makeRoom(c, wide)
	p.evictConnection(victim)
	if ok {
		p.countConnection(c, wide)
	} else {
		p.stats.Refused++
	}
	p.mu.Unlock()
	victim.resetConnection()
	if !ok {
		c.phase = phaseClosed
		c.resetConnection()
		return
	}
	l.work.Go(c.awaitFirstByte)
}

// identifyClient sets the network of a connection and returns the one of its group.
func (p *ConnectionPool) identifyClient(c *limitedConn) (wide netip.Prefix) {
	address, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{} // not of a network
	}
	client := address.AddrPort().Addr().Unmap().WithZone("")
	if client.IsLoopback() || slices.ContainsFunc(p.rule.Proxies, func(proxy netip.Prefix) bool { return proxy.Contains(client) }) {
		return netip.Prefix{}
	}
	c.network = Network(client)
	return WideNetwork(client)
}

// makeRoom reports whether a new connection may be held, and returns the one that has to go for it,
// or nil; p.mu is held.
func (p *ConnectionPool) makeRoom(c *limitedConn, wide netip.Prefix) (victim *limitedConn, ok bool) {
	group := p.groups[wide]
	if c.network.IsValid() && group != nil {
		inNetwork := p.networks[c.network] >= p.rule.Each
		if inNetwork || group.count >= p.rule.Wide {
			victim = group.findWaiting(func(other *limitedConn) bool { return !inNetwork || other.network == c.network })
			return victim, victim != nil
		}
	}
	if p.open < p.rule.All {
		return nil, true
	}
	victim = p.findVictim(group)
	return victim, victim != nil
}

// maxSearched is how many of the largest groups are searched for a connection that waits.
const maxSearched = 64

// findVictim returns the connection that has to go for one of a group; nil where there is none that
// should; p.mu is held. A group that has no connection yet is nil.
func (p *ConnectionPool) findVictim(group *connGroup) *limitedConn {
	for _, waiting := range []struct {
		phase int
		list  *list.List
	}{{phaseSilent, p.silent}, {phaseIdle, p.idle}} {
		if waiting.list.Len() == 0 {
			continue
		}
		for g := range p.largestGroups() {
			if oldest := g.phases[waiting.phase].Front(); oldest != nil {
				return oldest.Value.(*limitedConn)
			}
		}
		return waiting.list.Front().Value.(*limitedConn)
	}
	own := 0
	if group != nil {
		own = group.count
	}
	for g := range p.largestGroups() {
		if oldest := g.phases[phaseActive].Front(); oldest != nil && !g.proxy && g.count > own+1 {
			return oldest.Value.(*limitedConn)
		}
	}
	return nil
}

// largestGroups yields the groups that hold most connections, the largest first, but no more than
// maxSearched of them; p.mu is held.
func (p *ConnectionPool) largestGroups() iter.Seq[*connGroup] {
	return func(yield func(*connGroup) bool) {
		searched := 0
		for count := len(p.byCount) - 1; count > 0; count-- {
			for g := range p.byCount[count] {
				if searched++; searched > maxSearched || !yield(g) {
					return
				}
			}
		}
	}
}

// findWaiting returns the oldest silent connection of a group that fits, or the oldest idle one.
func (g *connGroup) findWaiting(fits func(*limitedConn) bool) *limitedConn {
	for _, phase := range []int{phaseSilent, phaseIdle} {
		for e := g.phases[phase].Front(); e != nil; e = e.Next() {
			if c := e.Value.(*limitedConn); fits(c) {
				return c
			}
		}
	}
	return nil
}

// countConnection counts a connection; p.mu is held.
func (p *ConnectionPool) countConnection(c *limitedConn, wide netip.Prefix) {
	g := p.groups[wide]
	if g == nil {
		g = &connGroup{network: wide, proxy: !c.network.IsValid()}
		p.groups[wide] = g
	}
	c.group, c.phase = g, phaseSilent
	c.place, c.waits = g.phases[phaseSilent].PushBack(c), p.silent.PushBack(c)
	p.open++
	if c.network.IsValid() {
		p.networks[c.network]++
	}
	p.setGroupCount(g, g.count+1)
}

// setGroupCount moves a group to its place among all groups; p.mu is held.
func (p *ConnectionPool) setGroupCount(g *connGroup, count int) {
	if g.count > 0 {
		delete(p.byCount[g.count], g)
	}
	g.count = count
	for len(p.byCount) <= count {
		p.byCount = append(p.byCount, nil)
	}
	if count == 0 {
		delete(p.groups, g.network)
	} else {
		if p.byCount[count] == nil {
			p.byCount[count] = map[*connGroup]struct{}{}
		}
		p.byCount[count][g] = struct{}{}
	}
	for n := len(p.byCount); n > 0 && len(p.byCount[n-1]) == 0; n-- {
		p.byCount = p.byCount[:n-1]
	}
}

// evictConnection takes a connection out of the counts; p.mu is held. It counts one that was open
// as dropped.
func (p *ConnectionPool) evictConnection(victim *limitedConn) {
	if victim != nil {
		p.stats.Dropped++
		p.uncountConnection(victim)
	}
}

// uncountConnection takes a connection out of the counts once; p.mu is held.
func (p *ConnectionPool) uncountConnection(c *limitedConn) {
	if c.phase == phaseClosed {
		return
	}
	p.leavePhase(c)
	c.phase = phaseClosed
	p.open--
	if c.network.IsValid() {
		if p.networks[c.network]--; p.networks[c.network] == 0 {
			delete(p.networks, c.network)
		}
	}
	p.setGroupCount(c.group, c.group.count-1)
}

// leavePhase takes a connection off the lists of its phase; p.mu is held.
func (p *ConnectionPool) leavePhase(c *limitedConn) {
	c.group.phases[c.phase].Remove(c.place)
	if c.waits != nil {
		if c.phase == phaseSilent {
			p.silent.Remove(c.waits)
		} else {
			p.idle.Remove(c.waits)
		}
		c.waits = nil
	}
}

// maxIdle returns how many connections may be idle now; p.mu is held.
func (p *ConnectionPool) maxIdle() int {
	if p.rule.Many > 0 && p.open > p.rule.Many {
		return p.rule.Idle / 4
	}
	return p.rule.Idle
}

// enterPhase moves a connection to a phase. It returns the idle connections for which there is no
// room any more: at most two, so that a smaller limit takes effect without a pause.
func (p *ConnectionPool) enterPhase(c *limitedConn, phase int) (evicted []*limitedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.phase == phaseClosed || c.phase == phase {
		return nil
	}
	p.leavePhase(c)
	c.phase = phase
	c.place = c.group.phases[phase].PushBack(c)
	if phase != phaseIdle {
		return nil
	}
	c.waits = p.idle.PushBack(c)
	for len(evicted) < 2 && p.idle.Len() > p.maxIdle() {
		oldest := p.idle.Front().Value.(*limitedConn)
		p.evictConnection(oldest)
		evicted = append(evicted, oldest)
	}
	return evicted
}

// ConnState follows what net/http does with a connection; see [http.Server].
func (l *ConnectionListener) ConnState(conn net.Conn, state http.ConnState) {
	c := findLimitedConn(conn)
	if c == nil || c.listener != l {
		return
	}
	l.acceptSoon()
	switch state {
	case http.StateNew, http.StateActive, http.StateHijacked:
		l.pool.enterPhase(c, phaseActive)
	case http.StateIdle:
		for _, oldest := range l.pool.enterPhase(c, phaseIdle) {
			oldest.resetConnection()
		}
	}
}

// findLimitedConn returns our connection within one that wraps it.
func findLimitedConn(conn net.Conn) *limitedConn {
	for {
		if c, ok := conn.(*limitedConn); ok {
			return c
		}
		wrapper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = wrapper.NetConn()
	}
}

// awaitFirstByte hands the connection on once its first byte has come.
func (c *limitedConn) awaitFirstByte() {
	c.SetReadDeadline(time.Now().Add(c.listener.pool.rule.FirstByte))
	if _, err := io.ReadFull(c.Conn, c.first[:]); err != nil {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Time{})
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true}) // a connection without probes is none the worse
	}
	c.unread = true
	c.listener.pool.enterPhase(c, phaseActive)
	select {
	case c.listener.ready <- c:
	case <-c.listener.done:
		c.Close()
	}
}

// Read hands on the first byte before the others.
func (c *limitedConn) Read(p []byte) (int, error) {
	if c.unread && len(p) > 0 {
		c.unread = false
		p[0] = c.first[0]
		return 1, nil
	}
	return c.Conn.Read(p)
}

// Close closes the connection and counts it no more.
func (c *limitedConn) Close() error {
	p := c.listener.pool
	p.mu.Lock()
	if c.group != nil {
		p.uncountConnection(c)
	}
	p.mu.Unlock()
	return c.Conn.Close()
}

// resetConnection closes a connection that was counted out already, at once and without waiting for
// the client. It does nothing to nil.
func (c *limitedConn) resetConnection() {
	if c == nil {
		return
	}
	if lingering, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		lingering.SetLinger(0) // the system keeps nothing of it
	}
	c.Conn.Close()
}
