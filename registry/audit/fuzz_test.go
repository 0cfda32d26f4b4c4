package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
)

func FuzzVerifier(f *testing.F) {
	k := audittest.NewKey(f, origin)
	f.Add(k.Public())
	f.Add(k.PublicWitness())
	f.Add("a+00000000+BAAA")
	f.Fuzz(func(t *testing.T, public string) {
		v, err := checkpoint.NewVerifier(public)
		if err != nil {
			return
		}
		if v.Name() == "" || strings.ContainsAny(v.Name(), "+ \n") || !strings.HasPrefix(public, v.Name()+"+") {
			t.Fatalf("%q is the key of %q", public, v.Name())
		}
	})
}

// FuzzLeaf checks that each value becomes a leaf of valid size, with the complete value, and that a
// second call returns the same leaf.
func FuzzLeaf(f *testing.F) {
	for _, value := range []string{`{"b":1,"a":[null,1e5,"\u2028"]}`, `"\ud800"`, "\xff", `{"a":1,"a":2}`, strings.Repeat("[", 100), `18446744073709551616`} {
		f.Add("agent/AIR-1/1", []byte(value))
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		if key = strings.ToValidUTF8(key, ""); len(key) > 512 {
			return // no key of a store
		}
		leaf := leafform.Salter("secret").RecordLeaf(store.Record{Key: key, Value: value})
		if len(leaf) > tiles.MaxLeaf || !bytes.Equal(leaf, leafform.Salter("secret").RecordLeaf(store.Record{Key: key, Value: value})) {
			t.Fatalf("%q", leaf)
		}
		var says struct {
			Key    string
			Record json.RawMessage
			Base64 []byte
			SHA256 string
		}
		if err := json.Unmarshal(leaf, &says); err != nil || says.Key != key {
			t.Fatalf("%q: %v", leaf, err)
		}
		if says.Record == nil && says.SHA256 == "" && !bytes.Equal(says.Base64, value) {
			t.Fatalf("%q loses %q", leaf, value)
		}
		if erased, err := tiles.ErasedBy(leaf); erased != nil || err != nil {
			t.Fatalf("%q is taken for a deletion: %v, %v", leaf, erased, err)
		}
		if says.Record != nil {
			again := leafform.Salter("secret").RecordLeaf(store.Record{Key: key, Value: says.Record})
			if !bytes.Equal(again, leaf) {
				t.Fatalf("%q is canonical and becomes %q", leaf, again)
			}
		}
	})
}
