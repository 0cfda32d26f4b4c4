package crawler

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"gazetteer/crawler/frontier"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/cputime"
	"gazetteer/internal/teststore"
)

// speedServer, set in the environment, makes the test program a server for [BenchmarkFetch], so
// that its processor time is not part of the result.
const speedServer = "GAZETTEER_SPEED_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(speedServer) == "" {
		os.Exit(m.Run())
	}
	if err := serveSpeed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A speedNet is a server on loopback with many hosts, each with its own leaf certificate, signed as
// large authorities do: a P-256 leaf by a P-256 intermediate by a P-384 root.
type speedNet struct {
	Addr      string
	Root, Mid []byte // DER
}

const speedHosts = 400

func speedHost(i int) string { return fmt.Sprintf("www.d%05d.test", i) }

// serveSpeed serves until its input ends.
func serveSpeed() error {
	serial := int64(0)
	issue := func(name string, curve elliptic.Curve, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		serial++
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, IsCA: serial <= 2, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
		}
		if !c.IsCA {
			c.DNSNames, c.KeyUsage = []string{name}, x509.KeyUsageDigitalSignature
		}
		if parent == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
		if err != nil {
			return nil, nil, err
		}
		cert, err := x509.ParseCertificate(der)
		return cert, key, err
	}
	root, rootKey, err := issue("speed root", elliptic.P384(), nil, nil)
	if err != nil {
		return err
	}
	mid, midKey, err := issue("speed intermediate", elliptic.P256(), root, rootKey)
	if err != nil {
		return err
	}
	leaves := map[string]*tls.Certificate{}
	for i := range speedHosts {
		leaf, key, err := issue(speedHost(i), elliptic.P256(), mid, midKey)
		if err != nil {
			return err
		}
		leaves[speedHost(i)] = &tls.Certificate{Certificate: [][]byte{leaf.Raw, mid.Raw}, PrivateKey: key}
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(benchHost))
	server.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return leaves[h.ServerName], nil }}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.StartTLS()
	defer server.Close()
	if err := json.NewEncoder(os.Stdout).Encode(speedNet{server.Listener.Addr().String(), root.Raw, mid.Raw}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// openSpeed starts the server and waits until it serves.
func openSpeed(b *testing.B) *speedNet {
	b.Helper()
	c := exec.CommandContext(b.Context(), os.Args[0])
	c.Env = append(os.Environ(), speedServer+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = c.Wait() })
	n := new(speedNet)
	if err := json.NewDecoder(out).Decode(n); err != nil {
		b.Fatal(err)
	}
	return n
}

func pool(b *testing.B, der []byte) *x509.CertPool {
	b.Helper()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	p := x509.NewCertPool()
	p.AddCert(cert)
	return p
}

func (n *speedNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", n.Addr)
}

const speedWorkers = 16

// each runs f for every host, in so many goroutines.
func each(hosts []string, f func(host string) error) error {
	next := make(chan string)
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range speedWorkers {
		group.Go(func() {
			for host := range next {
				if err := f(host); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	for _, host := range hosts {
		next <- host
	}
	close(next)
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// rawSession is the least that three requests can cost: crypto/tls and HTTP by
// hand, with the intermediate for a root.
func (n *speedNet) rawSession(config *tls.Config, host string) error {
	raw, err := n.dial(context.Background(), "", "")
	if err != nil {
		return err
	}
	defer raw.Close()
	config = config.Clone()
	config.ServerName = host
	conn := tls.Client(raw, config)
	in := bufio.NewReaderSize(conn, 4<<10)
	for _, path := range benchPaths {
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
			return err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
	}
	return conn.Close()
}

// collyAsIs fetches with colly as its manual shows: asynchronous, four at a time for each host,
// with its default client.
func (n *speedNet) collyAsIs(roots *x509.CertPool, hosts []string) error {
	c := colly.NewCollector(colly.Async(true))
	c.WithTransport(&http.Transport{DialContext: n.dial, TLSClientConfig: &tls.Config{RootCAs: roots}})
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: speedWorkers}); err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	var got atomic.Int64
	c.OnResponse(func(*colly.Response) { got.Add(1) })
	c.OnError(func(_ *colly.Response, err error) { failed.Store(&err) })
	for _, host := range hosts {
		for _, path := range benchPaths {
			if err := c.Visit("https://" + host + path); err != nil {
				return err
			}
		}
	}
	c.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	if want := int64(len(hosts) * len(benchPaths)); got.Load() != want {
		return fmt.Errorf("colly had %d answers of %d", got.Load(), want)
	}
	return nil
}

// ask makes the three requests of a session with our wire, by colly, and
// nothing else.
func (c *Crawler) ask(ctx context.Context, host string) error {
	w := c.transport.NewConnection(host)
	defer w.Close()
	for i, kind := range []string{fetch.KindRobots, string(document.AI), string(document.AGISSummary)} {
		a := fetch.NewAsk(kind, host, benchPaths[i], time.Now())
		if end := w.Send(ctx, a, c.executeRequest); end.Outcome != fetch.OK || len(a.Fetch.Body) == 0 {
			return errors.New(string(end.Outcome) + " " + end.Detail)
		}
	}
	return nil
}

// BenchmarkFetch compares, in one run and in turn, three requests to each of many
// hosts: over our wires, by colly as it comes, and raw. The figures are processor
// time of the client, per fetch, the middle one of the rounds. Against colly at
// most 0.18 is wanted, and of the throughput of raw at least 0.75. A whole
// session, with robots.txt judged and both documents read and checked, is
// measured beside them. Garbage collection of ours and of raw runs as
// rarely as in a program that is made for crawling (GOGC=400), that of colly with the default.
func BenchmarkFetch(b *testing.B) {
	n := openSpeed(b)
	names := make([]string, speedHosts)
	for i := range names {
		names[i] = speedHost(i)
	}
	s := teststore.New(b)
	roots := pool(b, n.Root)
	c, err := New(Options{Store: s, Dial: n.dial, Roots: roots, HostInterval: -1, DomainInterval: -1, Rate: -1})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Add(b.Context(), names...); err != nil {
		b.Fatal(err)
	}
	raw := &tls.Config{RootCAs: pool(b, n.Mid), CurvePreferences: []tls.CurveID{tls.X25519}}
	rounds := map[string][]float64{}
	measure := func(what string, collect int, f func() error) {
		defer debug.SetGCPercent(debug.SetGCPercent(collect))
		begun := cputime.Used()
		if err := f(); err != nil {
			b.Fatal(what, err)
		}
		rounds[what] = append(rounds[what], float64((cputime.Used()-begun).Microseconds())/float64(speedHosts*len(benchPaths)))
	}
	for b.Loop() {
		measure("ours", 400, func() error { return each(names, func(host string) error { return c.ask(b.Context(), host) }) })
		measure("raw", 400, func() error { return each(names, func(host string) error { return n.rawSession(raw, host) }) })
		measure("colly", 100, func() error { return n.collyAsIs(roots, names) })
		c.robots.forgetAll()
		measure("session", 400, func() error {
			return each(names, func(host string) error {
				v, err := c.runSession(b.Context(), b.Context(), &frontier.DueHost{Name: host})
				if err == nil && v.result.Documents != 2 {
					err = fmt.Errorf("%s: %s", host, v.result.Summary)
				}
				return err
			})
		})
	}
	middle := func(what string) float64 {
		slices.Sort(rounds[what])
		return rounds[what][len(rounds[what])/2]
	}
	for what := range rounds {
		b.ReportMetric(middle(what), what+"-µs/fetch")
	}
	b.ReportMetric(middle("ours")/middle("colly"), "ours/colly")
	b.ReportMetric(middle("raw")/middle("ours"), "throughput/raw")
}
