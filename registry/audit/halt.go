package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// Causes of a [Halt].
const (
	// CauseWitness: a witness cosigned a tree that this log signed and does not contain.
	CauseWitness = "witness"
	// CauseLock: the lock holds a checkpoint that another process has signed.
	CauseLock = "lock"
	// CauseDamage: a file of the log differs from what the log wrote.
	CauseDamage = "damage"
)

// A Halt is the reason why a log no longer signs. It is stored in the directory of the log, so that
// it survives a restart. [Log.Resume] ends it.
type Halt struct {
	Cause  string    `json:"cause" doc:"witness, lock or damage"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Remedy returns what the operator must do before signing can resume.
func (h Halt) Remedy() string {
	switch h.Cause {
	case CauseWitness:
		return "put back a newer copy of the data directory, or begin another log (registry.log_origin), or remove a witness that is wrong from registry.witnesses; then run: gazetteer registry resume-signing"
	case CauseLock:
		return "stop the other process that signs for this log, and continue with the newer of the two data directories; then run there: gazetteer registry resume-signing"
	}
	return "stop the server and put back a copy of the directory of the log; then run: gazetteer registry resume-signing"
}

// String returns one line for the operator.
func (h Halt) String() string {
	return fmt.Sprintf("the transparency log signs nothing more since %s (%s): %s; to repair it, %s", h.Since.UTC().Format(time.RFC3339), h.Cause, h.Reason, h.Remedy())
}

// Halt stops signing because of a contradiction to signed checkpoints. The log can still be read,
// but does not grow. Halt stores the reason; later calls do not change it.
func (l *Log) Halt(cause string, reason error) {
	h := Halt{Cause: cause, Reason: describeHalt(reason), Since: l.now().UTC().Truncate(time.Second)}
	l.mu.Lock()
	if l.halt != nil || l.closed {
		l.mu.Unlock()
		return
	}
	l.halt = &h
	l.position.SetError(ErrHalted)
	l.mu.Unlock()
	l.log.Error(h.String(), "dir", l.dir)
	text, err := json.Marshal(h)
	if err == nil {
		err = privatefile.Replace(filepath.Join(l.dir, haltFile), append(text, '\n'))
	}
	if err != nil {
		l.log.Error("it could not be stored that the log is halted: a restart would sign again", "dir", l.dir, "error", err)
	}
}

// describeHalt describes the contradiction, without the advice, which the [Halt] adds itself.
func describeHalt(reason error) string {
	if fork, ok := errors.AsType[*ForkError](reason); ok {
		return fork.Problem
	}
	if damage, ok := errors.AsType[*tiles.DamagedError](reason); ok {
		return damage.File + " " + damage.Problem
	}
	return reason.Error()
}

// Halted returns the reason why the log no longer signs; false while it signs.
func (l *Log) Halted() (Halt, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.halt == nil {
		return Halt{}, false
	}
	return *l.halt, true
}

// readHalt reads the reason of the halt; nil if the log is not halted.
func readHalt(dir string) (*Halt, error) {
	path := filepath.Join(dir, haltFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h Halt
	if err := json.Unmarshal(text, &h); err != nil || h.Cause == "" {
		// The log was halted: it must not sign only because the stored reason is damaged.
		return &Halt{Cause: CauseDamage, Reason: path + " is damaged, so the reason is lost"}, nil
	}
	return &h, nil
}

// haltCause returns the cause of a halt for an error, "" if the error is not a cause.
func haltCause(err error) string {
	if fork, ok := errors.AsType[*ForkError](err); ok {
		return fork.cause
	}
	if errors.Is(err, tiles.ErrDamaged) {
		return CauseDamage
	}
	return ""
}

// haltIfDamaged halts the log if a reader has found damage.
func (l *Log) haltIfDamaged(err *error) {
	if errors.Is(*err, tiles.ErrDamaged) {
		l.Halt(CauseDamage, *err)
	}
}

// awaitResume waits until a halted log may sign again, or ctx ends.
func (l *Log) awaitResume(ctx context.Context) error {
	for {
		resumed := l.resumed.Next()
		if _, halted := l.Halted(); !halted {
			return nil
		}
		select {
		case <-resumed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Resume checks the whole log, and lets it sign again if it is intact: every leaf and every hash
// must lead to the last checkpoint, and the lock must hold no other one. The caller must ask the
// witnesses. Resume does nothing to a log that is not halted.
func (l *Log) Resume(ctx context.Context) error {
	if _, halted := l.Halted(); !halted {
		return nil
	}
	if err := l.checkWhole(ctx); err != nil {
		return fmt.Errorf("resume signing: %w", err)
	}
	if err := privatefile.Remove(filepath.Join(l.dir, haltFile)); err != nil {
		return fmt.Errorf("resume signing: %w", err)
	}
	l.mu.Lock()
	l.halt = nil
	if !l.closed {
		l.position.SetError(nil)
	}
	l.mu.Unlock()
	l.resumed.Notify()
	l.log.Info("the transparency log signs again", "dir", l.dir)
	return nil
}

// checkWhole checks every leaf and hash, including unsigned ones, and the lock.
func (l *Log) checkWhole(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.inUse.RLock()
	defer l.inUse.RUnlock()
	l.mu.Lock()
	l.damage = nil // it may have been repaired
	last, closed := l.last, l.closed
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	s, err := readState(l.dir)
	if err != nil {
		return err
	}
	for index := range s.Size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, _, err := l.leaves.readEntry(index, l.hashes); err != nil {
			return err
		}
	}
	if err := l.hashes.findWrongHash(s.Size); err != nil {
		return err
	}
	if s.Size >= last.N {
		if err := l.checkContains(last); err != nil {
			return err
		}
	}
	if err := l.checkCopy(); err != nil {
		return err
	}
	if s.Size < last.N {
		return nil // the comparison follows when the tree is complete again
	}
	root, err := tlog.TreeHash(s.Size, l.hashes)
	if err != nil {
		return err
	}
	size, err := l.askLock(ctx, checkpoint.Checkpoint{Origin: l.key.Name(), Tree: tlog.Tree{N: s.Size, Hash: root}})
	if err == nil && size > s.Size {
		err = l.lockIsAhead(size, s.Size)
	}
	return err
}
