package admission

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/store"
)

// PolicyOptions configure a [Policy]. Store is required.
type PolicyOptions struct {
	Store store.Store
	// Mode is the admission of new agents until the operator sets another one. It is one of the
	// Mode constants; the default is [ModeOpen].
	Mode string
	// Unattended is how long registration stays open without attention of the operator, see
	// [Policy.RecordAttention]. The default is 7 days; a negative value means permanently.
	Unattended time.Duration
	Limits     Limits
	LimitSet   *limit.Set       // lists the limits for the metrics; nil: a set of its own
	Log        *slog.Logger     // nil: silent
	Now        func() time.Time // nil: time.Now
	Due        func() time.Time // that of [registry.Options]; nil: Now
}

// A Policy decides who may register and write: it holds the registration mode, the block lists, the
// rate limits of networks, and the registrations that wait for approval. It is the
// [registry.AdmissionPolicy] of the registry. Its methods may be called from any goroutine.
// [NewPolicy] makes one.
type Policy struct {
	store         store.Store
	log           *slog.Logger
	now           func() time.Time
	due           func() time.Time // see PolicyOptions.Due
	defaultMode   string           // of the configuration
	unattended    time.Duration
	limits        Limits
	registrations *limit.Limiter
	reports       *limit.Limiter
	changes       *limit.Limiter
	sizes         *limit.Limiter
	rotationSizes *limit.Limiter
	largeRecords  *limit.Limiter
	proved        *limit.Limiter
	keyChanges    *limit.Limiter
	recoveries    *limit.Limiter
	failures      *limit.Limiter
	known         knownNetworks
	blockLists    blockLists
	policyCache   policyCache
	applications  recordCounter
}

// NewPolicy returns a policy. The error says which option is invalid. NewPolicy neither reads nor
// writes the store.
func NewPolicy(o PolicyOptions) (*Policy, error) {
	if o.Mode != "" && !slices.Contains(policyModes, o.Mode) {
		return nil, fmt.Errorf("registration mode %q: want one of %s", o.Mode, strings.Join(policyModes, ", "))
	}
	if o.LimitSet == nil {
		o.LimitSet = &limit.Set{Now: o.Now}
	}
	limits := o.Limits.orDefaults()
	p := &Policy{store: o.Store, log: o.Log, now: o.Now, due: o.Due, defaultMode: cmp.Or(o.Mode, ModeOpen), unattended: cmp.Or(o.Unattended, defaultUnattended), limits: limits,
		registrations: o.LimitSet.Limiter(limit.Rule{Name: "registrations", Each: limits.Registrations, Wide: limit.WideFactor * limits.Registrations,
			All: limits.AllRegistrations, Fair: fairRegistrations, Kept: max(limits.AllRegistrations, 0) / keptRegistrations}),
		reports: newLimiter(o.LimitSet, "reports", limits.Reports, -1, 24*time.Hour),
		changes: newLimiter(o.LimitSet, "changes", limits.Changes, -1, time.Hour),
		sizes:   newLimiter(o.LimitSet, "changes-size", limits.Changes, -1, time.Hour),

		rotationSizes: newLimiter(o.LimitSet, "rotations-size", limits.Changes, -1, time.Hour),
		largeRecords:  newLimiter(o.LimitSet, "large-records", limits.Changes, -1, time.Hour),
		proved:        o.LimitSet.Limiter(limit.Rule{Name: "changes-proved", Each: limits.Writes, All: limits.AllChanges, Fair: fairChanges}),
		keyChanges:    o.LimitSet.Limiter(limit.Rule{Name: "changes-of-keys", Each: keyChanges, All: limits.AllChanges, Fair: fairChanges}),
		recoveries:    o.LimitSet.Limiter(limit.Rule{Name: "recoveries", Each: maxRecoveries, All: -1, Span: 24 * time.Hour}),
		failures:      newLimiter(o.LimitSet, "failed-proofs", limits.Failures, -1, time.Hour),
	}
	p.log = cmp.Or(p.log, slog.New(slog.DiscardHandler))
	if p.now == nil {
		p.now = time.Now
	}
	if p.due == nil {
		p.due = p.now
	}
	return p, nil
}

// recordTime returns the present time as records hold it.
func (p *Policy) recordTime() time.Time { return p.now().UTC().Truncate(time.Millisecond) }

// dueTime returns the time for decisions that cannot be undone: see PolicyOptions.Due.
func (p *Policy) dueTime() time.Time { return p.due().UTC().Truncate(time.Millisecond) }

// kept is a value of the store with its record.
type kept[T any] struct {
	store.Record
	value T
}

// readKept yields the values below a prefix of the store that are behind the key after, without
// damaged ones. An error, which begins with what is done, is the last.
func readKept[T any](ctx context.Context, s store.Store, prefix, after, done string) iter.Seq2[kept[T], error] {
	return func(yield func(kept[T], error) bool) {
		for record, err := range store.Readable(s.List(ctx, prefix, after)) {
			k := kept[T]{Record: record}
			if err != nil {
				err = fmt.Errorf("%s: %w", done, err)
			} else {
				err = record.Decode(&k.value)
			}
			if !yield(k, err) || err != nil {
				return
			}
		}
	}
}

// Options configure an [Admission].
type Options struct {
	// Creators checks the DID of the creator while an agent registers; nil leaves it unchecked.
	Creators CreatorObserver
	// ReportDue is the time within which the operator intends to settle an abuse report; the
	// default is 72 hours.
	ReportDue time.Duration
	Rand      io.Reader // nil: crypto/rand; several goroutines read it at once
}

// A CreatorObserver looks up whether the DID document of a new agent's creator lists the agent's key.
type CreatorObserver interface {
	// ObserveNewAgent returns its observations, by signal. The map is empty if there is nothing to
	// look up or if the creator's host was queried within the cooldown.
	ObserveNewAgent(ctx context.Context, a registry.Agent) map[string]registry.Observation
}

// An Admission accepts new agents and abuse reports for a registry, by the rules of its [Policy].
// Its methods may be called from any goroutine. [New] makes one.
type Admission struct {
	*Policy
	registry    *registry.Registry
	creators    CreatorObserver
	rand        io.Reader
	reportDue   time.Duration
	openReports recordCounter
}

// New returns the admission to a registry whose guard is the policy.
func New(r *registry.Registry, p *Policy, o Options) *Admission {
	o.Rand = cmp.Or(o.Rand, rand.Reader)
	return &Admission{Policy: p, registry: r, creators: o.Creators, rand: o.Rand, reportDue: cmp.Or(o.ReportDue, defaultReportDue)}
}

// cleanupInterval is the time between two deletions of expired records.
const cleanupInterval = time.Hour

// Run deletes expired applications and reports every hour until ctx ends, and then returns nil. From
// its first start on the registry counts as attended, see [Policy.RecordAttention]; a time of
// attention that a clock ahead has left is corrected, too. The error is that of the store.
func (ad *Admission) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := cmp.Or(ad.startAttendedTime(ctx), ad.DeleteExpired(ctx)); err != nil {
			if !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrCorrupt) {
				return registry.IgnoreContextEnd(ctx, err)
			}
			if !errors.Is(err, store.ErrFull) { // the server reports a full disk
				ad.log.Warn("the records of the registration could not be cleaned up", "error", err)
			}
		}
		wait.ForSignal(ctx, cleanupInterval, nil)
	}
	return nil
}
