package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/tlog"
)

// A witness can be the lock of a log: a checkpoint then counts only after that witness has cosigned
// it. The witness performs a compare-and-swap (C2SP tlog-witness): it accepts a checkpoint only
// with a proof from the last accepted one. So only one of two copies of a directory can sign,
// wherever they run.

// lockTimeout bounds the answer of the lock.
const lockTimeout = 10 * time.Second

// eraseDelay is the time after which deleted records no longer wait for the answer of the lock.
const eraseDelay = time.Second

// ErrLock means that the lock did not answer, or refused, so that the log cannot sign at the moment.
var ErrLock = errors.New("the lock of the log has not cosigned")

// askLock compares a tree with the lock's tree, and sets the number of leaves that the tree must
// have before the next signature. It returns the size of the lock's tree.
func (l *Log) askLock(ctx context.Context, head checkpoint.Checkpoint) (int64, error) {
	if l.lockWitness == nil {
		return 0, nil
	}
	signed, err := head.Sign(l.key)
	if err != nil {
		return 0, err
	}
	prove := func(older int64) (tlog.TreeProof, error) { return l.proveGrowth(older, head) }
	_, size, err := l.submitToLock(ctx, l.lockedSize(head), head, signed, prove)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if size > head.N {
		l.lockSize = size
	}
	return cmp.Or(size, head.N), nil
}

// askSilentLock asks a lock that did not answer about the newest checkpoint again, so that the status
// of the log shows that it can sign before the next leaf is there.
func (l *Log) askSilentLock(ctx context.Context, last checkpoint.Checkpoint) error {
	l.mu.Lock()
	silent := errors.Is(l.blocked, ErrLock)
	l.mu.Unlock()
	if !silent {
		return nil
	}
	_, err := l.askLock(ctx, last)
	return err
}

// lockedSize returns the assumed size of the lock's tree.
func (l *Log) lockedSize(head checkpoint.Checkpoint) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.witnessed[l.lockWitness.Key.Name()], head.N)
}

// proveGrowth proves that a tree contains a smaller one. The tree may be unsigned.
func (l *Log) proveGrowth(older int64, head checkpoint.Checkpoint) (tlog.TreeProof, error) {
	if older == 0 || older == head.N {
		return tlog.TreeProof{}, nil
	}
	return tlog.ProveTree(head.N, older, l.hashes)
}

// submitToLock submits a checkpoint to the lock. It returns the cosignature, or the size of the
// lock's tree if that is larger.
func (l *Log) submitToLock(ctx context.Context, older int64, head checkpoint.Checkpoint, signed []byte, prove prover) (lines []byte, larger int64, err error) {
	name := l.lockWitness.Key.Name()
	client := newWitnessClient(lockTimeout)
	url := l.lockWitness.URL + "/add-checkpoint"
	l.mu.Lock()
	l.lockSubmitted = max(l.lockSubmitted, head.N)
	l.mu.Unlock()
	lines, size, err := submitCheckpoint(ctx, client, url, older, head, signed, prove)
	if err == nil && lines == nil {
		if size > head.N {
			return nil, size, nil
		}
		lines, _, err = submitCheckpoint(ctx, client, url, size, head, signed, prove)
	}
	if fork, ok := errors.AsType[*ForkError](err); ok {
		return nil, 0, &ForkError{cause: CauseLock, Problem: "the lock " + name + ": " + fork.Problem + ", or another copy of this directory is in use", Remedy: "stop the other copy for good, or " + remedyRestore}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %s: %w", ErrLock, name, err)
	}
	if lines == nil {
		return nil, 0, fmt.Errorf("%w: %s: its last checkpoint changes during the request", ErrLock, name)
	}
	_, n, err := checkpoint.Open(append(append([]byte{}, signed...), lines...), l.lockWitness.Key)
	if err != nil || len(n.Sigs) == 0 {
		return nil, 0, fmt.Errorf("%w: %s has answered without a signature of its key", ErrLock, name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteWitnessed(name, head.N)
	l.lockAnswered = l.now()
	return fmt.Appendf(nil, "\u2014 %s %s\n", n.Sigs[0].Name, n.Sigs[0].Base64), 0, nil
}

// swapLock submits a new checkpoint to the lock before it counts, and returns the checkpoint with
// the cosignature. wait is true if the lock has a larger tree, to whose size this one must grow
// first.
func (l *Log) swapLock(ctx context.Context, head checkpoint.Checkpoint, signed []byte) (cosigned []byte, wait bool, err error) {
	if l.lockWitness == nil {
		return signed, false, nil
	}
	prove := func(older int64) (tlog.TreeProof, error) { return l.proveGrowth(older, head) }
	var lines []byte
	var larger int64
	err = l.eraseWhile(ctx, eraseDelay, func(ctx context.Context) (err error) {
		lines, larger, err = l.submitToLock(ctx, l.lockedSize(head), head, signed, prove)
		return err
	})
	switch {
	case err != nil:
		return nil, false, err
	case larger == 0:
		return append(signed, lines...), false, nil
	case l.state.Seq < l.store.Head().Seq:
		l.mu.Lock()
		l.lockSize = larger
		l.mu.Unlock()
		return nil, true, nil
	}
	return nil, false, l.lockIsAhead(larger, head.N)
}

// lockIsAhead returns the error of a lock with a larger tree than the store can build.
func (l *Log) lockIsAhead(locked, size int64) error {
	return &ForkError{cause: CauseLock, Remedy: "stop the other copy for good, or " + remedyRestore,
		Problem: fmt.Sprintf("the lock %s holds a checkpoint of %d leaves, and this tree has %d: another copy of this directory is in use, or this is an older one", l.lockWitness.Key.Name(), locked, size)}
}

// mustReach returns the number of leaves that the tree must have before the log signs.
func (l *Log) mustReach() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.last.N, l.lockSize)
}
