package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/wait"
	"gazetteer/lint/format"
)

// changeKeys runs a command that makes, replaces or removes key files. One that runs at the same time
// would take a key of this one for that of an interrupted attempt, and could remove it.
func (a *verbs) changeKeys(ctx context.Context, k *keyring, use func(*cli.Client) error) error {
	unlock, err := a.lockKeys(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	return a.WithServer(ctx, cli.Registry, use)
}

// lockKeys waits until no other command changes the key files of the directory, and returns a function
// that lets others continue. It locks the directory itself, so that no file is left in it. If this
// command holds the lock already, nothing happens.
func (a *verbs) lockKeys(ctx context.Context, k *keyring) (unlock func(), err error) {
	if k.locked {
		return func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(k.path))
	if err != nil { // the command that needs a file in it explains that
		return func() {}, nil
	}
	for reported := false; ; reported = true {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) { // another error: this file system has no locks
			break
		}
		if !reported {
			fmt.Fprintf(a.Err, "Waiting for another command that changes the keys in %s.\n", format.Visible(filepath.Dir(k.path)))
		}
		if err := wait.For(ctx, 20*time.Millisecond); err != nil {
			dir.Close()
			return nil, err
		}
	}
	k.locked = true
	return func() { k.locked = false; dir.Close() }, nil
}
