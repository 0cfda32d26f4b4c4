package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/internal/config"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/altar"
)

// An approved contract whose document names an address of this machine or of its network does not
// reach it.
func TestToolCallsRefusePrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	roots := inside.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport, err := (&Server{Config: config.Default()}).newToolTransport(Environment{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, host := range privateHosts {
		request := httptest.NewRequest(http.MethodPost, "https://"+host+":"+port+"/", http.NoBody)
		if response, err := transport.RoundTrip(request.WithContext(t.Context())); err == nil {
			response.Body.Close()
			t.Errorf("%s answers %s", host, response.Status)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("this machine was reached %d times", n)
	}
}

// TestToolSessionsFollowTheClock checks that the ceiling of sessions is a day of the program's clock.
func TestToolSessionsFollowTheClock(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	clock := testclock.New(time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC))
	h, err := Open(t.Context(), c, Environment{Clock: clock.Now}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const day = 24 * time.Hour
	ttl := int64(48 * 3600)
	session, refused := h.tools.CreateSession("me", altar.CreateSession{TTLSeconds: &ttl})
	if refused != nil {
		t.Fatal(refused)
	}
	if session.TTLSeconds != 24*3600 || !session.ExpiresAt.Equal(clock.Now().Add(day)) {
		t.Errorf("%d seconds, until %s", session.TTLSeconds, session.ExpiresAt)
	}
	clock.Advance(day - time.Second)
	if _, refused := h.tools.Tools(t.Context(), "me", session.SessionID); refused != nil {
		t.Errorf("a second before the end: %v", refused)
	}
	clock.Advance(time.Second)
	if _, refused := h.tools.Tools(t.Context(), "me", session.SessionID); refused == nil || refused.Code != altar.SessionInvalid {
		t.Errorf("a day later: %v", refused)
	}
}
