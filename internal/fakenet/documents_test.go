package fakenet

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

// TestDocumentsConform checks with our own readers that every document of a well-behaved host
// conforms to its draft.
func TestDocumentsConform(t *testing.T) {
	count := map[string]int{}
	warnings := map[string]int{}
	check := func(name string, text []byte, kind string) {
		var findings []protocol.Finding
		var err error
		switch kind {
		case "ai":
			_, findings, err = aidiscovery.Parse(text, aidiscovery.Options{})
		case "agis-summary":
			_, findings, err = agis.ParseSummary(text, agis.Options{})
		case "agis":
			_, findings, err = agis.Parse(text, agis.Options{})
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range findings {
			if f.Severity == protocol.Error {
				t.Errorf("%s: %s at %s: %s", name, f.Code, f.Pointer, f.Message)
			} else if f.Severity == protocol.Warning {
				warnings[f.Code]++
			}
		}
		count[kind]++
	}
	for _, dir := range []string{"services", "drafts", "everyday", "namesakes"} {
		err := fs.WalkDir(embedded, "testdata/"+dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := embedded.ReadFile(name)
			if err != nil {
				return err
			}
			switch base := path.Base(name); {
			case base == "ai.json":
				check(name, text, "ai")
			case strings.HasSuffix(base, "summary.json"):
				check(name, text, "agis-summary")
			default:
				check(name, text, "agis")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hostile, err := readEmbedded("odd/hostile-text.json")
	if err != nil {
		t.Fatal(err)
	}
	check("hostile-text", hostile, "ai")
	check("sample", sampleText("sample"), "ai")
	check("sample", sampleSummary("sample").(file).body, "agis-summary")
	t.Logf("documents: %v, warnings: %v", count, warnings)
	if count["ai"] < 200 || count["agis"] < 100 || count["agis-summary"] < 100 {
		t.Errorf("documents = %v", count)
	}
}
