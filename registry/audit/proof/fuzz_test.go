package proof

import (
	"testing"

	"gazetteer/registry/audit/audittest"

	"golang.org/x/mod/sumdb/tlog"
)

func FuzzCheck(f *testing.F) {
	s := audittest.NewTree(f, "registry.example/log")
	checkpoint := s.Grow(5, "leaf")
	p, err := tlog.ProveRecord(5, 3, s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(Inclusion{Index: 3, Hashes: p}.Text(checkpoint), []byte("leaf 3"))
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra AA==\nindex 0\n\n"), []byte(""))
	f.Add([]byte("c2sp.org/tlog-proof@v1\nindex 0\n\n\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, text, leaf []byte) {
		p, c, err := Check(text, leaf, s.Key.Verifier())
		if err == nil && (c.N != 5 || tlog.CheckRecord(p.Hashes, 5, c.Hash, p.Index, tlog.RecordHash(leaf)) != nil) {
			t.Fatalf("a proof of %q for %+v is taken", leaf, c)
		}
		if p, checkpoint, err := parseInclusion(text); err == nil {
			again, _, err := parseInclusion(p.Text(checkpoint))
			if err != nil || again.Index != p.Index || len(again.Hashes) != len(p.Hashes) {
				t.Fatalf("%q is written as %q: %v", text, p.Text(checkpoint), err)
			}
		}
	})
}
