package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"gazetteer/store"
	"gazetteer/store/follow"
)

// IgnoreContextEnd returns nil for an error that is caused by the end of ctx.
func IgnoreContextEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// FollowAgents passes on the agents that are written behind a position, and moves it, until ctx ends;
// then it returns nil. It leaves out damaged records, which a lookup reports. rebuild is that of
// [follow.Options]; without it a new position passes on every agent.
func (r *Registry) FollowAgents(ctx context.Context, p *follow.Position, rebuild func(context.Context) error, written func(agents []Agent) error) error {
	apply := func(_ context.Context, batch []store.Record, _ store.Cursor) error {
		var agents []Agent
		for record := range follow.InTurns(batch) {
			airID, ok := strings.CutPrefix(record.Key, store.AgentPrefix)
			if !ok || strings.Contains(airID, "/") || record.Deleted {
				continue
			}
			if agent, err := decodeAgent(record); err == nil {
				agents = append(agents, agent)
			}
		}
		return written(agents)
	}
	return follow.Run(ctx, r.store, p, follow.Options{
		Name: "what is known of agents", Rebuild: rebuild, Apply: apply,
		Damaged: func(store.Record, error) {}, // looking the agent up says so
	})
}

// skipEntries is the number of records of an agent's history that are skipped one by one before the
// list starts again after them.
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
			for record, err := range store.Readable(r.store.List(ctx, store.AgentPrefix, from)) {
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
