package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// fitOptions are the flags of the command that fits the weights of the ranking.
type fitOptions struct {
	root    string // of the repository
	data    string // public sets
	weights string // the list of the weights
	step    float64
	passes  int
	values  bool // measure this program and print the values of the sets
}

func newFit() *cobra.Command {
	var o fitOptions
	c := &cobra.Command{
		Use:   "fit --data DIR",
		Short: "Fit the weights of the ranking to judged requests",
		Long: `Tries other values of the constants that --weights lists, one after the other: it
builds itself with each, without a change to the sources, and asks the requests of
` + roundsDir + ` and those of --data. A value is taken if all sets gain by it, and
still do if any one of them is left out. The rounds that nobody reads do not decide:
their gain, printed last in each line, tells whether a value helps requests that it
was not fitted to.

Nothing is written; the last line has the values to enter.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.values {
				values, err := o.measure(cmd.Context())
				if err != nil {
					return err
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(values)
			}
			return o.fit(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", ".", "the repository")
	f.StringVar(&o.data, "data", "", "folder with public sets, as for relevance")
	f.StringVar(&o.weights, "weights", filepath.Join("tools", "gazetteer-bench", "weights.txt"), "the list of the weights, in the repository")
	f.Float64Var(&o.step, "step", 1.25, "the factor between two values")
	f.IntVar(&o.passes, "passes", 2, "how often the weights are tried one after the other")
	f.BoolVar(&o.values, "values", false, "only print the values of all sets with the weights of this program")
	if err := c.MarkFlagRequired("data"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// A weight is a number in a source file.
type weight struct {
	file   string  // in the repository
	before string  // the text before the number, which the file has once
	value  float64 // at present
}

// name is what a weight is called in the output.
func (w *weight) name() string { return strings.Trim(w.before, " ={:\t") }

// readWeights reads the list of weights and their values.
func (o *fitOptions) readWeights() ([]*weight, error) {
	list, err := os.ReadFile(filepath.Join(o.root, o.weights))
	if err != nil {
		return nil, err
	}
	var weights []*weight
	for line := range strings.Lines(string(list)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		file, before, _ := strings.Cut(line, "\t")
		w := &weight{file: file, before: before}
		text, err := os.ReadFile(filepath.Join(o.root, file))
		if err != nil {
			return nil, err
		}
		number, _, err := w.find(string(text))
		if err != nil {
			return nil, err
		}
		if w.value, err = strconv.ParseFloat(number, 64); err != nil {
			return nil, fmt.Errorf("%s, %q: %w", file, before, err)
		}
		weights = append(weights, w)
	}
	return weights, nil
}

// find returns the number of a weight in the text of its file, and where it is.
func (w *weight) find(text string) (number string, at int, err error) {
	if w.before == "" || strings.Count(text, w.before) != 1 {
		return "", 0, fmt.Errorf("%s has %q %d times, not once", w.file, w.before, strings.Count(text, w.before))
	}
	at = strings.Index(text, w.before) + len(w.before)
	end := at
	for end < len(text) && strings.IndexByte("0123456789.", text[end]) >= 0 {
		end++
	}
	return text[at:end], at, nil
}

// roundsDir has the development sets and the rounds of requests, in the repository.
const roundsDir = "index/testdata/everyday"

// heldOut are the rounds that nobody reads. They never decide.
var heldOut = []string{"round7", "round9", "round11", "round13"}

// publicRequests is how many requests each public set counts as: the sets differ in size, not in worth.
const publicRequests = 150

// measure returns the value of each set with the weights that this program has: the sum over its
// requests of nDCG@10 and half a point for a right first hit, less two points for each forbidden
// operation among the first three, which no right answer outweighs, and three tenths for each answer that
// is marked far or not as it should be.
func (o *fitOptions) measure(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	c, err := readCollection(o.data)
	if err != nil {
		return nil, fmt.Errorf("read the data: %w", err)
	}
	answers, err := (&relevanceOptions{}).ask(ctx, c)
	if err != nil {
		return nil, err
	}
	for set, all := range judged(c, answers.rankings) {
		m := mean(all)
		values["public "+set] = publicRequests * (m.NDCG10 + m.Hit1/2)
	}
	return values, o.measureRounds(ctx, values)
}

// measureRounds adds the values of the rounds of requests. They share one index.
func (o *fitOptions) measureRounds(ctx context.Context, values map[string]float64) error {
	dir := filepath.Join(o.root, roundsDir)
	all := &collection{searched: map[string]string{}}
	if err := all.readCompressed(filepath.Join(dir, corpusFile+".gz")); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*-"+queriesFile))
	if err != nil {
		return err
	}
	unanswerable := map[string]string{} // the set of a query
	forbidden := map[string]map[string]bool{}
	for _, name := range names {
		set := strings.TrimSuffix(filepath.Base(name), "-"+queriesFile)
		one := &collection{}
		for file, each := range map[string]func([]byte) error{queriesFile: one.addQuery, unanswerableFile: one.addUnanswerable} {
			if err := readLines(filepath.Join(dir, set+"-"+file), each); err != nil {
				return err
			}
		}
		if err := readLines(filepath.Join(dir, set+"-"+judgmentsFile), one.judge()); err != nil {
			return err
		}
		if err := readLines(filepath.Join(dir, set+"-forbidden.tsv"), func(line []byte) error {
			fields := strings.Split(string(line), "\t")
			if forbidden[fields[0]] == nil {
				forbidden[fields[0]] = map[string]bool{}
			}
			forbidden[fields[0]][fields[1]] = true
			return nil
		}); err != nil {
			return err
		}
		for _, q := range one.queries {
			q.Set = set
			all.queries = append(all.queries, q)
		}
		for _, q := range one.unanswerable {
			unanswerable[q.ID] = set
			all.queries = append(all.queries, q)
		}
	}
	l := &answerLog{rankings: map[string][]string{}, far: map[string]bool{}}
	if err := l.askAll(ctx, nil, all.documents(""), all.queries); err != nil {
		return err
	}
	for _, q := range all.queries {
		set, isUnanswerable := unanswerable[q.ID]
		if isUnanswerable {
			if l.far[q.ID] {
				values[set] += farValue
			}
			continue
		}
		m, ranking := judge(l.rankings[q.ID], q.grades), l.rankings[q.ID]
		values[q.Set] += m.NDCG10 + m.Hit1/2
		if l.far[q.ID] {
			values[q.Set] -= farValue
		}
		for _, id := range ranking[:min(3, len(ranking))] {
			if forbidden[q.ID][id] {
				values[q.Set] -= forbiddenValue
			}
		}
	}
	return nil
}

const (
	farValue       = 0.3
	forbiddenValue = 2
)

// readLines calls f with each line of a file.
func readLines(path string, f func(line []byte) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return eachLine(path, text, f)
}

// readCompressed reads the records of a compressed file.
func (c *collection) readCompressed(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return eachLine(path, text, c.addRecord)
}

// build builds this program with other weights, and returns the values of all sets with them.
func (o *fitOptions) build(ctx context.Context, weights []*weight) (values map[string]float64, err error) {
	dir, err := os.MkdirTemp("", "gazetteer-fit-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{} // the changed files
	for _, w := range weights {
		if texts[w.file] == "" {
			text, err := os.ReadFile(filepath.Join(root, w.file))
			if err != nil {
				return nil, err
			}
			texts[w.file] = string(text)
		}
		number, at, err := w.find(texts[w.file])
		if err != nil {
			return nil, err
		}
		texts[w.file] = texts[w.file][:at] + strconv.FormatFloat(w.value, 'f', -1, 64) + texts[w.file][at+len(number):]
	}
	replace := map[string]string{}
	for file, text := range texts {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = changed
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "bench")
	run := func(name string, arguments ...string) ([]byte, error) {
		c := exec.CommandContext(ctx, name, arguments...)
		c.Stderr = os.Stderr
		return c.Output()
	}
	if _, err := run("go", "-C", filepath.Join(root, "tools"), "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./gazetteer-bench"); err != nil {
		return nil, fmt.Errorf("build with other weights: %w", err)
	}
	out, err := run(program, "fit", "--values", "--root", root, "--data", o.data)
	if err != nil {
		return nil, fmt.Errorf("measure other weights: %w", err)
	}
	return values, json.Unmarshal(out, &values)
}

// gainOf returns by how much the sets that decide gain together, the least they gain if one of them is
// left out, and what the others gain.
func gainOf(now, before map[string]float64) (all, least, unseen float64) {
	for set, v := range now {
		if slices.Contains(heldOut, set) {
			unseen += v - before[set]
		} else {
			all += v - before[set]
		}
	}
	least = all
	for set, v := range now {
		if !slices.Contains(heldOut, set) {
			least = min(least, all-(v-before[set]))
		}
	}
	return all, least, unseen
}

// minGain is the gain, in requests, that a value must bring whichever set is left out.
const minGain = 0.5

// fit tries the weights.
func (o *fitOptions) fit(ctx context.Context, out io.Writer) error {
	weights, err := o.readWeights()
	if err != nil {
		return err
	}
	best, err := o.build(ctx, weights)
	if err != nil {
		return err
	}
	began := maps.Clone(best)
	for range o.passes {
		changed := false
		for _, w := range weights {
			for _, factor := range []float64{o.step, 1 / o.step} {
				from := w.value
				for {
					old := w.value
					w.value = math.Round(old*factor*1000) / 1000
					values, err := o.build(ctx, weights)
					if err != nil {
						return err
					}
					all, least, unseen := gainOf(values, best)
					fmt.Fprintf(out, "%s %g: %+.2f, at least %+.2f without one set; unread %+.2f\n", w.name(), w.value, all, least, unseen)
					if least < minGain {
						w.value = old
						break
					}
					best, changed = values, true
				}
				if w.value != from {
					break // the other direction is known
				}
			}
		}
		if !changed {
			break
		}
	}
	all, least, unseen := gainOf(best, began)
	fmt.Fprintf(out, "in all %+.2f, at least %+.2f without one set; unread %+.2f\n", all, least, unseen)
	for _, w := range weights {
		fmt.Fprintf(out, "%s\t%s\t%g\n", w.file, w.before, w.value)
	}
	return nil
}
