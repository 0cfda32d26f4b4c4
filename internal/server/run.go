package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/api/route"
	"gazetteer/internal/config"
	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/web"
	"gazetteer/web/history"
)

// Run serves until ctx ends. It then stops in an order that loses nothing: it refuses new work
// (HTTP, frontier), finishes running work within the grace period, and lets the index and the
// transparency log follow the store to its end. listeners is nil for a server without a public
// address; otherwise Run closes them. ready, if not nil, is called when all listeners answer.
func (h *Server) Run(ctx context.Context, listeners *Listeners, crawl bool, ready func()) error {
	isPublic := listeners != nil
	if isPublic {
		defer listeners.Close()
		if err := h.openToolsCertificate(); err != nil {
			return err
		}
	}
	h.crawls = crawl
	socket, err := listenSocket(h.Config.DataDir)
	if err != nil {
		return err
	}
	defer socket.Close()
	// The followers stop after all writers.
	uncanceled, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followers, following := errgroup.WithContext(uncanceled)
	followIndex := h.Index.Run
	if !isPublic { // one command, which may not search
		followIndex = h.Index.Follow
	}
	h.startFollowers(following, followers, followIndex)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-following.Done(): // before its time
			return errors.New("what follows the store has stopped")
		}
	})
	if isPublic {
		h.warnOfLogLock()
		for _, warning := range Warnings(h.Config) {
			h.log.Warn(warning)
		}
		again, stop := h.catchHangups()
		defer stop()
		group.Go(func() error { return h.reloadOnHangup(ctx, again) })
	}
	for _, p := range h.listParts(socket, listeners, crawl) {
		if p.enabled {
			group.Go(func() error { return p.run(ctx) })
		}
	}
	if ready != nil {
		ready()
	}
	group.Go(func() error { h.notifyCaughtUp(ctx); return nil })
	err = group.Wait()
	h.NotifyManager("STOPPING=1")
	h.awaitFollowers()
	h.keepLastCheckpoint()
	h.awaitFollowers() // of that one record
	stopFollowing()
	return errors.Join(err, followers.Wait())
}

// startFollowers starts all followers of the store.
func (h *Server) startFollowers(ctx context.Context, group *errgroup.Group, followIndex func(context.Context) error) {
	for what, follow := range map[string]func(context.Context) error{
		"the index": followIndex, "the transparency log": h.audit.Run, "the directory of agents": h.directory.Run,
		"the states of hosts": h.standing.Run,
		"the feed of changes": h.changes.Run,
		"the figures":         h.census.Run,
	} {
		group.Go(func() error {
			if err := h.followThroughShortages(ctx, what, follow); err != nil {
				return fmt.Errorf("follow the store into %s: %w", what, h.explainLogError(err))
			}
			return nil
		})
	}
}

// A part is something that runs for as long as the server does, if it is enabled.
type part struct {
	enabled bool
	run     func(context.Context) error
}

// listParts returns all parts of a server except its followers.
func (h *Server) listParts(socket *socketListener, l *Listeners, crawl bool) []part {
	isPublic := l != nil
	if !isPublic {
		l = &Listeners{}
	}
	// The tool host's own address shares the limits of the public one.
	public := h.limits.ConnectionPool(publicConnections(h.Config))
	return []part{
		{true, func(ctx context.Context) error {
			return h.serveListener(ctx, socket, h.limits.ConnectionPool(operatorConnections()), h.api.OperatorHandler())
		}},
		{isPublic, func(ctx context.Context) error {
			return h.serveListener(ctx, l.public, public, h.api.Handler())
		}},
		{l.metrics != nil, func(ctx context.Context) error {
			return h.serveListener(ctx, l.metrics, h.limits.ConnectionPool(operatorConnections()), h.api.MetricsHandler())
		}},
		{l.operator != nil, func(ctx context.Context) error {
			return h.serveListener(ctx, l.operator, h.limits.ConnectionPool(operatorConnections()), h.api.LocalOperatorHandler(l.operator.Addr().String()))
		}},
		{h.tools != nil, func(ctx context.Context) error { return h.tools.Run(ctx, h.toolsGrace()) }},
		{h.httpRuntime != nil, func(ctx context.Context) error { return h.httpRuntime.Run(ctx) }},
		{h.tools != nil && l.tools != nil, func(ctx context.Context) error { return h.serveToolsTLS(ctx, l.tools, public) }},
		{crawl, func(ctx context.Context) error { return h.Crawler.Run(ctx) }},
		{crawl && !isPublic, limitCrawlMemory},
		{isPublic, boundGarbage},
		{isPublic, func(ctx context.Context) error { return h.registry.Run(ctx) }},
		{isPublic && h.witnesses.Len() > 0, func(ctx context.Context) error { return h.witnesses.Run(ctx, h.logCosignFailure) }},
		{true, h.keepCheckpoints},
		{true, h.recorder.Run},
		{true, h.clock.Run},
		{isPublic, h.trackErasures},
		{isPublic, func(ctx context.Context) error { h.recordHistory(ctx, crawl); return nil }},
		{isPublic && h.relay != nil, h.runRelay},
		{isPublic && h.Config.Store.CompactHour >= 0, func(ctx context.Context) error {
			return h.Store.Maintain(ctx, boltstore.MaintainOptions{Keep: time.Duration(h.Config.Store.Horizon), Hour: h.Config.Store.CompactHour, MustCopy: h.holdsErased, After: h.compactViewsQuietly})
		}},
		{true, func(ctx context.Context) error { return h.keepSocket(ctx, socket) }},
		{true, h.watchStore},
		{isPublic, h.watchDiskSpace},
	}
}

// shortagePause is the time before a follower restarts after a shortage.
const shortagePause = time.Second

// followThroughShortages runs a follower and restarts it when it failed because the process or the
// system had no descriptors, or no memory for them, or because the disk was full. Such a shortage is
// temporary and must not end the process.
func (h *Server) followThroughShortages(ctx context.Context, what string, follow func(context.Context) error) error {
	for {
		err := follow(ctx)
		if !limit.IsShortage(err) && !errors.Is(err, store.ErrFull) {
			return err
		}
		h.log.Error("could not follow the store, trying again", "into", what, "error", err, "pause", shortagePause)
		if wait.For(ctx, shortagePause) != nil {
			return nil
		}
	}
}

// logCosignFailure tells the operator that a witness did not cosign the log.
func (h *Server) logCosignFailure(err error) {
	if errors.Is(err, audit.ErrFork) {
		h.audit.Halt(audit.CauseWitness, err)
		return
	}
	h.log.Warn("the log was not cosigned", "error", err)
}

// drainTimeout returns the part of the shutdown time for running visits and answers. The rest is
// for the followers of the store.
func drainTimeout(config config.Config) time.Duration {
	return time.Duration(config.ShutdownGrace) * 4 / 5
}

// awaitFollowers waits until the followers have reached the end of the store, so that the next
// start has nothing to catch up on. If they do not reach it, only the next start takes longer.
func (h *Server) awaitFollowers() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(h.Config.ShutdownGrace)-drainTimeout(h.Config))
	defer cancel()
	head := h.Store.Head().Seq
	if err := errors.Join(h.Index.WaitFor(ctx, head), h.audit.WaitFor(ctx, head), h.standing.WaitFor(ctx, head), h.changes.WaitFor(ctx, head)); err != nil {
		h.log.Info("the index, the transparency log, the states of hosts or the feed of changes did not reach the end of the store before the stop; it will at the next start")
	}
}

// notifyCaughtUp tells the service manager when all current records of the store can be found.
func (h *Server) notifyCaughtUp(ctx context.Context) {
	if h.Index.WaitFor(ctx, h.Store.Head().Seq) == nil { // else ctx has ended
		h.NotifyManager("STATUS=serving " + h.Config.DataDir)
	}
}

// watchStore ends the process when the store can acknowledge no more writes. A restart then reads
// the stored data to decide which writes succeeded.
func (h *Server) watchStore(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.Store.Failed():
		return fmt.Errorf("the store stopped taking writes: %w", h.Store.Err())
	}
}

// serveListener answers on l until ctx ends, then finishes running requests within the grace
// period. The pool counts its connections.
func (h *Server) serveListener(ctx context.Context, l net.Listener, pool *limit.ConnectionPool, handler http.Handler) error {
	server := route.NewServer(handler, h.log)
	server.RegisterOnShutdown(h.api.EndStreams)
	if h.relayHTTP != nil {
		server.RegisterOnShutdown(h.relayHTTP.End)
	}
	connections := pool.Listen(l)
	return h.runServer(ctx, server, connections, func() error { return server.Serve(route.StrictLines(connections)) })
}

// runServer runs serve, which has the server answer on connections, until ctx ends. It then
// finishes running requests within the grace period.
func (h *Server) runServer(ctx context.Context, server *http.Server, connections *limit.ConnectionListener, serve func() error) error {
	defer connections.Close() // already closed, except after an error of serve
	server.ConnState = connections.ConnState
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout(h.Config))
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			server.Close() // the grace period is over: close the remaining connections
		}
		stopped <- nil
	}()
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", connections.Addr(), err)
	}
	return <-stopped
}

// recordHistory stores the figures that the status page draws, until ctx ends. A crawler that does not
// run never counts its hosts, so nothing waits for it.
func (h *Server) recordHistory(ctx context.Context, crawl bool) {
	sample := func() (history.Sample, bool) {
		status := h.api.ServerStatus()
		if !crawl {
			status.Crawler = nil
		}
		return web.SampleOf(status)
	}
	h.history.Run(ctx, sample, func(err error) {
		h.log.Error("the figures of the status are not stored", "error", err)
	})
}
