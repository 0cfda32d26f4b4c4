package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // bleve writes there
	os.Exit(m.Run())
}

func TestJudge(t *testing.T) {
	grades := map[string]int{"a": 2, "b": 1, "c": 1}
	gain := func(grade, at float64) float64 { return (math.Exp2(grade) - 1) / math.Log2(at+1) }
	ideal := gain(2, 1) + gain(1, 2) + gain(1, 3)
	for name, c := range map[string]struct {
		ranking []string
		want    figures
	}{
		"nothing found":           {nil, figures{}},
		"the best order":          {[]string{"a", "b", "c"}, figures{Hit1: 1, Recall5: 1, MRR10: 1, NDCG10: 1}},
		"one, in third place":     {[]string{"x", "y", "b"}, figures{Recall5: 1. / 3, MRR10: 1. / 3, NDCG10: gain(1, 3) / ideal}},
		"first place is no more":  {[]string{"b", "x"}, figures{Hit1: 1, Recall5: 1. / 3, MRR10: 1, NDCG10: gain(1, 1) / ideal}},
		"seventh is not in five":  {[]string{"1", "2", "3", "4", "5", "6", "a"}, figures{MRR10: 1. / 7, NDCG10: gain(2, 7) / ideal}},
		"eleventh does not count": {[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"}, figures{}},
	} {
		c.want.Queries = 1
		got := judge(c.ranking, grades)
		for _, pair := range [][2]float64{{got.Hit1, c.want.Hit1}, {got.Recall5, c.want.Recall5}, {got.MRR10, c.want.MRR10}, {got.NDCG10, c.want.NDCG10}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: got %+v, want %+v", name, got, c.want)
			}
		}
	}
}

func TestBootstrap(t *testing.T) {
	up := bootstrap([][]float64{{.1, .1, .1}, {.3, .3}})
	if math.Abs(up.Difference-.2) > 1e-12 || math.Abs(up.Low-.2) > 1e-12 || math.Abs(up.High-.2) > 1e-12 {
		t.Errorf("all the same: %+v", up)
	}
	mixed := bootstrap([][]float64{{1, -1, 1, -1, 1, -1}})
	if mixed.Low >= 0 || mixed.High <= 0 || mixed.Difference != 0 {
		t.Errorf("as much up as down: %+v", mixed)
	}
}

// command runs a command line and returns its exit code and what it printed.
func command(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(context.Background(), args, &out, &out)
	return code, out.String()
}

func TestRelevance(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "run")
	code, out := command(t, "relevance", "--data", "testdata/small", "--json", "--run", saved)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Records != 5 || len(r.Sets) != 3 || r.Macro.Queries != 4 || r.Sets["home-too"].Hit1 != 1 {
		t.Errorf("got %+v", r)
	}
	if r.Macro.Hit1 != 1 {
		t.Errorf("queries that share words with one record only: hit@1 is %v", r.Macro.Hit1)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if id, ids, _ := strings.Cut(first, "\t"); id != "q1" || strings.Split(ids, separator)[0] != "t:book" {
		t.Errorf("the first line of the run is %q", first)
	}
	code, out = command(t, "relevance", "--data", "testdata/small", "--against", saved)
	if code != 0 || !strings.Contains(out, "against the saved run: +0.0000 [+0.0000, +0.0000]") {
		t.Errorf("against itself: exit %d, %s", code, out)
	}
}

func TestFloors(t *testing.T) {
	for floors, want := range map[string]struct {
		code int
		says string
	}{
		`{"macro": {"hit@1": 0.9}, "home": {"ndcg@10": 1}}`: {0, ""},
		`{"macro": {"hit@1": 1.1}}`:                         {exitBelow, "macro hit@1 is"},
		`{"elsewhere": {"hit@1": 0.1}}`:                     {exitBelow, "elsewhere was not measured"},
		`{"macro": {"hit@7": 0.1}}`:                         {exitFailed, "no measure"},
		`{`:                                                 {exitFailed, "read the floors"},
	} {
		file := filepath.Join(t.TempDir(), "floors.json")
		if err := os.WriteFile(file, []byte(floors), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := command(t, "relevance", "--data", "testdata/small", "--floors", file)
		if code != want.code || !strings.Contains(out, want.says) {
			t.Errorf("%s: exit %d, %s", floors, code, out)
		}
	}
}

func TestKnownFloorsAreReadable(t *testing.T) {
	var all map[string]floors
	if err := json.Unmarshal(known, &all); err != nil {
		t.Fatal(err)
	}
	for data, f := range all {
		for set, measures := range f {
			for name := range measures {
				if _, ok := (figures{}).named(name); !ok {
					t.Errorf("%s, %s: %q is no measure", data, set, name)
				}
			}
		}
	}
}

func TestPoolIsSearched(t *testing.T) {
	pool := filepath.Join(t.TempDir(), "services.jsonl")
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `{"id":"s%d","name":"Weather %d","ops":[{"id":"a","v":"RETRIEVE","p":"/forecast","m":"GET","e":"/f","i":"The forecast"},{"id":"b","v":"LIST","p":"/station","m":"GET","e":"/s","i":"All stations"}]}`+"\n", i, i)
	}
	if err := os.WriteFile(pool, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := command(t, "relevance", "--data", "testdata/small", "--pool", pool, "--pool-size", "45", "--json")
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Records != 45 || r.Macro.Queries != 4 {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
}

func TestInvalidDataIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"no folder":         {"", "", "no such file"},
		"a record no JSON":  {corpusFile, "{\n", "corpus.jsonl, line 1"},
		"a query no JSON":   {queriesFile, "[]\n", "queries.jsonl, line 1"},
		"too few columns":   {judgmentsFile, "a\tb\n", "2 columns"},
		"a grade no number": {judgmentsFile, "query\tdoc\tgrade\nq1\tt:book\tgood\n", `"good" is no number`},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if c.file != "" {
			if err := os.CopyFS(dir, os.DirFS("testdata/small")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code, out := command(t, "relevance", "--data", dir); code != exitFailed || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
	}
}
