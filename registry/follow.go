package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"gazetteer/store"
)

// IgnoreContextEnd returns nil for an error that is caused by the end of ctx.
func IgnoreContextEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// FollowAgents passes on the agents that are written after the cursor, with the cursor behind them,
// until ctx ends. It leaves out damaged records, which a lookup reports.
func (r *Registry) FollowAgents(ctx context.Context, after store.Cursor, written func(agents []Agent, upTo store.Cursor) error) error {
	o := store.FollowOptions{Damaged: func(store.Record, error) {}} // looking the agent up says so
	apply := func(batch []store.Record, upTo store.Cursor) error {
		var agents []Agent
		for _, record := range batch {
			airID, ok := strings.CutPrefix(record.Key, store.AgentPrefix)
			if !ok || strings.Contains(airID, "/") || record.Deleted {
				continue
			}
			if agent, err := decodeAgent(record); err == nil {
				agents = append(agents, agent)
			}
		}
		return written(agents, upTo)
	}
	for {
		err := store.Follow(ctx, r.store, after, o, apply)
		if !errors.Is(err, store.ErrCursorGone) {
			return err
		}
		after = store.Cursor{} // too far behind: every agent is read again
	}
}

// skipEntries is how many records of an agent's history are read over before
// the list is begun again behind them.
const skipEntries = 64

// AllAgents yields the stored agents in the order of AIR IDs, beginning after the given one. It
// leaves out damaged records, which a lookup reports.
func (r *Registry) AllAgents(ctx context.Context, after string) iter.Seq2[Agent, error] {
	return func(yield func(Agent, error) bool) {
		for more := true; more; {
			from, entries := "", 0
			if after != "" {
				from = store.EntriesOf(after) + "~" // behind the entries of after
			}
			more = false
			for record, err := range r.store.List(ctx, store.AgentPrefix, from) {
				if store.Damaged(record, err) {
					continue
				}
				if err != nil {
					yield(Agent{}, fmt.Errorf("list agents: %w", err))
					return
				}
				if strings.Contains(record.Key[len(store.AgentPrefix):], "/") {
					if entries++; entries > skipEntries {
						more = true
						break
					}
					continue
				}
				entries = 0
				agent, err := decodeAgent(record)
				if !yield(agent, err) || err != nil {
					return
				}
				after = strings.TrimPrefix(record.Key, store.AgentPrefix)
			}
		}
	}
}
