package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"gazetteer/internal/version"
	"gazetteer/registry"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/hostmcp"
	"gazetteer/toolhost/httpruntime"
)

// openTools opens the tool host.
func (h *Server) openTools(ctx context.Context, e Environment) error {
	c := h.Config.Altar
	if !c.Enabled {
		return nil
	}
	require, err := registry.ParseRequire(c.Require)
	if err != nil {
		return err
	}
	o := toolhost.Options{
		Store: h.Store, Dir: filepath.Join(h.Config.DataDir, "altar"),
		SessionTTL: time.Duration(c.SessionTTL), MaxSessionTTL: time.Duration(c.MaxSessionTTL), CallTimeout: time.Duration(c.CallTimeout), MaxTimeout: time.Duration(c.MaxCallTimeout),
		SessionsPerClient: c.SessionsPerClient, CallsPerClient: c.CallsPerClient, CallsPerMinute: c.CallsPerMinute,
		AuditParameters: c.AuditParameters, Limits: h.limits, Log: h.log, Now: e.Now,
		Blocked: func(ctx context.Context, host string) (bool, error) {
			_, blocked, err := h.Crawler.Blocked(ctx, host)
			return blocked, err
		},
	}
	if len(require) > 0 {
		o.AdmitClient = func(ctx context.Context, client string) error { return h.admitToolClient(ctx, client, require) }
	}
	if h.tools, err = toolhost.Open(ctx, o); err != nil {
		return fmt.Errorf("open the tool host: %w", err)
	}
	h.toolsHTTP = hosthttp.New(hosthttp.Options{Host: h.tools, Log: h.log, Panics: &h.panics, MCP: hostmcp.New(hostmcp.Options{
		Host: h.tools, PublicURL: h.Config.PublicURL, Version: version.Read().Version, Log: h.log,
	})})
	return h.openHTTPRuntime(e)
}

// openHTTPRuntime creates the runtime that calls services over HTTPS, if it is enabled.
func (h *Server) openHTTPRuntime(e Environment) error {
	if !h.Config.Altar.HTTPRuntime {
		return nil
	}
	var credentials map[string]httpruntime.Credential
	var err error
	if file := h.Config.Altar.CredentialsFile; file != "" {
		if credentials, err = httpruntime.ReadCredentials(file); err != nil {
			return err
		}
	}
	transport, err := h.newToolTransport(e)
	if err != nil {
		return err
	}
	h.httpRuntime = httpruntime.New(httpruntime.Options{
		Host: h.tools, Credentials: credentials, UserAgent: userAgent(h.Config), Log: h.log, Transport: transport,
	})
	return nil
}

// newToolTransport returns the transport of the HTTP runtime. It applies the address rules of the
// crawler, because documents choose the destination.
func (h *Server) newToolTransport(e Environment) (*http.Transport, error) {
	guard, err := newGuard(h.Config)
	if err != nil {
		return nil, err
	}
	dial := DialFunc(guard.DialContext)
	if e.Dial != nil {
		dial = e.Dial(dial)
	}
	return &http.Transport{
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: e.Roots, MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: 32 << 10, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 4,
	}, nil
}

// admitToolClient refuses a client unless it is an agent of this registry with the evidence that
// tools require.
func (h *Server) admitToolClient(ctx context.Context, client string, require []string) error {
	if client == toolhost.OperatorClient {
		return nil
	}
	agent, _, err := h.registry.Find(ctx, client)
	if _, bad := errors.AsType[*registry.Error](err); bad || errors.Is(err, registry.ErrNoAgent) {
		return fmt.Errorf("the client %s is no agent of this registry, and tools are for agents with evidence for: %s", client, require)
	}
	if err != nil {
		return err
	}
	missing := require
	if agent.Status == registry.Active {
		if missing, err = h.registry.MissingSignals(ctx, agent, require); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("tools are for agents with evidence for: %s", missing[0])
	}
	return nil
}

// toolsGrace is the part of the shutdown time for running calls of tools.
func (h *Server) toolsGrace() time.Duration { return drainTimeout(h.Config) * 3 / 4 }
