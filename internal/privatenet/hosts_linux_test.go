package privatenet

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/internal/fakenet"
	"gazetteer/internal/need"
)

// Paths that the program asks for.
const (
	robotsPath  = "/robots.txt"
	aiPath      = "/.well-known/ai"
	summaryPath = "/.well-known/agis.json"
)

// A world is the small internet in the private network: its hosts, its name
// server, and those who watch.
type world struct {
	t     *testing.T
	names *names
	doors *doors
	net   *fakenet.Net
	watch *watch

	list   []string        // lines for the program
	silent []string        // hosts that keep it waiting, for a list of their own
	want   map[string]want // by host
	used   [2]uint32       // addresses given to hosts, IPv4 and IPv6
}

// want is what must come of a host: a state, and one of the outcomes for a kind
// of document.
type want struct {
	state, kind string
	outcomes    []string
}

// openWorld opens a world, optionally with the standard hosts of fakenet. The end of the test
// closes it.
func openWorld(t *testing.T, standard bool) *world {
	t.Helper()
	if why := os.Getenv(impossible); why != "" {
		need.Missing(t, "no private network, which takes root or user namespaces: %s", why)
	}
	w := &world{t: t, names: newNames(), want: map[string]want{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.watch, err = openWatch()
	must(err)
	t.Cleanup(w.watch.close)
	server, err := fakenet.OpenNameServer("127.0.0.1:53", w.names.say)
	must(err)
	t.Cleanup(func() { server.Close() })
	w.doors, err = openDoors()
	must(err)
	t.Cleanup(func() { w.doors.Close() })
	plain, err := net.Listen("tcp4", "0.0.0.0:80")
	must(err)
	w.net, err = fakenet.Open(fakenet.Options{Empty: !standard, HTTPS: w.doors, HTTP: plain})
	must(err)
	t.Cleanup(func() { w.net.Close() })
	for _, h := range w.net.Hosts() {
		w.standard(h)
	}
	return w
}

// standard gives a standard host a name and an address.
func (w *world) standard(h fakenet.Host) {
	switch {
	case h.Expect["ai"] == "timeout":
		w.silent = append(w.silent, h.Name)
	case h.Seed:
		w.list = append(w.list, h.Name)
	}
	switch h.Expect["ai"] {
	case "dns":
		return
	case "unreachable":
		w.names.set(h.Name, at(nobody4.Addr()))
	default:
		w.names.set(h.Name, at(w.address()))
	}
}

// address returns one that no host has yet.
func (w *world) address() netip.Addr {
	w.used[0]++
	n := w.used[0]
	return netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)})
}

// address6 returns one of IPv6.
func (w *world) address6() netip.Addr {
	w.used[1]++
	a := hosts6.Addr().As16()
	a[5], a[6], a[7], a[15] = byte(w.used[1]>>16), byte(w.used[1]>>8), byte(w.used[1]), 1 // a /64 each
	return netip.AddrFrom16(a)
}

// odd returns the address of somebody odd.
func (w *world) odd(how func(net.Conn)) netip.Addr {
	a := w.address()
	w.doors.put(a, how)
	return a
}

// add puts a host on the list.
func (w *world) add(name string, z zone, state, kind string, outcomes ...string) {
	w.names.set(name, z)
	w.list = append(w.list, name)
	w.want[name] = want{state, kind, outcomes}
}

// wait puts a host that keeps the program waiting on the other list.
func (w *world) wait(name string, z zone, outcome string) {
	w.names.set(name, z)
	w.silent = append(w.silent, name)
	w.want[name] = want{"failing", "ai", []string{outcome}}
}

// host adds a host with pages, at its own address, to the list.
func (w *world) host(name string, p pages, state, kind string, outcomes ...string) {
	w.serve(name, p)
	w.add(name, at(w.address()), state, kind, outcomes...)
}

func (w *world) serve(name string, p pages) {
	w.net.Serve(name, fakenet.Site{Handler: p, HTTP1: true})
}

// pages answers its paths, and all others with 404.
type pages map[string]http.HandlerFunc

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := p[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	http.NotFound(w, r)
}

func text(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		fmt.Fprint(w, body)
	}
}

func to(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(code)
	}
}

// never answers.
func never(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// discovery is an AI Discovery document with one capability there.
func discovery(endpoint string) http.HandlerFunc {
	quoted, _ := json.Marshal(endpoint) // a string cannot fail
	return text("application/json", fmt.Sprintf(`{"aiendpoint": "1.0", "service": {"name": "Tables", "description": "Tables in restaurants."},
"capabilities": [{"id": "book_table", "description": "Book a table", "endpoint": %s, "method": "POST", "returns": "number {text}"}], "auth": {"type": "none"}}`, quoted))
}

// summary is an AGIS summary that names a document and related services.
func summary(document string, related ...string) http.HandlerFunc {
	name, _ := json.Marshal(document)
	others, _ := json.Marshal(related)
	return text("application/json", fmt.Sprintf(`{"agis":"1.0","service":"Tables","agis_document":%s,"mcp_tools_list":%s,"methods":["BOOK"],"domain":"hospitality",
"namespace":"tables","version":"1.0.0","related_services":%s}`, name, name, others))
}

// away adds a host that other hosts link or redirect to: it has a document, and links back.
func (w *world) away(name string) {
	w.serve(name, pages{"/tables.json": discovery("/api"), "/back-to": func(out http.ResponseWriter, r *http.Request) {
		to("https://"+r.URL.RawQuery+"/tables.json")(out, r)
	}})
	w.names.set(name, at(w.address()))
}

// closing has the connection closed after each answer.
func closing(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		h(w, r)
	}
}

// good adds hosts that publish a document, one in ten with a name of IPv6 alone,
// one in ten with both.
func (w *world) good(count int) {
	for i := range count {
		name := fmt.Sprintf("good-%d.test", i)
		w.serve(name, pages{aiPath: discovery("/api")})
		z := at(w.address())
		switch {
		case os.Getenv(ipv4Only) == "1":
		case i%10 == 4:
			z = at(w.address6())
		case i%10 == 8:
			z = at(w.address(), w.address6())
		}
		w.add(name, z, "listed", "ai", "ok")
	}
}

// addresses adds hosts that lead to each form of an address that must not be
// asked, through each door (R001 to R004, R009, R010, R012, R013).
func (w *world) addresses() {
	forms := fakenet.AddressForms()
	w.list = append(w.list, slices.Compact(slices.Sorted(slices.Values(forms)))...)
	for i, form := range forms {
		name := func(door string) string { return fmt.Sprintf("%s-%d.test", door, i) }
		w.host(name("ssrf"), pages{aiPath: to("https://" + form + "/.well-known/ai")}, "refused", "ai", "blocked-address")
		w.host(name("ssrfhttp"), pages{aiPath: to("http://" + form + "/")}, "empty", "ai", "insecure-redirect")
		w.host(name("rel"), pages{summaryPath: summary("agtp://x.test", "agtp://"+form, "https://"+form+"/", form)}, "listed", "agis-summary", "ok")
		w.host(name("adoc"), pages{aiPath: discovery("https://" + form + "/api"), summaryPath: summary("https://" + form + "/full.agis")}, "listed", "ai", "ok")
		w.host(name("robots"), pages{robotsPath: to("https://" + form + "/robots.txt"), aiPath: discovery("/api")}, "refused", "ai", "refused-by-robots")
	}
	for _, port := range []int{1, 22, 80, 444, 6379, 8080, 8443, 65535} {
		w.host(fmt.Sprintf("redirport-%d.test", port), pages{aiPath: to(fmt.Sprintf("https://away.test:%d/tables.json", port))}, "empty", "ai", "bad-redirect")
	}
	w.host("redirport-443.test", pages{aiPath: to("https://away.test:443/tables.json")}, "listed", "ai", "ok")
}

// records adds hosts whose records lead to each forbidden address (R005 to R009,
// R011).
func (w *world) records() {
	for i, bad := range fakenet.ForbiddenAddresses() {
		w.add(fmt.Sprintf("dnsa-%d.test", i), at(bad), "refused", "ai", "blocked-address")
		w.add(fmt.Sprintf("dnsmix-%d.test", i), at(w.address(), bad, w.address()), "refused", "ai", "blocked-address")
		w.host(fmt.Sprintf("dnsvia-%d.test", i), pages{aiPath: to(fmt.Sprintf("https://dnsa-%d.test/.well-known/ai", i))}, "refused", "ai", "blocked-address")
		// The visit goes to another host and returns, each time over a new connection. Each has a host
		// of its own to go to: a host is asked by one visit at a time, and others wait some seconds.
		rebind, away := fmt.Sprintf("rebind-%d.test", i), fmt.Sprintf("away-%d.test", i)
		w.away(away)
		w.serve(rebind, pages{
			aiPath: closing(to("https://" + away + "/back-to?" + rebind)), "/tables.json": closing(discovery("/api")),
			summaryPath: closing(summary("https://" + rebind + "/full.agis")),
		})
		w.add(rebind, rebound(w.address(), bad), "listed", "ai", "ok")
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	w.add("dnscname-localhost.test", alias("localhost.", loopback), "refused", "ai", "blocked-address")
	w.add("dnscname-internal.test", alias("router.internal.", netip.MustParseAddr("10.0.0.1")), "refused", "ai", "blocked-address")
	w.add("dnscname-alone.test", alias("localhost."), "failing", "ai", "dns")
	w.serve("dnscname-good.test", pages{aiPath: discovery("/api")})
	w.add("dnscname-good.test", alias("away.test.", w.address()), "listed", "ai", "ok")
}

// nameServers adds hosts whose name servers misbehave (R032).
func (w *world) nameServers() {
	for name, z := range map[string]zone{
		"dnsnx":       failing(dnsmessage.RCodeNameError),
		"dnsservfail": failing(dnsmessage.RCodeServerFailure),
		"dnsrefused":  failing(dnsmessage.RCodeRefused),
		"dnsempty":    at(),
		"dnscut":      cutOff,
		"dnsloop":     loop("dnsloop.test"),
	} {
		w.add(name+".test", z, "failing", "ai", "dns")
	}
	for _, n := range []int{120, 1000} {
		name := fmt.Sprintf("dns%d.test", n)
		w.serve(name, pages{aiPath: discovery("/api")})
		w.add(name, at(many(n, w.address, w.address())...), "listed", "ai", "ok")
		w.add(fmt.Sprintf("dnsbad%d.test", n), at(many(n, w.address, netip.MustParseAddr("10.0.0.1"))...), "refused", "ai", "blocked-address")
	}
	w.serve("dnslost.test", pages{aiPath: discovery("/api")})
	w.add("dnslost.test", forgetful(w.address()), "listed", "ai", "ok")
	// 253 octets are the longest name there is: 255 on the wire.
	long := strings.Repeat(strings.Repeat("a", 61)+".", 3) + strings.Repeat("b", 62) + ".test"
	w.host(long, pages{aiPath: discovery("/api")}, "listed", "ai", "ok")
	w.list = append(w.list, "a"+long, strings.Repeat("c", 64)+".test")
}

// connections adds hosts that are not TLS servers, or bad ones (R029, R030, R041).
func (w *world) connections() {
	for name, show := range map[string]fakenet.Certificate{
		"tlsexpired": fakenet.ExpiredCertificate, "tlswrongname": fakenet.WrongNameCertificate,
		"tlsselfsigned": fakenet.SelfSignedCertificate, "tlsstranger": fakenet.StrangerCertificate,
	} {
		w.net.Serve(name+".test", fakenet.Site{Handler: pages{aiPath: discovery("/api")}, Certificate: show})
		w.add(name+".test", at(w.address()), "failing", "ai", "tls")
	}
	for name, c := range map[string]struct {
		how      func(net.Conn)
		outcomes []string
	}{
		"tlsplain":  {plain, []string{"tls"}},
		"tlsold":    {old, []string{"tls"}},
		"tlsalert":  {alert, []string{"tls"}},
		"tlsnoise":  {noise, []string{"tls"}},
		"tlshangup": {hangUp, []string{"tls", "unreachable"}},
		"tlsreset":  {reset, []string{"tls", "unreachable"}},
	} {
		w.add(name+".test", at(w.odd(c.how)), "failing", "ai", c.outcomes...)
	}
	w.add("gone.test", at(nobody4.Addr().Next()), "failing", "ai", "unreachable")
	for _, code := range []int{429, 500, 503} {
		w.host(fmt.Sprintf("r%d.test", code), pages{robotsPath: status(code), aiPath: discovery("/api")}, "refused", "ai", "refused-by-robots")
	}
}

// waits adds hosts that are silent at each step of a visit.
func (w *world) waits() {
	w.wait("dnssilent.test", silence, "dns")
	w.wait("tlsmute.test", at(w.odd(mute)), "timeout")
	w.serve("robotsmute.test", pages{robotsPath: never, aiPath: discovery("/api")})
	w.wait("robotsmute.test", at(w.address()), "timeout")
	w.serve("aimute.test", pages{aiPath: never})
	w.wait("aimute.test", at(w.address()), "timeout")
}
