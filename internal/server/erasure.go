package server

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/registry"
	"gazetteer/store"
)

// trackErasures notes when an agent was erased last, so that the next compaction copies the files that
// still hold its content in unused pages.
func (h *Server) trackErasures(ctx context.Context) error {
	err := h.registry.FollowAgents(ctx, store.Cursor{}, func(agents []registry.Agent, _ store.Cursor) error {
		for _, a := range agents {
			if at := a.Updated.UnixMilli(); a.Status == registry.Erased && at > h.erased.Load() {
				h.erased.Store(at)
			}
		}
		return nil
	})
	return registry.IgnoreContextEnd(ctx, err)
}

// holdsErased reports whether an agent was erased since the store was copied last. After a start it is
// not known when that was, so any erased agent counts.
func (h *Server) holdsErased(ctx context.Context) bool {
	upkeep, err := h.Store.Upkeep(ctx)
	erased := h.erased.Load()
	return err == nil && erased > 0 && (upkeep.Last.IsZero() || erased >= upkeep.Last.UnixMilli())
}

// compactMail waits until the index and the log have followed what was erased, deletes the mail of agents
// that were erased since the last time, and removes deleted mail from the file of the queue.
func (h *Server) compactMail(ctx context.Context) error {
	head, begun := h.Store.Head().Seq, h.clock.Now().UnixMilli()
	if err := errors.Join(h.Index.WaitFor(ctx, head), h.audit.WaitFor(ctx, head)); err != nil {
		return fmt.Errorf("wait for what follows the store: %w", err)
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
		return fmt.Errorf("compact the mail: %w", err)
	}
	h.mailCompacted.Store(begun)
	return nil
}

// compactMailQuietly is compactMail in the quiet hour: a failure has a line in the log.
func (h *Server) compactMailQuietly(ctx context.Context) {
	if err := h.compactMail(ctx); err != nil && ctx.Err() == nil {
		h.log.Warn("deleted mail stays in the file until new mail takes its place", "error", err)
	}
}
