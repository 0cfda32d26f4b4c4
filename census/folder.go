package census

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"gazetteer/internal/privatefile"
	"gazetteer/registry"
	"gazetteer/store"
)

// Options say what a census is made of.
type Options struct {
	Store store.Store
	// At is the date: later records do not count.
	At time.Time
	// Dir is the folder, which must not exist.
	Dir string
	// Describe returns a table with words for people in place of codes, for the pages and plots of the
	// folder; the files of figures keep the codes. It may be nil.
	Describe func(Table) Table
	// Program names the program and its version, for METHOD.md.
	Program string
	// Progress is called from time to time with the progress. It may be nil.
	Progress func(Progress)
}

// Progress says how far a census is.
type Progress struct {
	Part  string `json:"part"`
	Hosts int    `json:"hosts"` // read so far
}

// Result says what a census holds.
type Result struct {
	Dir string    `json:"dir"`
	At  time.Time `json:"at"`
	// Early means that the date was not over, so a later census of it can differ.
	Early     bool    `json:"early"`
	Hosts     int     `json:"hosts"`
	Services  int     `json:"services"`
	Documents int     `json:"documents"`
	Files     int     `json:"files"`
	Bytes     int64   `json:"bytes"`
	TookMS    float64 `json:"took_ms"`
}

// ErrExists is wrapped by the error of [Write] for a folder that exists already.
var ErrExists = errors.New("the folder exists already: name one that does not")

// partialSuffix ends the name of a folder that is not whole yet.
const partialSuffix = ".partial"

// ReadDate reads the date of a census: a day, which counts to its end in UTC, or a time as RFC 3339
// has it. Days after the day of now are refused.
func ReadDate(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, text); err != nil {
			return at, fmt.Errorf("%q is no date: write it as 2026-11-22 or 2026-11-22T15:00:00Z", text)
		}
		at = at.Add(24*time.Hour - time.Second)
	}
	if at = at.UTC(); at.After(EndOfDay(now)) {
		return at, fmt.Errorf("%s is in the future", text)
	}
	return at, nil
}

// EndOfDay is the date of a census of that day.
func EndOfDay(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Second)
}

// CheckFolder returns an error that wraps [ErrExists] if a folder cannot be made under a name because
// something has that name.
func CheckFolder(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, ErrExists)
	}
	return nil
}

// Write makes the folder of a census from the store. Other processes may write meanwhile; records
// after the date do not count. The same store, program and date give the same bytes once the date is
// over. After an error, nothing
// exists under the name of the folder.
func Write(ctx context.Context, o Options) (r Result, err error) {
	begun := time.Now()
	if err := CheckFolder(o.Dir); err != nil {
		return r, err
	}
	partial := o.Dir + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return r, err
	}
	if err := makePublicDir(filepath.Join(partial, "data")); err != nil {
		return r, err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	w := &folderWriter{dir: partial, at: o.At.UTC(), early: o.At.After(begun), program: cmp.Or(o.Program, "an unnamed version of Gazetteer"), describe: o.Describe, progress: o.Progress, sums: map[string]string{}}
	if w.progress == nil {
		w.progress = func(Progress) {}
	}
	if w.describe == nil {
		w.describe = func(t Table) Table { return t }
	}
	figures, err := w.writeData(ctx, o.Store)
	if err != nil {
		return r, fmt.Errorf("write the census: %w", err)
	}
	w.progress(Progress{"tables and plots", figures.Hosts})
	if err := w.writeReport(figures); err != nil {
		return r, fmt.Errorf("write the census: %w", err)
	}
	if err := os.Rename(partial, o.Dir); err != nil {
		return r, err
	}
	r = Result{Dir: o.Dir, At: w.at, Early: w.early, Hosts: figures.Hosts, Services: figures.Services, Documents: figures.Documents, Files: len(w.sums) + 1, Bytes: w.bytes}
	r.TookMS = float64(time.Since(begun).Microseconds()) / 1000
	return r, privatefile.SyncDir(filepath.Dir(o.Dir))
}

// folderWriter writes the files of a folder.
type folderWriter struct {
	dir      string
	at       time.Time
	early    bool   // the date is not over
	program  string // its name and version
	describe func(Table) Table
	progress func(Progress)
	sums     map[string]string // SHA-256 in hex, by name with slashes
	bytes    int64
}

// A sumFile is a file of the folder whose checksum grows with it.
type sumFile struct {
	w    *folderWriter
	name string
	file *os.File
	*bufio.Writer
	sum hash.Hash
}

// makePublicDir makes a directory that anyone may read, whatever the umask is: a census is made to
// be published.
func makePublicDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

func (w *folderWriter) createFile(name string) (*sumFile, error) {
	file, err := os.OpenFile(filepath.Join(w.dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o644); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	sum := sha256.New()
	return &sumFile{w, name, file, bufio.NewWriterSize(io.MultiWriter(sum, file), 1<<16), sum}, nil
}

// closeSynced writes the buffered data, syncs the file and records its checksum.
func (f *sumFile) closeSynced() error {
	err := errors.Join(f.Flush(), f.file.Sync())
	info, statErr := f.file.Stat()
	if err = errors.Join(err, statErr, f.file.Close()); err != nil {
		return err
	}
	f.w.sums[f.name] = hex.EncodeToString(f.sum.Sum(nil))
	f.w.bytes += info.Size()
	return nil
}

// writeFile writes a whole file.
func (w *folderWriter) writeFile(name, text string) error {
	f, err := w.createFile(name)
	if err != nil {
		return err
	}
	f.WriteString(text) // closeSynced returns the error
	return f.closeSynced()
}

// progressHosts is the number of hosts between two calls of Progress.
const progressHosts = 2000

// writeData writes the facts and returns the figures.
func (w *folderWriter) writeData(ctx context.Context, s store.Store) (_ *Figures, err error) {
	var files [len(factLines{}.csv)]*sumFile
	defer func() {
		for _, f := range files {
			if f != nil && err != nil {
				f.file.Close()
			}
		}
	}()
	for i, f := range factFiles {
		if files[i], err = w.createFile("data/" + f.Name + ".csv"); err != nil {
			return nil, err
		}
		fmt.Fprintln(files[i], strings.Join(f.Columns, ","))
	}
	objects, err := w.createFile("data/hosts.ndjson.zst")
	if err != nil {
		return nil, err
	}
	defer objects.file.Close() // closed already, unless there was an error
	// One block after the other, so that the bytes do not depend on how many processors there are.
	packed, err := zstd.NewWriter(objects, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	b := newFigureBuilder(w.at)
	walk, err := newWalker(ctx, s, w.at)
	if err != nil {
		return nil, err
	}
	walk.render = true
	b.f.OptedOut = walk.optedOut
	w.progress(Progress{"hosts", 0})
	damaged, err := walk.walkHosts(ctx, func(h *Facts) error {
		b.addHost(h)
		for i, lines := range h.lines.csv {
			if _, err := files[i].Write(lines); err != nil {
				return err
			}
		}
		if _, err := packed.Write(h.lines.json); err != nil {
			return err
		}
		if b.f.Hosts%progressHosts == 0 {
			w.progress(Progress{"hosts", b.f.Hosts})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := f.closeSynced(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(packed.Close(), objects.closeSynced()); err != nil {
		return nil, err
	}
	w.progress(Progress{"agents", b.f.Hosts})
	bad, err := walk.walkAgents(ctx, func(a *registry.Agent) { b.addAgent(a) })
	if err != nil {
		return nil, err
	}
	b.f.Damaged, b.f.Later = damaged+bad, int(walk.later.Load())
	return b.buildFigures(), nil
}

// writeReport writes tables, plots, pages, definitions and checksums.
func (w *folderWriter) writeReport(f *Figures) error {
	tables := f.Tables()
	if err := makePublicDir(filepath.Join(w.dir, "plots")); err != nil {
		return err
	}
	var described, onPage []Table
	for _, t := range tables {
		if err := w.writeTable(t); err != nil {
			return err
		}
		described, onPage = append(described, w.describe(t)), append(onPage, w.describe(t.OnPage()))
		if chart := described[len(described)-1].Chart; chart != nil {
			if err := w.writeFile("plots/"+t.Name+".svg", chart.File()); err != nil {
				return err
			}
		}
	}
	if err := w.writeSeries(f); err != nil {
		return err
	}
	html, err := renderHTML(f, onPage)
	if err != nil {
		return err
	}
	method, err := w.renderMethod(f, tables)
	if err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{
		{"census.md", renderMarkdown(f, described)}, {"census.html", html}, {"METHOD.md", method}, {"LICENSE", dataLicense},
	} {
		if err := w.writeFile(file.name, file.text); err != nil {
			return err
		}
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.sums)) {
		fmt.Fprintf(&sums, "%s  %s\n", w.sums[name], name)
	}
	if err := w.writeFile("SHA256SUMS", sums.String()); err != nil {
		return err
	}
	for _, dir := range []string{"data", "plots", ""} {
		if err := privatefile.SyncDir(filepath.Join(w.dir, dir)); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes the rows of a table.
func (w *folderWriter) writeTable(t Table) error {
	f, err := w.createFile("data/" + t.Name + ".csv")
	if err != nil {
		return err
	}
	lines := csv.NewWriter(f)
	lines.Write(t.Columns)
	for _, row := range t.Rows {
		safe := slices.Clone(row.Cells)
		for i := range safe {
			safe[i] = sanitizeCell(safe[i])
		}
		lines.Write(safe)
	}
	lines.Flush()
	return errors.Join(lines.Error(), f.closeSynced())
}

// writeSeries writes all series as one compressed file of JSON lines.
func (w *folderWriter) writeSeries(f *Figures) error {
	file, err := w.createFile("data/series.ndjson.zst")
	if err != nil {
		return err
	}
	packed, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(packed)
	for _, s := range f.Series {
		if err := encoder.Encode(s); err != nil {
			return errors.Join(err, packed.Close())
		}
	}
	return errors.Join(packed.Close(), file.closeSynced())
}
