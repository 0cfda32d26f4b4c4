package index

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
)

// judgedRecord is an operation of the development sets.
type judgedRecord struct {
	ID          string   `json:"id"`
	Service     string   `json:"service"`
	About       string   `json:"service_desc"`
	Namespace   string   `json:"namespace"`
	Domain      string   `json:"domain"`
	Verb        string   `json:"verb"`
	Path        string   `json:"path"`
	Name        string   `json:"name"`
	Intent      string   `json:"intent"`
	Capability  string   `json:"capability"`
	Language    string   `json:"lang"`
	DataClasses []string `json:"data_classes"`
	Parameters  []struct {
		Name  string `json:"n"`
		About string `json:"d"`
	} `json:"params"`
}

func (r *judgedRecord) document(number int) *document.Document {
	host := fmt.Sprintf("r%06d.sample.test", number)
	d := &document.Document{
		Kind: document.AI, Host: host, URL: "https://" + host + "/.well-known/ai", Source: document.OwnerPublished,
		Digest:  document.Digest([]byte(r.ID)),
		Service: document.Service{Name: r.Service, Description: r.About, Namespace: r.Namespace, Domain: r.Domain},
	}
	if r.Language != "" {
		d.Service.Languages = []string{r.Language}
	}
	for _, c := range r.DataClasses {
		d.DataClasses = append(d.DataClasses, document.DataClass{Name: c})
	}
	o := document.Operation{
		ID: r.Name, Verb: r.Verb, Path: r.Path, Intent: r.Intent, Capability: r.Capability,
		Effect: document.EffectUnknown, Pointer: r.ID,
		Call: document.Call{Protocol: "http", Method: "POST", URL: "https://" + host + r.Path},
	}
	for _, p := range r.Parameters {
		o.Parameters = append(o.Parameters, document.Parameter{Name: p.Name, Description: p.About})
	}
	d.Operations = []document.Operation{o}
	return d
}

// judgedLines reads the lines of a file of the development sets.
func judgedLines(t testing.TB, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "everyday", name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var lines [][]byte
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if len(s.Bytes()) > 0 {
			lines = append(lines, bytes.Clone(s.Bytes()))
		}
	}
	return lines
}

// judgedPairs reads the first two columns of a table without its head.
func judgedPairs(t *testing.T, name string) map[[2]string]bool {
	pairs := make(map[[2]string]bool)
	for _, line := range judgedLines(t, name)[1:] {
		fields := strings.Split(string(line), "\t")
		pairs[[2]string{fields[0], fields[1]}] = true
	}
	return pairs
}

func TestEverydayRequestsFloors(t *testing.T) {
	var docs []*document.Document
	for i, line := range judgedLines(t, "corpus.jsonl.gz") {
		var r judgedRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, r.document(i))
	}
	x, _ := indexed(t, docs...)
	for _, c := range []struct {
		set                 string
		hit1, hit3          float64
		forbidden, far      int     // in the first three places; of the unanswerable at least
		farOfAnswerableMost float64 // share
		isRead              bool    // else only counted: nobody reads which of its requests fail
	}{
		{"everyday", 0.85, 0.95, 0, 16, 0.05, true},
		{"agents", 0.73, 0.85, 0, 10, 0.05, true},
		{"fresh", 0.76, 0.87, 1, 52, 0.06, true}, // it forbids also what is marked as far
		{"round5", 0.86, 0.96, 0, 15, 0.05, true},
		{"round6", 0.85, 0.95, 3, 5, 0.05, true},
		{"round7", 0.86, 0.91, 1, 6, 0.05, false},
		{"round8", 0.77, 0.84, 4, 8, 0.06, true},
		{"round9", 0.79, 0.87, 1, 6, 0.05, false},
		{"round10", 0.86, 0.94, 2, 9, 0.05, true},
		{"round11", 0.77, 0.85, 1, 6, 0.05, false},
		{"round12", 0.84, 0.88, 3, 8, 0.05, true},
		{"round13", 0.79, 0.89, 3, 10, 0.05, false},
		{"round14", 0.60, 0.82, 2, 7, 0.04, true},
	} {
		good, forbidden := judgedPairs(t, c.set+"-qrels.tsv"), judgedPairs(t, c.set+"-forbidden.tsv")
		n, first, three, bad, far := 0, 0, 0, 0, 0
		for _, line := range judgedLines(t, c.set+"-queries.jsonl") {
			var q struct{ ID, Text string }
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatal(err)
			}
			hits := search(t, x, query.Query{Words: q.Text}).Hits
			n++
			met := false
			for i, h := range hits[:min(3, len(hits))] {
				key := [2]string{q.ID, h.Operation.Pointer}
				met = met || good[key]
				if i == 0 && good[key] {
					first++
				}
				if forbidden[key] && c.isRead {
					t.Logf("%s: %q finds %s, place %d, far %v", c.set, q.Text, key[1], i+1, h.Far)
				}
				if forbidden[key] {
					bad++
				}
			}
			if met {
				three++
			}
			if allFar(hits) {
				far++
			}
		}
		unanswered := 0
		for _, line := range judgedLines(t, c.set+"-unanswerable.jsonl") {
			var q struct{ Text string }
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatal(err)
			}
			if allFar(search(t, x, query.Query{Words: q.Text}).Hits) {
				unanswered++
			}
		}
		hit1, hit3, farShare := float64(first)/float64(n), float64(three)/float64(n), float64(far)/float64(n)
		t.Logf("%s: hit@1 %.3f, hit@3 %.3f, forbidden %d, unanswerable far %d, answerable far %.3f", c.set, hit1, hit3, bad, unanswered, farShare)
		if hit1 < c.hit1 || hit3 < c.hit3 || bad > c.forbidden || unanswered < c.far || farShare > c.farOfAnswerableMost {
			t.Errorf("%s is below its floors", c.set)
		}
	}
}

// allFar reports whether the first three hits are marked as far, or there is none.
func allFar(hits []Hit) bool {
	for _, h := range hits[:min(3, len(hits))] {
		if !h.Far {
			return false
		}
	}
	return true
}
