package registrar_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/registry"
	"gazetteer/registry/registrar"
)

// TestSecretsAreComparedInConstantTime reads the source: a stored hash of a secret
// may be held against another only by crypto/subtle, and only against a hash, so
// that how long it takes tells nothing of either. Whether an agent exists is
// public; that an unknown one is answered sooner tells nothing.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	names, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"admission", "attestation", "directory", "evidence", "transfer"} {
		more, err := filepath.Glob("../" + part + "/*.go")
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d files, %v", part, len(more), err)
		}
		names = append(names, more...)
	}
	files, compared := token.NewFileSet(), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		p, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(p, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (isSecret(n.X) || isSecret(n.Y)) {
					t.Errorf("%s: a secret is compared with %s", files.Position(n.Pos()), n.Op)
				}
			case *ast.CallExpr:
				name, secret := calledName(n), false
				for _, argument := range n.Args {
					secret = secret || isSecret(argument)
				}
				switch {
				case !secret:
				case name == "subtle.ConstantTimeCompare":
					if call, ok := n.Args[0].(*ast.CallExpr); !ok || calledName(call) != "HashSecret" {
						t.Errorf("%s: the secret is not hashed before it is compared", files.Position(n.Pos()))
					}
					compared++
				case strings.HasSuffix(name, ".Equal"), strings.HasSuffix(name, ".Compare"), strings.HasSuffix(name, ".HasPrefix"):
					t.Errorf("%s: a secret is compared by %s", files.Position(n.Pos()), name)
				}
			}
			return true
		})
	}
	if compared == 0 {
		t.Error("no comparison of a secret was found, so the test shows nothing")
	}
}

// isSecret reports whether an expression is the hash of a secret, as a whole.
func isSecret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "SecretHash" || e.Sel.Name == "secretHash"
	case *ast.CallExpr: // string(a.SecretHash)
		return len(e.Args) == 1 && calledName(e) == "string" && isSecret(e.Args[0])
	}
	return false
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// TestWrongSecretsGetOneAnswer checks that nothing in the answer tells how near a guess came, or
// whether another agent has that secret.
func TestWrongSecretsGetOneAnswer(t *testing.T) {
	r := open(t, registrar.Options{})
	a, secret := register(t, r, someone(1))
	_, other := register(t, r, someone(2))
	text := "x"
	for _, guess := range []string{secret[:31], secret[:31] + "x", strings.ToUpper(secret) + " ", secret + "0", other, strings.Repeat("0", 32), strings.Repeat("x", 1<<16), "\x00"} {
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: guess}, changeDescription(text))
		if !errors.Is(err, registry.ErrWrongSecret) || err.Error() != registry.ErrWrongSecret.Error() {
			t.Errorf("%.40q: %v", guess, err)
		}
	}
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text)); err != nil {
		t.Error(err)
	}
}
