package server

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/registry"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// trackErasures records the time of the last erasure of an agent, so that the next compaction
// copies the files that still contain erased content in unused pages.
func (h *Server) trackErasures(ctx context.Context) error {
	return h.registry.FollowAgents(ctx, new(follow.Position), nil, func(agents []registry.Agent) error {
		for _, a := range agents {
			if at := a.Updated.UnixMilli(); a.Status == registry.Erased && at > h.erased.Load() {
				h.erased.Store(at)
			}
		}
		return nil
	})
}

// holdsErased reports whether an agent was erased, or a host opted out, since the last copy of the
// store. After a start that time is unknown, so any erased agent and any blocked host count.
func (h *Server) holdsErased(ctx context.Context) bool {
	erased := h.erased.Load()
	blocks, err := h.Crawler.Blocks(ctx)
	for _, b := range blocks {
		erased = max(erased, b.Since.UnixMilli())
	}
	if err != nil || erased == 0 {
		return false
	}
	upkeep, err := h.Store.Upkeep(ctx)
	return err == nil && isErasedSince(erased, upkeep)
}

// isErasedSince reports whether an erasure at that time, in milliseconds, may have left content in
// the newest copy of the store: the copy may have taken the content over before the erasure, if that
// came while the copy was being made.
func isErasedSince(erased int64, upkeep boltstore.Upkeep) bool {
	return upkeep.Last.IsZero() || erased >= upkeep.Last.Add(-upkeep.LastTook).UnixMilli()
}

// compactViews waits until the index, the log and the feed of changes have applied all erasures. It
// then deletes the mail of agents that were erased since the last compaction, and removes deleted
// records from the files of the index, of the feed and of the queue.
func (h *Server) compactViews(ctx context.Context) error {
	head, begun := h.Store.Head().Seq, h.clock.Now().UnixMilli()
	if err := errors.Join(h.Index.WaitFor(ctx, head), h.audit.WaitErased(ctx, head), h.changes.WaitFor(ctx, head)); err != nil {
		return fmt.Errorf("wait for the followers of the store: %w", err)
	}
	if err := errors.Join(h.Index.Compact(ctx), h.changes.Compact(ctx)); err != nil {
		return err
	}
	if h.mail == nil {
		return nil
	}
	for agent, err := range h.registry.AllAgents(ctx, "") {
		if err == nil && agent.Status == registry.Erased && agent.Updated.UnixMilli() >= h.mailCompacted.Load() {
			err = h.relay.Wipe(ctx, h.registry.DID(agent.AirID))
		}
		if err != nil {
			return fmt.Errorf("delete the mail of an erased agent: %w", err)
		}
	}
	if err := h.mail.Compact(ctx); err != nil {
		return err
	}
	h.mailCompacted.Store(begun)
	return nil
}

// compactViewsQuietly runs compactViews in the hour of low load and logs a failure.
func (h *Server) compactViewsQuietly(ctx context.Context) {
	if err := h.compactViews(ctx); err != nil && ctx.Err() == nil {
		h.log.Warn("deleted content stays in the files of the feed and of the mail until new values overwrite it", "error", err)
	}
}
