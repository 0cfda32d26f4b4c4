package backup

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileArchives checks that an archive that holds something else than a backup is refused, with
// the name of what is wrong in one short line.
func TestHostileArchives(t *testing.T) {
	archive := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if h.Typeflag == tar.TypeReg {
				h.Size = 4
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Size > 0 {
				if _, err := w.Write([]byte("text")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600} }
	whole := archive(file("store.bolt"))
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"outside":   {archive(file("../evil")), `"../evil", which is not part of a backup`},
		"absolute":  {archive(file("/tmp/evil")), `"/tmp/evil", which is not part of a backup`},
		"link":      {archive(tar.Header{Typeflag: tar.TypeSymlink, Name: "log", Linkname: "/etc"}, file("log/key")), `"log", which is not part of a backup`},
		"twice":     {archive(file("store.bolt"), file("store.bolt")), `"store.bolt" twice`},
		"manifest":  {whole, "the archive has no MANIFEST.json"},
		"cut":       {whole[:514], `ends within "store.bolt"`},
		"long name": {archive(file(strings.Repeat("../n", 2000))), "which is not part of a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := RestoreTar(t.Context(), bytes.NewReader(test.archive), filepath.Join(dir, "data"), func(string, int64, int64) {})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 300 {
				t.Errorf("%v, want %s", err, test.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v were left, %v", left, err)
			}
		})
	}
}
