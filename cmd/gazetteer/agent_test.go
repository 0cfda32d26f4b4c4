package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
	"gazetteer/internal/teststore"
	"gazetteer/registry/keyfile"
	"gazetteer/registry/registrar"
)

// A registryServer is a registry behind a server whose clock and whose answers a
// test can disturb.
type registryServer struct {
	t    *testing.T
	url  string
	dir  string       // of the key files
	time atomic.Int64 // added to the clock
	lose atomic.Bool  // the next answer to a POST is lost on the way
}

func newRegistryServer(t *testing.T) *registryServer {
	t.Helper()
	gin.SetMode(gin.TestMode)
	s := &registryServer{t: t, dir: t.TempDir()}
	store := teststore.New(t)
	server := httptest.NewUnstartedServer(nil)
	r, err := registrar.New(registrar.Options{
		Store: store, DIDHost: "localhost", BaseURL: "http://" + server.Listener.Addr().String(),
		Now: func() time.Time { return time.Now().Add(time.Duration(s.time.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	routes, err := api.New(api.Options{Options: route.Options{Answers: &answer.Answers{Store: store, Registry: r}}})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost && s.lose.Swap(false) {
			routes.Handler().ServeHTTP(httptest.NewRecorder(), q)
			panic(http.ErrAbortHandler) // the connection breaks before the answer
		}
		routes.Handler().ServeHTTP(w, q)
	})
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// agent runs one verb and returns its exit code and its output.
func (s *registryServer) agent(args ...string) (code int, out string) {
	s.t.Helper()
	var b bytes.Buffer
	all := append([]string{"--server", s.url, "agent", "--key", filepath.Join(s.dir, "agent.key")}, args...)
	offline := server.Environment{Dial: func(server.DialFunc) server.DialFunc {
		return func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	}}
	code = run(s.t.Context(), all, cli.Streams{In: strings.NewReader(""), Out: &b, Err: &b}, offline)
	return code, b.String()
}

// must runs a verb that succeeds and says something.
func (s *registryServer) must(says string, args ...string) {
	s.t.Helper()
	if code, out := s.agent(args...); code != exit.OK || !strings.Contains(out, says) {
		s.t.Fatalf("agent %s: exit code %d, want 0 and %q:\n%s", strings.Join(args, " "), code, says, out)
	}
}

func (s *registryServer) public(name string) string {
	s.t.Helper()
	f, err := keyfile.Open(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(f.Public)
}

// leaveNextKey writes a next key of the agent, as a rotation does that is interrupted.
func (s *registryServer) leaveNextKey() ed25519.PrivateKey {
	s.t.Helper()
	f, err := keyfile.Open(filepath.Join(s.dir, "agent.key"))
	if err != nil {
		s.t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := keyfile.Create(filepath.Join(s.dir, "agent.key.next"), key, nil, f.Notes); err != nil {
		s.t.Fatal(err)
	}
	return key
}

func TestRotationWithLostResponseKeepsKeys(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.must("agent.key", "new", "Booker")
	old := s.public("agent.key")
	s.lose.Store(true)
	if code, out := s.agent("rotate"); code != exit.Network {
		t.Fatalf("exit code %d, want %d:\n%s", code, exit.Network, out)
	}
	next := s.public("agent.key.next")
	if s.public("agent.key") != old {
		t.Fatal("the old key is gone before the registry has acknowledged the new one")
	}
	// The registry has accepted it: the next verb notices, and continues with it.
	s.must("The new key is in force", "update", "--description", "x")
	if s.public("agent.key") != next || cli.FileExists(filepath.Join(s.dir, "agent.key.next")) {
		t.Error("the new key is not in its place")
	}
}

func TestUndeliveredRotationIsRetried(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.must("agent.key", "new", "Booker")
	url := s.url
	s.url = "http://127.0.0.1:1" // nobody is there: nothing is made either
	if code, _ := s.agent("rotate"); code != exit.Network || cli.FileExists(filepath.Join(s.dir, "agent.key.next")) {
		t.Errorf("exit code %d, or a key was made for nobody", code)
	}
	s.url = url
	// A key that an interrupted try left behind is the one that the next try offers.
	left := s.leaveNextKey()
	s.must("agent.key", "rotate")
	if !bytes.Equal(left[32:], []byte(s.public("agent.key"))) {
		t.Error("another key was made than the one that lay there")
	}
}

// TestKeysOfMovedAgent checks that in the registry that has imported an agent its DID differs from
// that in its key files.
func TestKeysOfMovedAgent(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.must("agent.key", "new", "Booker")
	for _, file := range []string{"agent.key", "agent.recovery.key"} {
		path := filepath.Join(s.dir, file)
		f, err := keyfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := keyfile.Annotate(path, keyfile.Attributes{"agent": strings.Replace(f.Notes["agent"], "localhost", "old.example", 1)}); err != nil {
			t.Fatal(err)
		}
	}
	s.must("changed", "update", "--description", "moved")
	s.must("agent.key", "rotate")
	s.must("under way", "recover", "--yes")
	s.must("withdrawn", "recover", "--withdraw")
}

// TestRefusedRotationLeavesNoKey checks that the key of an earlier attempt stays, for its
// request may still be under way.
func TestRefusedRotationLeavesNoKey(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.must("agent.key", "new", "Booker")
	s.must("deactivated", "deactivate", "--yes")
	next := filepath.Join(s.dir, "agent.key.next")
	if code, out := s.agent("rotate"); code != exit.NotFound || cli.FileExists(next) {
		t.Errorf("exit code %d, or a key was left:\n%s", code, out)
	}
	s.leaveNextKey()
	if code, out := s.agent("rotate"); code != exit.NotFound || !cli.FileExists(next) {
		t.Errorf("exit code %d, or the key of an earlier try is gone:\n%s", code, out)
	}
}

func TestRegistrationWithLostResponseIsFound(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.lose.Store(true)
	if code, out := s.agent("new", "Booker"); code != exit.Network {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	first := s.public("agent.key")
	s.must("proved by signature", "new", "Booker")
	if s.public("agent.key") != first {
		t.Error("the key was replaced")
	}
	s.must("Booker", "show")
}

func TestKeysAreReplacedAfterRecovery(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t)
	s.must("agent.key", "new", "Booker")
	key, recovery := s.public("agent.key"), s.public("agent.recovery.key")
	s.must("under way", "recover", "--yes")
	next, reserve := s.public("agent.key.next"), s.public("agent.recovery.key.next")
	s.must("changed", "update", "--description", "the old key still signs")
	if s.public("agent.key") != key || s.public("agent.recovery.key") != recovery {
		t.Fatal("keys moved before their time")
	}
	s.time.Store(int64(73 * time.Hour))
	s.must("The new recovery key is in force", "show")
	if s.public("agent.key") != next || s.public("agent.recovery.key") != reserve {
		t.Error("the keys are not in their places")
	}
	s.must("it is the one in", "show")
}
