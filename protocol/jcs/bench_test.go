package jcs_test

import (
	"fmt"
	"strings"
	"testing"

	"gazetteer/internal/cputime"
	"gazetteer/protocol/jcs"
)

// benchmarkTexts are an envelope of 2 kB in the ways that it arrives, and a
// large text.
func benchmarkTexts() map[string]string {
	body := strings.Repeat("Translate a 500-word English article to Korean, machine-verified quality. ", 18)
	envelope := `{"id":"018fde3a-1234-4abc-8def-aabbccddeeff","from":"did:wba:agents.example:agents:AIR-S1EN-D3RA-GNT0","to":"did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6",` +
		`"timestamp":"2026-05-28T09:00:00.000Z","thread_id":"018fde3a-5678-4abc-9012-aabbccddeeff","nonce":"r4nd0mN0nc3-abc123xyz789","body":{"type":"Offer","description":"` + body + `",` +
		`"price":{"amount_cents":500,"currency":"USD"},"expires_at":"2026-05-28T10:00:00.000Z"},"signature":"z` + strings.Repeat("2", 87) + `"}`
	pretty := strings.NewReplacer(`,"`, ",\n    \"", `":`, `": `, `{"`, "{\n    \"").Replace(envelope)
	canonical, _ := jcs.Canonicalize([]byte(envelope), jcs.Options{})
	var records []string
	for i := range 2000 {
		records = append(records, fmt.Sprintf(`{"name":"agent %d","capabilities":["book","translate"],"score":%d,"inbox":"https://relay.example/inbox/%d","active":true}`, i, i*31%1000, i))
	}
	return map[string]string{
		"envelope": envelope, "pretty": pretty, "canonical": string(canonical),
		"korean":  strings.Replace(envelope, body, strings.Repeat("협상을 시작합니다. ", 54), 1),
		"records": "[" + strings.Join(records, ", ") + "]",
	}
}

func BenchmarkCanonicalize(b *testing.B) {
	for name, text := range benchmarkTexts() {
		b.Run(name, func(b *testing.B) {
			var d jcs.Document
			var out []byte
			source := []byte(text)
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			before := cputime.Used()
			for b.Loop() {
				if err := d.Parse(source, jcs.Options{}); err != nil {
					b.Fatal(err)
				}
				out = d.Root().Append(out[:0])
			}
			b.ReportMetric(float64(len(source))*float64(b.N)/1e6/(cputime.Used()-before).Seconds(), "MB/cpu-s")
		})
	}
}
