package server

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"gazetteer/internal/config"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
	"gazetteer/registry/resolve"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/recipients"
	"gazetteer/relay/relayhttp"
	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/follow"
)

// minReplayWindow is longer than the lifetime of an envelope.
const minReplayWindow = 10 * time.Minute

// openRelayKey reads the key that signs receipts, or makes one at the first start.
func openRelayKey(c config.Config) (ed25519.PrivateKey, error) {
	if !c.Relay.Enabled {
		return nil, nil
	}
	path := filepath.Join(c.DataDir, "relay.key")
	key, err := keyfile.Read(path, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if _, key, err = ed25519.GenerateKey(rand.Reader); err != nil {
		return nil, err
	}
	return key, keyfile.Create(path, key, nil, keyfile.Attributes{"use": "signs the receipts of the relay of " + c.Registry.DIDHost})
}

// publicKey returns the public half of a key, nil for none.
func publicKey(key ed25519.PrivateKey) ed25519.PublicKey {
	if key == nil {
		return nil
	}
	return key.Public().(ed25519.PublicKey)
}

// openRelay opens the mail of the registry's agents.
func (h *Server) openRelay(ctx context.Context, e Environment, key ed25519.PrivateKey) error {
	c := h.Config.Relay
	if !c.Enabled {
		return nil
	}
	require, err := registry.ParseRequire(c.Require)
	if err != nil {
		return err
	}
	position, err := h.Store.Get(ctx, store.MailPositionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read the position of the mail: %w", err)
	}
	if h.mail, err = boltqueue.Open(ctx, filepath.Join(h.Config.DataDir, "relay"), boltqueue.Options{
		Window: time.Duration(c.ReplayWindow), File: boltfile.Options{Log: h.log, MinFree: minFreeForMail(h.Config.MinFreeBytes), Known: string(position.Value)},
	}); err != nil {
		return fmt.Errorf("open the queue of the relay: %w", err)
	}
	profile := a2a.Wire
	if c.Strict {
		profile = a2a.Strict
	}
	wake, err := h.newWakeTransport(e)
	if err != nil {
		return err
	}
	h.relay = relay.New(relay.Options{
		Queue: h.mail, Senders: a2a.DocumentKeys{Resolver: resolve.Directory{Resolver: h.resolver}, Cache: new(did.KeyCache)},
		Inboxes: recipients.New(recipients.Options{
			Registry: h.registry, Require: require, Foreign: c.ForeignInboxes, Resolver: resolve.Directory{Resolver: h.resolver}, Now: e.Now,
		}), DID: h.registry.Host().String(), Key: key, Profile: profile,
		Keep: time.Duration(c.Keep), KeepUnread: time.Duration(c.KeepUnread), MaxMail: c.MailPerInbox, MaxBytes: c.BytesPerInbox,
		SenderPerMinute: c.SenderPerMinute, NetworkPerMinute: c.NetworkPerMinute, FirstContacts: c.FirstContactsPerDay,
		Allow: c.Allow, Block: c.Block, Limits: h.limits, Log: h.log, Now: e.Now, Due: h.clock.Due, Steady: h.clock.Steady,
		Wake: wake, Host: h.publicHost(), AllowLoopback: h.Config.Registry.AllowLoopback,
	})
	h.relayHTTP, err = relayhttp.New(relayhttp.Options{
		Relay: h.relay, PublicURL: h.Config.PublicURL, OpenDeployed: c.OpenPull, Client: func(r *http.Request) netip.Addr { return h.api.ClientAddress(r) }, Limits: h.limits, Log: h.log,
	})
	return err
}

// minFreeForMail returns the free disk space below which the relay refuses new mail. It is four times
// that of the other parts: mail alone, which anybody can send, must not stop registrations and rotations.
func minFreeForMail(others int64) int64 {
	return 4 * min(others, math.MaxInt64/4)
}

// publicHost returns the name under which clients reach the server, "" when none is configured.
func (h *Server) publicHost() string {
	u, err := url.Parse(h.Config.PublicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// newWakeTransport returns the transport of wake-ups. It applies the address rules of the crawler
// and never connects to an address of this machine, because agents choose the destination.
func (h *Server) newWakeTransport(e Environment) (http.RoundTripper, error) {
	guard, err := newGuard(h.Config)
	if err != nil {
		return nil, err
	}
	var dial DialFunc = guard.DialContext
	if e.Dial != nil {
		dial = e.Dial(dial)
	}
	own := func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil && h.Config.Registry.AllowLoopback && (host == "localhost" || host == "127.0.0.1" || host == "::1") {
			if h.isOperatorPort(port) {
				return nil, fmt.Errorf("%s is an address of the operator", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		conn, err := dial(ctx, network, address)
		if err == nil && e.Dial == nil && isOwnAddress(conn.RemoteAddr()) {
			conn.Close()
			return nil, fmt.Errorf("%s is an address of this machine", conn.RemoteAddr())
		}
		return conn, err
	}
	return &http.Transport{
		DialContext: own, TLSClientConfig: &tls.Config{RootCAs: e.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10, TLSHandshakeTimeout: 5 * time.Second,
	}, nil
}

// isOperatorPort reports whether the operator's or the metrics' listener has this port. A wake-up is
// a POST, and the operator's listener obeys those that come from this machine.
func (h *Server) isOperatorPort(port string) bool {
	return slices.ContainsFunc([]string{h.Config.AdminListen, h.Config.MetricsListen}, func(listener string) bool {
		_, own, err := net.SplitHostPort(listener)
		return err == nil && own == port
	})
}

// isOwnAddress reports whether an address is one of this machine's interfaces.
func isOwnAddress(remote net.Addr) bool {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true // refuse the wake-up rather than send it to this machine
	}
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(tcp.IP)
	})
}

// runRelay deletes expired mail, and the mail of ended agents.
func (h *Server) runRelay(ctx context.Context) error {
	expiry := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { expiry <- h.relay.Run(ctx) }()
	err := h.registry.FollowAgents(ctx, new(follow.Position), nil, func(agents []registry.Agent) error {
		for _, a := range agents {
			if a.Status == registry.Active || a.Status == registry.Suspended {
				continue
			}
			if err := h.relay.Wipe(ctx, h.registry.DID(a.AirID)); err != nil {
				return fmt.Errorf("delete the mail of an agent that ended: %w", err)
			}
		}
		return nil
	})
	cancel()
	return errors.Join(err, <-expiry)
}
