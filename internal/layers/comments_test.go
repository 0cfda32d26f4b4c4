package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// A commentedPackage has the names that links in its comments may mean, and its files.
type commentedPackage struct {
	top     map[string]bool // declarations of the package
	members map[string]bool // methods and fields
	embeds  map[string]bool // types that embed another one
	files   map[string]*ast.File
}

var (
	docLink  = regexp.MustCompile(`\[\*?([A-Za-z][\w/]*(?:\.\w+){0,2})\]`)
	fileName = regexp.MustCompile(`(?:^|[\s(])(\w+\.go)\b`)
)

// TestCommentNames looks for names in comments that a renaming has forgotten: links to declarations
// that do not exist, comments of functions that begin with another name, and files that a package
// comment lists and that do not exist.
func TestCommentNames(t *testing.T) {
	positions := token.NewFileSet()
	packages := parsePackages(t, positions)
	byName := map[string][]*commentedPackage{}
	for dir, p := range packages {
		byName[path.Base(dir)] = append(byName[path.Base(dir)], p)
	}
	for dir, p := range packages {
		for name, file := range p.files {
			for _, group := range file.Comments {
				for _, comment := range group.List {
					for _, m := range docLink.FindAllStringSubmatch(comment.Text, -1) {
						if !linkResolves(p, byName, m[1]) {
							t.Errorf("%s: there is no %s", positions.Position(comment.Pos()), m[0])
						}
					}
				}
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Doc == nil {
					continue
				}
				first, _, _ := strings.Cut(f.Doc.Text(), " ")
				first = strings.TrimRight(first, ",:'s\n")
				if strings.IndexFunc(first, unicode.IsUpper) > 0 && !strings.HasPrefix(f.Name.Name, first) {
					t.Errorf("%s: the comment of %s begins with %s", positions.Position(f.Pos()), f.Name.Name, first)
				}
			}
			if file.Doc == nil || filepath.Base(name) != "doc.go" {
				continue
			}
			for _, m := range fileName.FindAllStringSubmatch(file.Doc.Text(), -1) {
				if _, err := os.Stat(filepath.Join("../..", dir, m[1])); err != nil {
					t.Errorf("%s: there is no %s", name, m[1])
				}
			}
		}
	}
}

// parsePackages parses the files of the module by the folder that they are in, without tests.
func parsePackages(t *testing.T, positions *token.FileSet) map[string]*commentedPackage {
	t.Helper()
	packages := map[string]*commentedPackage{}
	for dir := range load(t) {
		p := &commentedPackage{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]*ast.File{}}
		packages[dir] = p
		names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(positions, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			p.files[name] = file
			p.addNames(file)
		}
	}
	return packages
}

func (p *commentedPackage) addNames(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				p.top[d.Name.Name] = true
			} else {
				p.members[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					p.top[s.Name.Name] = true
					if t, ok := s.Type.(*ast.StructType); ok {
						for _, f := range t.Fields.List {
							p.embeds[s.Name.Name] = p.embeds[s.Name.Name] || len(f.Names) == 0
						}
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						p.top[n.Name] = true
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			for _, name := range f.Names {
				p.members[name.Name] = true
			}
		}
		return true
	})
}

// linkResolves reports whether a link in a comment of p names a declaration. It accepts names of packages
// outside the module, members of types that embed another type, and words in one case, which are not
// links.
func linkResolves(p *commentedPackage, byName map[string][]*commentedPackage, link string) bool {
	first, rest, qualified := strings.Cut(path.Base(link), ".")
	if !qualified {
		isName := strings.ContainsFunc(first, unicode.IsUpper) && strings.ContainsFunc(first, unicode.IsLower)
		return !isName || p.top[first]
	}
	if p.top[first] {
		return p.members[rest] || p.embeds[first]
	}
	if unicode.IsUpper(rune(first[0])) {
		return false
	}
	name, member, _ := strings.Cut(rest, ".")
	others := byName[first]
	for _, other := range others {
		if other.top[name] && (member == "" || other.members[member] || other.embeds[name]) {
			return true
		}
	}
	return len(others) == 0
}
