package api

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"gazetteer/api/operator"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/relay"
)

// CrawlMetrics is the part of the crawler that the metrics need.
type CrawlMetrics interface {
	Metrics() crawler.Metrics
}

// metricsType is the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// MetricsHandler answers GET /metrics with counters and gauges in the text format of Prometheus.
// They show how busy the process is, so serve it on an address of the operator's own.
func (a *API) MetricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", metricsType)
		w.Header().Set("Cache-Control", "no-store")
		w.Write(a.collectMetrics(r.Context())) // a client that left needs no answer
	})
	return mux
}

func (a *API) collectMetrics(ctx context.Context) []byte {
	var b bytes.Buffer
	s := a.ServerStatus()
	gauge := func(name string, value float64) { metrics.WriteGaugeFloat64(&b, "gazetteer_"+name, value) }
	gauge("ready", boolGauge(s.Ready))
	gauge("start_time_seconds", float64(s.Started.UnixNano())/1e9)
	gauge("store_sequence", float64(s.Store))
	gauge("index_sequence", float64(s.Index))
	gauge("index_lag", float64(max(s.Store, s.Index)-s.Index))
	writeLogMetrics(&b, s, gauge)
	if c, ok := a.Answers.Crawler.(CrawlMetrics); ok {
		writeCrawlMetrics(&b, c.Metrics(), gauge)
	}
	if s.Relay != nil {
		writeRelayMetrics(&b, *s.Relay, s.At)
	}
	if a.tools != nil {
		metrics.WriteCounterUint64(&b, "gazetteer_tools_audit_lost_total", a.tools.Figures().AuditLost)
	}
	a.writeStoreMetrics(ctx, &b, gauge)
	writeLimitMetrics(&b, a.Limits)
	j := a.clockJumps()
	metrics.WriteCounterUint64(&b, "gazetteer_clock_jumps_total", uint64(j.Count))
	gauge("clock_last_jump_seconds", j.By.Seconds())
	gauge("clock_behind_seconds", j.Behind.Seconds())
	metrics.WriteCounterUint64(&b, "gazetteer_panics_total", a.Panics.Load())
	metrics.WriteProcessMetrics(&b)
	metrics.WriteFDMetrics(&b)
	return formatExposition(b.Bytes())
}

func writeCrawlMetrics(b *bytes.Buffer, m crawler.Metrics, gauge func(string, float64)) {
	count := func(name string, value int) {
		metrics.WriteCounterUint64(b, "gazetteer_crawl_"+name, uint64(max(value, 0)))
	}
	gauge("crawl_hosts_known", float64(m.Known))
	gauge("crawl_hosts_waiting", float64(m.Waiting))
	gauge("crawl_hosts_due", float64(m.Due))
	gauge("crawl_hosts_in_flight", float64(m.InFlight))
	gauge("crawl_paused", boolGauge(m.Paused != ""))
	gauge("crawl_queue_age_seconds", m.QueueAge.Seconds())
	count("visits_total", m.Visits)
	count("documents_total", m.Documents)
	count("errors_total", m.Errors)
	count("requests_total", m.Requests)
	count("wire_bytes_total", int(m.WireBytes))
	count("robots_refusals_total", m.RobotsRefusals)
	count("waits_total", m.Waits)
	metrics.WriteCounterFloat64(b, "gazetteer_crawl_waited_seconds_total", m.Waited.Seconds())
	for _, kind := range crawler.FetchKinds() {
		for _, outcome := range fetch.Outcomes() { // also those that did not occur: an alert sees no first event without a zero before it
			count("fetches_total"+formatLabels("kind", string(kind), "outcome", string(outcome)), m.Outcomes[kind][outcome])
		}
	}
}

// writeRelayMetrics writes how much mail was received, refused (by reason), is waiting and was
// acknowledged.
func writeRelayMetrics(b *bytes.Buffer, s relay.Status, now time.Time) {
	count := func(name string, value uint64) { metrics.WriteCounterUint64(b, "gazetteer_relay_"+name, value) }
	count("accepted_total", s.Accepted)
	for _, reason := range relay.RefusalReasons() {
		count("refused_total"+formatLabels("reason", reason), s.Refused[reason])
	}
	count("pulled_total", s.Pulled)
	count("acknowledged_total", s.Acknowledged)
	count("expired_total", s.Expired)
	count("wakeups_total", s.Woken)
	count("wakeup_failures_total", s.WakeFailures)
	metrics.WriteGaugeFloat64(b, "gazetteer_relay_waiting", float64(s.Waiting))
	metrics.WriteGaugeFloat64(b, "gazetteer_relay_waiting_bytes", float64(s.WaitingBytes))
	metrics.WriteGaugeFloat64(b, "gazetteer_relay_inboxes", float64(s.Inboxes))
	oldest := 0.0
	if !s.Oldest.IsZero() {
		oldest = now.Sub(s.Oldest).Seconds()
	}
	metrics.WriteGaugeFloat64(b, "gazetteer_relay_oldest_seconds", oldest)
}

// writeLimitMetrics writes how many requests each limit has admitted and refused.
func writeLimitMetrics(b *bytes.Buffer, limits *limit.Set) {
	for _, s := range limits.Stats() {
		label := formatLabels("limit", s.Name)
		metrics.WriteCounterUint64(b, "gazetteer_limit_admitted_total"+label, s.Taken)
		metrics.WriteCounterUint64(b, "gazetteer_limit_refused_total"+formatLabels("limit", s.Name, "scope", "client"), s.Refused)
		metrics.WriteCounterUint64(b, "gazetteer_limit_refused_total"+formatLabels("limit", s.Name, "scope", "all"), s.RefusedAll)
		metrics.WriteGaugeUint64(b, "gazetteer_limit_keys"+label, uint64(s.Keys))
		metrics.WriteGaugeUint64(b, "gazetteer_limit_in_use"+label, uint64(s.InUse))
		metrics.WriteGaugeUint64(b, "gazetteer_limit_waiting"+label, uint64(s.Waiting))
	}
	c := limits.ConnectionStats()
	metrics.WriteGaugeUint64(b, "gazetteer_connections", uint64(c.Open))
	metrics.WriteGaugeUint64(b, "gazetteer_connections_waiting", uint64(c.Idle))
	metrics.WriteGaugeUint64(b, "gazetteer_connections_max", uint64(c.All))
	metrics.WriteCounterUint64(b, "gazetteer_connections_refused_total", c.Refused)
	metrics.WriteCounterUint64(b, "gazetteer_connections_dropped_total", c.Dropped)
	metrics.WriteCounterUint64(b, "gazetteer_accept_pauses_total", c.Paused)
}

func boolGauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// writeStoreMetrics writes the size of the store's file and the compactions since the start.
func (a *API) writeStoreMetrics(ctx context.Context, b *bytes.Buffer, gauge func(string, float64)) {
	gauge("store_horizon", float64(a.Answers.Store.Horizon().Seq))
	s, ok := a.Answers.Store.(operator.Compactor)
	if !ok {
		return
	}
	u, err := s.Upkeep(ctx)
	if err != nil {
		return // the store is closed or has failed, which other metrics say
	}
	gauge("store_bytes", float64(u.Usage.Bytes))
	gauge("store_free_bytes", float64(u.Usage.FreeBytes))
	metrics.WriteCounterUint64(b, `gazetteer_store_writes_refused_total{reason="disk_full"}`, u.Refused)
	if u.DiskFree >= 0 {
		gauge("disk_free_bytes", float64(u.DiskFree))
	}
	metrics.WriteCounterUint64(b, "gazetteer_store_deletions_forgotten_total", uint64(u.Forgotten))
	metrics.WriteCounterUint64(b, "gazetteer_store_compactions_total", uint64(u.Compactions))
	metrics.WriteCounterUint64(b, "gazetteer_store_compaction_failures_total", uint64(u.Failures))
	last := 0.0
	if u.Compactions > 0 {
		last = float64(u.Last.UnixNano()) / 1e9
	}
	gauge("store_last_compaction_time_seconds", last)
	gauge("store_last_compaction_duration_seconds", u.LastTook.Seconds())
	gauge("store_last_compaction_pause_seconds", u.LastPause.Seconds())
}
