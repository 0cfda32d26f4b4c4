package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/need"
	"gazetteer/internal/server"
	"gazetteer/lint/format"
)

// TestMain makes this test binary the program itself: the scripts run it as
// "gazetteer", with the small internet in the place of the real one.
func TestMain(m *testing.M) {
	if script := os.Getenv("WORK"); script != "" && os.Getenv("XDG_STATE_HOME") == "" {
		os.Setenv("XDG_STATE_HOME", filepath.Join(script, ".state"))
	}
	testscript.Main(testsWithState{m}, map[string]func(){
		"gazetteer": func() { os.Exit(testProgram()) },
		"fetch":     func() { os.Exit(get(os.Args[1:])) },
	})
}

// testsWithState runs tests that keep the state of the user in a directory of this run. They do not
// write into the home of the user, and they do not read the heads of logs of earlier runs, whose
// servers had the same ports.
type testsWithState struct{ *testing.M }

func (m testsWithState) Run() int {
	dir, err := os.MkdirTemp("", "gazetteer-state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir)
	return m.M.Run()
}

// get prints what an address answers; the exit code tells success.
func get(args []string) int {
	flags := flag.NewFlagSet("fetch", flag.ExitOnError)
	method, body := flags.String("X", http.MethodGet, "method"), flags.String("d", "", "body, in JSON")
	certificate, roots := flags.String("cert", "", "client certificate, with its key beside it"), flags.String("roots", "", "certificate of the server")
	headers := http.Header{}
	flags.Func("H", "header", func(text string) error {
		name, value, _ := strings.Cut(text, ": ")
		headers.Set(name, value)
		return nil
	})
	flags.Parse(args)
	request, err := http.NewRequest(*method, flags.Arg(0), strings.NewReader(*body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	request.Header, request.Host = headers, cmp.Or(headers.Get("Host"), request.Host)
	if *body != "" {
		headers.Set("Content-Type", "application/json")
	}
	client := http.DefaultClient
	if *roots != "" {
		if client, err = newTLSClient(*roots, *certificate); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	response, err := client.Do(request)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	io.Copy(os.Stdout, response.Body)
	if response.StatusCode >= 400 {
		return 1
	}
	return 0
}

// testProgram is main with the small internet behind the dialer, and nothing
// else reachable.
func testProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := limitDescriptors(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.Data
	}
	world, closeWorld, err := openWorld()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.Data
	}
	defer closeWorld()
	if file := os.Getenv(clockFile); file != "" {
		world.Clock = func() time.Time { return time.Now().Add(readClock(file)) }
	}
	if text := os.Getenv(visitTimeout); text != "" {
		if world.VisitTimeout, err = time.ParseDuration(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exit.Usage
		}
	}
	return run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, world)
}

// openWorld returns the small internet of this process, or the one of another process that the
// environment names.
func openWorld() (world server.Environment, close func() error, err error) {
	if address := os.Getenv(farNet); address != "" {
		return farWorld(address, []byte(os.Getenv(farRoot))), func() error { return nil }, nil
	}
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		return world, nil, err
	}
	// A script may have its own host, with the files of a directory.
	if host, dir, ok := strings.Cut(os.Getenv("FAKENET_SITE"), "="); ok {
		internet.HandleFiles(host, dir)
	}
	return server.Environment{Dial: internet.Dial, Roots: internet.Roots()}, internet.Close, nil
}

// visitTimeout is the environment variable with the longest visit of the crawler to one host.
const visitTimeout = "VISIT_TIMEOUT"

// clockFile is the environment variable that names a file with how far the clock of the program is
// ahead of the real one, for example 192h; the clock follows the file while the program runs.
const clockFile = "CLOCK_FILE"

// readClock returns what the file says. A file that is not there yet, or half written, says nothing.
func readClock(file string) time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	ahead, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return ahead
}

// setClock is a command of the scripts: it sets how far the clocks of all programs are ahead.
func setClock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clock DURATION")
	}
	if _, err := time.ParseDuration(args[0]); err != nil {
		ts.Fatalf("%v", err)
	}
	next := ts.Getenv(clockFile) + ".next"
	ts.Check(os.WriteFile(next, []byte(args[0]), 0o600))
	ts.Check(os.Rename(next, ts.Getenv(clockFile)))
}

func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestForeignClients runs clients that share no code with Gazetteer against it.
func TestForeignClients(t *testing.T) {
	t.Parallel()
	need.Program(t, "node")
	if _, err := os.Stat("testdata/javascript/node_modules/canonicalize"); err != nil {
		need.Missing(t, "the npm packages are not here: run npm ci in cmd/gazetteer/testdata/javascript")
	}
	runScripts(t, "testdata/foreign")
}

// runScripts runs the scripts of a directory.
func runScripts(t *testing.T, dir string) {
	t.Helper()
	javascript, err := filepath.Abs("testdata/javascript")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			// Sockets want short paths, and a script its own free addresses.
			for _, name := range []string{"ADDR", "ADMIN"} {
				address, err := freeAddress()
				if err != nil {
					return err
				}
				e.Setenv(name, address)
			}
			e.Setenv("JAVASCRIPT", javascript)
			// Servers listen there, and verbs look for one there: never at the usual address.
			e.Setenv("GAZETTEER_LISTEN", e.Getenv("ADDR"))
			// Nobody answers there: names are asked of loopback alone.
			e.Setenv("GAZETTEER_REGISTRY_NAME_SERVER", "127.0.0.1:1")
			// What is too slow for a user is not for the busiest machine.
			e.Setenv("GAZETTEER_CRAWLER_TIMEOUT", "1m")
			e.Setenv("GAZETTEER_SEARCH_TIMEOUT", "1m")
			e.Setenv("GAZETTEER_CRAWLER_HOST_INTERVAL", "10ms")
			e.Setenv("GAZETTEER_CRAWLER_DOMAIN_INTERVAL", "10ms")
			e.Setenv(clockFile, filepath.Join(e.WorkDir, "clock"))
			w, path, err := listenTold()
			if err != nil {
				return err
			}
			e.Defer(w.close)
			e.Values[told{}] = w
			e.Setenv("NOTIFY_SOCKET", path)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"until-serving": untilServing,
			"hangup":        hangup,
			"cut":           cut,
			"clock":         setClock,
			"front":         openFront,
			"noescapes":     noEscapes,
			"flip":          flip,
			"make-log":      makeLog,
			"certificate":   makeCertificate,
		},
	})
}

// openFront is a command of the scripts: it serves the address in ADDR over TLS, in HTTP/1.1 and HTTP/2
// as the proxy before a public registry does, and writes the certificate into a file. FRONT is the URL.
func openFront(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: front CERTIFICATE")
	}
	target := &url.URL{Scheme: "http", Host: ts.Getenv("ADDR")}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	front.EnableHTTP2 = true
	front.StartTLS()
	ts.Defer(front.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), certificate, 0o600))
	ts.Setenv("FRONT", front.URL)
}

// freeAddress is a free host and port of this machine. Another test can take a free port of
// 127.0.0.1 before the program does, so on systems that have the whole loopback network the host is
// one of its millions of other addresses.
func freeAddress() (string, error) {
	own := netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(254)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
	l, err := net.Listen("tcp", netip.AddrPortFrom(own, 0).String())
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// told is what a program under test tells its service manager: see serviceManager.
type told struct{ at *net.UnixConn }

// listenTold returns it with the path to be given as NOTIFY_SOCKET.
func listenTold() (told, string, error) {
	dir, err := os.MkdirTemp("", "told") // paths of sockets must be short
	if err != nil {
		return told{}, "", err
	}
	path := filepath.Join(dir, "socket")
	at, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	return told{at}, path, err
}

// close forgets it.
func (w told) close() {
	w.at.Close()
	os.RemoveAll(filepath.Dir(w.at.LocalAddr().String()))
}

// until waits until the owner of a data directory reports that it serves and that its data is
// searchable.
func (w told) until(dir string) error {
	message := make([]byte, 1<<12)
	for {
		if err := w.at.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil { // since the last message
			return err
		}
		n, err := w.at.Read(message)
		if err != nil {
			return fmt.Errorf("nobody says that %s is served: %w", dir, err)
		}
		if string(message[:n]) == "STATUS=serving "+dir {
			return nil
		}
	}
}

// untilServing waits for the owner of a data directory: after its start, and after
// SIGHUP.
func untilServing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: until-serving DATADIR")
	}
	ts.Check(ts.Value(told{}).(told).until(args[0]))
}

// hangup sends SIGHUP to the owner of a data directory.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup DATADIR")
	}
	c, ok := cli.NewSocketClient(ts.MkAbs(args[0]))
	if !ok {
		ts.Fatalf("%s: nobody answers", args[0])
	}
	var status struct{ PID int }
	_, err := c.GetJSON(context.Background(), "/admin/status", &status)
	ts.Check(err)
	ts.Check(syscall.Kill(status.PID, syscall.SIGHUP))
}

// cut shortens a file to a number of bytes.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// flip flips one bit at every occurrence of a text in a file.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE TEXT")
	}
	name, text := ts.MkAbs(args[0]), []byte(args[1])
	content, err := os.ReadFile(name)
	ts.Check(err)
	found := 0
	for at := bytes.Index(content, text); at >= 0; at = bytes.Index(content, text) {
		content[at] ^= 1
		found++
	}
	if found == 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(name, content, 0o600))
}

// noEscapes fails when a file (or stdout, stderr) has a byte that a terminal
// could take for a command.
func noEscapes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noescapes FILE")
	}
	for i, r := range ts.ReadFile(args[0]) {
		if r != '\n' && format.Hidden(r) {
			ts.Fatalf("%s: %U at byte %d", filepath.Base(args[0]), r, i)
		}
	}
}
