package semantic

import (
	"encoding/binary"
	"flag"
	"math"
	"os"
	"testing"

	"gazetteer/index/wordvec"
)

var update = flag.Bool("update", false, "write centroids.bin anew")

// TestEmbeddedCentroids compares the file of the centroids with those that are computed from the
// built-in table. On another processor, the last digits of a sum may differ.
func TestEmbeddedCentroids(t *testing.T) {
	want := NewLexicon(wordvec.Embedded).Centroids()
	if *update {
		var file []byte
		for _, c := range want {
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(c.Scale))
			for _, x := range c.Vector {
				file = append(file, byte(x))
			}
		}
		if err := os.WriteFile("centroids.bin", file, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := EmbeddedLexicon().Centroids()
	if len(got) != len(want) {
		t.Fatalf("%d centroids, want %d: run the test with -update", len(got), len(want))
	}
	for i, c := range got {
		itself := c.Cosine(c.Embedding) // less than 1, because the numbers are rounded
		if cosine := c.Cosine(want[i].Embedding); math.Abs(float64(cosine-itself)) > .001 {
			t.Errorf("centroid %d differs from the computed one: cosine %v, with itself %v: run the test with -update", i, cosine, itself)
		}
	}
}
