package fetch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestOutcomesListsAll compares the list with the constants of the source file.
func TestOutcomesListsAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, d := range file.Decls {
		constants, ok := d.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, s := range constants.Specs {
			v := s.(*ast.ValueSpec)
			if kind, ok := v.Type.(*ast.Ident); !ok || kind.Name != "Outcome" {
				continue
			}
			declared++
			if text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value); err != nil || !slices.Contains(Outcomes(), Outcome(text)) {
				t.Errorf("%s is not in the list", v.Names[0].Name)
			}
		}
	}
	if declared != len(Outcomes()) {
		t.Errorf("%d constants, %d in the list", declared, len(Outcomes()))
	}
}
