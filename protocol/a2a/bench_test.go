package a2a_test

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
)

// keyList finds the same keys for every sender: a cache that hits.
type keyList []ed25519.PublicKey

func (k keyList) FindKeys(context.Context, string, time.Time) ([]ed25519.PublicKey, error) {
	return k, nil
}

// BenchmarkVerify holds the whole verification of an envelope of 2 kB (parse,
// canonicalise, decode the signature, verify, clock) against one bare
// ed25519.Verify of the same bytes. Both sides are done in turn, so that what else
// the machine does falls on both.
func BenchmarkVerify(b *testing.B) {
	key := seeded(1)
	public := key.Public().(ed25519.PublicKey)
	message := a2a.Message{From: "did:wba:agents.example:agents:AIR-S1EN-D3RA-GNT0", To: "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6",
		InReplyTo: a2a.NewID(), Body: a2a.Counter{Description: strings.Repeat("Translate a 500-word article from English to Korean. ", 26), Price: a2a.Money{AmountCents: 500, Currency: "USD"}, ExpiresAt: time.Now()}}
	e, err := a2a.Sign(message, a2a.Strict, key)
	if err != nil {
		b.Fatal(err)
	}
	// Pretty-printed and in another order, as a client may send it.
	pretty := []byte(strings.NewReplacer(`,"`, ",\n  \"", `":`, `": `).Replace(string(e.Text)))
	signature := ed25519.Sign(key, e.Canonical())
	d := directory{}
	d.add(message.From, key)
	for _, bench := range []struct {
		name string
		text []byte
		p    a2a.Profile
		keys a2a.KeyFinder
	}{
		{"canonical/strict", e.Text, a2a.Strict, keyList{public}}, {"canonical/wire", e.Text, a2a.Wire, keyList{public}},
		{"pretty/strict", pretty, a2a.Strict, keyList{public}}, {"pretty/wire", pretty, a2a.Wire, keyList{public}},
		{"document/strict", e.Text, a2a.Strict, a2a.DocumentKeys{Resolver: d}}, // the key is decoded and judged each time
	} {
		b.Run(bench.name, func(b *testing.B) {
			text := bench.text
			v := a2a.Verifier{Profile: bench.p, Keys: bench.keys}
			var ours, bare []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				begin := time.Now()
				if _, err := v.Verify(context.Background(), text); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if !ed25519.Verify(public, e.Canonical(), signature) {
					b.Fatal("the signature does not verify")
				}
				ours, bare = append(ours, middle.Sub(begin)), append(bare, time.Since(middle))
			}
			slices.Sort(ours)
			slices.Sort(bare)
			half := len(ours) / 2
			b.ReportMetric(float64(len(text)), "bytes")
			b.ReportMetric(float64(ours[half].Nanoseconds()), "ns/verify-p50")
			b.ReportMetric(float64(ours[half])/float64(bare[half]), "of-bare-p50")
		})
	}
}
