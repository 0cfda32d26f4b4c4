package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/internal/psl"
	"gazetteer/internal/wait"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/follow"
)

const (
	// cooldownPeriod is the least time between two checks that ask the hosts of one registrable
	// domain: a thousand agents that name it must not cause a thousand requests.
	cooldownPeriod = time.Minute
	// minRecheckInterval is the least time between two rechecks of one agent.
	minRecheckInterval = time.Minute
	// maxConcurrentChecks is the number of agents that are checked at a time.
	maxConcurrentChecks = 8
	// maxScheduleWait is how long the rechecks wait at most before they compare the clock again.
	maxScheduleWait = 10 * time.Minute
)

// Recheck checks everything that is due for an agent: proved domains, observations, and a recovery
// whose delay is over. [Collector.Run] calls it regularly. It queries no host twice within a
// minute; the omitted checks stay due.
func (e *Collector) Recheck(ctx context.Context, airID string) error {
	agent, _, err := e.registry.LoadAgent(ctx, airID)
	if err != nil || agent.Status != registry.Active {
		return err
	}
	clock := e.registry.Timestamp()
	now, steady := e.registry.DueTime(), e.registry.SteadyTime()
	domains, observed := map[string]domainCheck{}, map[string]registry.Observation{}
	for _, d := range agent.Domains {
		if !d.Withdrawn.IsZero() {
			continue
		}
		scheduled, contestedDue := !nextProbe(d, e.recheck, clock).After(now), e.proven.checkDue(d.Name, airID)
		contested := !contestedDue.IsZero()
		if !scheduled && (!contested || contestedDue.After(now)) || !e.cooldown.tryStart(psl.Domain(d.Name), steady) {
			continue
		}
		check := e.probeDomain(ctx, agent, d.Name)
		check.scheduled, check.contested = scheduled, contested
		domains[d.Name] = check
		if contested {
			e.proven.postpone(d.Name, airID, now.Add(e.recheck/24))
		}
	}
	for _, signal := range e.observableSignals(agent) {
		o, seen := agent.Observation(signal)
		if seen && nextObservation(o, e.recheck, clock).After(now) {
			continue
		}
		if host := askedDomain(agent, signal); host == "" || e.cooldown.tryStart(host, steady) {
			observed[signal] = e.observeSignal(ctx, agent, signal)
		}
	}
	if ctx.Err() != nil {
		return nil // what came back says nothing
	}
	if len(domains) == 0 && len(observed) == 0 && (agent.Recovery == nil || now.Before(agent.Recovery.Due)) {
		return nil
	}
	_, err = e.registry.ChangeAgent(ctx, airID, func(c *registry.Change) error {
		for name, check := range domains {
			if err := recordProbes(c, name, check); err != nil {
				return err
			}
		}
		for signal, o := range observed {
			if err := recordObservation(c, signal, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recheck agent %s: %w", airID, err)
	}
	return nil
}

// askedDomain returns the registrable domain that the observation of a signal asks, "" for none.
func askedDomain(a registry.Agent, signal string) string {
	switch signal {
	case registry.SignalDID:
		return registry.DomainOf(a.CreatorDID)
	case registry.SignalInbox:
		return registry.DomainOf(a.InboxURL())
	case registry.SignalRepository:
		return registry.DomainOf(a.CodeRepository)
	}
	return ""
}

// Run rechecks the agents when they are due, until ctx ends, and then returns nil. The error is
// that of the store.
func (e *Collector) Run(ctx context.Context) error {
	d := &checkSchedule{due: map[string]time.Time{}, moved: make(chan struct{}, 1)}
	var position follow.Position
	position.MoveTo(e.store.Head())
	if err := e.scheduleAll(ctx, d); err != nil {
		return registry.IgnoreContextEnd(ctx, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return e.registry.FollowAgents(ctx, &position, nil, func(agents []registry.Agent) error {
			for _, a := range agents {
				if err := e.schedule(ctx, d, a); err != nil {
					return err
				}
			}
			return nil
		})
	})
	g.Go(func() error { return e.recheckDue(ctx, d) })
	return registry.IgnoreContextEnd(ctx, g.Wait())
}

// scheduleAll sets the times of the checks of all agents.
func (e *Collector) scheduleAll(ctx context.Context, d *checkSchedule) error {
	for agent, err := range e.registry.AllAgents(ctx, "") {
		if err != nil {
			return err
		}
		if err := e.schedule(ctx, d, agent); err != nil {
			return err
		}
	}
	return nil
}

// schedule sets the time of the next check of an agent, and of those whose proofs it contests.
func (e *Collector) schedule(ctx context.Context, d *checkSchedule, a registry.Agent) error {
	contested := e.proven.update(a)
	d.setDue(a.AirID, e.NextCheck(a))
	for _, airID := range contested {
		switch other, _, err := e.registry.LoadAgent(ctx, airID); {
		case errors.Is(err, registry.ErrNoAgent) || errors.Is(err, store.ErrCorrupt):
		case err != nil:
			return err
		default:
			d.setDue(airID, e.NextCheck(other))
		}
	}
	return nil
}

// recheckDue rechecks the agents when they become due. After the clock was set back it makes the
// schedule again, which has times of a clock that was ahead.
func (e *Collector) recheckDue(ctx context.Context, d *checkSchedule) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxConcurrentChecks)
	lately := map[string]time.Time{} // owned by this loop: when agents were attended, in steady time
	var last time.Time
	for ctx.Err() == nil {
		now, steady := e.registry.DueTime(), e.registry.SteadyTime()
		if now.Before(last) {
			if err := e.scheduleAll(ctx, d); err != nil {
				return registry.IgnoreContextEnd(ctx, errors.Join(err, g.Wait()))
			}
		}
		last = now
		airID, untilDue := d.nextDue(now)
		if airID == "" {
			wait.ForSignal(ctx, min(untilDue, maxScheduleWait), d.moved)
			continue
		}
		if pause := minRecheckInterval - steady.Sub(lately[airID]); pause > 0 {
			d.setDue(airID, now.Add(pause))
			continue
		}
		if len(lately) > 10000 {
			for old, at := range lately {
				if steady.After(at.Add(minRecheckInterval)) {
					delete(lately, old)
				}
			}
		}
		lately[airID] = steady
		g.Go(func() error {
			if err := e.Recheck(ctx, airID); err != nil && !errors.Is(err, registry.ErrNoAgent) {
				if !slices.ContainsFunc([]error{store.ErrFull, store.ErrCorrupt}, func(e error) bool { return errors.Is(err, e) }) {
					return registry.IgnoreContextEnd(ctx, err)
				}
				e.log.Warn("an agent could not be checked", "air_id", airID, "error", err)
			}
			// Omitted checks are still due.
			if agent, _, err := e.registry.LoadAgent(ctx, airID); err == nil {
				d.setDue(airID, e.NextCheck(agent))
			}
			return nil
		})
	}
	return g.Wait()
}
