package hostlist

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gazetteer/fetch"
)

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func TestRead(t *testing.T) {
	plain := "# seeds\n\nWWW.Example.COM.\r\nhttps://shop.example/path # ours\n  bücher.example\n"
	for _, c := range []struct {
		name, text string
		hosts      []string
		wrong      []int // lines
	}{
		{"names", plain, []string{"www.example.com", "shop.example", "xn--bcher-kva.example"}, nil},
		{"without a last line end", "a.example\nb.example", []string{"a.example", "b.example"}, nil},
		{"with a mark of byte order", "\ufeffa.example\n", []string{"a.example"}, nil},
		{"packed", packed(plain), []string{"www.example.com", "shop.example", "xn--bcher-kva.example"}, nil},
		{"ranks", "rank,domain\n1,google.example\n2,\"b.example\"\n\"3\",c.example,99\n", []string{"google.example", "b.example", "c.example"}, nil},
		{"vertices", "0\tcom.example\n1\tcom.example.www\t17\n", []string{"example.com", "www.example.com"}, nil},
		{"ranks of vertices", "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n1\t2.5E7\t3\t0.01\torg.wikipedia.en\n2\t2.4E7\t4\t1e-9\tcom.example\t17\n", []string{"en.wikipedia.org", "example.com"}, nil},
		{"what is no host", "10.0.0.1\ngood.example\nlocalhost\nco.uk\n7,192.168.0.1\n5\tcom\na.example:8443\nhttp://u@b.example/\nx,y.example\n",
			[]string{"good.example"}, []int{1, 3, 4, 5, 6, 7, 8, 9}},
		{"a line without end", strings.Repeat("x", 1<<20) + "\nok.example\n", []string{"ok.example"}, []int{1}},
		{"nothing", "", nil, nil},
		{"a NUL", "a\x00b.example\nok.example\n", []string{"ok.example"}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var hosts []string
			var wrong []int
			for host, err := range Read(iotest.OneByteReader(strings.NewReader(c.text))) {
				var line *LineError
				var why *fetch.HostError
				switch {
				case err == nil:
					hosts = append(hosts, host)
				case errors.As(err, &line) && errors.As(err, &why):
					wrong = append(wrong, line.Line)
				default:
					t.Fatal(err)
				}
			}
			if !slices.Equal(hosts, c.hosts) || !slices.Equal(wrong, c.wrong) {
				t.Errorf("hosts %q, wrong lines %v; want %q, %v", hosts, wrong, c.hosts, c.wrong)
			}
		})
	}
}

func TestReadReportsFailures(t *testing.T) {
	broken := errors.New("broken")
	for _, r := range []io.Reader{
		io.MultiReader(strings.NewReader("a.example\n"), iotest.ErrReader(broken)),
		strings.NewReader(packed(strings.Repeat("a.example\n", 10000))[:60]),
		strings.NewReader("\x1f\x8bnone"),
	} {
		var last error
		for _, last = range Read(r) {
		}
		if last == nil {
			t.Error("the end of a list that cannot be read is not told of")
		}
	}
	for range Read(strings.NewReader("a.example\nb.example\n")) {
		break
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("1,a.example\n0\tcom.example\n# x\n"))
	f.Add([]byte(packed("a.example")))
	f.Fuzz(func(t *testing.T, text []byte) {
		for host, err := range Read(io.LimitReader(bytes.NewReader(text), 1<<20)) {
			if err != nil {
				continue
			}
			if again, err := fetch.CheckHost(host); err != nil || again != host {
				t.Fatal(fmt.Sprintf("%q", host), err)
			}
		}
	})
}
