package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/api/route"
	"gazetteer/internal/config"
	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/store/boltstore"
	"gazetteer/web"
	"gazetteer/web/history"
)

// Run serves until ctx ends, in the order that loses nothing: first no new work
// is taken (HTTP, frontier), then what runs is finished within the grace, then
// the index and the transparency log follow to the end of the store. public may be nil, crawl false.
// ready, if not nil, is called when all of it answers.
func (h *Server) Run(ctx context.Context, public net.Listener, crawl bool, ready func()) error {
	var metrics, admin, tools net.Listener
	for key, l := range map[string]struct {
		address string
		to      *net.Listener
	}{"metrics_listen": {h.Config.MetricsListen, &metrics}, "admin_listen": {h.Config.AdminListen, &admin}, "altar.tls_listen": {h.Config.Altar.TLSListen, &tools}} {
		if l.address == "" || public == nil {
			continue
		}
		var err error
		if *l.to, err = ListenTCP(l.address, key+" in the configuration"); err != nil {
			return err
		}
		defer (*l.to).Close() // closed already when it has served
	}
	socket, err := listenSocket(h.Config.DataDir)
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(h.Config.DataDir, SocketName))
	// The followers outlive everything that writes.
	uncancelled, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followers, following := errgroup.WithContext(uncancelled)
	for what, follow := range map[string]func(context.Context) error{
		"the index": h.Index.Run, "the transparency log": h.audit.Run, "the directory of agents": h.directory.Run,
	} {
		followers.Go(func() error {
			if err := h.followThroughShortages(following, what, follow); err != nil {
				return fmt.Errorf("follow the store into %s: %w", what, explainLogError(err))
			}
			return nil
		})
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-following.Done(): // before its time
			return errors.New("what follows the store has stopped")
		}
	})
	group.Go(func() error {
		return h.serveListener(ctx, socket, operatorConnections(), h.api.AdminHandler())
	})
	if public != nil {
		group.Go(func() error {
			return h.serveListener(ctx, public, publicConnections(h.Config), h.api.Handler())
		})
	}
	if metrics != nil {
		group.Go(func() error { return h.serveListener(ctx, metrics, operatorConnections(), h.api.MetricsHandler()) })
	}
	if admin != nil {
		group.Go(func() error {
			return h.serveListener(ctx, admin, operatorConnections(), h.api.LocalAdminHandler(admin.Addr().String()))
		})
	}
	if h.tools != nil {
		group.Go(func() error { return h.tools.Run(ctx, h.toolsGrace()) })
	}
	if h.httpRuntime != nil {
		group.Go(func() error { return h.httpRuntime.Run(ctx) })
	}
	if h.tools != nil && tools != nil {
		group.Go(func() error { return h.serveToolsTLS(ctx, tools) })
	}
	if crawl {
		group.Go(func() error { return h.Crawler.Run(ctx) })
	}
	if public != nil {
		group.Go(func() error { return h.registry.Run(ctx) })
	}
	if public != nil && h.witnesses.Len() > 0 {
		group.Go(func() error {
			return h.witnesses.Run(ctx, h.logCosignFailure)
		})
	}
	if public != nil && h.Config.Crawler.BlockListFile != "" {
		group.Go(func() error { return h.reloadBlockListOnHangup(ctx) })
	}
	if public != nil {
		h.warnOfCheckpointCopy()
	}
	group.Go(func() error { return h.keepCheckpoints(ctx) })
	group.Go(func() error { return h.recorder.Run(ctx) })
	if public != nil {
		group.Go(func() error { h.recordHistory(ctx); return nil })
	}
	if public != nil && h.relay != nil {
		group.Go(func() error { return h.runRelay(ctx) })
	}
	if public != nil && h.Config.Store.CompactHour >= 0 {
		maintenance := boltstore.MaintainOptions{Keep: time.Duration(h.Config.Store.Horizon), Hour: h.Config.Store.CompactHour}
		group.Go(func() error { return h.Store.Maintain(ctx, maintenance) })
	}
	group.Go(func() error { return h.watchStore(ctx) })
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

// shortagePause is the time before a follower goes on that found no descriptor left.
const shortagePause = time.Second

// followThroughShortages runs a follower, and runs it again when it ended because the process or the
// system had run out of descriptors or memory for them: that passes, and must not end the process.
func (h *Server) followThroughShortages(ctx context.Context, what string, follow func(context.Context) error) error {
	for {
		err := follow(ctx)
		if err == nil || !limit.IsShortage(err) {
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
		h.audit.Halt(err)
		h.log.Error("the log contradicts what a witness has cosigned: nothing more is signed; put back a newer copy, or, where none is left, begin another log (registry.log_origin)", "error", err)
		return
	}
	h.log.Warn("the log was not cosigned", "error", err)
}

// drainTimeout is what visits and answers have of the time for a stop. The rest is for
// what follows the store.
func drainTimeout(config config.Config) time.Duration {
	return time.Duration(config.ShutdownGrace) * 4 / 5
}

// awaitFollowers lets what follows the store reach its end, so that the next start finds
// nothing to catch up with. Not reaching it costs only that.
func (h *Server) awaitFollowers() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(h.Config.ShutdownGrace)-drainTimeout(h.Config))
	defer cancel()
	head := h.Store.Head().Seq
	if err := errors.Join(h.Index.WaitFor(ctx, head), h.audit.WaitFor(ctx, head)); err != nil {
		h.log.Info("the index or the transparency log did not reach the end of the store before the stop; it will at the next start")
	}
}

// notifyCaughtUp tells the service manager when what is in the store now can be
// found.
func (h *Server) notifyCaughtUp(ctx context.Context) {
	if h.Index.WaitFor(ctx, h.Store.Head().Seq) == nil { // else ctx has ended
		h.NotifyManager("STATUS=serving " + h.Config.DataDir)
	}
}

// watchStore ends the process when the store can acknowledge nothing more: a
// restart decides by reading what is there.
func (h *Server) watchStore(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.Store.Failed():
		return fmt.Errorf("the store stopped taking writes: %w", h.Store.Err())
	}
}

// serveListener answers on l until ctx ends, then finishes what runs within the grace.
func (h *Server) serveListener(ctx context.Context, l net.Listener, rule limit.ConnectionRule, handler http.Handler) error {
	server := route.NewServer(handler, h.log)
	connections := h.limits.Connections(l, rule)
	defer connections.Close() // closed already, but for an error of Serve
	server.ConnState = connections.ConnState
	server.RegisterOnShutdown(h.api.EndStreams)
	if h.relayHTTP != nil {
		server.RegisterOnShutdown(h.relayHTTP.End)
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout(h.Config))
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			server.Close() // the grace is over: cut what still runs
		}
		stopped <- nil
	}()
	if err := server.Serve(route.StrictLines(connections)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return <-stopped
}

// recordHistory stores the figures that the page of the status draws, until ctx ends.
func (h *Server) recordHistory(ctx context.Context) {
	h.history.Run(ctx, func() history.Sample { return web.SampleOf(h.api.ServerStatus()) }, func(err error) {
		h.log.Error("the figures of the status are not stored", "error", err)
	})
}
