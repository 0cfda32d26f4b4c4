package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

const (
	// syncBytes is the number of bytes of a copy between two syncs: writing all of it at once would
	// delay the commits of the serving file.
	syncBytes = 4 << 20
	// catchUpWrites is the maximum number of writes that a copy applies in one transaction.
	catchUpWrites = 2_000
	// catchUpRest is the number of writes that may remain for the pause in which the files are
	// swapped.
	catchUpRest = 200
	// catchUpRounds ends a rebuild that cannot keep pace with the writers.
	catchUpRounds = 10_000
	// swapTries is the number of times that a large commit may postpone the swap.
	swapTries = 10
)

// ErrRebuilding says that a Rebuild runs already.
var ErrRebuilding = errors.New("the file is being rebuilt already")

// A Copier copies the content of a File, which is read and written meanwhile. Its methods are
// called by one goroutine at a time.
type Copier interface {
	// CopyAll copies everything that was written before it began, by [Copy.Update].
	CopyAll(ctx context.Context, c *Copy) error
	// CatchUp copies at most limit of the writes that were made since CopyAll began and are not
	// copied yet. It returns the number of copied writes, which is below the limit when none is
	// left.
	CatchUp(from, to *bolt.Tx, limit int) (copied int, err error)
	// Verify is called when nothing is left to copy, before the copy replaces the file.
	Verify(from, to *bolt.Tx) error
}

// Rebuilt is the result of a Rebuild.
type Rebuilt struct {
	Before, After int64         // bytes of the file
	Took          time.Duration // all of it
	Pause         time.Duration // the time during which no commit could begin
}

// Rebuild copies the content of the file into a new one without unused pages and replaces the file
// while it serves. Only the last step delays writers. After an error the old file continues to
// serve, unless [File.Failed] says otherwise: store.ErrFull when the disk has no room for the copy,
// ErrRebuilding when another Rebuild runs.
func (f *File) Rebuild(ctx context.Context, copier Copier) (Rebuilt, error) {
	if !f.rebuilding.TryLock() {
		return Rebuilt{}, ErrRebuilding
	}
	defer f.rebuilding.Unlock()
	f.reopening.Lock()
	defer f.reopening.Unlock()
	begun := time.Now()
	usage, err := f.Usage(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	if err := f.checkRoomForCopy(usage.Bytes - usage.FreeBytes); err != nil {
		return Rebuilt{}, err
	}
	c, err := f.createCopy(f.boltPath() + rebuiltSuffix)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("begin a copy of %s: %w", f.schema.Name, asFull(err))
	}
	pause, err := f.fillAndSwap(ctx, c, copier)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild %s: %w", f.schema.Name, errors.Join(asFull(err), c.discardCopy()))
	}
	after, err := f.Usage(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	return Rebuilt{Before: usage.Bytes, After: after.Bytes, Took: time.Since(begun), Pause: pause}, nil
}

// asFull converts the errors of a full disk to store.ErrFull. The copy has no value yet, so a sync
// that fails for lack of space is included.
func asFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// checkRoomForCopy returns store.ErrFull if a copy of that size would leave less free space than
// Write requires.
func (f *File) checkRoomForCopy(size int64) error {
	left, err := freeSpace(f.dir)
	if err != nil {
		return nil // a file system that cannot tell is not full
	}
	if wanted := size + max(f.minFree, 0); left < wanted {
		return fmt.Errorf("%w: a copy of %s needs %d MiB under %s, %d MiB are free", store.ErrFull, f.schema.Name, wanted>>20, f.dir, left>>20)
	}
	return nil
}

// Copy is the new file that a Rebuild fills.
type Copy struct {
	f        *File
	path     string
	db       *bolt.DB
	handle   *os.File
	unsynced int64 // bytes put since the last sync
	swapped  bool
	apart    bool // on another disk, whose free space nothing is reserved for
}

func (f *File) createCopy(path string) (*Copy, error) {
	if err := removeFile(path); err != nil {
		return nil, err
	}
	db, handle, err := openBolt(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, errors.Join(err, removeFile(path))
	}
	c := &Copy{f: f, path: path, db: db, handle: handle}
	// The copy is not used before all of it is synced.
	db.NoSync, db.NoGrowSync = true, true
	err = CatchDamage("begin the copy", func() error {
		return db.Update(func(tx *bolt.Tx) error {
			return f.createBuckets(tx, identity{Store: f.id, Incarnation: f.incarnation})
		})
	})
	if err != nil {
		return nil, errors.Join(err, c.discardCopy())
	}
	return c, nil
}

// File returns the file that is copied.
func (c *Copy) File() *File { return c.f }

// Update runs fill, which puts about that many bytes, in a transaction of the copy.
func (c *Copy) Update(ctx context.Context, bytes int64, fill func(to *bolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.f.isClosed() {
		return store.ErrClosed
	}
	if err := CatchDamage("write the copy", func() error { return c.db.Update(fill) }); err != nil {
		return err
	}
	if c.unsynced += bytes; c.unsynced < syncBytes {
		return nil
	}
	if err := c.checkSpace(); err != nil {
		return err
	}
	return c.syncCopy()
}

// checkSpace returns store.ErrFull if the copy would use the space that is reserved on the disk of the
// file. A copy on another disk, such as a backup, needs none there: it is wanted most on a full disk.
func (c *Copy) checkSpace() error {
	if c.apart {
		return nil
	}
	_, err := c.f.checkSpace()
	return err
}

// view runs read in a read transaction of the copy.
func (c *Copy) view(read func(to *bolt.Tx) error) error {
	return CatchDamage("read the copy", func() error { return c.db.View(read) })
}

func (c *Copy) syncCopy() error {
	c.unsynced = 0
	return c.db.Sync()
}

// discardCopy removes a copy that does not replace the file.
func (c *Copy) discardCopy() error {
	if c.swapped {
		return nil
	}
	err := CatchDamage("close the copy", c.db.Close)
	if err != nil {
		_ = abandonFile(c.handle)
	}
	return errors.Join(err, removeFile(c.path))
}

func (f *File) fillAndSwap(ctx context.Context, c *Copy, copier Copier) (pause time.Duration, err error) {
	if err := copier.CopyAll(ctx, c); err != nil {
		return 0, err
	}
	for try := 1; ; try++ {
		if err := f.catchUp(ctx, c, copier); err != nil {
			return 0, err
		}
		var old Copy
		ready, swapErr := false, error(nil)
		err := f.runExclusively(ctx, func() {
			begun := time.Now()
			ready, swapErr = f.swapFiles(c, &old, copier, try == swapTries)
			pause = time.Since(begun)
		})
		if err := errors.Join(err, swapErr); err != nil {
			if c.swapped {
				_ = old.db.Close() // the file has failed already
			}
			return pause, err
		}
		if ready {
			if err := CatchDamage("close the old file", old.db.Close); err != nil {
				f.log.Warn("the file that was replaced could not be closed", "dir", f.dir, "err", err)
				_ = abandonFile(old.handle)
			}
			return pause, nil
		}
	}
}

// CopyTo copies the content of the file, as it is at one moment, into a new file at path, which is
// on disk when CopyTo returns without an error. After an error there is no file at path. CopyTo
// reads in short transactions, so that the file does not grow meanwhile; only the last step, like
// that of a Rebuild, delays writers. What was deleted meanwhile is in no page of the copy. CopyTo
// waits while another copy is being made; ErrRebuilding says that this took too long.
func (f *File) CopyTo(ctx context.Context, path string, copier Copier) error {
	if err := f.awaitRebuild(ctx); err != nil {
		return err
	}
	defer f.rebuilding.Unlock()
	c, err := f.createCopy(path)
	if err != nil {
		return fmt.Errorf("begin a copy of %s: %w", f.schema.Name, asFull(err))
	}
	c.apart = !isSameDevice(f.dir, filepath.Dir(path))
	err = f.fillCopy(ctx, c, copier)
	if err != nil {
		return fmt.Errorf("copy %s: %w", f.schema.Name, errors.Join(asFull(err), c.discardCopy()))
	}
	if err := CatchDamage("close the copy", c.db.Close); err != nil {
		return errors.Join(err, removeFile(path))
	}
	return privatefile.SyncDir(filepath.Dir(path))
}

const (
	// copyPatience is the longest time for which a copy waits for a Rebuild to end.
	copyPatience = 10 * time.Minute
	// copyPoll is the time between two attempts to begin it.
	copyPoll = 50 * time.Millisecond
)

// awaitRebuild locks f.rebuilding.
func (f *File) awaitRebuild(ctx context.Context) error {
	patience := time.After(copyPatience)
	for !f.rebuilding.TryLock() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.closing:
			return store.ErrClosed
		case <-patience:
			return ErrRebuilding
		case <-time.After(copyPoll):
		}
	}
	return nil
}

// fillCopy copies everything and stops between two commits.
func (f *File) fillCopy(ctx context.Context, c *Copy, copier Copier) error {
	if err := copier.CopyAll(ctx, c); err != nil {
		return err
	}
	if err := f.catchUp(ctx, c, copier); err != nil {
		return err
	}
	var copyErr error
	err := f.runExclusively(ctx, func() {
		for copied := catchUpWrites; copied == catchUpWrites && copyErr == nil; {
			copied, copyErr = f.catchUpOnce(c, copier)
		}
		if copyErr == nil {
			copyErr = f.compareCopy(c, copier)
		}
	})
	if err := errors.Join(err, copyErr); err != nil {
		return err
	}
	if err := c.clearUnused(); err != nil {
		return err
	}
	return c.syncCopy()
}

// clearUnused overwrites the unused pages of the copy: they hold what was copied, and then deleted
// by a catch-up.
func (c *Copy) clearUnused() error {
	for range 2 { // afterwards both meta pages name the same pages
		if err := CatchDamage("write the copy", func() error { return c.db.Update(func(*bolt.Tx) error { return nil }) }); err != nil {
			return err
		}
	}
	both := make([]byte, 2*pageSize)
	if _, err := c.handle.ReadAt(both, 0); err != nil {
		return err
	}
	newest, _, problem := chooseMeta(both)
	if problem != "" {
		return store.Corruptf("the copy %s", problem)
	}
	return c.view(func(tx *bolt.Tx) error {
		older := uint64(0) // the free list of the other meta page, which is unused, and has numbers alone
		for _, page := range [][]byte{both[:pageSize], both[pageSize:]} {
			if m, _, _ := parseMeta(page); m.freelist != newest.freelist {
				older = m.freelist
			}
		}
		empty := make([]byte, pageSize)
		for id := uint64(2); id < newest.pages; id++ {
			page, err := tx.Page(int(id))
			if err != nil {
				return err
			}
			if id == older {
				id += uint64(page.OverflowCount)
			} else if page.Type == "free" {
				if _, err := c.handle.WriteAt(empty, int64(id)*pageSize); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// compareCopy has the copier verify the copy, and sets the length of its file.
func (f *File) compareCopy(c *Copy, copier Copier) error {
	return f.View("compare the copy", func(from *bolt.Tx) error {
		return c.view(func(to *bolt.Tx) error {
			if err := c.fillLength(to.Size()); err != nil {
				return err
			}
			return copier.Verify(from, to)
		})
	})
}

// catchUp copies the writes made meanwhile until few are left, and syncs the copy.
func (f *File) catchUp(ctx context.Context, c *Copy, copier Copier) error {
	for range catchUpRounds {
		if err := c.syncCopy(); err != nil {
			return err
		}
		copied, err := f.catchUpOnce(c, copier)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if copied < catchUpRest {
			return c.syncCopy()
		}
		if err := c.checkSpace(); err != nil {
			return err
		}
	}
	return fmt.Errorf("more is written than can be copied meanwhile: try again when less is written")
}

func (f *File) catchUpOnce(c *Copy, copier Copier) (copied int, err error) {
	err = f.View("read what was written meanwhile", func(from *bolt.Tx) error {
		return CatchDamage("write the copy", func() error {
			return c.db.Update(func(to *bolt.Tx) (err error) {
				copied, err = copier.CatchUp(from, to, catchUpWrites)
				return err
			})
		})
	})
	return copied, err
}

// swapFiles replaces the file by the copy; old then holds the old file. runCommits runs it, so
// nothing is written meanwhile. Unless force is set, it does nothing and returns ready false if so
// much was written since the last sync of the copy that writers would wait long.
func (f *File) swapFiles(c, old *Copy, copier Copier, force bool) (ready bool, err error) {
	for {
		copied, err := f.catchUpOnce(c, copier)
		if err != nil {
			return false, err
		}
		if copied < catchUpWrites {
			break
		}
		if !force {
			return false, nil
		}
	}
	if err := f.compareCopy(c, copier); err != nil {
		return false, err
	}
	if err := c.syncCopy(); err != nil {
		return false, err
	}
	if err := os.Rename(f.boltPath()+rebuiltSuffix, f.boltPath()); err != nil {
		return false, err
	}
	c.swapped = true
	// A write must not be acknowledged in a file that a loss of power could replace by the old one.
	if err = privatefile.SyncDir(f.dir); err != nil {
		err = f.failWrites(fmt.Errorf("sync %s: %w", f.dir, err))
	}
	c.db.NoSync, c.db.NoGrowSync = false, false
	f.inUse.Lock()
	defer f.inUse.Unlock()
	old.db, old.handle = f.db, f.handle
	f.db, f.handle, f.room, f.written, f.released = c.db, c.handle, 0, 0, 0
	return true, err
}

// fillLength extends the copy to the length that its pages require: the last ones may have been
// freed before they were written.
func (c *Copy) fillLength(size int64) error {
	info, err := c.handle.Stat()
	if err != nil || info.Size() >= size {
		return err
	}
	return c.handle.Truncate(size)
}

// Usage is the size of the file and of its unused pages.
type Usage struct {
	Bytes     int64 // of the pages that the file has
	FreeBytes int64 // of those, the unused ones
}

// Usage reads the size of the file.
func (f *File) Usage(ctx context.Context) (u Usage, err error) {
	if f.isClosed() {
		return Usage{}, store.ErrClosed
	}
	var readErr error
	err = f.runExclusively(ctx, func() {
		free := 0
		var m meta
		m, free, readErr = readFreelistSize(f.handle)
		u = Usage{Bytes: int64(m.pages) * pageSize, FreeBytes: int64(free) * pageSize}
	})
	return u, errors.Join(err, readErr)
}

// readFreelistSize returns the newest meta page and the number of free pages of a file that is not
// written meanwhile.
func readFreelistSize(file *os.File) (m meta, free int, err error) {
	both := make([]byte, 2*pageSize)
	if _, err := file.ReadAt(both, 0); err != nil {
		return m, 0, fmt.Errorf("read the meta pages: %w", err)
	}
	m, _, problem := chooseMeta(both)
	if problem != "" {
		return m, 0, store.Corruptf("the file %s", problem)
	}
	page := make([]byte, pageHeaderSize+8)
	if _, err := file.ReadAt(page, int64(m.freelist*pageSize)); err != nil {
		return m, 0, fmt.Errorf("read the free list: %w", err)
	}
	free = int(order.Uint16(page[10:]))
	if free == 0xFFFF { // then the first element is the count
		free = int(min(order.Uint64(page[pageHeaderSize:]), m.pages))
	}
	return m, free, nil
}
