package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/index/query"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/store"
)

// findTimeout is how long a search for agents waits for the directory to reach the latest writes.
const findTimeout = 500 * time.Millisecond

// FindAgents returns a page of the agents that match a query, and their number. A verb narrows them
// to agents that have shown to belong to a host offering it; "" does not. The error is
// [ErrNoDirectory] in a process without a directory, [ErrReading] while the agents are still being
// read after the start, and that of the index for a verb.
func (a *Answers) FindAgents(ctx context.Context, q directory.Query, verb string) (agents []directory.Result, total int, err error) {
	if a.Directory == nil {
		return nil, 0, ErrNoDirectory
	}
	waiting, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	// A directory that is slightly behind answers nearly everything.
	if a.Directory.WaitFor(waiting, max(a.Store.Head().Seq, 1)) != nil && a.Directory.WaitFor(waiting, 1) != nil {
		return nil, 0, ErrReading
	}
	if q.Hosts, err = a.HostsOffering(ctx, verb); err != nil {
		return nil, 0, err
	}
	agents, total = a.Directory.Search(q)
	return agents, total, nil
}

// RegistrationPolicy returns how new agents are admitted.
func (a *Answers) RegistrationPolicy(ctx context.Context) (admission.PolicyState, error) {
	return a.Registry.RegistrationPolicy(ctx)
}

// HostsOffering lists the hosts whose operations have a verb; nil for "".
func (a *Answers) HostsOffering(ctx context.Context, verb string) ([]string, error) {
	if verb == "" {
		return nil, nil
	}
	return a.Index.Hosts(ctx, query.Query{Verbs: []string{verb}})
}

// ErrReading: the agents are still being read after the start.
var ErrReading = errors.New("the agents are still being read")

// maxNeighbors bounds how many names of other agents are looked up for one agent.
const maxNeighbors = 40

// An AgentDetails has everything by which to judge an agent.
type AgentDetails struct {
	AgentAnswer
	Evidence []evidence.Signal
	// History holds the newest entries, newest first; Entries counts all.
	History []registry.HistoryEntry
	Entries int
	// About are the attestations of the agent by others, Issued those of others by it, oldest
	// first, with revoked ones.
	About, Issued []registry.Attestation
	// Names are the names of the other agents in About and Issued, by AIR ID; at most forty.
	Names map[string]string
	// Record is the text that the owner of a domain publishes for the agent; "" for an agent
	// without a key.
	Record string
	// Logged is set if the entries of the history are leaves of a log here.
	Logged bool
}

// AgentDetails finds an agent as [Answers.Agent] does and collects the known facts about it. A
// deactivated agent has details, too.
func (a *Answers) AgentDetails(ctx context.Context, id string) (AgentDetails, error) {
	found, err := a.Agent(ctx, id)
	if err != nil {
		return AgentDetails{}, err
	}
	d := AgentDetails{AgentAnswer: found, Entries: found.Agent.Entries, Logged: a.Log != nil, Names: map[string]string{}}
	agent := found.Agent
	if len(agent.PublicKey) > 0 {
		d.Record = a.Registry.DomainRecord(agent)
	}
	if d.Evidence, err = a.Registry.Evidence(ctx, agent); err != nil {
		return d, err
	}
	if d.History, _, err = a.Registry.History(ctx, agent.AirID, registry.MaxHistory, agent.Entries-registry.MaxHistory); err != nil {
		return d, err
	}
	slices.Reverse(d.History)
	if d.About, err = a.Registry.Attestations(ctx, agent); err != nil {
		return d, err
	}
	if d.Issued, err = a.Registry.Issued(ctx, agent); err != nil {
		return d, err
	}
	for _, t := range append(append([]registry.Attestation(nil), d.About...), d.Issued...) {
		for _, other := range []string{t.Attester, t.Subject} {
			if _, known := d.Names[other]; known || other == agent.AirID || len(d.Names) == maxNeighbors {
				continue
			}
			neighbor, _, err := a.Registry.Agent(ctx, other)
			if err != nil && !errors.Is(err, registry.ErrNoAgent) {
				return d, err
			}
			d.Names[other] = neighbor.Name
		}
	}
	return d, nil
}

// Report stores a report against an agent, as [registrar.Registrar.Report] does.
func (a *Answers) Report(ctx context.Context, airID string, q admission.ReportRequest) (admission.Report, error) {
	return a.Registry.Report(ctx, airID, q)
}

// ReportByID returns the public part of a report.
func (a *Answers) ReportByID(ctx context.Context, id string) (admission.Report, error) {
	found, err := a.Registry.ReportByID(ctx, id)
	return found.Public(), err
}

// A LogStatus is the state of the transparency log.
type LogStatus struct {
	Origin string
	Key    string
	Size   int64
	Root   string // of the tree, in base64
	// Signed is the newest checkpoint as it was signed, "" before the first.
	Signed string
	// Newest are the newest leaves that were asked for, newest first.
	Newest []LogLeaf
	// Growth are points in time with the size of the log, oldest first.
	Growth []GrowthPoint
}

// A LogLeaf is one leaf of the log.
type LogLeaf struct {
	Index int64
	Key   string // of the record; a host in it may be a stranger's
	Hash  string
	At    time.Time // when it happened; zero for an erased leaf
	// Event is the event of an agent, "" for a document.
	Event   string
	Erased  bool
	Deleted bool
}

// A GrowthPoint is the number of leaves at a time.
type GrowthPoint struct {
	At   time.Time
	Size int64
}

const (
	newestLeaves = 20
	growthPoints = 24
)

// LogStatus returns the state of the transparency log, with the newest leaves below the index before, or
// of all if it is 0. The error is [ErrNoLog] without a log.
func (a *Answers) LogStatus(ctx context.Context, before int64) (LogStatus, error) {
	if a.Log == nil {
		return LogStatus{}, ErrNoLog
	}
	head := a.Log.Head()
	s := LogStatus{Origin: a.Log.Origin(), Key: a.Log.Key(), Size: head.N}
	signed, err := a.Log.Checkpoint()
	if err != nil {
		if head.N == 0 {
			return s, nil // the first one is still to be signed
		}
		return s, err
	}
	s.Signed, s.Root = string(signed), head.Hash.String()
	end := head.N
	if before > 0 {
		end = min(before, head.N)
	}
	for i := end - 1; i >= max(0, end-newestLeaves); i-- {
		leaf, err := a.readLeaf(ctx, i)
		if err != nil {
			return s, err
		}
		s.Newest = append(s.Newest, leaf)
	}
	step := max(1, (head.N+growthPoints-2)/(growthPoints-1))
	for i := int64(0); i < head.N; i += step {
		if err := a.addGrowthPoint(ctx, &s, i); err != nil {
			return s, err
		}
	}
	return s, a.addGrowthPoint(ctx, &s, head.N-1)
}

// addGrowthPoint adds the time of a leaf, if the leaf has one and it is later than the last.
func (a *Answers) addGrowthPoint(ctx context.Context, s *LogStatus, index int64) error {
	if index < 0 {
		return nil
	}
	leaf, err := a.readLeaf(ctx, index)
	if err != nil || leaf.At.IsZero() {
		return err
	}
	if n := len(s.Growth); n > 0 && !leaf.At.After(s.Growth[n-1].At) {
		s.Growth[n-1].Size = index + 1
		return nil
	}
	s.Growth = append(s.Growth, GrowthPoint{At: leaf.At, Size: index + 1})
	return nil
}

// readLeaf reads one leaf and its time.
func (a *Answers) readLeaf(ctx context.Context, index int64) (LogLeaf, error) {
	e, err := a.Log.Entry(ctx, index)
	if err != nil {
		return LogLeaf{}, fmt.Errorf("read leaf %d: %w", index, err)
	}
	l := LogLeaf{Index: index, Key: e.Key, Hash: e.Hash.String(), Erased: e.Erased, Deleted: e.Deleted}
	l.At, l.Event = entryTime(e)
	return l, nil
}

// entryTime returns the time of a leaf: an agent's entry contains it, a version of a document has
// it in its key. An erased leaf, and the leaf that lists it, have none: the key would tell the time of what
// was erased, not that of the erasure.
func entryTime(e audit.LogEntry) (at time.Time, event string) {
	if e.Erased || e.Deleted {
		return time.Time{}, ""
	}
	if strings.HasPrefix(e.Key, store.VersionPrefix) {
		parts := store.SplitKey(e.Key)
		if len(parts) == 4 {
			stamp, _, _ := strings.Cut(parts[3], "-")
			at, _ = time.Parse("20060102T150405.000Z", stamp) // zero for a key of another form
		}
		return at, ""
	}
	var leaf struct {
		Record struct {
			At    time.Time `json:"at"`
			Event string    `json:"event"`
		} `json:"record"`
	}
	json.Unmarshal(e.Leaf, &leaf) // an erased leaf says nothing
	return leaf.Record.At, leaf.Record.Event
}
