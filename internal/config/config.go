// Package config reads the configuration: the defaults, config.toml, the environment, and the
// settings of the command line, each over the one before. Start with [Load].
package config

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"gazetteer/internal/exit"
	"gazetteer/limit"
)

// Config is what config.toml holds; the file explains each key. A new key must
// be safe to leave out.
type Config struct {
	File   string            `toml:"-"` // the file that was read, "" for none
	text   []byte            // of this file
	places map[string]string // see Locate

	DataDir       string   `toml:"data_dir"`
	Listen        string   `toml:"listen"`
	MetricsListen string   `toml:"metrics_listen"`
	AdminListen   string   `toml:"admin_listen"`
	PublicURL     string   `toml:"public_url"`
	ShutdownGrace Duration `toml:"shutdown_grace"`
	LogLevel      string   `toml:"log_level"`
	MinFreeBytes  int64    `toml:"min_free_bytes"`

	Store    StoreConfig    `toml:"store"`
	Changes  ChangesConfig  `toml:"changes"`
	Crawler  CrawlerConfig  `toml:"crawler"`
	Search   SearchConfig   `toml:"search"`
	Registry RegistryConfig `toml:"registry"`
	Relay    RelayConfig    `toml:"relay"`
	Altar    AltarConfig    `toml:"altar"`
	API      APIConfig      `toml:"api"`
}

// AltarConfig is the table [altar].
type AltarConfig struct {
	Enabled           bool     `toml:"enabled"`
	SessionTTL        Duration `toml:"session_ttl"`
	MaxSessionTTL     Duration `toml:"max_session_ttl"`
	CallTimeout       Duration `toml:"call_timeout"`
	MaxCallTimeout    Duration `toml:"max_call_timeout"`
	SessionsPerClient int      `toml:"sessions_per_client"`
	CallsPerClient    int      `toml:"calls_per_client"`
	CallsPerMinute    int      `toml:"calls_per_minute"`
	Require           string   `toml:"require"`
	AuditParameters   bool     `toml:"audit_parameters"`
	HTTPRuntime       bool     `toml:"http_runtime"`
	CredentialsFile   string   `toml:"credentials_file"`
	TLSListen         string   `toml:"tls_listen"`
	TLSCertificate    string   `toml:"tls_certificate"`
	TLSKey            string   `toml:"tls_key"`
}

// RelayConfig is the table [relay].
type RelayConfig struct {
	Enabled             bool     `toml:"enabled"`
	Keep                Duration `toml:"keep"`
	KeepUnread          Duration `toml:"keep_unread"`
	ReplayWindow        Duration `toml:"replay_window"`
	MailPerInbox        int      `toml:"mail_per_inbox"`
	BytesPerInbox       int64    `toml:"bytes_per_inbox"`
	SenderPerMinute     int      `toml:"sender_per_minute"`
	NetworkPerMinute    int      `toml:"network_per_minute"`
	FirstContactsPerDay int      `toml:"first_contacts_per_day"`
	Require             string   `toml:"require"`
	Allow               []string `toml:"allow"`
	Block               []string `toml:"block"`
	Strict              bool     `toml:"strict"`
	OpenPull            bool     `toml:"open_pull"`
	ForeignInboxes      []string `toml:"foreign_inboxes"`
}

// StoreConfig is the table [store].
type StoreConfig struct {
	Horizon     Duration `toml:"horizon"`
	CompactHour int      `toml:"compact_hour"`
}

// ChangesConfig is the table [changes].
type ChangesConfig struct {
	Keep int `toml:"keep"`
}

// CrawlerConfig is the table [crawler].
type CrawlerConfig struct {
	Enabled            bool     `toml:"enabled"`
	Seeds              []string `toml:"seeds"`
	Workers            int      `toml:"workers"`
	Contact            string   `toml:"contact"`
	OwnAddresses       []string `toml:"own_addresses"`
	UserAgent          string   `toml:"user_agent"`
	HostInterval       Duration `toml:"host_interval"`
	DomainInterval     Duration `toml:"domain_interval"`
	AddressInterval    Duration `toml:"address_interval"`
	HostConcurrency    int      `toml:"host_concurrency"`
	DomainConcurrency  int      `toml:"domain_concurrency"`
	AddressConcurrency int      `toml:"address_concurrency"`
	NetworkLimits      []string `toml:"network_limits"`
	VerifyFullChains   bool     `toml:"verify_full_chains"`
	Rate               float64  `toml:"rate"`
	Timeout            Duration `toml:"timeout"`
	Formats            []string `toml:"formats"`
	BlockListFile      string   `toml:"block_list_file"`
	DeniedAddresses    []string `toml:"denied_addresses"`
	NAT64Prefixes      []string `toml:"nat64_prefixes"`
}

// SearchConfig is the table [search].
type SearchConfig struct {
	VectorFile  string   `toml:"vector_file"`
	Timeout     Duration `toml:"timeout"`
	Concurrency int      `toml:"concurrency"`
}

// RegistryConfig is the table [registry].
type RegistryConfig struct {
	DIDHost          string   `toml:"did_host"`
	Admission        string   `toml:"admission"`
	RequireProof     bool     `toml:"require_proof"`
	AllowLoopback    bool     `toml:"allow_loopback"`
	RemoteRegistries []string `toml:"remote_registries"`
	NameServer       string   `toml:"name_server"`
	Witnesses        []string `toml:"witnesses"`
	WitnessFor       []string `toml:"witness_for"`
	LogOrigin        string   `toml:"log_origin"`
	CheckpointCopy   string   `toml:"checkpoint_copy"`
	LockWitness      string   `toml:"lock_witness"`
	AcceptLogLoss    bool     `toml:"accept_log_loss"`
	AcceptLogKey     bool     `toml:"accept_log_key"`
}

// maxRegistrationWork is that of package registry, in bits.
const maxRegistrationWork = 28

// APIConfig is the table [api].
type APIConfig struct {
	TrustedProxies              []string `toml:"trusted_proxies"`
	Connections                 int      `toml:"connections"`
	ConnectionsPerClient        int      `toml:"connections_per_client"`
	RegistrationsPerHour        int      `toml:"registrations_per_hour"`
	RegistrationsGlobalPerHour  int      `toml:"registrations_global_per_hour"`
	RegistrationWork            int      `toml:"registration_work"`
	ChangesPerHour              int      `toml:"changes_per_hour"`
	ChangesGlobalPerHour        int      `toml:"changes_global_per_hour"`
	ChangesPerAgentPerHour      int      `toml:"changes_per_agent_per_hour"`
	ReportsPerDay               int      `toml:"reports_per_day"`
	FetchesPerHour              int      `toml:"fetches_per_hour"`
	FetchesPerHostPerHour       int      `toml:"fetches_per_host_per_hour"`
	FetchesGlobalPerHour        int      `toml:"fetches_global_per_hour"`
	SubmissionsPerHour          int      `toml:"submissions_per_hour"`
	SubmissionsPerDomainPerHour int      `toml:"submissions_per_domain_per_hour"`
	SubmissionsGlobalPerHour    int      `toml:"submissions_global_per_hour"`
}

// Duration is a time.Duration written as "10s" or "1h30m".
type Duration time.Duration

// UnmarshalText reads the form of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"10s\" or \"1h30m\"", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative: want 0s or more", text)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalTOML reads a text in quotes only. The decoder would read a bare number as nanoseconds.
func (d *Duration) UnmarshalTOML(raw []byte) error {
	var value struct{ V string }
	if err := toml.Unmarshal(append([]byte("V = "), raw...), &value); err != nil {
		return unstable.NewParserError(raw, "want a time with its unit, in quotes, such as \"30s\"")
	}
	if err := d.UnmarshalText([]byte(value.V)); err != nil {
		return unstable.NewParserError(raw, "%v", err)
	}
	return nil
}

// Default holds the values that config.toml shows; a test keeps the two
// equal.
func Default() Config {
	return Config{
		DataDir:       "data",
		Listen:        "127.0.0.1:8080",
		ShutdownGrace: Duration(10 * time.Second),
		LogLevel:      "info",
		MinFreeBytes:  64 << 20,
		Store:         StoreConfig{Horizon: Duration(168 * time.Hour), CompactHour: 3},
		Changes:       ChangesConfig{Keep: 1_000_000},
		Crawler: CrawlerConfig{
			Enabled:            true,
			Seeds:              []string{},
			Workers:            2048,
			UserAgent:          "Gazetteer/0.1",
			OwnAddresses:       []string{},
			HostInterval:       Duration(time.Second),
			DomainInterval:     Duration(2 * time.Second),
			AddressInterval:    Duration(100 * time.Millisecond),
			HostConcurrency:    1,
			DomainConcurrency:  1,
			AddressConcurrency: 8,
			NetworkLimits:      []string{},
			Rate:               200,
			Timeout:            Duration(10 * time.Second),
			Formats:            []string{},
			DeniedAddresses:    []string{},
			NAT64Prefixes:      []string{},
		},
		Search:   SearchConfig{Timeout: Duration(2 * time.Second)},
		Registry: RegistryConfig{DIDHost: "localhost", Admission: "open", RemoteRegistries: []string{}, Witnesses: []string{}, WitnessFor: []string{}},
		Relay: RelayConfig{
			Enabled: true, Keep: Duration(168 * time.Hour), KeepUnread: Duration(720 * time.Hour), ReplayWindow: Duration(24 * time.Hour), MailPerInbox: 10_000, BytesPerInbox: 64 << 20,
			SenderPerMinute: 100, NetworkPerMinute: 1000, FirstContactsPerDay: 1000, Allow: []string{}, Block: []string{}, ForeignInboxes: []string{},
		},
		Altar: AltarConfig{
			Enabled: true, SessionTTL: Duration(time.Hour), MaxSessionTTL: Duration(24 * time.Hour), CallTimeout: Duration(30 * time.Second), MaxCallTimeout: Duration(5 * time.Minute),
			SessionsPerClient: 20_000, CallsPerClient: 1024, CallsPerMinute: -1,
		},
		API: APIConfig{
			TrustedProxies:              []string{},
			ConnectionsPerClient:        256,
			RegistrationsPerHour:        20,
			RegistrationsGlobalPerHour:  1000,
			ChangesPerHour:              1200,
			ChangesGlobalPerHour:        60000,
			ChangesPerAgentPerHour:      300,
			ReportsPerDay:               10,
			FetchesPerHour:              30,
			FetchesPerHostPerHour:       12,
			FetchesGlobalPerHour:        600,
			SubmissionsPerHour:          60,
			SubmissionsPerDomainPerHour: 20,
			SubmissionsGlobalPerHour:    5000,
		},
	}
}

// defaultConfigFile is read when it exists and no other file is named.
const defaultConfigFile = "config.toml"

// Load reads the defaults, then the file, then the environment, then the
// settings given as flags ("key=value"), each over the one before. file "" means
// GAZETTEER_CONFIG, or config.toml in the working directory if there is one. The
// error reports every fault on a line of its own, with the place that sets the key.
func Load(file string, environ, settings []string) (Config, error) {
	c := Default()
	c.places = map[string]string{}
	faults, err := c.readFile(file, environ)
	if err != nil {
		return c, &exit.Error{Code: exit.Usage, Err: err}
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		key, ours := strings.CutPrefix(name, "GAZETTEER_")
		if !ours || key == "CONFIG" {
			continue
		}
		if err := c.setKey(envKey(key), value); err != nil {
			faults = append(faults, fmt.Errorf("environment %s: %w", name, err))
		}
		c.places[envKey(key)] = "environment " + name
	}
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set %s: want KEY=VALUE, for example crawler.workers=8", s))
			continue
		}
		if err := c.setKey(key, value); err != nil {
			faults = append(faults, fmt.Errorf("--set %s: %w", s, err))
		}
		delete(c.places, key) // the command line is before the user's eyes
	}
	if err := errors.Join(append(faults, c.Locate(c.validate()))...); err != nil {
		return c, &exit.Error{Code: exit.Usage, Err: err}
	}
	return c, nil
}

// LocalURL returns the URL at which this machine reaches a server that listens on an address. A
// server that listens on all addresses answers on loopback, too.
func LocalURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if isUnspecified(host) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// readFile reads the file and returns its faults. After a broken line the rest of the file is unknown,
// and this is the error.
func (c *Config) readFile(file string, environ []string) (faults []error, err error) {
	for _, pair := range environ {
		if v, ok := strings.CutPrefix(pair, "GAZETTEER_CONFIG="); ok && file == "" {
			file = v
		}
	}
	optional := file == ""
	if optional {
		file = defaultConfigFile
	}
	text, err := readRegularFile(file)
	if optional && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c.File, c.text = file, text
	return c.decodeTOML(file, bytes.TrimPrefix(text, []byte("\ufeff"))) // some editors write a byte order mark
}

// FileChanged reports whether the file has another text now than when it was read.
func (c Config) FileChanged() bool {
	if c.File == "" {
		return false
	}
	text, err := readRegularFile(c.File)
	return err == nil && !bytes.Equal(text, c.text)
}

// maxFile is the largest configuration that is read.
const maxFile = 1 << 20

// readRegularFile reads a file of at most maxFile bytes. Anything else is refused, such as a pipe,
// for whose writer it would wait.
func readRegularFile(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe opens at once
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	text, err := limit.ReadAll(file, maxFile) // it may grow meanwhile
	if errors.Is(err, limit.ErrTooLarge) {
		err = fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	return text, err
}

// isListenAddress reports whether a text has a host, perhaps an empty one, and a port.
func isListenAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// validate refuses values that no part of the program could work with. It reports every fault.
func (c *Config) validate() error {
	var level slog.Level
	var faults []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	refuse(level.UnmarshalText([]byte(c.LogLevel)) != nil,
		"log_level %q: want debug, info, warn or error", c.LogLevel)
	refuse(c.Listen != "" && !isListenAddress(c.Listen),
		"listen %q: want HOST:PORT, for example \"127.0.0.1:8080\"", c.Listen)
	refuse(!isLoopbackAddress(c.AdminListen),
		"admin_listen %q: want a local address, for example \"127.0.0.1:9465\": requests there need no authentication", c.AdminListen)
	refuse(c.MetricsListen != "" && !isListenAddress(c.MetricsListen),
		"metrics_listen %q: want HOST:PORT, for example \"127.0.0.1:9464\"", c.MetricsListen)
	refuse(c.MinFreeBytes < 0,
		"min_free_bytes %d: want 0 or more", c.MinFreeBytes)
	refuse(c.PublicURL != "" && !isWebAddress(c.PublicURL),
		"public_url %q: want the address that clients use, for example \"https://registry.example\"", c.PublicURL)
	if public, err := url.Parse(c.PublicURL); err == nil {
		refuse(strings.Trim(public.Path, "/") != "",
			"public_url %q: the server answers at the root of a host, and its pages have no other addresses; leave %q out", c.PublicURL, public.Path)
	}
	refuse(c.DataDir == "",
		"data_dir is empty: name a directory")
	refuse(c.Store.Horizon < 0,
		"store.horizon: want a time such as \"168h\", or 0")
	refuse(c.Store.CompactHour < -1 || c.Store.CompactHour > 23,
		"store.compact_hour %d: want an hour from 0 to 23, or -1 for never", c.Store.CompactHour)
	refuse(c.Changes.Keep < 100,
		"changes.keep %d: want 100 or more", c.Changes.Keep)
	refuse(c.Crawler.Workers < 1 || c.Crawler.Workers > 10000,
		"crawler.workers %d: want 1 to 10000", c.Crawler.Workers)
	refuse(c.Crawler.HostConcurrency < 1 || c.Crawler.DomainConcurrency < 1 || c.Crawler.AddressConcurrency < 1,
		"crawler.host_concurrency, crawler.domain_concurrency and crawler.address_concurrency: want 1 or more")
	refuse(!(c.Crawler.Rate > 0) || math.IsInf(c.Crawler.Rate, 1), // TOML has nan and inf
		"crawler.rate %v: want more than 0 visits a second; to fetch nothing set crawler.enabled = false", c.Crawler.Rate)
	refuse(c.Crawler.Timeout <= 0,
		"crawler.timeout: want more than 0")
	refuse(c.Crawler.UserAgent == "",
		"crawler.user_agent is empty: a polite crawler identifies itself")
	refuse(!slices.Contains([]string{"open", "approval", "closed"}, c.Registry.Admission),
		"registry.admission %q: want open, approval or closed", c.Registry.Admission)
	refuse(c.Registry.NameServer != "" && !isListenAddress(c.Registry.NameServer),
		"registry.name_server %q: want HOST:PORT, for example \"192.0.2.1:53\"", c.Registry.NameServer)
	refuse(c.Relay.Keep < 0 || c.Relay.KeepUnread < 0,
		"relay.keep and relay.keep_unread: want a time such as \"168h\", or 0 for the default")
	refuse(c.Relay.Keep > 0 && c.Relay.KeepUnread > 0 && c.Relay.KeepUnread < c.Relay.Keep,
		"relay.keep_unread is %s: want at least relay.keep, which is %s", time.Duration(c.Relay.KeepUnread), time.Duration(c.Relay.Keep))
	refuse(c.Search.Timeout <= 0,
		"search.timeout: want more than 0")
	refuse(c.Search.Concurrency < 0 || c.Search.Concurrency > 10000,
		"search.concurrency %d: want 1 to 10000, or 0 for twice the processors", c.Search.Concurrency)
	refuse(c.ShutdownGrace < 0,
		"shutdown_grace: want 0 or more")
	c.checkLimits(refuse)
	for _, text := range c.API.TrustedProxies {
		_, notAddress := netip.ParseAddr(text)
		network, notNetwork := netip.ParsePrefix(text)
		refuse(notAddress != nil && notNetwork != nil,
			"api.trusted_proxies: %q is not an IP address or network, such as \"192.0.2.7\" or \"10.0.0.0/8\"", text)
		refuse(notNetwork == nil && network.Bits() == 0,
			"api.trusted_proxies: with %q every client could name any address as its own; name the networks of your proxies, such as \"10.0.0.0/8\"", text)
	}
	return errors.Join(append(faults, c.checkListeners())...)
}

// checkLimits refuses limits of the tool host and of the API that no part of the program could work with.
func (c *Config) checkLimits(refuse func(wrong bool, format string, args ...any)) {
	isNoLimit := func(values ...int) bool {
		return slices.ContainsFunc(values, func(n int) bool { return n == 0 || n < -1 })
	}
	refuse(c.Relay.MailPerInbox < 1 || c.Relay.BytesPerInbox < 1,
		"relay.mail_per_inbox and relay.bytes_per_inbox: want 1 or more")
	refuse(isNoLimit(c.Relay.SenderPerMinute, c.Relay.NetworkPerMinute, c.Relay.FirstContactsPerDay),
		"relay.sender_per_minute, relay.network_per_minute and relay.first_contacts_per_day: want 1 or more, or -1 for no limit")
	refuse(c.Altar.SessionTTL <= 0 || c.Altar.MaxSessionTTL <= 0 || c.Altar.CallTimeout <= 0 || c.Altar.MaxCallTimeout <= 0,
		"altar.session_ttl, altar.max_session_ttl, altar.call_timeout and altar.max_call_timeout: want more than 0")
	refuse(c.Altar.SessionsPerClient < 1 || c.Altar.CallsPerClient < 1 || isNoLimit(c.Altar.CallsPerMinute),
		"altar.sessions_per_client and altar.calls_per_client: want 1 or more; altar.calls_per_minute: 1 or more, or -1 for no limit")
	refuse(c.Altar.TLSListen != "" && !c.Altar.Enabled,
		"altar.tls_listen %q: altar.enabled is false; leave the address empty, or enable the tool host", c.Altar.TLSListen)
	refuse(c.Altar.TLSListen != "" && !isListenAddress(c.Altar.TLSListen),
		"altar.tls_listen %q: want HOST:PORT, for example \"0.0.0.0:8443\"", c.Altar.TLSListen)
	refuse(c.Altar.TLSListen != "" && (c.Altar.TLSCertificate == "" || c.Altar.TLSKey == ""),
		"altar.tls_listen needs altar.tls_certificate and altar.tls_key: files in PEM")
	refuse(c.API.Connections < 0,
		"api.connections %d: want 1 or more, or 0 for as many as the open files allow", c.API.Connections)
	refuse(isNoLimit(c.API.ConnectionsPerClient),
		"api.connections_per_client: want 1 or more, or -1 for no limit")
	refuse(isNoLimit(c.API.RegistrationsPerHour, c.API.RegistrationsGlobalPerHour),
		"api.registrations_per_hour and api.registrations_global_per_hour: want 1 or more, or -1 for no limit")
	refuse(c.API.RegistrationWork < 0 || c.API.RegistrationWork > maxRegistrationWork,
		"api.registration_work %d: want 0 for none, or at most %d bits", c.API.RegistrationWork, maxRegistrationWork)
	refuse(isNoLimit(c.API.ChangesPerHour, c.API.ChangesGlobalPerHour, c.API.ChangesPerAgentPerHour, c.API.ReportsPerDay),
		"api.changes_per_hour, api.changes_global_per_hour, api.changes_per_agent_per_hour and api.reports_per_day: want 1 or more, or -1 for no limit")
	refuse(isNoLimit(c.API.FetchesPerHour, c.API.FetchesPerHostPerHour, c.API.FetchesGlobalPerHour),
		"api.fetches_per_hour, api.fetches_per_host_per_hour and api.fetches_global_per_hour: want 1 or more, or -1 for no limit")
	refuse(isNoLimit(c.API.SubmissionsPerHour, c.API.SubmissionsPerDomainPerHour, c.API.SubmissionsGlobalPerHour),
		"api.submissions_per_hour, api.submissions_per_domain_per_hour and api.submissions_global_per_hour: want 1 or more, or -1 for no limit")
}

// checkListeners refuses two keys with the same address to listen on: the second one would fail, and its
// error would speak of another program.
func (c *Config) checkListeners() error {
	listeners := []struct{ key, address string }{
		{"listen", c.Listen}, {"admin_listen", c.AdminListen}, {"metrics_listen", c.MetricsListen}, {"altar.tls_listen", c.Altar.TLSListen},
	}
	for i, second := range listeners {
		for _, first := range listeners[:i] {
			if overlap(first.address, second.address) {
				return fmt.Errorf("%s %q and %s %q: want another address for each; give one of them another port, or leave it empty", first.key, first.address, second.key, second.address)
			}
		}
	}
	return nil
}

// overlap reports whether one machine cannot listen on both addresses. Port 0 is a free port, another one
// each time.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	return errA == nil && errB == nil && portA == portB && portA != "0" &&
		(hostA == hostB || isUnspecified(hostA) || isUnspecified(hostB))
}

// isUnspecified reports whether a host to listen on means all addresses of the machine.
func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.RawQuery == "" && u.Fragment == ""
}

// isLoopbackAddress reports whether an address to listen on is one that only this machine
// reaches; none is one, too.
func isLoopbackAddress(address string) bool {
	if address == "" {
		return true
	}
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().IsLoopback()
}

// envKey turns CRAWLER_HOST_INTERVAL into crawler.host_interval: the first word
// is a table when there is one of that name.
func envKey(name string) string {
	key := strings.ToLower(name)
	table, rest, ok := strings.Cut(key, "_")
	if f, found := fieldByTag(reflect.TypeFor[Config](), table); ok && found && f.Type.Kind() == reflect.Struct {
		return table + "." + rest
	}
	return key
}

// setKey puts the text of a value into the key "name" or "table.name"; lists are
// separated by commas.
func (c *Config) setKey(key, value string) error {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(key, ".") {
		if v.Kind() != reflect.Struct {
			return describeUnknownKey(key)
		}
		f, ok := fieldByTag(v.Type(), part)
		if !ok {
			return describeUnknownKey(key)
		}
		v = v.FieldByIndex(f.Index)
	}
	return setValue(v, value)
}

func fieldByTag(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("toml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func setValue(v reflect.Value, text string) error {
	if d, ok := v.Addr().Interface().(*Duration); ok {
		return d.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(n)
	case reflect.Slice:
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		v.Set(reflect.ValueOf(list))
	default:
		return fmt.Errorf("this key is a table; name one of its keys")
	}
	return nil
}
