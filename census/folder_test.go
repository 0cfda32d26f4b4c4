package census_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/changefeed"
	"gazetteer/conformance"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/index"
	"gazetteer/internal/cputime"
	"gazetteer/internal/fakestore"
	"gazetteer/internal/need"
	"gazetteer/internal/psl"
	"gazetteer/internal/teststore"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// day is the date of the censuses of the tests.
var day = time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)

// fill opens a store with so many services.
func fill(t testing.TB, services int, hostile bool) *boltstore.Store {
	t.Helper()
	s := teststore.New(t)
	if services > 0 {
		if err := fakestore.Fill(t.Context(), s, fakestore.Options{Root: "..", Services: services, At: day.Add(-time.Hour), Hostile: hostile}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// write makes a census and returns its folder.
func write(t testing.TB, s *boltstore.Store, at time.Time) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "census")
	if _, err := census.Write(context.Background(), census.Options{Store: s, At: at, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// BenchmarkWrite makes a census of SERVICES services (2,000 without it), and tells the memory of
// the process at its peak, its processor time and the first four bytes of the checksum of all
// files, which are the same in every run. STORE keeps the store for the next run.
func BenchmarkWrite(b *testing.B) {
	services, _ := strconv.Atoi(os.Getenv("SERVICES"))
	if services == 0 {
		services = 2000
	}
	dir := os.Getenv("STORE")
	if dir == "" {
		dir = b.TempDir()
	}
	_, err := os.Stat(dir)
	filled := err == nil && os.Getenv("STORE") != ""
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	s := teststore.Open(b, dir)
	if !filled {
		if err := fakestore.Fill(b.Context(), s, fakestore.Options{Root: "..", Services: services, At: day.Add(-time.Hour)}); err != nil {
			b.Fatal(err)
		}
	}
	var sum uint32
	for b.Loop() {
		sums, err := os.ReadFile(filepath.Join(write(b, s, day), "SHA256SUMS"))
		if err != nil {
			b.Fatal(err)
		}
		digest := sha256.Sum256(sums)
		sum = binary.BigEndian.Uint32(digest[:])
	}
	b.ReportMetric(float64(sum), "checksum")
	b.ReportMetric(peakMemory(), "peak-MB")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.Sys)/1e6, "own-MB") // without the pages of the store's file
	b.ReportMetric(cputime.Used().Seconds(), "cpu-s")
}

// peakMemory is the most memory that this process ever had in megabytes, 0 where the system does not
// tell.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _ := strconv.Atoi(strings.Fields(line + " 0")[0])
	return float64(kilobytes) / 1000
}

// hashes returns the checksums of a folder as SHA256SUMS has them, after checking them against the
// files.
func hashes(t *testing.T, dir string) string {
	t.Helper()
	sums := read(t, dir, "SHA256SUMS")
	named := 0
	for line := range strings.Lines(sums) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dir, name)))); got != want {
			t.Errorf("%s has the checksum %s, not %s", name, got, want)
		}
		named++
	}
	files := 0
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != named+1 {
		t.Errorf("%d files, %d checksums, %v", files, named, err)
	}
	return sums
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns a table of the folder as a map from the first cells to the second.
func table(t *testing.T, dir, name string) map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(read(t, dir, "data/"+name+".csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, l := range lines[1:] {
		rows[l[0]] = l[1]
	}
	return rows
}

// domainsOf returns the number of domains of a value in a table of hosts.
func domainsOf(t *testing.T, dir, name, value string) string {
	t.Helper()
	for line := range strings.Lines(read(t, dir, "data/"+name+".csv")) {
		if cells := strings.Split(strings.TrimSpace(line), ","); cells[0] == value {
			return cells[2]
		}
	}
	return "no"
}

// TestSameStoreSameBytes makes a census twice, after the store was opened again, after all views of the
// store were made, deleted and made again, and in another process.
func TestSameStoreSameBytes(t *testing.T) {
	dir := t.TempDir()
	s := teststore.Open(t, dir)
	if err := fakestore.Fill(t.Context(), s, fakestore.Options{Root: "..", Services: 300, At: day.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	first := hashes(t, write(t, s, day))
	if second := hashes(t, write(t, s, day)); second != first {
		t.Errorf("another census of the same store differs:\n%s\n%s", first, second)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := teststore.Open(t, dir)
	if _, err := again.Apply(t.Context(), store.Put(store.CheckpointKey, []byte("x"))); err != nil { // as each start writes
		t.Fatal(err)
	}
	if third := hashes(t, write(t, again, day)); third != first {
		t.Errorf("after opening it again the census differs:\n%s\n%s", first, third)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	for _, views := range []string{"made", "deleted and made again"} {
		if with := writeBesideViews(t, dir); with != first {
			t.Errorf("with all views %s the census differs:\n%s\n%s", views, first, with)
		}
	}
	other := filepath.Join(t.TempDir(), "census")
	if out, err := writeInChild(t, dir, other, "").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if fourth := hashes(t, other); fourth != first {
		t.Errorf("that of another process differs:\n%s\n%s", first, fourth)
	}
}

// writeBesideViews makes a census of a store from which the states of hosts, the feed of changes, the
// figures and the index are made meanwhile in new directories, which it deletes.
func writeBesideViews(t *testing.T, dir string) string {
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // before the next process opens it
	views := t.TempDir()
	defer os.RemoveAll(views)
	states := standing.Open(standing.Options{Store: s, Path: filepath.Join(views, "standing")})
	found, err := index.Open(t.Context(), index.Options{Dir: filepath.Join(views, "index"), Store: s, States: states})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	feed, err := changefeed.Open(t.Context(), changefeed.Options{Dir: filepath.Join(views, "changes"), Store: s, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	figures := census.OpenLive(census.LiveOptions{Store: s, Snapshot: filepath.Join(views, "census.snapshot")})
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	for _, follow := range []func(context.Context) error{states.Run, found.Run, feed.Run, figures.Run} {
		following.Go(func() {
			if err := follow(ctx); err != nil {
				t.Errorf("follow the store: %v", err)
			}
		})
	}
	head := s.Head().Seq
	if err := errors.Join(states.WaitFor(ctx, head), found.WaitFor(ctx, head), feed.WaitFor(ctx, head), figures.WaitFor(ctx, head)); err != nil {
		t.Fatal(err)
	}
	return hashes(t, write(t, s, day))
}

// writeInChild returns the command of a process that writes a census, and optionally stops in the
// middle of it.
func writeInChild(t *testing.T, storeDir, dir, stop string) *exec.Cmd {
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriteInChild$")
	child.Env = append(os.Environ(), "CENSUS_STORE="+storeDir, "CENSUS_DIR="+dir, "CENSUS_STOP="+stop)
	return child
}

// TestWriteInChild is what the process of writeInChild runs.
func TestWriteInChild(t *testing.T) {
	if os.Getenv("CENSUS_STORE") == "" {
		return // not the child
	}
	s := teststore.Open(t, os.Getenv("CENSUS_STORE"))
	_, err := census.Write(t.Context(), census.Options{Store: s, At: day, Dir: os.Getenv("CENSUS_DIR"), Progress: func(p census.Progress) {
		if p.Hosts > 0 && os.Getenv("CENSUS_STOP") != "" {
			fmt.Println("writing")
			<-t.Context().Done()
		}
	}})
	if err != nil {
		t.Error(err)
	}
}

// TestFiguresCanBeRecomputed does what METHOD.md says, with the tools that it names.
func TestFiguresCanBeRecomputed(t *testing.T) {
	for _, tool := range []string{"sh", "awk", "sort"} {
		if _, err := exec.LookPath(tool); err != nil {
			need.Missing(t, "%s is not here", tool)
		}
	}
	dir := write(t, fill(t, 400, true), day)
	_, recipes, found := strings.Cut(read(t, dir, "METHOD.md"), "```sh\n")
	if !found {
		t.Fatal("METHOD.md has no recipes")
	}
	recipes, _, _ = strings.Cut(recipes, "```")
	run := func(command string) []string {
		shell := exec.CommandContext(t.Context(), "sh", "-c", command)
		shell.Dir = dir
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return strings.Fields(strings.TrimSpace(strings.ReplaceAll(string(out), " ", "_")))
	}
	done := 0
	for part := range strings.SplitSeq(recipes, "\n\n") {
		comment, command, _ := strings.Cut(strings.TrimSpace(part), "\n")
		name, _, _ := strings.Cut(comment, ".csv")
		name = name[strings.LastIndexAny(name, "( ")+1:]
		lines := run(command)
		if name == "state" {
			states := table(t, dir, "state")
			want := []string{}
			for _, n := range conformance.Names() {
				want = append(want, states[string(n)+"=yes"])
			}
			if got := strings.Split(lines[0], "_"); !slices.Equal(got, want) {
				t.Errorf("%s: %s, the census says %s", comment, got, want)
			}
			done++
			continue
		}
		rows := table(t, dir, name)
		if len(lines) != len(rows) || len(rows) == 0 {
			t.Errorf("%s: %d rows, the census has %d", comment, len(lines), len(rows))
		}
		for _, l := range lines {
			value, n, _ := strings.Cut(l, ",")
			n, domains, both := strings.Cut(n, ",")
			if both && domains != domainsOf(t, dir, name, value) {
				t.Errorf("%s: %s, the census says %s domains", comment, l, domainsOf(t, dir, name, value))
			}
			if rows[strings.ReplaceAll(value, "_", " ")] != n {
				t.Errorf("%s: %s, the census says %q", comment, l, rows[value])
			}
		}
		done++
	}
	if done < 5 {
		t.Errorf("%d recipes", done)
	}
	checkWorkedExample(t, dir)
	// The figure that no table has.
	_, own, _ := strings.Cut(read(t, dir, "METHOD.md"), "## A figure of your own")
	_, own, _ = strings.Cut(own, "```sh\n")
	command, _, _ := strings.Cut(own, "```")
	documents, conforming := map[string]int{}, map[string]int{}
	for line := range strings.Lines(read(t, dir, "data/documents.csv")) {
		cells := strings.Split(line, ",")
		if cells[0] == "host" {
			continue
		}
		documents[cells[1]]++
		if cells[7] == "0" {
			conforming[cells[1]]++
		}
	}
	var want []string
	for _, format := range slices.Sorted(maps.Keys(documents)) {
		want = append(want, fmt.Sprintf("%s,%d,%d", format, documents[format], conforming[format]))
	}
	if got := run(command); len(want) < 2 || !slices.Equal(got, want) {
		t.Errorf("conforming documents by format: %q, want %q", got, want)
	}
}

// TestTableOfRulesDescribesThem compares the columns of rule.csv that describe rules with the rules
// themselves, and the number of hosts that could break them with format.csv.
func TestTableOfRulesDescribesThem(t *testing.T) {
	dir := write(t, fill(t, 400, true), day)
	lines, err := csv.NewReader(strings.NewReader(read(t, dir, "data/rule.csv"))).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("rule.csv has %d lines: %v", len(lines), err)
	}
	if want := []string{"rule", "hosts", "domains", "severity", "section", "basis", "of hosts"}; !slices.Equal(lines[0], want) {
		t.Errorf("the columns are %v, want %v", lines[0], want)
	}
	publishing := make(map[string]int)
	for line := range strings.Lines(read(t, dir, "data/format.csv")) {
		if f := strings.Split(line, ","); f[1] != "hosts" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			publishing[f[0]] = n
		}
	}
	for _, l := range lines[1:] {
		r, known := lint.Rule(l[0])
		n := 0
		for _, format := range census.FormatsOfRule(l[0]) {
			n += publishing[format]
		}
		if l[5] != r.Basis || n == 0 || l[6] != strconv.Itoa(n) {
			t.Errorf("%v: the rule has the basis %s, and %d hosts have such a document", l, r.Basis, n)
		}
		if !known || l[3] != r.Severity.String() || l[4] != r.Section || l[4] == "" {
			t.Errorf("%v: the rule is known: %t, with %s and %q", l, known, r.Severity, r.Section)
		}
	}
}

// checkWorkedExample runs the commands of docs/census.md in a folder and holds the answers against
// those on the page.
func checkWorkedExample(t *testing.T, dir string) {
	t.Helper()
	page := read(t, "../docs", "census.md")
	run := 0
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if strings.HasPrefix(command, "gazetteer ") || strings.HasPrefix(command, "cd ") {
				continue // done above
			}
			shell := exec.CommandContext(t.Context(), "sh", "-c", command)
			shell.Dir = dir
			out, err := shell.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != strings.TrimSpace(want) {
				t.Errorf("docs/census.md: %s\n%v\ngot\n%s\nwant\n%s", command, err, got, want)
			}
			run++
		}
	}
	if run < 5 {
		t.Errorf("docs/census.md has %d commands", run)
	}
}

func TestEmptyStoreAndOneHost(t *testing.T) {
	for _, services := range []int{0, 1} {
		dir := write(t, fill(t, services, false), day)
		hashes(t, dir)
		if got := table(t, dir, "summary")["services"]; got != fmt.Sprint(services) {
			t.Errorf("%d services: the census has %s", services, got)
		}
		if text := read(t, dir, "census.md"); (services == 0) != strings.Contains(text, "No host was known") {
			t.Errorf("%d services: %s", services, text)
		}
	}
}

// TestPastDates takes the census of a day of the history, and of one before it.
func TestPastDates(t *testing.T) {
	s := fill(t, 300, false)
	now := write(t, s, day)
	past := write(t, s, day.AddDate(0, -6, 0))
	points := strings.Split(strings.TrimSpace(read(t, now, "data/adoption.csv")), "\n")
	then := points[len(points)-1-26] // 26 weeks ago
	earlier := write(t, s, day.AddDate(0, 0, -26*7))
	if row := table(t, earlier, "format")["ai"]; !strings.Contains(then, ","+row+",") {
		t.Errorf("26 weeks ago %s hosts published ai, and the table over time says %s", row, then)
	}
	if a, b := table(t, past, "summary")["services"], table(t, now, "summary")["services"]; a == b || a == "0" {
		t.Errorf("%s services half a year ago, %s now", a, b)
	}
	if class := table(t, past, "class"); class["unknown"] != "" || class["publishes"] == "" {
		t.Errorf("with a history, hosts of the past have the classes %v", class)
	}
	before := write(t, s, day.AddDate(-3, 0, 0))
	if n := table(t, before, "summary"); n["hosts"] != "0" || n["hosts recorded after the date"] != "330" {
		t.Errorf("before the first host: %v", n)
	}
}

// TestStoreWithoutTurns has hosts of a time when changes of states were not recorded.
func TestStoreWithoutTurns(t *testing.T) {
	s := fill(t, 50, false)
	removeAll(t, s, store.TurnPrefix)
	dir := write(t, s, day)
	if text := read(t, dir, "census.md"); !strings.Contains(text, "no history of the five states") || strings.Contains(text, "plots/states.svg") {
		t.Error("the census does not say that there is no history")
	}
	if n := table(t, dir, "state")["reachable=yes"]; n == "" || n == "0" {
		t.Errorf("%q hosts are reachable", n)
	}
	past := write(t, s, day.AddDate(0, -2, 0))
	if class := table(t, past, "class"); class["publishes"] != "" || class["unknown"] == "" {
		t.Errorf("without history, hosts of the past have the classes %v", class)
	}
}

func removeAll(t *testing.T, s store.Store, prefix string) {
	t.Helper()
	var writes []store.Write
	for r, err := range s.List(t.Context(), prefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, store.Delete(r.Key))
	}
	if _, err := s.Apply(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
}

// TestNestedHostNames has hosts whose names begin with those of others. In the order of the keys, the
// records below such a host do not come where the host comes.
func TestNestedHostNames(t *testing.T) {
	const original = "s000001.bank.test"
	nested := []string{"test", "bank.test", "www.bank.test", "www-2.bank.test", "bank-2.test", "www.bank-2.test", "bank2.test"}
	s := fill(t, 3, false)
	copyHost(t, s, original, nested...)
	facts := map[string]string{}
	for line := range strings.Lines(read(t, write(t, s, day), "data/hosts.csv")) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, ",")
		facts[name] = rest[:max(strings.LastIndexByte(rest, ','), 0)] // without the domain
	}
	for _, name := range nested {
		if facts[name] == "" || facts[name] != facts[original] {
			t.Errorf("%s: %q, want %q as of the host that it was copied from", name, facts[name], facts[original])
		}
	}
}

// copyHost stores the records of a host under other names.
func copyHost(t *testing.T, s *boltstore.Store, original string, names ...string) {
	t.Helper()
	var records, copies []store.Write
	for _, prefix := range []string{store.HostKey(original), store.DocumentsOf(original), store.VersionsOfAll(original), store.TurnsOf(original)} {
		for r, err := range s.List(t.Context(), prefix, "") {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, store.Put(r.Key, bytes.Clone(r.Value)))
		}
	}
	for _, name := range names {
		for _, r := range records {
			key := strings.Replace(r.Key, store.ReverseHost(original), store.ReverseHost(name), 1)
			copies = append(copies, store.Put(key, bytes.ReplaceAll(r.Value, []byte(original), []byte(name))))
		}
	}
	if _, err := s.Apply(t.Context(), copies...); err != nil {
		t.Fatal(err)
	}
}

// TestManyHostsOfOneDomain has an owner with 100 hosts below one domain and 100 below the domain of a
// provider of free names: both numbers are in every table of hosts, and the hosts are not the newest
// services, nor their words the first ones of a table.
func TestManyHostsOfOneDomain(t *testing.T) {
	s := fill(t, 3, false)
	first, _ := follow(t, s, "")
	before := first.Stats()
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("h%d.owner.example", i), fmt.Sprintf("h%d.netlify.app", i))
	}
	copyHost(t, s, "s000001.bank.test", append(names, "netlify.app")...)
	l, _ := follow(t, s, "")
	checkAgainstCensus(t, s, l)
	f := census.Feature{Family: "class", Value: "publishes"}
	got, want := l.Stats().Features[f], before.Features[f]
	if want.Hosts, want.Domains = want.Hosts+201, want.Domains+2; got != want {
		t.Errorf("%v publish, want %v", got, want)
	}
	newest := map[string]int{}
	for _, r := range l.Stats().New {
		newest[psl.Registered(r.Host)]++
	}
	if newest["owner.example"] != 1 || newest["netlify.app"] != 1 || len(newest) != len(l.Stats().New) {
		t.Errorf("the newest services are of %v", newest)
	}
	words := census.Figures{Features: map[census.Feature]tally.Count{{Family: "category", Value: "owner's"}: {Hosts: 200, Domains: 1}, {Family: "category", Value: "food"}: {Hosts: 3, Domains: 2}}}
	if family, _ := census.FamilyOf("category"); words.Values(family)[0].Feature.Value != "food" {
		t.Errorf("a category of one owner comes first: %v", words.Values(family))
	}
	if l.Stats().Domains != before.Domains+2 {
		t.Errorf("%d domains, and before %d", l.Stats().Domains, before.Domains)
	}
}

// TestOptedOutHostsAreOmitted searches all files for a host whose owner opted out.
func TestOptedOutHostsAreOmitted(t *testing.T) {
	s := fill(t, 40, false)
	block := `{"host":"bank.test","subdomains":true,"by":"owner","since":"2026-11-01T00:00:00Z"}`
	if _, err := s.Apply(t.Context(), store.Put(store.BlockKey("bank.test"), []byte(block))); err != nil {
		t.Fatal(err)
	}
	dir := write(t, s, day)
	for _, name := range []string{"data/hosts.csv", "data/documents.csv", "data/versions.csv", "data/turns.csv", "data/spans.csv", "census.html"} {
		if strings.Contains(read(t, dir, name), "bank.test") {
			t.Errorf("%s names a host that opted out", name)
		}
	}
	if got := table(t, dir, "summary"); got["opted out"] != "1" || got["services"] != "32" {
		t.Errorf("%v", got)
	}
}

// TestWrongTimes has a host of the future, and turns of a clock that went back.
func TestWrongTimes(t *testing.T) {
	s := fill(t, 10, false)
	put := func(key string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), store.Put(key, text)); err != nil {
			t.Fatal(err)
		}
	}
	put(store.HostKey("later.test"), crawler.Host{Name: "later.test", Added: day.AddDate(80, 0, 0), Visited: day.AddDate(80, 0, 0)})
	put(store.HostKey("back.test"), crawler.Host{Name: "back.test", Added: day.AddDate(0, -1, 0), Visited: day.AddDate(0, 0, -1)})
	yes, no := conformance.Standing{Class: conformance.Nothing, Reachable: conformance.Yes}, conformance.Standing{Class: conformance.Silent, Reachable: conformance.No}
	future := day.AddDate(1, 0, 0)
	put(store.TurnKey("back.test", future), conformance.Turn{Host: "back.test", At: future, Standing: yes})
	put(store.TurnKey("back.test", future.Add(time.Millisecond)), conformance.Turn{Host: "back.test", At: future.Add(time.Millisecond), Measured: day.AddDate(0, 0, -20), Standing: no})
	put(store.HostKey("odd.test"), "no object")
	dir := write(t, s, day)
	if got := table(t, dir, "summary"); got["hosts"] != "12" || got["hosts recorded after the date"] != "1" || got["damaged records"] != "1" {
		t.Errorf("%v", got)
	}
	if turns := read(t, dir, "data/turns.csv"); strings.Contains(turns, "2027") {
		t.Errorf("the turns of the future count: %s", turns)
	}
}

// TestForeignTextIsEscaped reads every file of the folder that shows them.
func TestForeignTextIsEscaped(t *testing.T) {
	dir := write(t, fill(t, 400, true), day)
	entries, err := os.ReadDir(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".csv") {
			continue
		}
		lines, err := csv.NewReader(strings.NewReader(read(t, dir, "data/"+e.Name()))).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
		for _, l := range lines {
			for _, c := range l {
				if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) {
					t.Errorf("%s: the cell %q is a formula", e.Name(), c)
				}
				if strings.ContainsFunc(c, format.Hidden) {
					t.Errorf("%s: the cell %q hides something", e.Name(), c)
				}
			}
		}
	}
	for _, name := range []string{"census.md", "census.html", "plots/verb.svg", "plots/namespace.svg"} {
		text := read(t, dir, name)
		if strings.Contains(text, "<script>") || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s has a text of a stranger as it is", name)
		}
	}
	for _, name := range []string{"plots/verb.svg", "plots/category.svg", "plots/states.svg"} {
		if err := xml.Unmarshal([]byte(read(t, dir, name)), new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for line := range strings.Lines(read(t, dir, "census.md")) {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") < 3 {
			t.Errorf("a text breaks the table: %s", line)
		}
	}
}

// TestRangesWithoutGaps has documents of few and of many operations: the plot has the ranges between
// them, too, and the table has only ranges with hosts.
func TestRangesWithoutGaps(t *testing.T) {
	s := fill(t, 3, false)
	for r, err := range s.List(t.Context(), store.DocumentsOf("s000001.bank.test"), "") {
		if err != nil {
			t.Fatal(err)
		}
		var record map[string]any
		if err := json.Unmarshal(r.Value, &record); err != nil {
			t.Fatal(err)
		}
		record["size"] = 200_000
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), store.Put(r.Key, text)); err != nil {
			t.Fatal(err)
		}
	}
	dir := write(t, s, day)
	sizes, drawing := table(t, dir, "size"), read(t, dir, "plots/size.svg")
	if sizes["131072-262143"] != "1" || sizes["32768-65535"] != "" {
		t.Fatalf("sizes %v", sizes)
	}
	for _, gap := range []string{"8192-16383", "32768-65535", "65536-131071"} {
		if !strings.Contains(drawing, ">"+gap+"<") {
			t.Errorf("the plot has no %s", gap)
		}
	}
}

// TestOperationsOfAHostAreCountedOnce has a summary beside the document that describes its operations,
// and a summary alone.
func TestOperationsOfAHostAreCountedOnce(t *testing.T) {
	const host = "s000001.bank.test"
	s := fill(t, 3, false)
	l, stop := follow(t, s, filepath.Join(t.TempDir(), "snapshot"))
	defer stop()
	var documents []store.Record
	for r, err := range s.List(t.Context(), store.DocumentsOf(host), "") {
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, r)
	}
	if len(documents) != 1 {
		t.Fatalf("%d documents", len(documents))
	}
	kind := strings.TrimPrefix(documents[0].Key, store.DocumentsOf(host))
	summary := strings.Replace(string(documents[0].Value), `"kind":"`+kind+`"`, `"kind":"agis-summary"`, 1)
	want := l.Stats().Operations
	for _, change := range []store.Write{
		store.Put(store.DocumentKey(host, "agis-summary"), []byte(summary)), // beside the document
		store.Delete(documents[0].Key),                                      // alone
	} {
		if _, err := s.Apply(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := l.WaitFor(t.Context(), s.Head().Seq); err != nil {
			t.Fatal(err)
		}
		if got := l.Stats().Operations; got != want {
			t.Errorf("%s: the follower has %d operations, want %d", change.Key, got, want)
		}
		if got := table(t, write(t, s, day), "summary")["operations"]; got != fmt.Sprint(want) {
			t.Errorf("%s: the census has %s operations, want %d", change.Key, got, want)
		}
	}
}

// TestFailedCensusLeavesNoFiles cancels one, has one write to a full disk, and has one find the
// rest of one that was killed.
func TestFailedCensusLeavesNoFiles(t *testing.T) {
	data := t.TempDir()
	s := teststore.Open(t, data)
	if err := fakestore.Fill(t.Context(), s, fakestore.Options{Root: "..", Services: 2000, At: day.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "census")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := census.Write(ctx, census.Options{Store: s, At: day, Dir: dir, Progress: func(p census.Progress) {
		if p.Hosts > 0 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// What a kill leaves is under another name and does not hinder the next one.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	child := writeInChild(t, data, dir, "stop")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	if err := errors.Join(child.Process.Kill(), child.Wait()); err == nil {
		t.Error("the child ended by itself")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a kill there is something under the final name: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir+".partial", "data", "hosts.csv")); err != nil {
		t.Errorf("the child was killed before it wrote anything: %v", err)
	}
	s = teststore.Open(t, data)
	if _, err := census.Write(t.Context(), census.Options{Store: s, At: day, Dir: dir}); err != nil {
		t.Error(err)
	}
	hashes(t, dir)
	if left, _ := os.ReadDir(parent); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if _, err := census.Write(t.Context(), census.Options{Store: s, At: day, Dir: dir}); !errors.Is(err, census.ErrExists) {
		t.Errorf("into a folder that exists: %v", err)
	}
}

func TestDates(t *testing.T) {
	now := time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-22": "2026-11-22T23:59:59Z", "2026-01-01": "2026-01-01T23:59:59Z", "2026-11-22T12:00:00+01:00": "2026-11-22T11:00:00Z",
		"2026-11-23": "", "22.11.2026": "", "": "", "9999-12-31": "", "2026-02-30": "",
	} {
		at, err := census.ReadDate(text, now)
		if (err == nil) != (want != "") || err == nil && at.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", text, at, err)
		}
	}
}

// TestEachFileIsDocumentedOnce holds against two tables of one name.
func TestEachFileIsDocumentedOnce(t *testing.T) {
	dir := write(t, fill(t, 20, false), day)
	names := map[string]int{}
	for line := range strings.Lines(read(t, dir, "SHA256SUMS")) {
		names[strings.TrimSpace(line[66:])]++
	}
	method := read(t, dir, "METHOD.md")
	for name, n := range names {
		if n > 1 {
			t.Errorf("%s was written %d times", name, n)
		}
		if strings.HasPrefix(name, "data/") && !strings.Contains(method, name) {
			t.Errorf("METHOD.md does not define %s", name)
		}
	}
	for _, f := range census.Families() {
		if names["data/"+f.Name+".csv"] != 1 {
			t.Errorf("%s has no table", f.Name)
		}
	}
}

// TestTitleOfCensus checks that the census of a whole day, which may be today, claims no time that is
// still to come.
func TestTitleOfCensus(t *testing.T) {
	s := fill(t, 5, false)
	for at, want := range map[time.Time]string{
		time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC): "# Census of 22 November 2026 (UTC)\n",
		time.Date(2026, 11, 22, 11, 30, 0, 0, time.UTC):  "# Census of 22 November 2026, 11:30 UTC\n",
	} {
		if text := read(t, write(t, s, at), "census.md"); !strings.HasPrefix(text, want) {
			t.Errorf("%.60q, want %q", text, want)
		}
	}
}

// TestMethodNamesProgram checks that a census says which version judged the documents, and whether its
// date was over.
func TestMethodNamesProgram(t *testing.T) {
	s := fill(t, 5, false)
	for at, early := range map[time.Time]bool{day: false, time.Now().Add(time.Hour): true} {
		dir := filepath.Join(t.TempDir(), "census")
		r, err := census.Write(t.Context(), census.Options{Store: s, At: at, Dir: dir, Program: "Gazetteer v9.8.7"})
		if err != nil {
			t.Fatal(err)
		}
		method := read(t, dir, "METHOD.md")
		if r.Early != early || strings.Contains(method, "It was made before that time") != early || !strings.Contains(method, "It was made by Gazetteer v9.8.7.") {
			t.Errorf("%s: early %v\n%.600s", at, r.Early, method)
		}
	}
}
