package agis_test

import (
	"os"
	"path/filepath"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// seeds adds some small documents of testdata to a fuzz target.
func seeds(f *testing.F, dirs ...string) {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(text) < 4000 {
				f.Add(text)
			}
		}
	}
}

// checkFindings fails for findings that a reader could not use.
func checkFindings(t *testing.T, findings []protocol.Finding, err error) {
	t.Helper()
	if len(findings) > protocol.DefaultLimits.Findings+1 {
		t.Fatalf("%d findings", len(findings))
	}
	if err != nil && len(findings) == 0 {
		t.Fatalf("error %v without a finding", err)
	}
	for _, f := range findings {
		if f.Code == "" || f.Message == "" || f.Code != protocol.CodeMore && f.Section == "" || len(f.Message) > 2000 || len(f.Help) > 2000 {
			t.Fatalf("finding %+v", f)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f, "valid", "invalid")
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, findings, err := agis.Parse(text, agis.Options{})
		checkFindings(t, findings, err)
		if (doc == nil) != (err != nil) {
			t.Fatalf("document %v, error %v", doc, err)
		}
		if doc != nil {
			for _, e := range doc.Endpoints {
				doc.Parameters(e)
			}
			doc.LevelTwo()
		}
	})
}

func FuzzParseSummary(f *testing.F) {
	seeds(f, "wellknown")
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, findings, err := agis.ParseSummary(text, agis.Options{})
		checkFindings(t, findings, err)
		if (doc == nil) != (err != nil) {
			t.Fatalf("summary %v, error %v", doc, err)
		}
	})
}
