package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
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

func benchmarkCompare(b *testing.B, kind document.Kind, before, after []byte) {
	b.SetBytes(int64(len(before) + len(after)))
	for b.Loop() {
		if _, err := diff.Compare(diff.Input{Kind: kind, Bytes: before}, diff.Input{Kind: kind, Bytes: after}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	b.Run("json", func(b *testing.B) { benchmarkCompare(b, document.AI, largeAI(""), largeAI("")) })
	b.Run("json-changed", func(b *testing.B) { benchmarkCompare(b, document.AI, largeAI(""), largeAI("s")) })
	b.Run("yaml", func(b *testing.B) { benchmarkCompare(b, document.AGIS, largeAGIS(""), largeAGIS("")) })
	b.Run("yaml-changed", func(b *testing.B) { benchmarkCompare(b, document.AGIS, largeAGIS(""), largeAGIS("s")) })
	b.Run("yaml-read-alone", func(b *testing.B) { // the reference: reading both
		texts := [][]byte{largeAGIS(""), largeAGIS("s")}
		for b.Loop() {
			for _, text := range texts {
				if _, _, err := agis.Parse(text, agis.Options{Limits: protocol.Limits{}}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
