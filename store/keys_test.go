package store_test

import (
	"slices"
	"testing"
	"time"

	"gazetteer/store"
)

func TestKeys(t *testing.T) {
	seen := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("", 3600))
	for _, c := range []struct {
		key, want string
		parts     []string
	}{
		{store.HostKey("www.example.com"), "host/com.example.www", []string{"host", "www.example.com"}},
		{store.DocumentKey("example.com", "ai"), "doc/com.example/ai", []string{"doc", "example.com", "ai"}},
		{store.VersionKey("example.com", "agis", seen, "sha256:00"), "ver/com.example/agis/20260304T040607.089Z-sha256:00", []string{"ver", "example.com", "agis", "20260304T040607.089Z-sha256:00"}},
		{store.BlobKey("sha256:00"), "blob/sha256:00", []string{"blob", "sha256:00"}},
		{store.CrawlLogKey("example.com", seen, "a.test"), "log/com.example/20260304T040607.089Z-a.test", []string{"log", "example.com", "20260304T040607.089Z-a.test"}},
		{store.BlockKey("example.com"), "block/com.example", []string{"block", "example.com"}},
		{store.DomainKey("example.co.uk"), "domain/uk.co.example", []string{"domain", "example.co.uk"}},
		{store.AgentKey("AIR-1"), "agent/AIR-1", []string{"agent", "AIR-1"}},
		{store.HandleKey("a.b"), "handle/a.b", []string{"handle", "a.b"}},
		{store.EntryKey("AIR-1", 12), "agent/AIR-1/00000012", []string{"agent", "AIR-1", "00000012"}},
		{store.KeyKey("z6Mk"), "key/z6Mk", []string{"key", "z6Mk"}},
		{store.AttestationKey(7), "attestation/0000000007", []string{"attestation", "0000000007"}},
		{store.AdmissionPolicyKey, "admission", []string{"admission"}},
		{store.PendingKey("AIR-1"), "pending/AIR-1", []string{"pending", "AIR-1"}},
		{store.BanKey("handle", "a.b"), "ban/handle/a.b", []string{"ban", "handle", "a.b"}},
		{store.ReportKey("x"), "report/x", []string{"report", "x"}},
	} {
		if c.key != c.want || !slices.Equal(store.SplitKey(c.key), c.parts) {
			t.Errorf("key %q of parts %q, want %q of %q", c.key, store.SplitKey(c.key), c.want, c.parts)
		}
	}
	if host := "a.b.example.com"; store.ReverseHost(store.ReverseHost(host)) != host {
		t.Error("a host reversed twice is another")
	}
}
