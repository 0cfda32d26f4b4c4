// Package journal records the running visits of the crawler, so that the next process knows the
// visits that the end of this one interrupted. Start with [New] and [Journal.Open].
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/privatefile"
)

// A Journal is the file of the running visits. A host stays due until its result is committed, so a
// host whose documents end the process would be visited first again after each start. The journal
// tells the next start which hosts to delay, and which not to ask again within the interval. It has
// one line for each connection about to be made and for each committed visit:
//
//	b TIME HOST ASKED ADDRESS	 a visit to HOST is about to ask the host ASKED
//	e HOST	                    it is committed
//	a HOST TIMES TIME	         so many visits were interrupted; the next is not before TIME
//
// It is not synced: it protects against the end of the process, not of the machine.
type Journal struct {
	log *slog.Logger

	mu          sync.Mutex // guards the following fields
	path        string     // "" when there is none
	file        *os.File
	lines       int
	inFlight    map[string]StartedVisit
	interrupted map[string]Interruptions
}

// A StartedVisit is a visit that has begun.
type StartedVisit struct {
	at    time.Time
	Asked []Attempt
}

// An Attempt is a host that a visit was about to ask.
type Attempt struct {
	Host string
	Addr netip.Addr // invalid when unknown
	At   time.Time
}

// Interruptions counts consecutive interrupted visits to a host.
type Interruptions struct {
	times int
	Until time.Time
}

// journalLines is the number of lines after which a journal is rewritten with the lines that still
// matter.
const journalLines = 100_000

// A host with two interrupted visits in a row is a suspect. Most suspects are innocent, because
// many visits run when a process ends. So suspects are visited a few at a time, each in a slot of
// its own: a host that is running at the next end was nearly alone, and only that makes a host wait
// for long.
const (
	suspected      = 2
	slotsPerSecond = 4
)

// waitAfterCut returns the waiting time of a host after this many interrupted visits in a row.
func waitAfterCut(times int, least time.Duration) time.Duration {
	steps := []time.Duration{0, 0, 0, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}
	return max(steps[min(times, len(steps)-1)], least)
}

// assignRetrySlots gives a slot to each suspect whose time has come: from soon on when its visit
// was interrupted just now, otherwise from now on. A slot in the future stays.
func assignRetrySlots(cut map[string]Interruptions, flown map[string]StartedVisit, now, soon time.Time) {
	taken := map[int64]int{} // slots by second
	var waiting []string
	for host, a := range cut {
		_, again := flown[host]
		switch {
		case a.times < suspected:
		case a.Until.After(soon), !again && a.Until.After(now):
			taken[a.Until.Unix()]++
		default:
			waiting = append(waiting, host)
		}
	}
	slices.Sort(waiting)
	for _, host := range waiting {
		at := now
		if _, again := flown[host]; again {
			at = soon
		}
		for taken[at.Unix()] >= slotsPerSecond {
			at = at.Add(time.Second)
		}
		taken[at.Unix()]++
		cut[host] = Interruptions{cut[host].times, at}
	}
}

// New returns a journal that logs the first failed write. Call [Journal.Open] before anything else.
func New(log *slog.Logger) *Journal { return &Journal{log: log} }

// Open reads the journal of the previous process and starts a new one in dir; without a directory
// nothing is recorded. It returns the hosts with interrupted visits, the visits that the end of the
// previous process interrupted, and the contacts of the last minute. least is the minimum time for
// which an interrupted host waits.
func (j *Journal) Open(dir string, now time.Time, least time.Duration) (interrupted map[string]Interruptions, started map[string]StartedVisit, recent []Attempt, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inFlight, j.interrupted, j.path = map[string]StartedVisit{}, map[string]Interruptions{}, ""
	if dir == "" {
		return nil, nil, nil, nil
	}
	j.path = filepath.Join(dir, "visits")
	if recent, err = j.readFile(now); err != nil {
		return nil, nil, nil, err
	}
	for host, a := range j.interrupted {
		if latest := now.Add(max(24*time.Hour, least)); a.Until.After(latest) { // the clock was ahead
			j.interrupted[host] = Interruptions{a.times, latest}
		}
	}
	started = j.inFlight
	for host, f := range j.inFlight {
		times := j.interrupted[host].times + 1
		j.interrupted[host] = Interruptions{times, f.at.Add(waitAfterCut(times, least))}
		if until := now.Add(least); j.interrupted[host].Until.Before(until) {
			j.interrupted[host] = Interruptions{times, until}
		}
	}
	assignRetrySlots(j.interrupted, started, now, now.Add(least))
	j.inFlight = map[string]StartedVisit{}
	return j.interrupted, started, recent, j.rewriteFile()
}

// readFile reads the file. A line that cannot be read was cut off by the end of the process.
func (j *Journal) readFile(now time.Time) ([]Attempt, error) {
	file, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of visits: %w", err)
	}
	defer file.Close()
	var recent []Attempt
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		switch {
		case len(w) == 5 && w[0] == "b":
			c := Attempt{Host: w[3], At: parseMillis(w[1])}
			c.Addr, _ = netip.ParseAddr(w[4])
			f := j.inFlight[w[2]]
			if f.at.IsZero() {
				f.at = c.At
			}
			f.Asked = append(f.Asked, c)
			j.inFlight[w[2]] = f
			if now.Sub(c.At) < time.Minute {
				recent = append(recent, c)
			}
		case len(w) == 2 && w[0] == "e":
			delete(j.inFlight, w[1])
			delete(j.interrupted, w[1])
		case len(w) == 4 && w[0] == "a":
			times, _ := strconv.Atoi(w[2])
			j.interrupted[w[1]] = Interruptions{times, parseMillis(w[3])}
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("read the journal of visits: %w", err)
	}
	return recent, nil
}

func parseMillis(millis string) time.Time {
	n, _ := strconv.ParseInt(millis, 10, 64)
	return time.UnixMilli(n)
}

// rewriteFile replaces the file by one with the lines that still matter. j.mu is held.
func (j *Journal) rewriteFile() error {
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
	err := privatefile.ReplaceUnsynced(j.path, func(w *bufio.Writer) error {
		for host, a := range j.interrupted {
			fmt.Fprintf(w, "a %s %d %d\n", host, a.times, a.Until.UnixMilli())
		}
		for host, f := range j.inFlight {
			for _, c := range f.Asked {
				w.WriteString(c.formatLine(host))
			}
		}
		return nil
	})
	if err == nil {
		j.file, err = os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	}
	j.lines = 0
	if err != nil {
		return fmt.Errorf("begin the journal of visits: %w", err)
	}
	return nil
}

func (c Attempt) formatLine(host string) string {
	addr := "-"
	if c.Addr.IsValid() {
		addr = c.Addr.String()
	}
	return fmt.Sprintf("b %d %s %s %s\n", c.At.UnixMilli(), host, c.Host, addr)
}

// BeginContact records that a visit to a host is about to ask a host, with the address if it is
// known.
func (j *Journal) BeginContact(host, asked string, addr netip.Addr, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return
	}
	c := Attempt{Host: asked, Addr: addr, At: now}
	f := j.inFlight[host]
	if f.at.IsZero() {
		f.at = now
	}
	f.Asked = append(f.Asked, c)
	j.inFlight[host] = f
	j.appendLines(c.formatLine(host), 1)
}

// EndVisits records that visits are committed.
func (j *Journal) EndVisits(hosts []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return
	}
	var b strings.Builder
	for _, host := range hosts {
		fmt.Fprintf(&b, "e %s\n", host)
		delete(j.inFlight, host)
		delete(j.interrupted, host)
	}
	j.appendLines(b.String(), len(hosts))
	if j.lines > journalLines {
		if err := j.rewriteFile(); err != nil {
			j.log.Warn("visits are no longer written down", "error", err)
		}
	}
}

// appendLines appends lines. A visit does not depend on them, so an error is logged only once. j.mu
// is held.
func (j *Journal) appendLines(text string, lines int) {
	j.lines += lines
	if _, err := j.file.WriteString(text); err != nil {
		j.log.Warn("visits are no longer written down", "error", err)
		j.file.Close()
		j.file = nil
	}
}

// Close closes the journal of a process that ends normally: visits that it ends itself do not
// count against a host.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.path == "" {
		return nil
	}
	// Lines of the last minute stay, because the intervals need them.
	now := time.Now()
	err := privatefile.ReplaceUnsynced(j.path, func(w *bufio.Writer) error {
		for host, f := range j.inFlight {
			for _, c := range f.Asked {
				if now.Sub(c.At) < time.Minute {
					w.WriteString(c.formatLine(host))
				}
			}
			fmt.Fprintf(w, "e %s\n", host)
		}
		for host, a := range j.interrupted {
			fmt.Fprintf(w, "a %s %d %d\n", host, a.times, a.Until.UnixMilli())
		}
		return nil
	})
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
	if err != nil {
		return fmt.Errorf("end the journal of visits: %w", err)
	}
	return nil
}

// HeldUntil returns the time until which a host with interrupted visits waits.
func (j *Journal) HeldUntil(host string) time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.interrupted[host].Until
}
