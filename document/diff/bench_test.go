//go:build unix

package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/internal/cputime"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

// largeAI returns an AI Discovery document of about 250 kB.
func largeAI(suffix string) []byte {
	var b strings.Builder
	b.WriteString(`{"aiendpoint":"1.0","service":{"name":"Large","description":"Many capabilities."},"capabilities":[`)
	for i := range 700 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"get_record_%d","description":"Get record number %d of the archive%s","endpoint":"/api/records/%d/:id","method":"GET","params":{"id":"string, required -- the record","format":"string, optional, json|csv%s, default json -- how to write it"},"returns":"record {id, title, body, author, created_at, tags[], links[] {rel, href}}"}`, i, i, suffix, i, suffix)
	}
	b.WriteString(`],"auth":{"type":"none"}}`)
	return []byte(b.String())
}

// largeAGIS returns an AGIS document in YAML of about 250 kB.
func largeAGIS(suffix string) []byte {
	var b strings.Builder
	b.WriteString("agis: \"1.0\"\nservice: Large\nagtp: agtp://large.example\nendpoints:\n")
	for i := range 330 {
		fmt.Fprintf(&b, `  - method: FIND
    path: /record-%d/{id}
    semantic:
      intent: Finds record number %d of the archive%s
      actor: agent
      outcome: The record is returned
      capability: discovery
      impact_tier: informational
      is_idempotent: true
    input:
      type: object
      required: [id]
      properties:
        id: {type: string, maxLength: 40}
        format: {type: string, enum: [json, csv%s]}
    output:
      type: object
      properties:
        title: {type: string}
        body: {type: string}
        tags: {type: array, items: {type: string}}
    errors: [record_not_found, record_withdrawn]
`, i, i, suffix, suffix)
	}
	b.WriteString("vocabulary:\n  declared_verbs: [FIND]\n  domain: archives\n")
	return []byte(b.String())
}

// BenchmarkCompare compares two documents of 250 kB each, equal ones and ones of which every
// operation changed. of-reading is the processor time against that of reading both alone, in the
// same run.
func BenchmarkCompare(b *testing.B) {
	readAI := func(text []byte) error {
		_, _, err := aidiscovery.Parse(text, aidiscovery.Options{})
		return err
	}
	readAGIS := func(text []byte) error {
		_, _, err := agis.Parse(text, agis.Options{})
		return err
	}
	for _, c := range []struct {
		name          string
		kind          document.Kind
		before, after []byte
		read          func([]byte) error
	}{
		{"json/equal", document.AI, largeAI(""), largeAI(""), readAI},
		{"json/changed", document.AI, largeAI(""), largeAI("s"), readAI},
		{"yaml/equal", document.AGIS, largeAGIS(""), largeAGIS(""), readAGIS},
		{"yaml/changed", document.AGIS, largeAGIS(""), largeAGIS("s"), readAGIS},
	} {
		b.Run(c.name, func(b *testing.B) {
			var comparing, reading time.Duration
			for b.Loop() {
				start := cputime.Used()
				if _, err := diff.Compare(diff.Input{Kind: c.kind, Bytes: c.before}, diff.Input{Kind: c.kind, Bytes: c.after}); err != nil {
					b.Fatal(err)
				}
				middle := cputime.Used()
				for _, text := range [][]byte{c.before, c.after} {
					if err := c.read(text); err != nil {
						b.Fatal(err)
					}
				}
				comparing, reading = comparing+middle-start, reading+cputime.Used()-middle
			}
			b.ReportMetric(float64(comparing.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(comparing)/float64(reading), "of-reading")
		})
	}
}
