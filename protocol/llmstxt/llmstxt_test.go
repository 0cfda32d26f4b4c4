package llmstxt_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/llmstxt"
)

func ExampleParse() {
	doc, findings, err := llmstxt.Parse([]byte("# Acme Notes\n\n> Notes that several people edit.\n\n## API\n\n- [Calls](https://notes.example/calls.md): every call\n"), protocol.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Title, "-", doc.Summary)
	fmt.Println(doc.Sections[0].Name, doc.Sections[0].Links[0].URL, len(findings))
	// Output:
	// Acme Notes - Notes that several people edit.
	// API https://notes.example/calls.md 0
}

func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/notes.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, findings, err := llmstxt.Parse(text, protocol.Limits{})
	if err != nil || len(findings) != 0 {
		t.Fatalf("error %v, findings %v", err, findings)
	}
	want := &llmstxt.Document{
		Title: "Acme Notes", Summary: "Notes that several people edit at once, over HTTP.",
		Sections: []llmstxt.Section{
			{Name: "API", Line: 14, Links: []llmstxt.Link{
				{Name: "Calls", URL: "https://notes.example/calls.md", Notes: "every call, with examples", Line: 16},
				{Name: "Errors", URL: "/errors.md", Line: 17},
			}},
			{Name: "Optional", Optional: true, Line: 19, Links: []llmstxt.Link{{Name: "History", URL: "https://notes.example/history.md", Line: 21}}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// The examples of each rule break that rule, or no rule at all.
func TestRules(t *testing.T) {
	for _, rule := range llmstxt.Rules() {
		if strings.HasPrefix(rule.Bad, "(") {
			continue // too long to show
		}
		codes := func(text string) map[string]bool {
			found := map[string]bool{}
			_, findings, _ := llmstxt.Parse([]byte(text), protocol.Limits{})
			for _, f := range findings {
				found[f.Code] = true
				if f.Line < 1 || f.Help == "" || f.Section == "" {
					t.Errorf("%s: finding %+v", rule.Code, f)
				}
			}
			return found
		}
		if !codes(rule.Bad)[rule.Code] {
			t.Errorf("%s: the bad example is not reported", rule.Code)
		}
		if codes(rule.Good)[rule.Code] {
			t.Errorf("%s: the good example is reported", rule.Code)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"empty": " \n\n", "HTML": "<html>", "JSON": `{"a": 1}`, "not UTF-8": "# A\xff\n", "too large": "# A\n" + strings.Repeat("x", 262144), "no name": "#  \n",
	} {
		doc, findings, err := llmstxt.Parse([]byte(text), protocol.Limits{})
		if doc != nil || !errors.Is(err, protocol.ErrUnreadable) || len(findings) != 1 || findings[0].Code != "LLMS101" {
			t.Errorf("%s: %v, %v, %v", name, doc, findings, err)
		}
	}
}

func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("# A\n> B\n")
	for range 3 {
		b.WriteString("## S\n- [a](/a)\n- [b](/b)\n")
	}
	doc, findings, err := llmstxt.Parse([]byte(b.String()), protocol.Limits{Members: 2})
	if err != nil || len(doc.Sections) != 2 || len(findings) != 3 || findings[0].Code != "LLMS108" || findings[1].Code != "LLMS108" {
		t.Errorf("%+v, %+v, %v", doc, findings, err)
	}
}

func TestRecognize(t *testing.T) {
	for text, want := range map[string]bool{
		"# A\n\n## B\n\n- [c](/c)\n": true, "# A\n\n## B\n\n- c\n": false, "# a comment of YAML\nb: c\n": false, "agis: \"1.0\"\n": false, "": false,
	} {
		if got := llmstxt.Recognize("file", []byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !llmstxt.Recognize("https://notes.example/llms.txt", nil) {
		t.Error("the name does not tell")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"# A\n> b\n## C\n- [d](e): f\n", "# A\n```\n## B\n```\n", "# A\r\n## B\r\n* [c](<d> \"e\")\r\n", "#", "# A\n- [](x)\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, findings, err := llmstxt.Parse(text, protocol.Limits{})
		if (doc == nil) != (err != nil) || err != nil && len(findings) == 0 {
			t.Fatalf("%v, %v, %v", doc, findings, err)
		}
	})
}
