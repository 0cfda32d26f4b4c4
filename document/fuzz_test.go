package document_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"gazetteer/document"
)

func FuzzRead(f *testing.F) {
	f.Add(uint8(0), []byte(shop))
	f.Add(uint8(1), vector(f, "aidiscovery", "valid/seed-8.1-minimal.json"))
	f.Add(uint8(2), vector(f, "agis", "wellknown/seed-restaurant.json"))
	f.Add(uint8(3), vector(f, "agis", "valid/seed-finance.yaml"))
	f.Add(uint8(3), vector(f, "agis", "valid/shared-schema-ref.yaml"))
	f.Add(uint8(3), vector(f, "agis", "invalid/output-shorthand.yaml"))
	f.Fuzz(func(t *testing.T, row uint8, text []byte) {
		kind := document.Formats[int(row)%len(document.Formats)].Kind
		d, err := document.Read(input(kind, string(text)))
		if d == nil || err != nil && (len(d.Findings) == 0 || len(d.Operations) > 0) {
			t.Fatalf("document %+v, error %v", d, err)
		}
		seen := map[string]bool{}
		for _, op := range d.Operations {
			if op.ID == "" || seen[op.ID] || op.Pointer == "" || op.Effect == "" {
				t.Fatalf("operation %+v", op)
			}
			seen[op.ID] = true
		}
		// The stored document equals the one that was read.
		stored, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		back := new(document.Document)
		if err := json.Unmarshal(stored, back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || !reflect.DeepEqual(stored, again) {
			t.Fatalf("stored %s, read back %s, error %v", stored, again, err)
		}
	})
}
