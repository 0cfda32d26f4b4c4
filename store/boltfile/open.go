package boltfile

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// mapSize is the address space reserved for the file. bbolt cannot grow its map while a reader is
// in it, so a writer would wait for every reader each time the file outgrew its map. Address space
// costs nothing on 64 bits; on 32 there is none to spare, and the map grows.
const mapSize = (64 << 30) * (bits.UintSize >> 6)

// boltWait bounds bbolt's wait for its own lock. This process holds the directory, so only a
// foreign tool can have the file open.
const boltWait = time.Second

// Open opens the file in dir, or creates one: dir may be missing (its parent must exist) or hold no
// file. Close must be called.
//
// The error matches *HeldError when another process holds the directory, *DamagedError when a file
// is damaged, missing or foreign, *FormatError when a newer program wrote it. None of these changes
// anything in the directory.
//
// A file that lost acknowledged writes, because an older file replaced it or its newest commit was
// damaged, opens as a new incarnation, and the log says so.
func Open(ctx context.Context, dir string, schema Schema, o Options) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.MinFree = cmp.Or(o.MinFree, defaultMinFree)
	if o.Commit == nil {
		o.Commit = func(tx *bolt.Tx, _ *os.File) error { return tx.Commit() }
	}
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	held, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	f := &File{
		dir:           dir,
		schema:        schema,
		minFree:       o.MinFree,
		log:           o.Log,
		lock:          held,
		commit:        o.Commit,
		known:         o.Known,
		leaveRollback: o.LeaveRollback,
		requests:      make(chan *pending, queueLength),
		exclusive:     make(chan *task),
		closing:       make(chan struct{}),
		stopped:       make(chan struct{}),
		failed:        make(chan struct{}),
		broken:        make(chan struct{}),
	}
	settle, err := f.openFiles()
	if err != nil {
		return nil, errors.Join(err, unlockDir(held))
	}
	go f.runCommits()
	if o.Check != nil {
		err = o.Check(f)
	}
	if err == nil {
		err = settle()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) boltPath() string { return filepath.Join(f.dir, f.schema.Name) }

// openFiles does the work of Open after the directory is locked, except what changes the files of a
// directory that has some: the returned function does that.
func (f *File) openFiles() (settle func() error, err error) {
	id, err := f.prepareFile()
	if err != nil {
		return nil, err
	}
	lostMeta, err := f.inspectBoltFile()
	if err != nil {
		return nil, err
	}
	if f.db, f.handle, err = openBolt(f.boltPath(), os.O_RDWR); err != nil {
		return nil, f.explainOpen(err)
	}
	record, err := f.settleIdentity(id, lostMeta)
	if err != nil {
		return nil, errors.Join(err, f.closeBolt())
	}
	return func() error {
		if err := record(); err != nil {
			return err
		}
		// An unfinished copy: the process was killed, or the disk was full.
		if err := removeFile(f.boltPath() + rebuiltSuffix); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		return nil
	}, nil
}

// prepareFile returns the identity of the file in the directory, and creates the file if there is
// none. The order of the steps distinguishes an unfinished file from a lost one, at whatever moment
// the process is killed: an empty bolt file is completed under another name, then FORMAT is
// written, and only then does the file get its name.
func (f *File) prepareFile() (identity, error) {
	path := f.boltPath()
	id, exists, err := readIdentity(f.dir, f.schema)
	if err != nil {
		return id, err
	}
	present, err := fileExists(path)
	if err != nil {
		return id, err
	}
	switch {
	case exists && present:
		return id, nil
	case present:
		return id, &DamagedError{Dir: f.dir, File: filepath.Join(f.dir, FormatFile), Problem: "is missing beside " + f.schema.Name}
	case exists:
		finished, err := fileExists(path + newSuffix)
		if err != nil {
			return id, err
		}
		if !finished {
			return id, &DamagedError{Dir: f.dir, File: path, Problem: "is missing, though " + FormatFile + " says that a " + f.schema.Noun + " was here"}
		}
		return id, f.nameNewFile()
	}
	id = newIdentity(f.schema.Format)
	if err := f.createFile(path+newSuffix, id); err != nil {
		return id, fmt.Errorf("begin a %s in %s: %w", f.schema.Noun, f.dir, err)
	}
	if err := writeIdentity(f.dir, id); err != nil {
		return id, err
	}
	return id, f.nameNewFile()
}

func fileExists(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("data directory: %w", err)
	case info.IsDir():
		return false, fmt.Errorf("data directory: %s is a directory where a file belongs", path)
	}
	return true, nil
}

// removeFile removes a file that may be missing.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *File) nameNewFile() error {
	if err := os.Rename(f.boltPath()+newSuffix, f.boltPath()); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := privatefile.SyncDir(f.dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// createFile creates an empty bolt file with the buckets of the schema.
func (f *File) createFile(path string, id identity) error {
	// A file of that name is from a process that was killed before it wrote FORMAT.
	if err := removeFile(path); err != nil {
		return err
	}
	db, _, err := openBolt(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return f.createBuckets(tx, id) })
	return errors.Join(err, db.Close(), privatefile.SyncDir(filepath.Dir(path)))
}

func (f *File) createBuckets(tx *bolt.Tx, id identity) error {
	for _, name := range slices.Concat([][]byte{metaBucket}, f.schema.Buckets, f.schema.Later) {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return putIdentity(tx, id)
}

func putIdentity(tx *bolt.Tx, id identity) error {
	b := tx.Bucket(metaBucket)
	if err := b.Put(idKey, []byte(id.Store)); err != nil {
		return err
	}
	return b.Put(incarnationKey, binary.BigEndian.AppendUint64(nil, id.Incarnation))
}

// inspectBoltFile reads the pages that bbolt navigates by before bbolt may see the file.
func (f *File) inspectBoltFile() (lostMeta bool, err error) {
	file, err := os.Open(f.boltPath())
	if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	lostMeta, problem, err := Inspect(file, info.Size())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", f.boltPath(), err)
	}
	if problem != "" {
		return false, &DamagedError{Dir: f.dir, File: f.boltPath(), Problem: problem}
	}
	return lostMeta, nil
}

// openBolt opens the file as bbolt does and also returns the handle that bbolt uses: after a panic
// in bbolt it is the only way to release the file.
func openBolt(path string, flag int) (db *bolt.DB, file *os.File, err error) {
	err = CatchDamage("open the file", func() (err error) {
		db, err = bolt.Open(path, fileMode, &bolt.Options{
			Timeout:         boltWait,
			PageSize:        pageSize,
			FreelistType:    bolt.FreelistMapType,
			InitialMmapSize: mapSize,
			NoStatistics:    true,
			OpenFile: func(path string, _ int, _ os.FileMode) (*os.File, error) {
				// bbolt would add O_CREATE and so create a new file where one has just disappeared.
				file, err = privatefile.Open(path, flag)
				return file, err
			},
		})
		return err
	})
	if err != nil && file != nil {
		_ = abandonFile(file) // bbolt has closed it already, unless it panicked
	}
	return db, file, err
}

// reopenIfDue has bbolt open the file again if it has written so many pages: see [Schema]. runCommits
// calls it between two commits. If it fails, the file stays open as it is.
func (f *File) reopenIfDue() {
	if f.schema.ReopenPages == 0 || f.written < f.schema.ReopenPages || f.Err() != nil || f.isClosed() {
		return
	}
	if !f.reopening.TryLock() {
		return // a Rebuild reads the file, and replaces it
	}
	defer f.reopening.Unlock()
	f.written, f.released = 0, 0
	if f.checkPath() != nil {
		return // the next request reports it
	}
	if checkMetaPages(f.handle, f.schema.Name) != nil {
		return // bbolt would begin a new file; the next transaction reports it
	}
	// bbolt locks the file, which only one of the two handles can do. The lock of the directory
	// excludes other processes meanwhile.
	old, handle := f.db, f.handle
	err := unlockFile(handle)
	if err == nil {
		var db *bolt.DB
		var file *os.File
		if db, file, err = openBolt(f.boltPath(), os.O_RDWR); err == nil {
			f.inUse.Lock() // no reader uses the old one from here on
			f.db, f.handle = db, file
			f.inUse.Unlock()
			err = CatchDamage("close the file", old.Close)
			if f.isBroken() { // Close may have released only the old handle
				_ = abandonFile(file)
			}
		}
	}
	if err != nil {
		f.log.Warn("the "+f.schema.Noun+" could not be opened again, and needs more memory", "dir", f.dir, "err", err)
	}
}

// abandonFile releases a file after a panic of bbolt. The memory stays mapped, and would keep the
// lock; so the lock is released first.
func abandonFile(file *os.File) error {
	return errors.Join(unlockFile(file), file.Close())
}

// unlockFile releases bbolt's lock of a file, which another goroutine may close meanwhile.
func unlockFile(file *os.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var unlocking error
	err = conn.Control(func(fd uintptr) { unlocking = syscall.Flock(int(fd), syscall.LOCK_UN) })
	return errors.Join(err, unlocking)
}

// explainOpen explains an error of bbolt's Open.
func (f *File) explainOpen(err error) error {
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("open %s: another program has locked the file: %w", f.boltPath(), &HeldError{Dir: f.dir})
	}
	if errors.Is(err, store.ErrCorrupt) {
		return &DamagedError{Dir: f.dir, File: f.boltPath(), Problem: "is damaged: " + err.Error()}
	}
	return fmt.Errorf("open %s: %w", f.boltPath(), err)
}

// settleIdentity reads the last sequence of the file, and decides whether the file continues the
// acknowledged history. The returned function records the decision, and raises the format of an older
// file.
func (f *File) settleIdentity(id identity, lostMeta bool) (record func() error, err error) {
	inFile, err := f.readContents()
	if err != nil {
		return nil, err
	}
	if inFile.id != id.Store {
		return nil, &DamagedError{Dir: f.dir, File: f.boltPath(), Problem: "belongs to another " + f.schema.Noun + " than " + FormatFile + " names"}
	}
	promised, known, err := readHeadFile(f.dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f.id, f.incarnation, f.seq = id.Store, id.Incarnation, inFile.seq
	file, elsewhere, keptElsewhere := parsePosition(f.known)
	if keptElsewhere && (!known || elsewhere.isAfter(promised)) {
		promised, known = elsewhere, true
	}
	settled := identity{Format: f.schema.Format, Store: id.Store, Incarnation: id.Incarnation}
	why := f.describeRollback(inFile.head, id.Incarnation, promised, known, lostMeta)
	if keptElsewhere && file != id.Store {
		why = "another " + f.schema.Noun + " was used before, which ended at write " + fmt.Sprint(elsewhere.seq)
	}
	f.rollback = why
	if why != "" && !f.leaveRollback {
		f.incarnation = max(id.Incarnation, inFile.incarnation, promised.incarnation) + 1
		settled.Incarnation = f.incarnation
	}
	return func() error { return f.recordIdentity(id, settled) }, nil
}

// recordIdentity writes the identity that was settled, and HEAD.
func (f *File) recordIdentity(was, settled identity) (err error) {
	if f.head, err = privatefile.Open(filepath.Join(f.dir, headFile), os.O_RDWR|os.O_CREATE); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	switch {
	case f.rollback != "" && f.leaveRollback:
		return nil
	case f.rollback != "":
		f.log.Error("the "+f.schema.Noun+" has lost acknowledged writes, or may have; it begins a new incarnation, and everything derived from it is rebuilt",
			"dir", f.dir, "why", f.rollback, "seq", f.seq, "incarnation", f.incarnation)
		err = f.beginIncarnation(settled)
	case settled != was:
		err = writeIdentity(f.dir, settled)
	}
	if err != nil {
		return err
	}
	if err = writeHead(f.head, head{f.incarnation, f.seq}); err == nil {
		err = f.head.Sync()
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// describeRollback says why the history in the file is not the acknowledged one, or "".
func (f *File) describeRollback(inFile head, incarnation uint64, promised head, known, lostMeta bool) string {
	name := f.schema.Name
	switch {
	case inFile.incarnation != incarnation:
		return fmt.Sprintf("%s is of incarnation %d, %s of incarnation %d: one of them was replaced", name, inFile.incarnation, FormatFile, incarnation)
	case known && promised.isAfter(inFile):
		return fmt.Sprintf("write %d was acknowledged, %s ends at write %d", promised.seq, name, inFile.seq)
	case lostMeta:
		return "one of the two meta pages of " + name + " is damaged, and it may have been the newer one"
	}
	return ""
}

// beginIncarnation makes the new incarnation durable: first in FORMAT, so that after a process that
// dies in between, the next one finds the two different and repeats the step.
func (f *File) beginIncarnation(id identity) error {
	if err := writeIdentity(f.dir, id); err != nil {
		return err
	}
	err := CatchDamage("begin an incarnation", func() error {
		return f.db.Update(func(tx *bolt.Tx) error { return putIdentity(tx, id) })
	})
	if err != nil {
		return fmt.Errorf("begin a new incarnation: %w", err)
	}
	return nil
}

// contents is the identity and the end of the history in the bolt file.
type contents struct {
	id string
	head
}

func (f *File) readContents() (contents, error) {
	var c contents
	problem := ""
	err := CatchDamage("read the file", func() error {
		return f.db.View(func(tx *bolt.Tx) error {
			meta := tx.Bucket(metaBucket)
			for _, name := range append([][]byte{metaBucket}, f.schema.Buckets...) {
				if tx.Bucket(name) == nil {
					problem = "is a bolt file, but not a " + f.schema.Noun
					return nil
				}
			}
			incarnation := meta.Get(incarnationKey)
			if len(incarnation) != 8 {
				problem = "does not say which incarnation it is"
				return nil
			}
			c.id, c.incarnation = string(meta.Get(idKey)), binary.BigEndian.Uint64(incarnation)
			var err error
			c.seq, err = f.schema.LastSequence(tx)
			return err
		})
	})
	if err != nil {
		problem = "is damaged: " + err.Error()
	}
	if problem != "" {
		return c, &DamagedError{Dir: f.dir, File: f.boltPath(), Problem: problem}
	}
	return c, nil
}
