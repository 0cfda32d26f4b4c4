package corpus

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gazetteer/document"
)

// TestIntents shows what becomes of summaries as directories have them.
func TestIntents(t *testing.T) {
	for _, c := range []struct {
		method, verb, summary, want string
	}{
		{"GET", "LIST", "List of currencies", "LIST Shows currencies"},
		{"GET", "RETRIEVE", "Get Payment. Get a previous payment (transaction)", "RETRIEVE Shows a previous payment (transaction)"},
		{"POST", "CREATE", "Create Profile. Create a new payment profile", "CREATE Creates a new payment profile"},
		{"DELETE", "REMOVE", "Deleting droplets by tag", "REMOVE Deletes droplets by tag"},
		{"DELETE", "REMOVE", "Permanently delete a file", "REMOVE Permanently deletes a file"},
		{"PATCH", "UPDATE", "Partially updates a reservation", "UPDATE Partially updates a reservation"},
		{"GET", "LIST", "Job Types. The Job Types endpoint returns details of all job types", "LIST Returns details of all job types"},
		{"GET", "LIST", "Followers. This endpoint allows the client to retrieve a list of followers.", "LIST Retrieves a list of followers"},
		{"DELETE", "REMOVE", "Use this endpoint to permanently Delete an appointment", "REMOVE Permanently deletes an appointment"},
		{"POST", "CREATE", "The method setthermpoint changes the temperature", "CHANGE Changes the temperature"},
		{"POST", "START", "Start Training. Returns a URL", "START Starts Training: returns a URL"}, // to return is not to start
		{"POST", "STORE", "Store details and submit a payout", "STORE Stores details and submits a payout"},
		{"GET", "RETRIEVE", "Obtain a access token", "RETRIEVE Obtains an access token"},
		{"GET", "SEARCH", "Search for issues using JQL (GET)", "SEARCH Searches for issues using JQL"},
		{"GET", "LIST", "", "LIST Shows bill types"},
	} {
		op := Operation{Verb: c.verb, Method: c.method, Path: "/bill-types", Intent: c.summary}
		if verb, intent := op.verbAndIntent(nil, []string{"bill-types"}); verb+" "+intent != c.want {
			t.Errorf("%q becomes %s %q, want %q", c.summary, verb, intent, c.want)
		}
	}
}

// clumsyText matches what people do not write: a verb without an object, a second verb where the object
// belongs, words about the interface itself, markup, and an end that is missing.
var clumsyText = regexp.MustCompile(`^\w+ ?$|^\w+s (?:get|getting|deleting|creating|updating|lookup|browse|manually|permanently) ` +
	`|^(?:Lists|Welcome|You can|This) |\b(\w{3,}) ([a-z]\w+) [Ee]ndpoint\b|DEPRECATED|\b(?:an?|the) (?:an?|the)\b|[<>*\x60]|\]\(|https?:|…|[,:;(]$`)

// repeatsWord reports whether a word of the text stands twice in a row.
func repeatsWord(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	for i := range len(words) - 1 {
		if words[i] == words[i+1] {
			return true
		}
	}
	return false
}

// TestTextsAreWritten reads the description and the operations of every generated service:
// each text must come from texts.txt and must not have the faults of texts made by rule.
func TestTextsAreWritten(t *testing.T) {
	texts, err := readTexts("../../..")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, text := range texts {
		written[text] = true
	}
	files, err := filepath.Glob("../testdata/services/*/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	count := 0
	check := func(name, text string) {
		count++
		if !written[text] {
			t.Errorf("%s: %q is not in texts.txt", name, text)
		}
		if clumsyText.MatchString(text) || repeatsWord(text) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for _, name := range files {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "summary.json") {
			continue
		}
		kind := document.AGIS
		if base == "ai.json" {
			kind = document.AI
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := document.Read(document.Input{Kind: kind, Host: "a.test", Bytes: text})
		if err != nil {
			t.Fatal(name, err)
		}
		check(name, d.Service.Description)
		for _, op := range d.Operations {
			check(name, op.Intent)
			if clumsyText.MatchString(op.Outcome) || repeatsWord(op.Outcome) {
				t.Errorf("%s: %q", name, op.Outcome)
			}
		}
	}
	if count < 3000 {
		t.Errorf("%d texts were read", count)
	}
}
