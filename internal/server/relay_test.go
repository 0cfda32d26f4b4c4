package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/config"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/relay"
	"gazetteer/relay/recipients"
	"gazetteer/store"
)

// privateHosts are hosts that no stranger may have requested, in several notations.
var privateHosts = []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"}

// An untrusted wake-up address does not reach this machine in any notation.
func TestWakeUpsRefusePrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	operator := httptest.NewServer(inside.Config.Handler)
	t.Cleanup(operator.Close)
	ask := func(h *Server, address string) {
		t.Helper()
		transport, err := h.newWakeTransport(Environment{})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, address, http.NoBody)
		if response, err := transport.RoundTrip(request.WithContext(t.Context())); err == nil {
			response.Body.Close()
			t.Errorf("%s answers %s", address, response.Status)
		}
	}
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, host := range privateHosts {
		ask(&Server{Config: config.Default()}, "https://"+host+":"+port+"/")
	}
	// Where loopback is allowed, the operator's listener still gets no wake-up.
	local := &Server{Config: config.Default()}
	local.Config.Registry.AllowLoopback = true
	local.Config.AdminListen = strings.TrimPrefix(operator.URL, "http://")
	ask(local, operator.URL+"/admin/compact")
	local.Config.AdminListen, local.Config.MetricsListen = "", local.Config.AdminListen
	ask(local, operator.URL+"/metrics")
	if n := reached.Load(); n != 0 {
		t.Errorf("this machine was reached %d times", n)
	}
}

// TestWakeUpTLSVersions checks that wake-ups are sent over TLS 1.2 and later only (A2A §7.1).
func TestWakeUpTLSVersions(t *testing.T) {
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		var reached atomic.Int64
		recipient := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		recipient.Config.ErrorLog = log.New(io.Discard, "", 0)
		recipient.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		recipient.StartTLS()
		t.Cleanup(recipient.Close)
		roots := x509.NewCertPool()
		roots.AddCert(recipient.Certificate())
		h := &Server{Config: config.Default()}
		h.Config.Registry.AllowLoopback = true
		transport, err := h.newWakeTransport(Environment{Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, recipient.URL, http.NoBody)
		response, err := transport.RoundTrip(request.WithContext(t.Context()))
		if err == nil {
			response.Body.Close()
		}
		if (err == nil) != accepted || accepted != (reached.Load() == 1) {
			t.Errorf("%s: %v, %d requests arrived", tls.VersionName(version), err, reached.Load())
		}
	}
}

// TestRelaySettings checks that each setting of the table [relay] reaches the relay.
func TestRelaySettings(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	c.Relay = config.RelayConfig{
		Enabled: true, Keep: config.Duration(time.Hour), KeepUnread: config.Duration(2 * time.Hour), ReplayWindow: config.Duration(minReplayWindow), MailPerInbox: 3, BytesPerInbox: 4,
		SenderPerMinute: 5, NetworkPerMinute: 6, FirstContactsPerDay: 7, Require: "key,domain", Allow: []string{"allowed.example"}, Block: []string{"blocked.example"},
		Strict: true, OpenPull: true, ForeignInboxes: []string{"partner.example"},
	}
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o, boxes := h.relay.Options, h.relay.Inboxes.(recipients.Recipients)
	got := fmt.Sprintln(o.Keep, o.KeepUnread, o.MaxMail, o.MaxBytes, o.SenderPerMinute, o.NetworkPerMinute, o.FirstContacts, boxes.Require, o.Allow, o.Block, o.Profile, h.relayHTTP.OpenDeployed, boxes.Foreign)
	if want := "1h0m0s 2h0m0s 3 4 5 6 7 [key domain] [allowed.example] [blocked.example] strict true [partner.example]\n"; got != want {
		t.Errorf("the relay has %swant %s", got, want)
	}
	c.DataDir, c.Relay.ReplayWindow = t.TempDir(), config.Duration(minReplayWindow-1)
	if h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil); err == nil || !strings.Contains(err.Error(), "relay.replay_window") {
		t.Errorf("a window shorter than the lifetime of an envelope: %v, %v", h, err)
	}
	c.DataDir, c.Relay = t.TempDir(), config.RelayConfig{}
	without, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	if without.relay != nil || without.relayHTTP != nil {
		t.Error("there is a relay, although the settings say that there is none")
	}
}

// TestMailLeavesDiskSpace opens a server with less free disk space than mail wants, and more than the
// other parts want.
func TestMailLeavesDiskSpace(t *testing.T) {
	c := config.Default()
	c.DataDir, c.Registry.CheckpointCopy, c.Crawler.Enabled = t.TempDir(), noCheckpointCopy, false
	var disk syscall.Statfs_t
	if err := syscall.Statfs(c.DataDir, &disk); err != nil {
		t.Fatal(err)
	}
	c.MinFreeBytes = int64(disk.Bavail) * int64(disk.Bsize) / 2
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.mail.Push(t.Context(), relay.Incoming{Inbox: "did:web:a.example", Sender: "did:web:b.example", ID: "1", Nonce: "1", Text: []byte("{}"), Expires: time.Now().Add(time.Hour)}); !errors.Is(err, store.ErrFull) {
		t.Errorf("mail: %v", err)
	}
	if _, err := h.Store.Apply(t.Context(), store.Put("host/a.example", []byte("{}"))); err != nil {
		t.Errorf("other writes: %v", err)
	}
	if got := minFreeForMail(math.MaxInt64); got < math.MaxInt64-4 || minFreeForMail(-1) >= 0 {
		t.Error(got)
	}
}

// TestAttestedAgentsAreAdmitted checks relay.require and altar.require with an attestation, and that the
// attestation makes its subject known to a relay whose inboxes are nearly full.
func TestAttestedAgentsAreAdmitted(t *testing.T) {
	c := config.Default()
	c.DataDir, c.Registry.CheckpointCopy = t.TempDir(), noCheckpointCopy
	c.Relay.Require, c.Altar.Require = registry.SignalAttestations, registry.SignalAttestations
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	agents := map[string]registry.Agent{}
	for _, name := range []string{"attester", "subject", "stranger"} {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte(name[2:3]), 32)).Public().(ed25519.PublicKey)
		agent, _, err := h.registry.Register(t.Context(), registry.Registration{Name: name, CreatorDID: "did:wba:" + name + ".example", PublicKey: did.FormatPublicKey(key)})
		if err != nil {
			t.Fatal(err)
		}
		agents[name] = agent
	}
	subject := agents["subject"]
	subject.Attested, subject.Standing = []int{1}, registry.AttestationSummary{Count: 1, Roots: 1, Weight: 1}
	put := func(key string, value any) {
		t.Helper()
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Store.Apply(t.Context(), store.Put(key, text)); err != nil {
			t.Fatal(err)
		}
	}
	put(store.AgentKey(subject.AirID), subject)
	put(store.AttestationKey(1), registry.Attestation{N: 1, Subject: subject.AirID, Attester: agents["attester"].AirID, Root: "attester.example", Weight: 1, Created: subject.Created})
	boxes := h.relay.Inboxes.(recipients.Recipients)
	for name, want := range map[string]bool{"subject": true, "stranger": false} {
		id := h.registry.DID(agents[name].AirID)
		if err := boxes.AdmitSender(t.Context(), relay.Inbox{}, id); (err == nil) != want {
			t.Errorf("mail of the %s: %v", name, err)
		}
		if boxes.KnowsSender(t.Context(), id) != want {
			t.Errorf("the relay knows the %s: %t", name, !want)
		}
		if err := h.admitToolClient(t.Context(), agents[name].AirID, []string{registry.SignalAttestations}); (err == nil) != want {
			t.Errorf("tool calls of the %s: %v", name, err)
		}
	}
}

// suspendingInboxes suspends an agent after its inbox was found.
type suspendingInboxes struct {
	relay.Inboxes
	suspend func()
}

func (s suspendingInboxes) FindInbox(ctx context.Context, name string) (relay.Inbox, error) {
	box, err := s.Inboxes.FindInbox(ctx, name)
	s.suspend()
	return box, err
}

// TestForgedReadDuringSuspension suspends an agent at the moment at which a stranger, who signs with a key
// of its own, reads its inbox: between the lookup of the inbox and the check of the request.
func TestForgedReadDuringSuspension(t *testing.T) {
	c := config.Default()
	c.DataDir, c.Registry.CheckpointCopy = t.TempDir(), noCheckpointCopy
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32)).Public().(ed25519.PublicKey)
	agent, _, err := h.registry.Register(t.Context(), registry.Registration{Name: "Reader", PublicKey: did.FormatPublicKey(key)})
	if err != nil {
		t.Fatal(err)
	}
	h.relay.Inboxes = suspendingInboxes{h.relay.Inboxes, sync.OnceFunc(func() {
		if _, err := h.registry.Suspend(t.Context(), agent.AirID, "spam"); err != nil {
			t.Error(err)
		}
	})}
	for range 2 {
		request := httptest.NewRequest("GET", "/inbox/"+agent.AirID+"/pull", nil)
		request.Host = "localhost"
		if err := httpsig.Sign(request, nil, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32)), httpsig.SignOptions{KeyID: h.registry.DID(agent.AirID)}); err != nil {
			t.Fatal(err)
		}
		_, err := h.relay.Read(t.Context(), agent.AirID, httpsig.FromRequest(request, nil))
		if refused, ok := errors.AsType[*relay.Refusal](err); !ok || refused.Status != http.StatusForbidden || refused.Code != "suspended" {
			t.Errorf("a forged read: %v", err)
		}
	}
}
