package backup

import (
	"archive/tar"
	"bytes"
	"fmt"
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
	// A terabyte of holes, as GNU tar writes it (--format=posix --sparse): the map of the file, and no data.
	sparse := paxArchive("store.bolt", map[string]string{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "store.bolt", "GNU.sparse.realsize": "1099511627776"}, "1\n1099511627776\n0\n")
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"outside":                      {archive(file("../evil")), `"../evil", which is not part of a backup`},
		"absolute":                     {archive(file("/tmp/evil")), `"/tmp/evil", which is not part of a backup`},
		"link":                         {archive(tar.Header{Typeflag: tar.TypeSymlink, Name: "log", Linkname: "/etc"}, file("log/key")), `"log", which is not part of a backup`},
		"sparse":                       {sparse, `"store.bolt", which is not part of a backup`},
		"twice":                        {archive(file("store.bolt"), file("store.bolt")), `"store.bolt" twice`},
		"manifest":                     {whole, "the archive has no MANIFEST.json at its top"},
		"twice, with another spelling": {archive(file("store.bolt"), file("./store.bolt")), `"store.bolt" twice`},
		"cut":                          {whole[:514], `ends within "store.bolt"`},
		"long name":                    {archive(file(strings.Repeat("../n", 2000))), "which is not part of a backup"},
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

// paxArchive is an archive of one file with extended records; [tar.Writer] writes no sparse files.
func paxArchive(name string, records map[string]string, content string) []byte {
	var b bytes.Buffer
	block := func(kind byte, name, content string) {
		var h [512]byte
		copy(h[:100], name)
		copy(h[100:], "0000600\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x00", len(content)))
		copy(h[136:], "00000000000\x00        ")
		h[156] = kind
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h[:])
		b.WriteString(content)
		b.Write(make([]byte, (512-len(content)%512)%512))
	}
	text := ""
	for key, value := range records {
		length := len(key) + len(value) + 3
		for length != len(fmt.Sprint(length))+len(key)+len(value)+3 {
			length = len(fmt.Sprint(length)) + len(key) + len(value) + 3
		}
		text += fmt.Sprintf("%d %s=%s\n", length, key, value)
	}
	block(tar.TypeXHeader, "x", text)
	block(tar.TypeReg, name, content+string(make([]byte, (512-len(content)%512)%512)))
	b.Write(make([]byte, 1024))
	return b.Bytes()
}
