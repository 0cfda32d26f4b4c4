// Package server opens all parts of one data directory, connects them, and runs them.
//
// [Open] opens and connects the packages, [Server.Run] serves until its context ends, and
// [Server.Close] releases the files. The command serve runs a server with a public address. A
// command that finds no running server runs one on the socket of the data directory alone until the
// command ends.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"gazetteer/api"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/wordvec"
	"gazetteer/internal/backup"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/steadyclock"
	"gazetteer/join"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/witness"
	"gazetteer/registry/directory"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/httpruntime"
	"gazetteer/web/history"
)

// Server contains all open parts of one data directory, connected to each other.
type Server struct {
	Config    config.Config
	log       *slog.Logger
	crawls    bool // set by [Server.Run] before anything is served
	Store     *boltstore.Store
	Index     *index.Index
	registry  *registrar.Registrar
	resolver  *resolve.Resolver
	directory *directory.Directory
	standing  *standing.Follower // of the states of hosts
	joiner    *join.Joiner
	changes   *changefeed.Feed
	census    *census.Live
	audit     *audit.Log
	// checkpointCopy is the path of the second copy of the last checkpoint of the log, "" for none.
	checkpointCopy string
	limits         *limit.Set
	witnesses      *audit.Cosigners // of our log
	witness        *witness.Witness // of the logs of others
	Crawler        *crawler.Crawler
	api            *api.API
	relay          *relay.Relay // nil when it is switched off, as are the next two
	relayHTTP      *relayhttp.Handler
	tools          *toolhost.Host // nil when it is switched off, as is the next
	toolsHTTP      *hosthttp.Handler
	// toolsCertificate is that of altar.tls_listen, nil without one.
	toolsCertificate *certificateFile
	httpRuntime      *httpruntime.Runtime // nil when it is switched off
	mail             *boltqueue.Queue
	history          *history.History // of the figures that the status page draws
	recorder         *recorder
	clock            *steadyclock.Clock
	panics           atomic.Uint64      // of handlers, since the start
	mailCompacted    atomic.Int64       // Unix milliseconds of the last compaction of the mail, 0 for none
	erased           atomic.Int64       // Unix milliseconds of the last erasure of an agent, 0 for none
	awaited          sync.Map           // *compactPart as keys: what compactions wait for
	NotifyManager    func(state string) // reports the state of the server to the service manager
}

// Open opens the data directory and all files in it. observe, if not nil, is called for every
// visit.
func Open(ctx context.Context, c config.Config, e Environment, l *slog.Logger, observe func(crawler.Result)) (_ *Server, err error) {
	captureStandardLog(l)
	c.PublicURL = cmp.Or(c.PublicURL, config.LocalURL(cmp.Or(c.Listen, config.Default().Listen)))
	c.MinFreeBytes = cmp.Or(c.MinFreeBytes, -1) // for a file 0 means its default
	h := &Server{Config: c, log: l, NotifyManager: func(string) {}, clock: steadyclock.New(e.Now, l)}
	e.Clock = h.clock.Now
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := checkDataDir(c.DataDir); err != nil {
		return nil, err
	}
	if err := checkSettings(c); err != nil {
		return nil, err
	}
	vectors, err := readVectors(c.Search.VectorFile)
	if err != nil {
		return nil, c.Locate(err)
	}
	// The log is held against the store before either is changed.
	openLog := func(s *boltstore.Store) (err error) {
		h.Store = s
		if h.audit, err = h.openLog(ctx); err != nil {
			return fmt.Errorf("open the transparency log: %w", h.explainLogError(err))
		}
		return nil
	}
	if h.Store, err = boltstore.Open(ctx, c.DataDir, boltstore.Options{Log: l, MinFree: c.MinFreeBytes, KeepDeletion: leafform.HistoryKey, Now: h.clock.Due, Check: openLog}); err != nil {
		return nil, err
	}
	removed, err := backup.RemoveAbandonedStreams(c.DataDir)
	for _, path := range removed {
		l.Info("removed a backup that was interrupted before it was streamed", "dir", path)
	}
	if err != nil {
		l.Warn("what is left of an interrupted backup was not removed", "error", err)
	}
	h.standing = standing.Open(standing.Options{Store: h.Store, Path: filepath.Join(c.DataDir, "standing"), Log: l})
	if h.Index, err = index.Open(ctx, index.Options{Dir: filepath.Join(c.DataDir, "index"), Store: h.Store, Vectors: vectors, States: h.standing, Log: l}); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	if h.changes, err = changefeed.Open(ctx, changefeed.Options{Dir: filepath.Join(c.DataDir, "changes"), Store: h.Store, Keep: c.Changes.Keep, Log: l}); err != nil {
		return nil, err
	}
	h.recorder = newRecorder(func(ctx context.Context, why string, made ...fetch.Made) error {
		return h.Crawler.Record(ctx, why, made...)
	}, l)
	relayKey, err := openRelayKey(c)
	if err != nil {
		return nil, fmt.Errorf("open the key of the relay: %w", err)
	}
	if err = h.openRegistry(ctx, e, publicKey(relayKey)); err != nil {
		return nil, fmt.Errorf("set up the registry: %w", err)
	}
	if h.Crawler, err = newCrawler(h, e, observe); err != nil {
		return nil, fmt.Errorf("set up the crawler: %w", err)
	}
	if err = h.openRelay(ctx, e, relayKey); err != nil {
		return nil, err
	}
	if err = h.openTools(ctx, e); err != nil {
		return nil, err
	}
	return h, h.openAPI(e)
}

// readVectors reads the table of word vectors that the configuration names. Without one it returns
// nil, which means the built-in table.
func readVectors(file string) (*wordvec.Table, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, exit.Usagef("search.vector_file: %v", err)
	}
	defer f.Close() // only read
	table, err := wordvec.Read(f)
	if err != nil {
		return nil, exit.Usagef("search.vector_file: %s: %v", file, err)
	}
	return table, nil
}

// Close releases the files, last opened first.
func (h *Server) Close() error {
	var err error
	if h.witness != nil {
		err = h.witness.Close()
	}
	if h.audit != nil {
		err = errors.Join(err, h.audit.Close())
	}
	if h.tools != nil {
		err = errors.Join(err, h.tools.Close())
	}
	if h.mail != nil {
		err = errors.Join(err, h.mail.Close())
	}
	if h.changes != nil {
		err = errors.Join(err, h.changes.Close())
	}
	if h.Index != nil {
		err = errors.Join(err, h.Index.Close())
	}
	if h.Store != nil {
		err = errors.Join(err, h.Store.Close())
	}
	return err
}

var _ io.Writer = writerFunc(nil)
