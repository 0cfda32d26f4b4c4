package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"gazetteer/store"
)

// mapSize is the address space set aside for the file. bbolt cannot grow its
// map while a reader is in it, so a writer would wait for every reader each
// time the file outgrew its map. Address space costs nothing on 64 bits; on 32
// there is none to spare, and the map grows.
const mapSize = (64 << 30) * (bits.UintSize >> 6)

// boltWait is how long bbolt tries for its own lock. We hold the directory, so
// only a foreign tool can have the file open.
const boltWait = time.Second

// Open opens the store in dir, or begins one there: dir may be missing (its
// parent must exist) or hold no store. Close must be called.
//
// The error matches *HeldError when another process has the directory,
// *DamagedError when a file is not what the store left there, *FormatError when
// a newer program wrote it. None of these changes anything in the directory.
//
// A store that lost acknowledged writes, because an older file was put in its
// place or its newest commit was damaged, opens as a new incarnation, and the
// log says so.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MinFree == 0 {
		o.MinFree = defaultMinFree
	}
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	held, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir:      dir,
		minFree:  o.MinFree,
		log:      o.Log,
		lock:     held,
		commit:   (*bolt.Tx).Commit,
		requests: make(chan *request, queueLength),
		closing:  make(chan struct{}),
		stopped:  make(chan struct{}),
		failed:   make(chan struct{}),
		broken:   make(chan struct{}),
		grown:    make(chan struct{}),
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, unlock(held))
	}
	go s.commitLoop()
	return s, nil
}

// open does what Open does once the directory is held.
func (s *Store) open() error {
	id, err := begun(s.dir)
	if err != nil {
		return err
	}
	lostMeta, err := s.inspect()
	if err != nil {
		return err
	}
	if s.db, s.file, err = openBolt(filepath.Join(s.dir, BoltFile), os.O_RDWR); err != nil {
		return s.explain(err)
	}
	if err := s.settle(id, lostMeta); err != nil {
		return errors.Join(err, s.closeBolt())
	}
	return nil
}

// begun returns the identity of the store in dir, making the store first when
// there is none. The order keeps apart, at whatever moment the process is
// killed, a store that was never finished from one that was lost: an empty bolt
// file is completed under another name, then FORMAT is written, and only then
// does the file get its name.
func begun(dir string) (identity, error) {
	path := filepath.Join(dir, BoltFile)
	id, exists, err := readIdentity(dir)
	if err != nil {
		return id, err
	}
	present, err := isThere(path)
	if err != nil {
		return id, err
	}
	switch {
	case exists && present:
		return id, nil
	case present:
		return id, &DamagedError{Dir: dir, File: filepath.Join(dir, FormatFile), Problem: "is missing beside " + BoltFile}
	case exists:
		finished, err := isThere(path + newSuffix)
		if err != nil {
			return id, err
		}
		if !finished {
			return id, &DamagedError{Dir: dir, File: path, Problem: "is missing, though " + FormatFile + " says that a store was here"}
		}
		return id, finishNew(dir)
	}
	id = newIdentity()
	if err := create(path+newSuffix, id); err != nil {
		return id, fmt.Errorf("begin a store in %s: %w", dir, err)
	}
	if err := writeIdentity(dir, id); err != nil {
		return id, err
	}
	return id, finishNew(dir)
}

func isThere(path string) (bool, error) {
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

func finishNew(dir string) error {
	path := filepath.Join(dir, BoltFile)
	if err := os.Rename(path+newSuffix, path); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// create makes an empty bolt file with the buckets of a store.
func create(path string, id identity) error {
	// What lies there is from a process that was killed before it wrote FORMAT.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, _, err := openBolt(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{recordsBucket, logBucket, metaBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return putIdentity(tx, id)
	})
	return errors.Join(err, db.Close(), syncDir(filepath.Dir(path)))
}

func putIdentity(tx *bolt.Tx, id identity) error {
	b := tx.Bucket(metaBucket)
	if err := b.Put(storeKey, []byte(id.Store)); err != nil {
		return err
	}
	return b.Put(incarnationKey, binary.BigEndian.AppendUint64(nil, id.Incarnation))
}

// inspect reads the skeleton of the file before bbolt may see it.
func (s *Store) inspect() (lostMeta bool, err error) {
	path := filepath.Join(s.dir, BoltFile)
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	lostMeta, problem, err := inspect(f, info.Size())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	if problem != "" {
		return false, &DamagedError{Dir: s.dir, File: path, Problem: problem}
	}
	return lostMeta, nil
}

// openBolt opens the file as bbolt does and also returns the handle that bbolt
// uses: after a panic in bbolt it is the only way to let go of the file.
func openBolt(path string, flag int) (db *bolt.DB, file *os.File, err error) {
	err = guard("open the file", func() (err error) {
		db, err = bolt.Open(path, fileMode, &bolt.Options{
			Timeout:         boltWait,
			PageSize:        pageSize,
			FreelistType:    bolt.FreelistMapType,
			InitialMmapSize: mapSize,
			NoStatistics:    true,
			OpenFile: func(path string, _ int, _ os.FileMode) (*os.File, error) {
				// bbolt would add O_CREATE and so begin anew where a file has
				// just gone.
				file, err = openPrivate(path, flag)
				return file, err
			},
		})
		return err
	})
	if err != nil && file != nil {
		_ = abandon(file) // bbolt has closed it already, unless it panicked
	}
	return db, file, err
}

// abandon lets go of a file whose bbolt panicked. The memory stays mapped, and
// with it the lock would stay; so that is given up first.
func abandon(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// explain puts an error of bbolt's Open into words.
func (s *Store) explain(err error) error {
	path := filepath.Join(s.dir, BoltFile)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("open %s: another program has locked the file: %w", path, &HeldError{Dir: s.dir})
	}
	if errors.Is(err, store.ErrCorrupt) {
		return &DamagedError{Dir: s.dir, File: path, Problem: "is damaged: " + err.Error()}
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// settle reads where the log stands, decides whether it is the log it was, and
// makes that known.
func (s *Store) settle(id identity, lostMeta bool) error {
	inFile, err := s.readFile()
	if err != nil {
		return err
	}
	if inFile.id != id.Store {
		return &DamagedError{Dir: s.dir, File: filepath.Join(s.dir, BoltFile), Problem: "belongs to another store than " + FormatFile + " names"}
	}
	s.head, err = openPrivate(filepath.Join(s.dir, headFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	s.id, s.incarnation, s.seq = id.Store, id.Incarnation, inFile.seq
	promised, known := readHead(s.head)
	if why := rollback(inFile.head, id.Incarnation, promised, known, lostMeta); why != "" {
		s.incarnation = max(id.Incarnation, inFile.incarnation, promised.incarnation) + 1
		s.log.Error("the store has lost acknowledged writes, or may have; it begins a new incarnation, and everything derived from it is rebuilt",
			"dir", s.dir, "why", why, "seq", inFile.seq, "incarnation", s.incarnation)
		if err := s.reincarnate(identity{Format: format, Store: s.id, Incarnation: s.incarnation}); err != nil {
			return errors.Join(err, s.head.Close())
		}
	}
	err = writeHead(s.head, head{s.incarnation, s.seq})
	if err == nil {
		err = s.head.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("data directory: %w", err), s.head.Close())
	}
	return nil
}

// rollback says why the log in the file is not the one that was acknowledged,
// or "".
func rollback(inFile head, incarnation uint64, promised head, known, lostMeta bool) string {
	switch {
	case inFile.incarnation != incarnation:
		return fmt.Sprintf("%s is of incarnation %d, %s of incarnation %d: one of them was replaced", BoltFile, inFile.incarnation, FormatFile, incarnation)
	case known && promised.after(inFile):
		return fmt.Sprintf("write %d was acknowledged, %s ends at write %d", promised.seq, BoltFile, inFile.seq)
	case lostMeta:
		return "one of the two meta pages of " + BoltFile + " is damaged, and it may have been the newer one"
	}
	return ""
}

// reincarnate makes the new incarnation durable: first in FORMAT, so that a
// process that dies in between finds the two different and does it again.
func (s *Store) reincarnate(id identity) error {
	if err := writeIdentity(s.dir, id); err != nil {
		return err
	}
	err := guard("begin an incarnation", func() error {
		return s.db.Update(func(tx *bolt.Tx) error { return putIdentity(tx, id) })
	})
	if err != nil {
		return fmt.Errorf("begin a new incarnation: %w", err)
	}
	return nil
}

// contents is what the bolt file says of itself.
type contents struct {
	id string
	head
}

func (s *Store) readFile() (contents, error) {
	path := filepath.Join(s.dir, BoltFile)
	var c contents
	problem := ""
	err := guard("read the file", func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			records, log, meta := tx.Bucket(recordsBucket), tx.Bucket(logBucket), tx.Bucket(metaBucket)
			if records == nil || log == nil || meta == nil {
				problem = "is a bolt file, but not a store"
				return nil
			}
			incarnation := meta.Get(incarnationKey)
			if len(incarnation) != 8 {
				problem = "does not say which incarnation it is"
				return nil
			}
			c.id, c.incarnation = string(meta.Get(storeKey)), binary.BigEndian.Uint64(incarnation)
			var err error
			c.seq, err = lastSeq(records, log)
			return err
		})
	})
	if err != nil {
		problem = "is damaged: " + err.Error()
	}
	if problem != "" {
		return c, &DamagedError{Dir: s.dir, File: path, Problem: problem}
	}
	return c, nil
}

// lastSeq returns the sequence of the last entry of the log, after a look at
// the record it names.
func lastSeq(records, log *bolt.Bucket) (uint64, error) {
	seq, key := log.Cursor().Last()
	if seq == nil {
		return 0, nil
	}
	r, err := logged(records, seq, key)
	return r.Seq, err
}

// logged returns the record that an entry of the log names.
func logged(records *bolt.Bucket, seq, key []byte) (r record, err error) {
	raw := records.Get(key)
	if raw == nil {
		return r, corrupt("the log names %q, which has no record", key)
	}
	if r, err = decode(key, raw); err != nil {
		return r, err
	}
	if !bytes.Equal(logKey(r.Seq), seq) {
		return r, corrupt("the log and the record %q disagree on its sequence", key)
	}
	return r, nil
}
