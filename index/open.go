package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/index/blevefiles"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/index/wordvec"
	"gazetteer/store"
	"gazetteer/store/follow"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// Options of [Open].
type Options struct {
	// Dir is the directory of the index. It is created if it is missing, and may be deleted at any
	// time.
	Dir string
	// Store is the log to follow, and the source of the shown texts.
	Store store.Store
	// Vectors contains the vectors of words for embeddings; nil for the built-in table.
	Vectors *wordvec.Table
	// States returns the current states of hosts, for the filter is:; nil if none are known.
	States view.HostStates
	// Linger is how long records are gathered before they become searchable together; 200 ms when 0.
	Linger time.Duration
	// Log receives a line for each rebuild and each failed batch; nil discards them.
	Log *slog.Logger

	storedFrom int // replaces view.Directory.StoredFrom unless it is 0; for tests
}

// Errors of an index. Test with errors.Is.
var (
	ErrClosed = errors.New("the index is closed")
	// ErrUnavailable: the index cannot be read at this moment because it is being rebuilt. Try
	// again.
	ErrUnavailable = errors.New("the index is being rebuilt")
)

// An Index follows a log and answers queries. All methods may be called from
// any goroutine; [Index.Run] by one at a time.
type Index struct {
	store      store.Store
	log        *slog.Logger
	analyzer   analysis.Analyzer
	lexicon    *semantic.Lexicon
	version    string
	documents  *documentReader
	verbs      semantic.RelationCache
	states     view.HostStates
	firstRetry time.Duration // the first pause after a failed batch
	linger     time.Duration // that of Options
	storedFrom int           // that of Options

	failure atomic.Pointer[error] // why the index cannot be written at the moment; nil while it can

	mu        sync.RWMutex    // held for reading by a search, for writing to replace live
	directory *view.Directory // nil when closed, or while it cannot be opened
	path      string          // the directory of live, also while that is nil

	position follow.Position // up to where the index is searchable
	closed   atomic.Bool
	damages  chan error // holds the damage a search met, until Run sees it
	batches  sync.Mutex // held while a batch is applied
}

// maxSiblings is the number of other directories that are tried if another process holds the first
// one.
const maxSiblings = 8

// Open opens the index in o.Dir, or creates it. It empties a directory that is damaged, of another
// version or of another log. If another process holds the directory, it uses a sibling (Dir.1,
// Dir.2, …). In each case the index is empty at first, the log gets one line, and [Index.Run] fills
// the index from the log. So Open fails only when the directory cannot be written.
func Open(ctx context.Context, o Options) (*Index, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	analyzer, err := tokens.NewAnalyzer()
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	version, err := entry.CurrentVersion()
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	x := &Index{
		store:      o.Store,
		log:        o.Log,
		analyzer:   analyzer,
		version:    version,
		lexicon:    semantic.EmbeddedLexicon(),
		documents:  newDocumentReader(o.Store, o.Log),
		firstRetry: retryFirst,
		linger:     o.Linger,
		storedFrom: o.storedFrom,
		states:     o.States,
		damages:    make(chan error, 1),
	}
	if o.Vectors != nil {
		x.lexicon = semantic.NewLexicon(func() *wordvec.Table { return o.Vectors })
	}
	for n := 0; n <= maxSiblings; n++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("open index: %w", err)
		}
		dir := siblingDir(o.Dir, n)
		l, at, err := x.openDir(dir)
		if errors.Is(err, blevefiles.ErrHeld) {
			o.Log.Warn("another process holds the index directory; using another one", "dir", dir, "next", siblingDir(o.Dir, n+1))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open index %s: %w", dir, err)
		}
		x.directory, x.path = l, dir
		x.position.MoveTo(at)
		if n == 0 {
			x.removeSiblings(o.Dir)
		}
		return x, nil
	}
	return nil, fmt.Errorf("open index %s: %w; so are %d other directories", o.Dir, blevefiles.ErrHeld, maxSiblings)
}

// siblingDir is the n-th directory to try.
func siblingDir(dir string, n int) string {
	if n == 0 {
		return dir
	}
	return dir + "." + strconv.Itoa(n)
}

// openDir opens or rebuilds one directory.
func (x *Index) openDir(dir string) (*view.Directory, store.Cursor, error) {
	l, at, err := x.openExisting(dir)
	var damage *damage.Error
	switch {
	case err == nil:
		return l, at, nil
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &damage):
		x.log.Warn("rebuilding the index", "dir", dir, "why", damage.What)
	default:
		return nil, store.Cursor{}, err
	}
	l, err = x.createDirectory(dir)
	return l, store.Cursor{}, err
}

// openExisting opens a directory that holds a sound index of this log. The error is fs.ErrNotExist when
// there is none, blevefiles.ErrHeld, or one of [damage.Errorf].
func (x *Index) openExisting(dir string) (*view.Directory, store.Cursor, error) {
	if err := blevefiles.Inspect(dir); err != nil {
		return nil, store.Cursor{}, err
	}
	var b bleve.Index
	err := damage.Recover(func() (err error) {
		b, err = bleve.OpenUsing(dir, map[string]any{"bolt_timeout": blevefiles.LockTimeout.String()})
		return err
	})
	if err != nil {
		return nil, store.Cursor{}, damage.Errorf("it does not open: %v", err)
	}
	l, err := x.newDirectory(dir, b)
	if err != nil {
		b.Close() // the first error says more
		return nil, store.Cursor{}, err
	}
	var at store.Cursor
	if err = damage.Recover(func() (err error) { at, err = x.readState(l); return err }); err != nil {
		l.Bleve.Close() // the first error says more
		return nil, store.Cursor{}, err
	}
	if missing := l.MissingEmbeddings(); len(missing) > 0 {
		x.log.Warn("the first search computes embeddings again", "dir", dir, "segments", len(missing), "why", missing[0])
	}
	return l, at, nil
}

// readState returns the position of an index in the log, and an error if this program cannot
// continue that index.
func (x *Index) readState(l *view.Directory) (store.Cursor, error) {
	value, err := l.Bleve.GetInternal([]byte(stateKey))
	if err != nil {
		return store.Cursor{}, damage.Errorf("its state: %v", err)
	}
	s, err := decodeState(value)
	if err != nil {
		return store.Cursor{}, err
	}
	if s.Version != x.version {
		return store.Cursor{}, &damage.Error{What: "it was built in form " + s.Version + ", this program builds form " + x.version, Outdated: true}
	}
	snapshot, v, err := l.OpenSnapshot()
	if err != nil {
		return store.Cursor{}, err
	}
	defer snapshot.Close() // only releases
	if v.Entries != s.Entries {
		return store.Cursor{}, damage.Errorf("it has %d entries and should have %d", v.Entries, s.Entries)
	}
	head := x.store.Head()
	if s.Cursor.Seq > 0 && (s.Cursor.Store != head.Store || s.Cursor.Incarnation != head.Incarnation || s.Cursor.Seq > head.Seq) {
		return store.Cursor{}, damage.Errorf("it follows another log: it is at %+v, the log at %+v", s.Cursor, head)
	}
	return s.Cursor, nil
}

// createDirectory empties dir and makes a new index in it.
func (x *Index) createDirectory(dir string) (*view.Directory, error) {
	if err := removeIndexFiles(dir); err != nil {
		return nil, err
	}
	// bleve makes its files readable for the group; the directory denies the access.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unfinished := filepath.Join(dir, blevefiles.UnfinishedFile)
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		return nil, err
	}
	b, err := bleve.NewUsing(dir, entry.StaticMapping(), scorch.Name, scorch.Name, map[string]any{"bolt_timeout": blevefiles.LockTimeout.String()})
	if err != nil {
		return nil, err
	}
	if err := b.SetInternal([]byte(stateKey), indexState{Version: x.version}.encodeState()); err != nil {
		b.Close() // the first error says more
		return nil, err
	}
	if err := os.Remove(unfinished); err != nil {
		b.Close() // the first error says more
		return nil, err
	}
	return x.newDirectory(dir, b)
}

// newDirectory returns the directory of an opened index.
func (x *Index) newDirectory(dir string, b bleve.Index) (*view.Directory, error) {
	l, err := view.NewDirectory(dir, b, x.lexicon, x.states)
	if err == nil && x.storedFrom > 0 {
		l.StoredFrom = x.storedFrom
	}
	return l, err
}

// removeIndexFiles removes an index from dir. It removes only bleve's files, so that a wrong path
// in a configuration deletes no other files.
func removeIndexFiles(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return os.Rename(dir, dir+".damaged")
	}
	for _, name := range []string{blevefiles.MetaFile, blevefiles.MetaFile + "_temp", blevefiles.StoreDir, blevefiles.UnfinishedFile} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeSiblings removes the indexes of earlier runs next to a directory that another process held
// then.
func (x *Index) removeSiblings(dir string) {
	for n := 1; n <= maxSiblings; n++ {
		beside := siblingDir(dir, n)
		if _, err := os.Stat(filepath.Join(beside, blevefiles.MetaFile)); err != nil {
			continue
		}
		if err := blevefiles.Inspect(beside); errors.Is(err, blevefiles.ErrHeld) {
			continue
		}
		if err := removeIndexFiles(beside); err != nil {
			x.log.Warn("cannot remove an index that is not used any more", "dir", beside, "error", err)
			continue
		}
		os.Remove(beside) // stays if somebody put a file there
	}
}

// Close stops the index and releases its files. [Index.Run] must have ended.
// Searches that are running finish first; later ones get [ErrClosed].
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.directory == nil {
		return nil
	}
	err := x.directory.Bleve.Close()
	x.directory = nil
	x.closed.Store(true)
	x.position.SetError(ErrClosed)
	if err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	return nil
}

// Cursor is the place in the log up to which the index is searchable. It is the
// zero Cursor while a rebuild begins.
func (x *Index) Cursor() store.Cursor { return x.position.Cursor() }

// Failure returns the reason why the index cannot be written at the moment; nil while it can.
func (x *Index) Failure() error {
	if err := x.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// WaitFor waits until the write with that sequence is searchable. The error is
// the context's, or [ErrClosed].
func (x *Index) WaitFor(ctx context.Context, seq uint64) error { return x.position.WaitFor(ctx, seq) }
