package wordvec

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

func small(t *testing.T) *Table {
	t.Helper()
	table, err := Read(strings.NewReader("a 1 0\nb 0 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRead(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("a\t1\t0\nb\t0\t2\n"))
	z.Close()
	for what, text := range map[string]string{
		"spaces":                "a 1 0\nb 0 2\n",
		"tabs, no last newline": "a\t1\t0\nb\t0\t2",
		"word2vec":              "2 2\na 1 0\nb 0 2\n",
		"int8":                  "# {\"dim\": 2}\na\t.1\t0.0078740157\tfwA=\nb\t.1\t0.015748031\tAH8=\n",
		"gzip":                  zipped.String(),
		"capitals":              "A 1 0\n\nB 0 2\nb 7 7\n",
		"carriage returns":      "a 1 0\r\nb 0 2\r\n",
	} {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if table.Len() != 2 || table.Dim() != 2 {
			t.Errorf("%s: %d words of %d numbers", what, table.Len(), table.Dim())
		}
		v := make([]float32, 2)
		table.Sum(v, []string{"a", "b"}, nil)
		if v[0] < .999 || v[0] > 1.001 || v[1] < 1.999 || v[1] > 2.001 {
			t.Errorf("%s: a + b is %v", what, v)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "no word",
		"# only a remark\n":                    "no word",
		"a 1 0\nb 1\n":                         "line 2: 1 numbers, where the first word has 2",
		"a 1 0\nb\n":                           "line 2: a word without numbers",
		"a 1 x\n":                              `line 1: "x" is no number`,
		"a 1 NaN\n":                            "is not between",
		"a 1 Inf\n":                            "is not between",
		"a 1 1e30\n":                           "is not between",
		"a\t.1\t.1\t!!\n":                      "base64",
		"a\t.1\tNaN\tfwA=\n":                   "is not between",
		"\xff 1 2\n":                           "line 1: not UTF-8",
		"a" + strings.Repeat(" 1", 1025):       "1025 numbers: at most 1024",
		strings.Repeat("a", 300) + " 1 2\n":    "a word of 300 bytes",
		"a 1 2\n" + strings.Repeat("b", 40000): "line 2: longer than",
		"\x1f\x8bnot gzip":                     "gzip",
	} {
		_, err := Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want one about %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a 1 0\nb 0 2\n"))
	f.Add([]byte("# x\na\t.1\t0.01\tfwA=\n"))
	f.Add([]byte("2 2\na 1e5 -1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		v := make([]float32, table.Dim())
		for w := range table.words {
			if table.Sum(v, []string{w}, nil) != 1 {
				t.Fatalf("%q is not known", w)
			}
		}
		for _, x := range v {
			if x != x {
				t.Fatal("a sum that is no number")
			}
		}
	})
}
