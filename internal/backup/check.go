package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gazetteer/index"
	"gazetteer/index/damage"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/registry/audit/witness"
	"gazetteer/registry/keyfile"
	"gazetteer/relay/boltqueue"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// maxProblems bounds how many problems a check names.
const maxProblems = 100

// A Problem is something that a check found to be wrong.
type Problem struct {
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"` // what the operator does about it
}

func (p Problem) String() string {
	if p.Remedy == "" {
		return p.What
	}
	return p.What + "\n  what to do: " + p.Remedy
}

// The remedies of a check.
const (
	remedyBackup  = "restore the newest backup (gazetteer restore) into an empty data directory"
	remedyIndex   = "nothing: the next start makes the index again from the store"
	remedyHost    = "have the host visited again (gazetteer crawler recrawl HOST), or restore the newest backup"
	remedyLog     = "restore the newest backup; if it lacks newer signed records, the server says at its start how to continue (docs/log.md, Protection against forks)"
	remedyWitness = "put the newest copy of the directory witness back; if it is lost, move it and witness.key away, and publish the new key"
	remedyMail    = "restore the newest backup, or begin an empty queue: move the directory relay away; the mail that waited is then lost"
)

// A Report says what a check has read. Every comparison is of the whole, none of a sample.
type Report struct {
	Records  int   `json:"records"`   // of the store, each with its checksum
	Versions int   `json:"versions"`  // stored versions and documents, each with its bytes
	Blobs    int   `json:"documents"` // raw documents, each compared with its digest
	Unused   int   `json:"unused"`    // of those, how many are no longer used
	Agents   int   `json:"agents"`    // each with the chain of its entries
	Leaves   int64 `json:"leaves"`    // of the transparency log, each with its hash
	// Undeclared counts the erased leaves that no signed leaf declares yet.
	Undeclared int64                 `json:"undeclared"`
	Logged     audit.StoreComparison `json:"logged"`   // records compared with their leaves
	Cosigned   int                   `json:"cosigned"` // checkpoints of other logs, compared with the store
	HasIndex   bool                  `json:"has_index"`
	Index      index.Comparison      `json:"index"`
	HasMail    bool                  `json:"has_mail"`
	Mail       int                   `json:"mail"` // envelopes, each with its checksum
}

// Progress is called with the part that is read now, and how far it is; total is 0 when that is not
// known.
type Progress func(part string, done, total int64)

// Check reads everything in a data directory that no process uses, and compares the parts with each
// other: every record of the store with its checksum, every raw document with its digest and with
// the versions that name it, the history of every agent, every leaf and hash of the transparency
// log and the records that they stand for, every document with its entries in the index, and every
// envelope of the mail. The error is a [*DamagedError] that names what is wrong. A damaged part does
// not stop the check of the others.
func Check(ctx context.Context, dir string, progress Progress) (r Report, err error) {
	return checkDirectory(ctx, dir, false, progress)
}

// checkDirectory is Check. A directory that is just restored begins another incarnation on purpose.
func checkDirectory(ctx context.Context, dir string, restored bool, progress Progress) (r Report, err error) {
	c := checker{dir: dir, restored: restored, progress: progress, report: &r}
	if err := c.checkAll(ctx); err != nil {
		return r, err
	}
	if len(c.damage.Problems) > 0 {
		return r, &c.damage
	}
	return r, nil
}

// A checker is one call of Check.
type checker struct {
	dir      string
	restored bool
	progress Progress
	report   *Report
	damage   DamagedError
}

// addProblem adds a problem. Behind maxProblems they are only counted.
func (c *checker) addProblem(remedy, format string, args ...any) {
	if len(c.damage.Problems) >= maxProblems {
		c.damage.Unnamed++
		return
	}
	c.damage.Problems = append(c.damage.Problems, Problem{fmt.Sprintf(format, args...), remedy})
}

// nameStoreDamage adds a problem for damage of the store that the check of another part met.
func (c *checker) nameStoreDamage(err error) error {
	if !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	c.addProblem(remedyBackup, "%v", err)
	return nil
}

func (c *checker) checkAll(ctx context.Context) (err error) {
	c.progress("the keys", 0, 0)
	c.checkKeys()
	c.progress("the store", 0, 0)
	if whole, err := c.checkFiles(); err != nil || !whole {
		return errors.Join(err, c.checkWithoutStore(ctx))
	}
	s, err := boltstore.Open(ctx, c.dir, boltstore.Options{KeepDeletion: leafform.HistoryKey, LeaveRollback: !c.restored})
	var damaged *boltstore.DamagedError
	switch {
	case errors.As(err, &damaged):
		c.addProblem(remedyBackup, "the store does not open: %v", err)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, s.Close()) }()
		if !c.restored && s.Rollback() != "" {
			c.addProblem(remedyBackup+"; or continue with the existing files: everything derived from the store is rebuilt", "the store has lost acknowledged writes, or may have: it is older than its file HEAD, or its newest commit is damaged")
		}
		if err := c.checkRecords(ctx, s); err != nil {
			return err
		}
	}
	c.progress("the transparency log", 0, 0)
	if err := c.nameStoreDamage(c.checkLog(ctx, s)); err != nil {
		return err
	}
	if s != nil {
		if err := c.nameStoreDamage(c.checkWitness(ctx, s)); err != nil {
			return err
		}
		if err := c.nameStoreDamage(c.checkIndex(ctx, s)); err != nil {
			return err
		}
	}
	return c.checkMail(ctx, s)
}

// ErrNoData is the error of a directory in which there is nothing of a data directory.
var ErrNoData = errors.New("there is no data directory")

// checkFiles reports whether the files of the store are there: opening a directory without them would
// begin a new store in it.
func (c *checker) checkFiles() (whole bool, err error) {
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(c.dir, name))
		return err == nil
	}
	if !exists(boltstore.FormatFile) && !exists(storeFile) && !exists("log") {
		return false, fmt.Errorf("%w in %s", ErrNoData, c.dir)
	}
	whole = true
	for _, name := range []string{boltstore.FormatFile, storeFile} {
		if !exists(name) {
			c.addProblem(remedyBackup, "the file %s is missing", name)
			whole = false
		}
	}
	return whole, nil
}

// checkWithoutStore checks what can be read without the store.
func (c *checker) checkWithoutStore(ctx context.Context) error {
	if len(c.damage.Problems) == 0 {
		return nil
	}
	return errors.Join(c.checkLog(ctx, nil), c.checkMail(ctx, nil))
}

// checkKeys reads the existing key files, and names those that are missing beside what they sign.
func (c *checker) checkKeys() {
	const remedy = "put the file back from a backup; if it is lost, another key has to begin and be published: see Replacing keys in docs/operating.md"
	for _, name := range []string{"log.key", "witness.key"} {
		text, err := os.ReadFile(filepath.Join(c.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			c.nameMissingKey(name, strings.TrimSuffix(name, ".key"))
			continue
		}
		var key *checkpoint.Key
		if err == nil {
			key, err = checkpoint.ParseKey(strings.TrimSpace(string(text)))
		}
		if err != nil {
			c.addProblem(remedy, "%s cannot be read: %v", name, err)
			continue
		}
		public, err := os.ReadFile(filepath.Join(c.dir, "log", "key"))
		if name == "log.key" && err == nil && strings.TrimSpace(string(public)) != key.Public() {
			c.addProblem("put the two files back that belong together; or, if log.key was replaced on purpose, start the server with registry.accept_log_key = true, which writes log/key again", "log.key is not the key that log/key names")
		}
	}
	switch _, err := keyfile.Read(filepath.Join(c.dir, "relay.key"), nil); {
	case errors.Is(err, fs.ErrNotExist):
		c.nameMissingKey("relay.key", "relay")
	case err != nil:
		c.addProblem(remedy, "relay.key cannot be read: %v", err)
	}
}

// nameMissingKey adds a problem for a key that is missing beside the directory of what it signs.
func (c *checker) nameMissingKey(name, signs string) {
	if _, err := os.Stat(filepath.Join(c.dir, signs)); err == nil {
		c.addProblem("put the file back from a backup; or start the server, which makes a new key (that of the log only with registry.accept_log_key = true), and publish it", "%s is missing, and there is a directory %s", name, signs)
	}
}

// checkLog verifies every leaf and hash against the checkpoint, and compares the leaves with the
// store.
func (c *checker) checkLog(ctx context.Context, s *boltstore.Store) error {
	dir := filepath.Join(c.dir, "log")
	files := audit.FilesIn(dir)
	key, err := files(ctx, "key")
	if errors.Is(err, tiles.ErrNoFile) || errors.Is(err, fs.ErrNotExist) {
		c.addProblem(remedyLog, "the transparency log is missing: %s has no key", dir)
		return nil
	}
	if err != nil {
		return err
	}
	verifier, err := checkpoint.NewVerifier(strings.TrimSpace(string(key)))
	if err != nil {
		c.addProblem("start the server, which writes the file again from log.key", "log/key, the public key of the transparency log, cannot be read: %v", err)
		return nil
	}
	report, err := audit.VerifyDir(ctx, dir, func(leaves int64) { c.progress("the leaves of the transparency log", leaves, 0) }, verifier)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.addProblem(remedyLog, "the transparency log: %v", err)
		return nil
	}
	c.report.Leaves, c.report.Undeclared = report.N, report.Undeclared
	if s == nil {
		return nil
	}
	var known [][]byte
	switch record, err := s.Get(ctx, store.CheckpointKey); {
	case err == nil:
		known = append(known, record.Value)
	case !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt): // the latter is named already
		return err
	}
	c.report.Logged, err = audit.CompareStore(ctx, dir, s, verifier, known,
		func(done, total int64) { c.progress("the records of the transparency log", done, total) },
		func(problem string) { c.addProblem(remedyLog, "the transparency log: %s", problem) })
	if errors.Is(err, tiles.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
		c.addProblem(remedyLog, "the transparency log: %v", err)
		return nil
	}
	return err
}

// checkWitness compares the checkpoints of other logs that this server has cosigned with the store.
func (c *checker) checkWitness(ctx context.Context, s *boltstore.Store) (err error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "witness.key"))
	if err != nil {
		return nil // no witness, or checkKeys names it
	}
	key, err := checkpoint.ParseKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil // checkKeys names it
	}
	c.report.Cosigned, err = witness.Compare(ctx, filepath.Join(c.dir, "witness"), key, s,
		func(problem string) { c.addProblem(remedyWitness, "the witness: %s", problem) })
	return err
}

// checkIndex compares the index with the store.
func (c *checker) checkIndex(ctx context.Context, s *boltstore.Store) (err error) {
	c.progress("the index", 0, 0)
	c.report.Index, err = index.Compare(ctx, filepath.Join(c.dir, "index"), s, func(done int) {
		c.progress("the documents in the index", int64(done), int64(c.report.Versions))
	})
	damaged, isDamaged := errors.AsType[*damage.Error](err)
	if index.IsMissing(err) || isDamaged && damaged.Outdated { // as after an upgrade
		return nil // it is made at the next start
	}
	if errors.Is(err, store.ErrCursorGone) {
		c.addProblem(remedyIndex, "the index is older than the deletions that the store has kept, or of another store")
		return nil
	}
	if isDamaged {
		c.addProblem(remedyIndex, "%v", damaged)
		return nil
	}
	c.report.HasIndex = err == nil
	return err
}

// checkMail reads the queue of mail, if there is one, and compares it with the position that the
// store knows.
func (c *checker) checkMail(ctx context.Context, s *boltstore.Store) error {
	dir := filepath.Join(c.dir, "relay")
	c.progress("the mail", 0, 0)
	var o boltqueue.Options
	if s != nil {
		record, err := s.Get(ctx, store.MailPositionKey)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) { // the latter is named already
			return err
		}
		o.File.Known = string(record.Value)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if o.File.Known != "" {
			c.addProblem(remedyMail, "the directory relay is missing, and the store knows of mail in it")
		}
		return nil
	}
	o.File.LeaveRollback = !c.restored
	q, err := boltqueue.Open(ctx, dir, o)
	if err != nil {
		c.addProblem(remedyMail, "the mail cannot be opened: %v", err)
		return ctx.Err()
	}
	c.report.HasMail = true
	if !c.restored && q.File().Rollback() != "" {
		c.addProblem("put the newest copy of the directory relay back; or continue with the existing files: mail and rules that came later are lost, and acknowledged mail may be delivered again",
			"the mail has lost acknowledged writes, or may have: an older copy was put back, or its newest commit is damaged")
	}
	c.report.Mail, err = q.Check(ctx, func(problem string) { c.addProblem(remedyMail, "the mail: %s", problem) })
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnknown) {
		c.addProblem(remedyMail, "the mail cannot be read: %v", err)
		err = nil
	}
	return errors.Join(err, q.Close())
}
