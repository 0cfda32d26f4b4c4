package registry

import (
	"context"
	"net/netip"
	"time"
)

// SizeUnit is the number of bytes that one write of an agent may add to histories. Each further unit
// counts as one more write, so that the growth of the store and the log is bounded by bytes.
const SizeUnit = 4096

// TooManyChanges is the message for an agent that was changed more often than the quota allows, with the
// quota and [SizeUnit].
const TooManyChanges = "this agent was changed very often: at most %d times an hour, and each further %d bytes of its record count as one more change"

// maxSizeDebt is the longest time by which the size of earlier writes delays the next one, beyond the
// hour in which the quota returns.
const maxSizeDebt = time.Hour

// A chargedProof is what proved a change, and the client that sent it.
type chargedProof struct {
	client netip.Addr
	by     WriteProof
}

// countSize counts the size of the change in the records of the agents that proved it, and returns the
// size in units. The size is known only after the write was admitted, so it delays the writes after it.
func (c *Change) countSize() (units int) {
	bytes := c.addedBytes()
	for _, o := range c.others {
		bytes += o.addedBytes()
	}
	units = max(1, (bytes+SizeUnit-1)/SizeUnit)
	c.countUnits(units)
	for _, o := range c.others {
		o.countUnits(units)
	}
	return units
}

// addedBytes returns the size of what the change adds to the agent's own record.
func (c *Change) addedBytes() (n int) {
	for _, w := range c.writes {
		n += len(w.Value)
	}
	return n
}

// countUnits counts the units beyond the first, which was counted when the write was admitted.
func (c *Change) countUnits(units int) {
	if c.proof == nil || c.registry.writesPerHour < 0 {
		return
	}
	until := c.Agent.writesUntil(c.proof.by)
	if until == nil {
		return
	}
	each := time.Hour.Milliseconds() / int64(c.registry.writesPerHour)
	*until = min(*until+int64(units-1)*each, c.Now.Add(time.Hour+maxSizeDebt).UnixMilli())
}

// chargeSize charges the units to the clients that sent the proofs.
func (c *Change) chargeSize(ctx context.Context, units int) {
	if c.proof != nil {
		c.registry.guard.ChargeSize(ctx, c.proof.client, c.Agent, c.proof.by, units)
	}
	for _, o := range c.others {
		o.chargeSize(ctx, units)
	}
}
