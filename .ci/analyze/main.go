// Command analyze runs the analyzers of go vet and of staticcheck over the packages of some modules,
// tests included, in one process:
//
//	analyze [-planted DIR] DIR...
//
// The two programs themselves need every package and every test compiled for its export data, and each
// reads all of them from source again. This one compiles nothing: it checks the types of each package
// once, also if several of the modules import it, and keeps facts in memory.
//
// The module of -planted contains mistakes on purpose, marked "// want ANALYZER". They are not reported,
// but one that no analyzer finds is.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/passes/sqlrowserr"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/analysis/report"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	planted := flag.String("planted", "", "module `directory` with mistakes that must be found")
	flag.Parse()
	found, err := analyze(*planted, flag.Args())
	for _, d := range found {
		fmt.Println(d)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "analyze:", err)
		os.Exit(2)
	case len(found) > 0:
		os.Exit(1)
	}
}

// A diagnostic is what an analyzer reports.
type diagnostic struct {
	position          token.Position
	analyzer, message string
}

func (d diagnostic) String() string {
	at := d.position
	if dir, err := os.Getwd(); err == nil {
		at.Filename = strings.TrimPrefix(at.Filename, dir+"/")
	}
	return fmt.Sprintf("%s: %s (%s)", at, d.message, d.analyzer)
}

// A pkg is a package, or a variant of it with its tests.
type pkg struct {
	*packages.Package
	imports    map[string]*pkg
	importedBy []*pkg
	waitsFor   int  // imports that are not analyzed yet
	planted    bool // of the module with mistakes on purpose
	root       bool // a package of a module in question, not only a dependency

	types *types.Package // set when its types are checked
}

// A place is a line of a file, and the name that is declared or the analyzer that reports there.
type place struct {
	file string
	line int
	name string
}

// A run is one run over all modules.
type run struct {
	fset        *token.FileSet
	analyzers   []*analysis.Analyzer        // an analyzer comes after those that it requires
	leavesFacts map[*analysis.Analyzer]bool // also those that such an analyzer requires

	packages []*pkg
	loaded   map[string][]*pkg // packages by ID

	mu       sync.Mutex // guards what follows
	facts    map[factKey]analysis.Fact
	factsOf  map[reflect.Type][]fact // the same facts; only appended to
	found    map[diagnostic]bool
	used     map[place]bool
	unused   map[place]diagnostic // in one variant of the package; another may use them
	wanted   map[place]bool       // the planted mistakes, and whether they are found
	failures []error
}

// analyze returns what the analyzers report about the packages of the modules in these directories, and
// which of the planted mistakes they do not report.
func analyze(planted string, dirs []string) ([]diagnostic, error) {
	r := &run{
		fset: token.NewFileSet(), leavesFacts: map[*analysis.Analyzer]bool{}, loaded: map[string][]*pkg{},
		facts: map[factKey]analysis.Fact{}, factsOf: map[reflect.Type][]fact{},
		found: map[diagnostic]bool{}, used: map[place]bool{}, unused: map[place]diagnostic{}, wanted: map[place]bool{},
	}
	for _, a := range vet.Suite {
		if a == scannererr.Analyzer || a == sqlrowserr.Analyzer {
			continue // newer than the go vet of Go 1.26
		}
		r.addAnalyzer(a, false)
	}
	for _, list := range [][]*lint.Analyzer{simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers, {unused.Analyzer}} {
		for _, a := range list {
			if !a.Doc.NonDefault {
				r.addAnalyzer(a.Analyzer, false)
			}
		}
	}
	if planted != "" {
		dirs = append(dirs, planted)
	}
	for i, dir := range dirs {
		if err := r.load(dir, planted != "" && i == len(dirs)-1); err != nil {
			return nil, fmt.Errorf("load %s: %w", dir, err)
		}
	}
	r.analyzeAll()
	for key, d := range r.unused {
		if !r.used[key] {
			r.found[d] = true
		}
	}
	var found []diagnostic
	for d := range r.found {
		at := place{d.position.Filename, d.position.Line, d.analyzer}
		if _, wanted := r.wanted[at]; wanted {
			r.wanted[at] = true
			continue
		}
		found = append(found, d)
	}
	for at, met := range r.wanted {
		if !met {
			found = append(found, diagnostic{token.Position{Filename: at.file, Line: at.line}, at.name, "this planted mistake is not found"})
		}
	}
	slices.SortFunc(found, func(a, b diagnostic) int {
		return cmp.Or(cmp.Compare(a.position.Filename, b.position.Filename), a.position.Line-b.position.Line, cmp.Compare(a.message, b.message))
	})
	return found, errors.Join(r.failures...)
}

// addAnalyzer adds a and what it requires, for facts if an analyzer that leaves facts requires it.
func (r *run) addAnalyzer(a *analysis.Analyzer, forFacts bool) {
	forFacts = forFacts || len(a.FactTypes) > 0
	before, known := r.leavesFacts[a]
	if known && (before || !forFacts) {
		return
	}
	r.leavesFacts[a] = forFacts
	for _, required := range a.Requires {
		r.addAnalyzer(required, forFacts)
	}
	if !known {
		r.analyzers = append(r.analyzers, a)
	}
}

// load adds the packages of the module in dir, with their tests, and everything they import.
func (r *run) load(dir string, planted bool) error {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedTypesSizes,
		Dir:  dir, Tests: true, Env: append(os.Environ(), "CGO_ENABLED=0"), // what cgo writes is only there once it is compiled
	}, "./...")
	if err != nil {
		return err
	}
	// Programs that run tests are written by the go command.
	roots = slices.DeleteFunc(roots, func(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") })
	var problems []error
	added := map[*packages.Package]*pkg{}
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			problems = append(problems, e)
		}
		added[p] = r.addPackage(p, added)
	})
	for _, p := range roots {
		added[p].root, added[p].planted = true, planted
	}
	return errors.Join(problems...)
}

// addPackage returns the package p, whose imports were added. Modules share packages whose files and
// imports are the same.
func (r *run) addPackage(p *packages.Package, added map[*packages.Package]*pkg) *pkg {
	n := &pkg{Package: p, imports: map[string]*pkg{}}
	for path, imported := range p.Imports {
		n.imports[path] = added[imported]
	}
	for _, other := range r.loaded[p.ID] {
		if slices.Equal(other.GoFiles, p.GoFiles) && maps.Equal(other.imports, n.imports) {
			return other
		}
	}
	r.loaded[p.ID] = append(r.loaded[p.ID], n)
	r.packages = append(r.packages, n)
	n.waitsFor = len(n.imports)
	for _, imported := range n.imports {
		imported.importedBy = append(imported.importedBy, n)
	}
	return n
}

// analyzeAll analyzes every package after its imports, as many at a time as there are processors.
func (r *run) analyzeAll() {
	ready := make(chan *pkg, len(r.packages))
	for _, p := range r.packages {
		if p.waitsFor == 0 {
			ready <- p
		}
	}
	left := len(r.packages)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for p := range ready {
				err := r.analyzePackage(p)
				r.mu.Lock()
				if err != nil {
					r.failures = append(r.failures, fmt.Errorf("%s: %w", p.ID, err))
				}
				for _, user := range p.importedBy {
					if user.waitsFor--; user.waitsFor == 0 {
						ready <- user
					}
				}
				if left--; left == 0 {
					close(ready)
				}
				r.mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// analyzePackage checks the types of p and runs the analyzers over it: those that leave facts for
// importers, or all of them if p is a root. What it needs for that is garbage afterwards.
func (r *run) analyzePackage(p *pkg) error {
	if p.ID == "unsafe" {
		p.types = types.Unsafe
		return nil
	}
	mode := parser.ParseComments
	if !p.root {
		mode |= parser.SkipObjectResolution // some analyzers of go vet, such as sigchanyzer, read objects
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(r.fset, name, nil, mode)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	config := &types.Config{Importer: p, Sizes: p.TypesSizes}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	var err error
	if p.types, err = config.Check(p.PkgPath, r.fset, files, info); err != nil {
		return err
	}

	var found []diagnostic
	results := map[*analysis.Analyzer]any{}
	for _, a := range r.analyzers {
		if !p.root && !r.leavesFacts[a] {
			continue
		}
		pass := r.newPass(a, p, files, info, results)
		pass.Report = func(d analysis.Diagnostic) {
			found = append(found, diagnostic{report.DisplayPosition(r.fset, d.Pos), a.Name, d.Message})
		}
		if results[a], err = a.Run(pass); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	if !p.root {
		return nil
	}
	found = r.dropIgnored(found, lint.ParseDirectives(files, r.fset))
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.planted {
		r.collectWanted(files)
	}
	for _, d := range found {
		r.found[d] = true
	}
	// What only tests use is used in one variant of the package, and unused in the other.
	names := results[unused.Analyzer.Analyzer].(unused.Result)
	for _, o := range names.Used {
		r.used[place{o.Position.Filename, o.Position.Line, o.Name}] = true
	}
	for _, o := range names.Unused {
		r.unused[place{o.Position.Filename, o.Position.Line, o.Name}] =
			diagnostic{o.DisplayPosition, unused.Analyzer.Analyzer.Name, o.Kind + " " + o.Name + " is unused"}
	}
	return nil
}

// collectWanted reads the comments "// want ANALYZER" in planted files.
func (r *run) collectWanted(files []*ast.File) {
	for _, f := range files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if names, found := strings.CutPrefix(c.Text, "// want "); found {
					at := r.fset.Position(c.Pos())
					for _, name := range strings.Fields(names) {
						r.wanted[place{at.Filename, at.Line, name}] = false
					}
				}
			}
		}
	}
}

// Import implements types.Importer.
func (p *pkg) Import(path string) (*types.Package, error) {
	imported := p.imports[path]
	if imported == nil || imported.types == nil {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return imported.types, nil
}

func (r *run) newPass(a *analysis.Analyzer, p *pkg, files []*ast.File, info *types.Info, results map[*analysis.Analyzer]any) *analysis.Pass {
	pass := &analysis.Pass{
		Analyzer: a, Fset: r.fset, Files: files, OtherFiles: p.OtherFiles, IgnoredFiles: p.IgnoredFiles,
		Pkg: p.types, TypesInfo: info, TypesSizes: p.TypesSizes, ResultOf: results, ReadFile: os.ReadFile,
		ImportObjectFact:  func(o types.Object, f analysis.Fact) bool { return r.importFact(o, f) },
		ExportObjectFact:  func(o types.Object, f analysis.Fact) { r.exportFact(o, f) },
		ImportPackageFact: func(of *types.Package, f analysis.Fact) bool { return r.importFact(of, f) },
		ExportPackageFact: func(f analysis.Fact) { r.exportFact(p.types, f) },
		AllObjectFacts: func() []analysis.ObjectFact {
			return allFacts(r, a, func(of any, f analysis.Fact) (analysis.ObjectFact, bool) {
				o, ok := of.(types.Object)
				return analysis.ObjectFact{Object: o, Fact: f}, ok
			})
		},
		AllPackageFacts: func() []analysis.PackageFact {
			return allFacts(r, a, func(of any, f analysis.Fact) (analysis.PackageFact, bool) {
				o, ok := of.(*types.Package)
				return analysis.PackageFact{Package: o, Fact: f}, ok
			})
		},
	}
	if p.Module != nil {
		pass.Module = &analysis.Module{Path: p.Module.Path, Version: p.Module.Version, GoVersion: p.Module.GoVersion}
	}
	return pass
}

// A fact is what an analyzer found out about an object or a package.
type fact struct {
	of any // a types.Object or a *types.Package
	analysis.Fact
}

type factKey struct {
	of   any
	kind reflect.Type
}

func (r *run) importFact(of any, into analysis.Fact) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.facts[factKey{of, reflect.TypeOf(into)}]
	if ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(f).Elem())
	}
	return ok
}

func (r *run) exportFact(of any, f analysis.Fact) {
	kind := reflect.TypeOf(f)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[factKey{of, kind}] = f
	r.factsOf[kind] = append(r.factsOf[kind], fact{of, f})
}

// allFacts returns the facts of the kinds of a so far. Those of packages that are no dependencies are
// among them; no analyzer asks for them.
func allFacts[F any](r *run, a *analysis.Analyzer, convert func(of any, f analysis.Fact) (F, bool)) []F {
	var all []F
	for _, kind := range a.FactTypes {
		r.mu.Lock()
		facts := r.factsOf[reflect.TypeOf(kind)]
		r.mu.Unlock()
		for _, f := range facts {
			if converted, ok := convert(f.of, f.Fact); ok {
				all = append(all, converted)
			}
		}
	}
	return all
}

// dropIgnored returns found without what a directive "//lint:ignore CHECKS REASON" excuses, and reports
// directives that excuse nothing. They are for staticcheck; go vet knows none.
func (r *run) dropIgnored(found []diagnostic, directives []lint.Directive) []diagnostic {
	for _, d := range directives {
		at, node := report.DisplayPosition(r.fset, d.Directive.Pos()), report.DisplayPosition(r.fset, d.Node.Pos())
		if d.Command != "ignore" || len(d.Arguments) < 2 {
			found = append(found, diagnostic{at, "directive", "want //lint:ignore CHECKS REASON"})
			continue
		}
		before := len(found)
		found = slices.DeleteFunc(found, func(f diagnostic) bool {
			return f.position.Filename == node.Filename && f.position.Line == node.Line && f.analyzer != "" &&
				slices.Contains(strings.Split(d.Arguments[0], ","), f.analyzer)
		})
		if len(found) == before && d.Arguments[0] != unused.Analyzer.Analyzer.Name {
			found = append(found, diagnostic{at, "directive", "this directive excuses nothing"})
		}
	}
	return found
}
