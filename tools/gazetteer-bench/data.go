package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gazetteer/document"
)

// The files of a data folder.
const (
	corpusFile    = "corpus.jsonl"  // records, one a line
	queriesFile   = "queries.jsonl" // id, set, text
	judgmentsFile = "qrels.tsv"     // query, record, grade; the first line names them
	// unanswerableFile has queries that no record answers; it may be missing.
	unanswerableFile = "unanswerable.jsonl" // id, text
)

// maxLine bounds a line of a data file, in bytes.
const maxLine = 64 << 20

// A record is one operation of the corpus.
type record struct {
	ID          string   `json:"id"`
	Set         string   `json:"set"`
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

// document makes the document of a record: a service with one operation, so that
// the few operations which a ranking shows of one service hide no judged one. The
// pointer of the operation is the record's id, by which a hit is known again.
func (r *record) document(number int) *document.Document {
	host := fmt.Sprintf("r%06d.bench.test", number)
	d := &document.Document{
		Kind: document.AI, Host: host, URL: "https://" + host + "/.well-known/ai", Source: document.OwnerPublished,
		Digest: document.Digest([]byte(r.ID)),
		Service: document.Service{
			Name: r.Service, Description: r.About, Namespace: r.Namespace, Domain: r.Domain,
		},
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

// A judgedQuery is a question, and the grades of the records that answer it.
type judgedQuery struct {
	ID     string `json:"id"`
	Set    string `json:"set"`
	Text   string `json:"text"`
	grades map[string]int
}

// A collection is what a data folder holds.
type collection struct {
	records []record
	queries []judgedQuery
	// unanswerable are queries that no record answers.
	unanswerable []judgedQuery
	// searched tells for a set of queries whose records it is asked of.
	searched map[string]string
	// digest tells the data from other data.
	digest string
}

// readCollection reads a data folder.
func readCollection(dir string) (*collection, error) {
	c := &collection{searched: map[string]string{}}
	sum := sha256.New()
	read := func(name string, each func(line []byte) error) error {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sum.Write(text) // never fails
		return eachLine(name, text, each)
	}
	if err := read(corpusFile, c.addRecord); err != nil {
		return nil, err
	}
	if err := read(queriesFile, c.addQuery); err != nil {
		return nil, err
	}
	if err := read(judgmentsFile, c.judge()); err != nil {
		return nil, err
	}
	if err := c.readUnanswerable(dir); err != nil {
		return nil, err
	}
	c.digest = hex.EncodeToString(sum.Sum(nil)[:8])
	c.settle()
	return c, nil
}

// readUnanswerable reads the queries that no record answers. They are asked of the records of the first
// set, and are no part of the digest.
func (c *collection) readUnanswerable(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, unanswerableFile))
	if errors.Is(err, fs.ErrNotExist) || len(c.records) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := eachLine(unanswerableFile, text, c.addUnanswerable); err != nil {
		return err
	}
	for i := range c.unanswerable {
		c.unanswerable[i].Set = c.records[0].Set
	}
	return nil
}

// addRecord, addQuery and addUnanswerable add what a line has.
func (c *collection) addRecord(line []byte) error {
	var r record
	err := json.Unmarshal(line, &r)
	c.records = append(c.records, r)
	return err
}

func (c *collection) addQuery(line []byte) error {
	q := judgedQuery{grades: map[string]int{}}
	err := json.Unmarshal(line, &q)
	c.queries = append(c.queries, q)
	return err
}

func (c *collection) addUnanswerable(line []byte) error {
	var q judgedQuery
	err := json.Unmarshal(line, &q)
	q.ID = "unanswerable " + q.ID
	c.unanswerable = append(c.unanswerable, q)
	return err
}

// eachLine calls f with each line that is not empty.
func eachLine(name string, text []byte, f func(line []byte) error) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// judge returns the reader of a line of judgments.
func (c *collection) judge() func(line []byte) error {
	byID := make(map[string]*judgedQuery, len(c.queries))
	for i := range c.queries {
		byID[c.queries[i].ID] = &c.queries[i]
	}
	first := true
	return func(line []byte) error {
		fields := strings.Split(string(line), "\t")
		head := first
		first = false
		if len(fields) != 3 {
			return fmt.Errorf("%d columns where query, record and grade are expected", len(fields))
		}
		grade, err := strconv.Atoi(fields[2])
		if err != nil {
			if head {
				return nil // the names of the columns
			}
			return fmt.Errorf("the grade %q is no number", fields[2])
		}
		if q := byID[fields[0]]; q != nil && grade > 0 {
			q.grades[fields[1]] = grade
		}
		return nil
	}
}

// settle finds out whose records each set of queries is asked of: those of the
// set that most of its judgments name. Usually it is the set itself.
func (c *collection) settle() {
	setOf := make(map[string]string, len(c.records))
	for _, r := range c.records {
		setOf[r.ID] = r.Set
	}
	votes := map[string]map[string]int{}
	for _, q := range c.queries {
		if votes[q.Set] == nil {
			votes[q.Set] = map[string]int{}
		}
		for id := range q.grades {
			votes[q.Set][setOf[id]]++
		}
	}
	for set, by := range votes {
		best := set
		for _, to := range slices.Sorted(maps.Keys(by)) {
			if by[to] > by[best] {
				best = to
			}
		}
		c.searched[set] = best
	}
}

// sets returns the names of the sets of queries, sorted.
func (c *collection) sets() []string { return slices.Sorted(maps.Keys(c.searched)) }

// documents returns the documents of the records of a set, of all when set is "".
func (c *collection) documents(set string) []*document.Document {
	var docs []*document.Document
	for i := range c.records {
		if set == "" || c.records[i].Set == set {
			docs = append(docs, c.records[i].document(i))
		}
	}
	return docs
}
