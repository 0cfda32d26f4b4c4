package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// section returns the part of docs/design.md below a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/design.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// declarations returns what a file or the files of a folder declare: "Name", and "Type.Method".
func declarations(t *testing.T, at string) map[string]bool {
	t.Helper()
	files := []string{filepath.Join("../..", at)}
	if !strings.HasSuffix(at, ".go") {
		files, _ = filepath.Glob(filepath.Join("../..", at, "*.go"))
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					r := d.Recv.List[0].Type
					if star, ok := r.(*ast.StarExpr); ok {
						r = star.X
					}
					switch generic := r.(type) {
					case *ast.IndexExpr:
						r = generic.X
					case *ast.IndexListExpr:
						r = generic.X
					}
					name = r.(*ast.Ident).Name + "." + name
				}
				names[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
						if i, ok := s.Type.(*ast.InterfaceType); ok {
							for _, m := range i.Methods.List {
								for _, n := range m.Names {
									names[s.Name.Name+"."+n.Name] = true
								}
							}
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

var quoted = regexp.MustCompile("`([^`]+)`")

// TestDesignPackages compares the table of packages in docs/design.md with the tree: each package has a
// row, and the functions and types to begin with exist.
func TestDesignPackages(t *testing.T) {
	packages, listed := load(t), map[string]bool{}
	for _, line := range strings.Split(section(t, "The packages"), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		known := map[string]bool{}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if _, ok := packages[m[1]]; !ok {
				t.Errorf("there is no package %s", m[1])
			}
			if listed[m[1]] {
				t.Errorf("%s has two rows", m[1])
			}
			listed[m[1]] = true
			for name := range declarations(t, m[1]) {
				known[name] = true
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			_, local, _ := strings.Cut(m[1], ".")
			if !strings.Contains(m[1], " ") && !known[m[1]] && !known[local] {
				t.Errorf("%s: there is no %s to begin with", cells[0], m[1])
			}
		}
	}
	for name := range packages {
		if !listed[name] && name != "internal/layers" && !slices.Contains(generators, name) && !strings.HasPrefix(name, "tools/") {
			t.Errorf("package %s has no row", name)
		}
	}
}

// TestDesignWalks checks the walks of docs/design.md: each function is in the file that the table
// names, and the walks keep their length. A walk with once enters each package once: after the
// return to a caller's package, it does not call a package again that it has left.
func TestDesignWalks(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\| `([^`]+)` \\|")
	for _, walk := range []struct {
		heading string
		most    int
		once    bool
	}{
		{"The path of a document", 13, true},
		{"The path of a query", 29, true},
		{"The path of a registration", 29, false},
	} {
		steps := row.FindAllStringSubmatch(section(t, walk.heading), -1)
		if len(steps) < 5 || len(steps) > walk.most {
			t.Errorf("%s has %d steps, at most %d are wanted", walk.heading, len(steps), walk.most)
		}
		var open, left []string
		for i, step := range steps {
			if step[1] != strconv.Itoa(i+1) {
				t.Errorf("%s: step %d has the number %s", walk.heading, i+1, step[1])
			}
			dir := path.Dir(step[3])
			name := strings.TrimPrefix(step[2], path.Base(dir)+".")
			if !declarations(t, step[3])[name] {
				t.Errorf("%s: %s does not declare %s", walk.heading, step[3], name)
			}
			if at := slices.Index(open, dir); at >= 0 {
				left, open = append(left, open[at+1:]...), open[:at+1]
				continue
			}
			if walk.once && slices.Contains(left, dir) {
				t.Errorf("%s: step %d enters %s a second time", walk.heading, i+1, dir)
			}
			open = append(open, dir)
		}
	}
}
