package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/index/wordvec"
)

// relevanceOptions are the flags of the command.
type relevanceOptions struct {
	data    string
	run     string // file to write the ranking to
	against string // file with a ranking to compare with
	floors  string
	json    bool
	vectors string

	pool        string // services to search among
	poolSize    int
	poolQueries int

	speed      bool
	operations []int
	reference  bool
}

func newRelevance() *cobra.Command {
	var o relevanceOptions
	c := &cobra.Command{
		Use:   "relevance --data DIR",
		Short: "Measure search against judged queries",
		Long: `Reads ` + corpusFile + `, ` + queriesFile + ` and ` + judgmentsFile + ` of a folder, puts every record through
the store and the index as a document of one operation, asks every query among
the records of its set, and prints hit@1, recall@5, MRR@10 and nDCG@10 of each set
and their plain mean (macro).

Floors are kept in tools/gazetteer-bench/floors.json for each folder it knows (by a
digest of its files); when a figure is below, the exit code is 1. --floors FILE
holds any folder to the floors of a file of the same form.

With --pool FILE the queries are asked among the records of all sets together and
as many operations of the services in FILE (one a line, JSON, plain or zstd) as
make --pool-size.

With --speed the services of --pool are indexed instead, repeated with swapped
words up to each of --operations, and the times of the queries are printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.speed {
				return o.measureSpeed(cmd.Context(), cmd.OutOrStdout())
			}
			return o.measure(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", "", "folder with "+corpusFile+", "+queriesFile+" and "+judgmentsFile)
	f.StringVar(&o.run, "run", "", "write the ranking to this file: query, tab, the first ten record ids joined by U+001F")
	f.StringVar(&o.against, "against", "", "compare with the ranking in this file, as --run wrote it")
	f.StringVar(&o.floors, "floors", "", "hold the figures to the floors in this file")
	f.StringVar(&o.vectors, "vectors", "", "use the word vectors in this file, in text form, instead of the program's")
	f.BoolVar(&o.json, "json", false, "print the figures as JSON")
	f.StringVar(&o.pool, "pool", "", "services to search among, too; with --speed those to index (default: openapi-services.jsonl.zst of the folder)")
	f.IntVar(&o.poolSize, "pool-size", 20000, "operations in the pool")
	f.IntVar(&o.poolQueries, "pool-queries", 50, "queries of each set asked of the pool, evenly taken; 0 for all")
	f.BoolVar(&o.speed, "speed", false, "measure times instead")
	f.IntSliceVar(&o.operations, "operations", []int{10_000, 100_000, 1_000_000}, "numbers of operations to measure times with")
	f.BoolVar(&o.reference, "reference", true, "with --speed: measure SQLite FTS5 over the same texts, too")
	if err := c.MarkFlagRequired("data"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// A report is what was measured.
type report struct {
	Data    string             `json:"data"` // digest of the folder
	Records int                `json:"records"`
	Sets    map[string]figures `json:"sets"`
	Macro   figures            `json:"macro"`
	// Against is the difference in macro nDCG@10 to a saved run.
	Against *interval `json:"against,omitempty"`
	// Far says how many queries have none but far hits among their first three.
	Far *farFigures `json:"far,omitempty"`
	// Refused counts queries that the search would not answer.
	Refused int      `json:"refused,omitempty"`
	Below   []string `json:"below,omitempty"`
}

// farFigures count the queries of which the first three hits are all marked as far, and those
// without a hit.
type farFigures struct {
	Unanswerable    int `json:"unanswerable"` // queries that no record answers
	UnanswerableFar int `json:"unanswerable_far"`
	Answerable      int `json:"answerable"`
	AnswerableFar   int `json:"answerable_far"`
}

// An answerLog has what was answered, by query.
type answerLog struct {
	rankings map[string][]string // the first ids
	far      map[string]bool     // whether all of the first three hits are marked as far
	refused  int                 // queries that the search would not answer
	records  int                 // operations that were asked
}

// countFar counts the queries that were answered with far hits only.
func (l *answerLog) countFar(c *collection) *farFigures {
	if len(c.unanswerable) == 0 {
		return nil
	}
	f := &farFigures{}
	count := func(queries []judgedQuery, asked, marked *int) {
		for _, q := range queries {
			far, was := l.far[q.ID]
			if was {
				*asked++
			}
			if far {
				*marked++
			}
		}
	}
	count(c.unanswerable, &f.Unanswerable, &f.UnanswerableFar)
	count(c.queries, &f.Answerable, &f.AnswerableFar)
	return f
}

// measure is the command.
func (o *relevanceOptions) measure(ctx context.Context, out io.Writer) error {
	c, err := readCollection(o.data)
	if err != nil {
		return fmt.Errorf("read the data: %w", err)
	}
	answers, err := o.ask(ctx, c)
	if err != nil {
		return err
	}
	rankings := answers.rankings
	r := report{Data: c.digest, Records: answers.records, Sets: map[string]figures{}, Refused: answers.refused, Far: answers.countFar(c)}
	perQuery := judged(c, rankings)
	var sets []figures
	for _, set := range c.sets() {
		if len(perQuery[set]) == 0 {
			continue
		}
		m := mean(perQuery[set])
		r.Sets[set] = m
		sets = append(sets, m)
	}
	r.Macro = mean(sets)
	if o.against != "" {
		if r.Against, err = compare(c, rankings, o.against); err != nil {
			return err
		}
	}
	if r.Below, err = o.below(c, &r); err != nil {
		return err
	}
	if o.run != "" {
		if err := writeRun(o.run, c, rankings); err != nil {
			return err
		}
	}
	if err := r.print(out, c, o.json); err != nil {
		return err
	}
	if len(r.Below) > 0 {
		return errBelow
	}
	return nil
}

// ask asks the queries.
func (o *relevanceOptions) ask(ctx context.Context, c *collection) (*answerLog, error) {
	l := &answerLog{rankings: map[string][]string{}, far: map[string]bool{}}
	vectors, err := readVectors(o.vectors)
	if err != nil {
		return nil, err
	}
	if o.pool != "" {
		docs := c.documents("")
		more, err := readServices(o.pool, o.poolSize-len(docs))
		if err != nil {
			return nil, fmt.Errorf("read the pool: %w", err)
		}
		return l, l.askAll(ctx, vectors, append(docs, more...), append(c.evenly(o.poolQueries), c.unanswerable...))
	}
	// Sets that are asked of the same records share an index.
	bySearched := map[string][]judgedQuery{}
	for _, q := range c.queries {
		bySearched[c.searched[q.Set]] = append(bySearched[c.searched[q.Set]], q)
	}
	for _, q := range c.unanswerable {
		bySearched[q.Set] = append(bySearched[q.Set], q)
	}
	for set, queries := range bySearched {
		if err := l.askAll(ctx, vectors, c.documents(set), queries); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// evenly takes n queries of each set, or all.
func (c *collection) evenly(n int) []judgedQuery {
	bySet := map[string][]judgedQuery{}
	for _, q := range c.queries {
		bySet[q.Set] = append(bySet[q.Set], q)
	}
	var taken []judgedQuery
	for _, set := range c.sets() {
		all := bySet[set]
		if n == 0 || len(all) <= n {
			taken = append(taken, all...)
			continue
		}
		for i := range n {
			taken = append(taken, all[i*len(all)/n])
		}
	}
	return taken
}

// farHits is how many of the first hits must be far for a query to count as answered with far hits.
const farHits = 3

// askAll indexes documents and asks queries of them.
func (l *answerLog) askAll(ctx context.Context, vectors *wordvec.Table, docs []*document.Document, queries []judgedQuery) (err error) {
	l.records += countOperations(docs)
	h, err := openIndexedStore(ctx, vectors)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.put(ctx, docs); err != nil {
		return err
	}
	if err := h.catchUp(ctx); err != nil {
		return err
	}
	for _, q := range queries {
		r, err := h.index.Search(ctx, query.Query{Words: q.Text, Limit: depth})
		var bad *query.Error
		switch {
		case errors.As(err, &bad):
			l.refused++
		case err != nil:
			return fmt.Errorf("query %s: %w", q.ID, err)
		}
		ids := []string{}
		for _, hit := range r.Hits {
			ids = append(ids, hit.Operation.Pointer)
		}
		l.rankings[q.ID] = ids
		l.far[q.ID] = !slices.ContainsFunc(r.Hits[:min(farHits, len(r.Hits))], func(h index.Hit) bool { return !h.Far })
	}
	return nil
}

// judged measures the queries that were asked, by set.
func judged(c *collection, rankings map[string][]string) map[string][]figures {
	bySet := map[string][]figures{}
	for _, q := range c.queries {
		if ids, asked := rankings[q.ID]; asked && len(q.grades) > 0 {
			bySet[q.Set] = append(bySet[q.Set], judge(ids, q.grades))
		}
	}
	return bySet
}

// separator joins the ids of a ranking in a file.
const separator = "\x1f"

func writeRun(path string, c *collection, rankings map[string][]string) error {
	var b strings.Builder
	for _, q := range c.queries {
		if ids, asked := rankings[q.ID]; asked {
			fmt.Fprintf(&b, "%s\t%s\n", q.ID, strings.Join(ids, separator))
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func readRun(path string) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rankings := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		id, ids, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			return nil, fmt.Errorf("%s: a line without a tab: %.60q", path, line)
		}
		rankings[id] = strings.Split(ids, separator)
	}
	return rankings, nil
}

// compare gives the interval between a saved run and this one, over the queries
// that are in both.
func compare(c *collection, rankings map[string][]string, path string) (*interval, error) {
	saved, err := readRun(path)
	if err != nil {
		return nil, fmt.Errorf("read the saved run: %w", err)
	}
	bySet := map[string][]float64{}
	for _, q := range c.queries {
		ids, asked := rankings[q.ID]
		old, there := saved[q.ID]
		if asked && there && len(q.grades) > 0 {
			bySet[q.Set] = append(bySet[q.Set], judge(ids, q.grades).NDCG10-judge(old, q.grades).NDCG10)
		}
	}
	var differences [][]float64
	for _, set := range c.sets() {
		if len(bySet[set]) > 0 {
			differences = append(differences, bySet[set])
		}
	}
	if len(differences) == 0 {
		return nil, fmt.Errorf("%s has no query of this data", path)
	}
	i := bootstrap(differences)
	return &i, nil
}

// print writes the report for people, or as JSON.
func (r *report) print(out io.Writer, c *collection, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "set\tqueries\thit@1\trecall@5\tMRR@10\tnDCG@10\t")
	row := func(name string, f figures) {
		fmt.Fprintf(w, "%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t\n", name, f.Queries, f.Hit1, f.Recall5, f.MRR10, f.NDCG10)
	}
	for _, set := range c.sets() {
		if f, ok := r.Sets[set]; ok {
			row(set, f)
		}
	}
	row("macro", r.Macro)
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Refused > 0 {
		fmt.Fprintf(out, "%d queries were refused\n", r.Refused)
	}
	if f := r.Far; f != nil {
		fmt.Fprintf(out, "marked as far: %d of %d queries that nothing answers, %d of %d others\n", f.UnanswerableFar, f.Unanswerable, f.AnswerableFar, f.Answerable)
	}
	if r.Against != nil {
		fmt.Fprintf(out, "macro nDCG@10 against the saved run: %+.4f [%+.4f, %+.4f]\n", r.Against.Difference, r.Against.Low, r.Against.High)
	}
	for _, b := range r.Below {
		fmt.Fprintln(out, "below its floor:", b)
	}
	return nil
}
