package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gazetteer/fetch"
	"gazetteer/store"
)

// A Block says that a host is not visited. It stays as a tombstone of what was
// removed with it, so that nothing leads there again.
type Block struct {
	Host string `json:"host"`
	// Subdomains blocks all hosts below Host too.
	Subdomains bool      `json:"subdomains,omitempty"`
	By         BlockedBy `json:"by"`
	Why        string    `json:"why,omitempty"` // for a person
	// Proof is what showed that the owner wishes it: "TXT _gazetteer.example.com".
	Proof string    `json:"proof,omitempty"`
	Since time.Time `json:"since"`
	// Operator: the operator wishes it beside the owner, whose wish it is then.
	Operator bool `json:"operator,omitempty"`
	// ByHand: the operator named it by a command, so that no list lifts it.
	ByHand bool `json:"by_hand,omitempty"`
}

// BlockedBy says whose wish a [Block] is.
type BlockedBy string

// Whose wish a block is.
const (
	ByOwner    BlockedBy = "owner"
	ByOperator BlockedBy = "operator" // by a list or a command: see [Crawler.SetBlockList]
)

// blockList is the blocks of the store in memory.
type blockList struct {
	loaded bool
	blocks map[string]Block // by host
}

// findBlock returns the block that a host falls under.
func (l *blockList) findBlock(host string) (Block, bool) {
	if b, ok := l.blocks[host]; ok {
		return b, true
	}
	for parent := host; ; {
		_, rest, more := strings.Cut(parent, ".")
		if !more {
			return Block{}, false
		}
		if b, ok := l.blocks[rest]; ok && b.Subdomains {
			return b, true
		}
		parent = rest
	}
}

// loadBlocks reads the blocks of the store, once.
func (c *Crawler) loadBlocks(ctx context.Context) error {
	c.blocking.Lock()
	defer c.blocking.Unlock()
	if c.blocks.loaded {
		return nil
	}
	found := map[string]Block{}
	for r, err := range c.store.List(ctx, store.BlockPrefix, "") {
		if err != nil && !store.Damaged(r, err) {
			return fmt.Errorf("read the hosts that are not visited: %w", err)
		}
		b := Block{Host: store.SplitKey(r.Key)[1], Since: c.now()}
		if err != nil || json.Unmarshal(r.Value, &b) != nil {
			// Who asked not to be visited is not visited for want of a reason.
			c.log.Error("the record of a blocked host is damaged; it stays blocked", "key", r.Key, "error", err)
		}
		found[b.Host] = b
	}
	c.blocks = blockList{true, found}
	return nil
}

// Blocked returns the block that a host falls under, and false when it may be
// visited. The error is one of the store.
func (c *Crawler) Blocked(ctx context.Context, host string) (Block, bool, error) {
	if err := c.loadBlocks(ctx); err != nil {
		return Block{}, false, err
	}
	c.blocking.Lock()
	defer c.blocking.Unlock()
	b, ok := c.blocks.findBlock(host)
	return b, ok, nil
}

// Blocks returns all blocks in order of host. The error is one of the store.
func (c *Crawler) Blocks(ctx context.Context) ([]Block, error) {
	if err := c.loadBlocks(ctx); err != nil {
		return nil, err
	}
	c.blocking.Lock()
	defer c.blocking.Unlock()
	all := make([]Block, 0, len(c.blocks.blocks))
	for _, host := range slices.Sorted(maps.Keys(c.blocks.blocks)) {
		all = append(all, c.blocks.blocks[host])
	}
	return all, nil
}

// Block makes a host one that is not visited any more, and removes what it
// published, with its history; its ledger stays. A visit under way ends without
// a trace in the store. The error is a *[fetch.HostError] for what is no host
// name, or one of the store.
func (c *Crawler) Block(ctx context.Context, b Block) error {
	name, err := fetch.CheckHost(b.Host)
	if err != nil {
		return err
	}
	if err := c.loadBlocks(ctx); err != nil {
		return err
	}
	b.Host = name
	if b.Since.IsZero() {
		b.Since = c.now()
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	// The word comes first: what is removed is not fetched again meanwhile.
	if _, err := c.store.Apply(ctx, store.Put(store.BlockKey(name), text)); err != nil {
		return fmt.Errorf("block %s: %w", name, err)
	}
	c.blocking.Lock()
	c.blocks.blocks[name] = b
	c.blocking.Unlock()
	if err := c.removeHosts(ctx, b); err != nil {
		return fmt.Errorf("remove what %s published: %w", name, err)
	}
	return nil
}

// removeHosts deletes the records of the hosts under a block.
func (c *Crawler) removeHosts(ctx context.Context, b Block) error {
	names := []string{b.Host}
	if b.Subdomains {
		for r, err := range c.store.List(ctx, store.HostPrefix+store.ReverseHost(b.Host)+".", "") {
			if err != nil && !store.Damaged(r, err) {
				return err
			}
			names = append(names, store.SplitKey(r.Key)[1])
		}
	}
	const most = 5000
	var writes []store.Write
	for _, name := range names {
		for _, prefix := range []string{store.DocumentsOf(name), store.VersionsOfAll(name)} {
			for r, err := range c.store.List(ctx, prefix, "") {
				if err != nil && !store.Damaged(r, err) {
					return err
				}
				writes = append(writes, store.Delete(r.Key))
			}
		}
		writes = append(writes, store.Delete(store.HostKey(name)))
	}
	for part := range slices.Chunk(writes, most) {
		if _, err := c.store.Apply(ctx, part...); err != nil {
			return err
		}
	}
	removed := make([]request, len(names))
	for i, name := range names {
		removed[i] = request{host: name, remove: true}
	}
	c.tellFrontier(removed, false)
	return nil
}

// Unblock lets a host be visited again, when somebody names it. It is no error
// when it was not blocked.
func (c *Crawler) Unblock(ctx context.Context, host string) error {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return err
	}
	if err := c.loadBlocks(ctx); err != nil {
		return err
	}
	if _, err := c.store.Apply(ctx, store.Delete(store.BlockKey(name))); err != nil {
		return fmt.Errorf("unblock %s: %w", name, err)
	}
	c.blocking.Lock()
	defer c.blocking.Unlock()
	delete(c.blocks.blocks, name)
	return nil
}

// SetBlockList makes the operator's blocks those of a list: "example.com" for one
// host, "*.example.com" for it and all below it. What was on the list before and
// is not now may be visited again; what owners asked for stays. The error names
// the entry that cannot be read, and nothing has changed then.
func (c *Crawler) SetBlockList(ctx context.Context, entries []string) error {
	wanted := map[string]bool{}
	for _, entry := range entries {
		host, below := strings.CutPrefix(strings.TrimSpace(entry), "*.")
		name, err := fetch.CheckHost(host)
		if err != nil {
			return fmt.Errorf("block list: %q: %w", entry, err)
		}
		wanted[name] = wanted[name] || below
	}
	if err := c.loadBlocks(ctx); err != nil {
		return err
	}
	c.blocking.Lock()
	before := maps.Clone(c.blocks.blocks)
	c.blocking.Unlock()
	for host, b := range before {
		if _, stays := wanted[host]; !stays && b.By == ByOperator && !b.ByHand {
			if err := c.Unblock(ctx, host); err != nil {
				return err
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(wanted)) {
		b, known := before[host]
		if known && (b.By == ByOwner || b.ByHand && b.Subdomains || b.Subdomains == wanted[host]) {
			continue
		}
		if err := c.Block(ctx, Block{Host: host, Subdomains: wanted[host], By: ByOperator, ByHand: b.ByHand, Why: "it is on the block list of whoever runs this server"}); err != nil {
			return err
		}
	}
	return nil
}

// blockReason reports that a host must not be asked, and why. The error is of the
// store as a whole.
func (c *Crawler) blockReason(ctx context.Context, host string) (why string, err error) {
	b, blocked, err := c.Blocked(ctx, host)
	switch {
	case err != nil && (isFatal(err) || errors.Is(err, context.Canceled)):
		return "", err
	case err != nil:
		return "who asked not to be visited cannot be read: " + err.Error(), nil
	case !blocked:
		return "", nil
	case b.By == ByOwner:
		return "the owner of " + b.Host + " does not want it to be visited", nil
	}
	return "whoever runs this server does not visit " + b.Host, nil
}
