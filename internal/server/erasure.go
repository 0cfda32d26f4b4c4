package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gazetteer/api/operator"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/store"
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

// compactPatience is how long a compaction waits for a part that makes no progress.
const compactPatience = 30 * time.Second

// A compactPart is a part of the data directory, beside the store, that may hold deleted content.
type compactPart struct {
	name     string
	follower follow.Follower             // nil for a part that does not follow the store
	failure  func() error                // the reason why the part does not follow; nil if it does not know
	compact  func(context.Context) error // nil for a part that overwrites deleted content in place
}

// An erasingLog is a follower that erases the content of deleted records in the transparency log.
// It does not wait for signatures.
type erasingLog struct{ *audit.Log }

func (l erasingLog) Cursor() store.Cursor { return l.ErasedTo() }

func (l erasingLog) WaitFor(ctx context.Context, seq uint64) error { return l.WaitErased(ctx, seq) }

func (h *Server) listCompactParts() []compactPart {
	parts := []compactPart{
		{"the index", h.Index, h.Index.Failure, h.Index.Compact},
		{"the transparency log", erasingLog{h.audit}, func() error { return h.audit.Status().EraseErr }, nil},
		{"the feed of changes", h.changes, nil, h.changes.Compact},
		{"the states of hosts", h.standing, nil, h.standing.Compact},
		{"the census", h.census.Follower(), nil, h.census.Compact},
	}
	if h.mail != nil {
		parts = append(parts, compactPart{"the mail", nil, nil, h.compactMail})
	}
	return parts
}

// compactViews removes deleted content from the parts of the data directory beside the store: each
// part applies all erasures first. A part that cannot follow the store, or cannot be compacted, does
// not keep the others; it is returned with the reason.
func (h *Server) compactViews(ctx context.Context) ([]operator.Uncompacted, error) {
	return h.compactParts(ctx, h.listCompactParts(), compactPatience)
}

func (h *Server) compactParts(ctx context.Context, parts []compactPart, patience time.Duration) (left []operator.Uncompacted, err error) {
	head := h.Store.Head().Seq
	failed := make([]error, len(parts))
	var writing sync.Mutex // one part writes at a time
	var group sync.WaitGroup
	for i, p := range parts {
		group.Go(func() {
			if failed[i] = h.awaitPart(ctx, p, head, patience); failed[i] != nil || p.compact == nil {
				return
			}
			writing.Lock()
			defer writing.Unlock()
			failed[i] = p.compact(ctx)
		})
	}
	group.Wait()
	for i, p := range parts {
		if failed[i] != nil {
			left = append(left, operator.Uncompacted{Part: p.name, Reason: failed[i].Error()})
		}
	}
	return left, ctx.Err()
}

// awaitPart waits until a part has followed the store up to a sequence. Meanwhile it is one of the
// parts that listAwaited returns.
func (h *Server) awaitPart(ctx context.Context, p compactPart, seq uint64, patience time.Duration) error {
	if p.follower == nil {
		return nil
	}
	h.awaited.Store(&p, nil) // by call: two compactions may wait for the same part
	defer h.awaited.Delete(&p)
	err := follow.Await(ctx, p.follower, seq, patience)
	if errors.Is(err, follow.ErrStalled) {
		err = fmt.Errorf("it has not followed the store for %v, and is at write %d of %d", patience, p.follower.Cursor().Seq, seq)
		if why := p.describeFailure(); why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
	}
	return err
}

// describeFailure returns the reason why a part does not follow, "" if it is not known.
func (p compactPart) describeFailure() string {
	if p.failure == nil {
		return ""
	}
	if err := p.failure(); err != nil {
		return err.Error()
	}
	return ""
}

// listAwaited returns the parts that a compaction waits for now.
func (h *Server) listAwaited() (parts []operator.Uncompacted) {
	for p := range h.awaited.Range {
		p := p.(*compactPart)
		part := operator.Uncompacted{Part: p.name, Reason: p.describeFailure()}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// compactMail deletes the mail of agents that were erased since the last compaction, and removes
// deleted mail from the file of the queue.
func (h *Server) compactMail(ctx context.Context) error {
	begun := h.clock.Now().UnixMilli()
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

// compactViewsQuietly runs compactViews in the hour of low load and logs the parts that are left.
func (h *Server) compactViewsQuietly(ctx context.Context) {
	left, err := h.compactViews(ctx)
	if err != nil {
		return // the server stops
	}
	for _, part := range left {
		h.log.Warn("deleted content may stay in a part of the data directory until the next compaction", "part", part.Part, "reason", part.Reason)
	}
}
