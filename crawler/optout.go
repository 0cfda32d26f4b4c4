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

// A Block says that a host must not be visited. It stays as a tombstone after the removal of the
// host's data, so that no link adds the host again.
type Block struct {
	Host string `json:"host"`
	// Subdomains blocks all hosts below Host too.
	Subdomains bool      `json:"subdomains,omitempty"`
	By         blockedBy `json:"by"`
	Why        string    `json:"why,omitempty"` // for a person
	// Proof is the evidence of the owner's request: "TXT _gazetteer.example.com".
	Proof string    `json:"proof,omitempty"`
	Since time.Time `json:"since"`
	// Operator is set if the operator requested the block too, so that the owner cannot end it.
	Operator bool `json:"operator,omitempty"`
	// ByHand is set when the operator named the host by a command, so that no list lifts the block.
	ByHand bool `json:"by_hand,omitempty"`
}

// blockedBy says who requested a [Block].
type blockedBy string

// The sources of a block.
const (
	ByOwner    blockedBy = "owner"
	ByOperator blockedBy = "operator" // by a list or a command: see [Crawler.SetBlockList]
)

// blockList holds the store's blocks in memory.
type blockList struct {
	loaded bool
	blocks map[string]Block // by host
}

// findBlock returns the block that covers a host.
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
			// A damaged reason must not lift the owner's block.
			c.log.Error("the record of a blocked host is damaged; it stays blocked", "key", r.Key, "error", err)
		}
		found[b.Host] = b
	}
	c.blocks = blockList{true, found}
	return nil
}

// Blocked returns the block that covers a host, and false when the host may be visited. The error
// is one of the store.
func (c *Crawler) Blocked(ctx context.Context, host string) (Block, bool, error) {
	if err := c.loadBlocks(ctx); err != nil {
		return Block{}, false, err
	}
	c.blocking.Lock()
	defer c.blocking.Unlock()
	b, ok := c.blocks.findBlock(host)
	return b, ok, nil
}

// Blocks returns all blocks ordered by host. The error is one of the store.
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

// Block stops all visits to a host and removes its published data, with the histories of its
// documents and states and the bytes that no other host publishes; its crawl log stays. A running
// visit leaves no trace in the store. The error is a *[fetch.HostError] for a bad host name, or one
// of the store.
func (c *Crawler) Block(ctx context.Context, b Block) error {
	digests := map[string]bool{}
	if err := c.blockHost(ctx, b, digests); err != nil {
		return err
	}
	return c.removeUnusedBlobs(ctx, digests)
}

// blockHost does what Block does, but adds the digests of removed documents to digests.
func (c *Crawler) blockHost(ctx context.Context, b Block, digests map[string]bool) error {
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
	// The block is written first, so that nothing removed is fetched again in the meantime.
	put := store.Put(store.BlockKey(name), text)
	_, err = c.store.Apply(ctx, put)
	if errors.Is(err, store.ErrFull) {
		err = c.blockOnFullDisk(ctx, b, put, digests)
	}
	if err != nil {
		return fmt.Errorf("block %s: %w", name, err)
	}
	c.blocking.Lock()
	c.blocks.blocks[name] = b
	c.blocking.Unlock()
	if err := c.removeHosts(ctx, b, digests); err != nil {
		return fmt.Errorf("remove what %s published: %w", name, err)
	}
	return nil
}

// mostRemovals limits the deletions in one write of the store.
const mostRemovals = 5000

// blockOnFullDisk stores a block together with deletions: the store accepts that on a full disk,
// because both together free space.
func (c *Crawler) blockOnFullDisk(ctx context.Context, b Block, put store.Write, digests map[string]bool) error {
	_, writes, err := c.listRemovals(ctx, b, digests)
	if err != nil {
		return err
	}
	_, err = c.store.Apply(ctx, append(writes[:min(len(writes), mostRemovals)], put)...)
	return err
}

// removeHosts deletes the records of the hosts under a block, and adds the digests of their documents
// to digests.
func (c *Crawler) removeHosts(ctx context.Context, b Block, digests map[string]bool) error {
	names, writes, err := c.listRemovals(ctx, b, digests)
	if err != nil {
		return err
	}
	removed := make([]request, len(names))
	for i, name := range names {
		writes = append(writes, store.Delete(store.HostKey(name)))
		removed[i] = request{host: name, remove: true}
	}
	for part := range slices.Chunk(writes, mostRemovals) {
		if _, err := c.store.Apply(ctx, part...); err != nil {
			return err
		}
	}
	c.tellFrontier(removed, false)
	return nil
}

// listHosts returns the names of the hosts under a block.
func (c *Crawler) listHosts(ctx context.Context, b Block) ([]string, error) {
	names := []string{b.Host}
	if b.Subdomains {
		for r, err := range c.store.List(ctx, store.HostPrefix+store.ReverseHost(b.Host)+".", "") {
			if err != nil && !store.Damaged(r, err) {
				return nil, err
			}
			names = append(names, store.SplitKey(r.Key)[1])
		}
	}
	return names, nil
}

// listRemovals returns the names of the hosts under a block and the deletions of what they published
// and of their states, and adds the digests of their documents to digests.
func (c *Crawler) listRemovals(ctx context.Context, b Block, digests map[string]bool) (
	names []string, writes []store.Write, err error,
) {
	if names, err = c.listHosts(ctx, b); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		for _, prefix := range []string{store.DocumentsOf(name), store.VersionsOfAll(name), store.TurnsOf(name)} {
			for r, err := range c.store.List(ctx, prefix, "") {
				if err != nil && !store.Damaged(r, err) {
					return nil, nil, err
				}
				writes = append(writes, store.Delete(r.Key))
				if digest := digestOf(r); digest != "" {
					digests[digest] = true
				}
			}
		}
	}
	return names, writes, nil
}

// digestOf returns the digest of the bytes that the record of a document or of a version refers to;
// "" if there is none or the record cannot be read.
func digestOf(r store.Record) string {
	var d struct {
		Digest string `json:"digest"`
	}
	if json.Unmarshal(r.Value, &d) != nil {
		return ""
	}
	return d.Digest
}

// removeUnusedBlobs deletes those of the blobs that no document and no version refers to.
func (c *Crawler) removeUnusedBlobs(ctx context.Context, digests map[string]bool) error {
	if len(digests) == 0 {
		return nil
	}
	c.blobbing.Lock()
	defer c.blobbing.Unlock()
	for _, prefix := range []string{store.DocumentPrefix, store.VersionPrefix} {
		for r, err := range c.store.List(ctx, prefix, "") {
			if store.Damaged(r, err) {
				return nil // it may refer to any of them
			}
			if err != nil {
				return fmt.Errorf("look for documents with the same bytes: %w", err)
			}
			delete(digests, digestOf(r))
		}
	}
	var writes []store.Write
	for digest := range digests {
		writes = append(writes, store.Delete(store.BlobKey(digest)))
	}
	if _, err := c.store.Apply(ctx, writes...); err != nil {
		return fmt.Errorf("remove the bytes of documents: %w", err)
	}
	return nil
}

// Unblock allows visits to a host again, once somebody names it. Unblocking a host that is not
// blocked is not an error.
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

// SetBlockList replaces the operator's blocks by those of a list: "example.com" for one host,
// "*.example.com" for it and all hosts below. Hosts that are no longer listed may be visited again;
// blocks by owners stay. The error names the entry that cannot be read; nothing has changed then.
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
	digests := map[string]bool{}
	for _, host := range slices.Sorted(maps.Keys(wanted)) {
		b, known := before[host]
		if known && (b.By == ByOwner || b.ByHand && b.Subdomains || b.Subdomains == wanted[host]) {
			continue
		}
		if err := c.blockHost(ctx, Block{Host: host, Subdomains: wanted[host], By: ByOperator, ByHand: b.ByHand, Why: "it is on the block list of the operator of this server"}, digests); err != nil {
			return err
		}
	}
	return c.removeUnusedBlobs(ctx, digests)
}

// blockReason returns why a host must not be asked, or "". The error concerns the store as a whole.
func (c *Crawler) blockReason(ctx context.Context, host string) (why string, err error) {
	b, blocked, err := c.Blocked(ctx, host)
	switch {
	case err != nil && (isFatal(err) || errors.Is(err, context.Canceled)):
		return "", err
	case err != nil:
		return "the list of opted-out hosts cannot be read: " + err.Error(), nil
	case !blocked:
		return "", nil
	case b.By == ByOwner:
		return "the owner of " + b.Host + " does not want it to be visited", nil
	}
	return "the operator of this server does not visit " + b.Host, nil
}
