package document_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/document"
)

var update = flag.Bool("update", false, "write testdata/operations.golden anew; then read what has changed")

// TestOperationsOfValidDocuments checks that every valid document of both drafts gives the
// operations in testdata/operations.golden, with every field.
func TestOperationsOfValidDocuments(t *testing.T) {
	var got strings.Builder
	for _, dir := range []struct {
		path string
		kind document.Kind
	}{
		{"aidiscovery/testdata/valid", document.AI}, {"agis/testdata/valid", document.AGIS}, {"agis/testdata/wellknown", document.AGISSummary},
	} {
		files, err := filepath.Glob(filepath.Join("..", "protocol", filepath.FromSlash(dir.path), "*"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files in %s, error %v", len(files), dir.path, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := document.Read(input(dir.kind, string(text)))
			fmt.Fprintf(&got, "== %s/%s\n", dir.path, filepath.Base(file))
			if err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
				continue
			}
			describeDocument(&got, d)
		}
	}
	const golden = "testdata/operations.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || line != wantLines[i] {
			t.Fatalf("line %d of %s differs (a new document? -update writes the file anew, then read what has changed):\n got %s\nwant %s", i+1, golden, line, strings.Join(wantLines[min(i, len(wantLines)):min(i+1, len(wantLines))], ""))
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%d lines, want %d", len(gotLines), len(wantLines))
	}
}

// maxShown is how many operations of one document the golden file shows.
const maxShown = 8

func describeDocument(w *strings.Builder, d *document.Document) {
	fmt.Fprintf(w, "level %d, %d operations, service %q, domain %q\n", d.Level, len(d.Operations), d.Service.Name, d.Service.Domain)
	for _, c := range d.DataClasses {
		fmt.Fprintf(w, "data %+v\n", c)
	}
	for i, op := range d.Operations {
		if i == maxShown {
			fmt.Fprintf(w, "… to %s\n", d.Operations[len(d.Operations)-1].ID)
			break
		}
		describeOperation(w, op)
	}
}

func describeOperation(w *strings.Builder, op document.Operation) {
	derived := ""
	if op.VerbDerived {
		derived = " (derived)"
	}
	fmt.Fprintf(w, "%.100s: %s%s, effect %s", op.ID, op.Verb, derived, op.Effect)
	if op.Idempotent != nil {
		fmt.Fprintf(w, ", idempotent %v", *op.Idempotent)
	}
	fmt.Fprintf(w, ", at %s\n  call %s %s %.100s\n", op.Pointer, op.Call.Protocol, op.Call.Method, op.Call.URL)
	for _, f := range []struct{ name, text string }{
		{"path", op.Path}, {"intent", op.Intent}, {"outcome", op.Outcome}, {"returns", op.Returns}, {"actor", op.Actor},
		{"capability", op.Capability}, {"errors", strings.Join(op.Errors, " ")},
	} {
		if f.text != "" {
			fmt.Fprintf(w, "  %s %.200q\n", f.name, f.text)
		}
	}
	for i, p := range op.Parameters {
		if i == maxShown {
			fmt.Fprintf(w, "  … %d parameters\n", len(op.Parameters))
			break
		}
		fmt.Fprintf(w, "  parameter %.200s\n", fmt.Sprintf("%+v", p))
	}
}
