package web_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gazetteer/api/route"
)

// TestReferenceRequestsWork sends the requests about agents that the API reference shows, and checks
// that it shows a request for every operation.
func TestReferenceRequestsWork(t *testing.T) {
	h := openTestServer(t, "reservations.acme.test", "stripe.test", "doctor.test", "klarna.test")
	get := func(address string) (status int, text string) {
		response, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	examples, err := route.Examples()
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`aria-label="Request">(curl [^<]*)</pre>`)
	request := func(id string) string {
		_, page := get(h.url + "/docs/" + id)
		if found := shown.FindStringSubmatch(page); found != nil {
			return html.UnescapeString(found[1])
		}
		t.Errorf("the reference shows no request for %s", id)
		return ""
	}
	for _, id := range []string{"stream-changes", "status-stream", "openapi"} {
		request(id)
	}
	_, agent := get(h.url + "/docs/agent")
	for _, meaning := range []string{"the handle; null for none", "the parts of the score", "evidence says what it rests on"} {
		if !strings.Contains(agent, meaning) {
			t.Errorf("the members of an agent lack %q", meaning)
		}
	}
	_, reference := get(h.url + "/docs")
	if search, export := strings.Index(reference, `href="/docs/search"><code>`), strings.Index(reference, `href="/docs/export-operations"><code>`); search < 0 || export < search {
		t.Errorf("the reference has the search at %d and the export at %d", search, export)
	}
	_, description := get(h.url + "/openapi.json")
	if strings.Contains(description, `{"name":"operator"`) || strings.Contains(description, `"name":"operator","description"`) || !strings.Contains(description, `"name":"search"`) {
		t.Error("the description has a tag without an operation, or lacks that of the search")
	}
	sent := 0
	for id, e := range examples {
		if e.Signed || e.Body != "" || !strings.Contains(e.Target, "AIR-") {
			continue
		}
		line := request(id)
		if strings.Contains(line, " -X ") {
			continue
		}
		_, path, _ := strings.Cut(line, "https://gazetteer.test")
		path, _, _ = strings.Cut(path, "'")
		if status, text := get(h.url + path); status != http.StatusOK {
			t.Errorf("the request of %s, %s, is answered with %d %.200s", id, path, status, text)
		}
		sent++
	}
	if sent < 10 {
		t.Errorf("only %d requests are about agents", sent)
	}
}

// TestReferenceListsErrorCodes checks that the reference has every kind of problem of the description of
// the API, that operations lead to it, and that alternative credentials are called so.
func TestReferenceListsErrorCodes(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	var described struct {
		Problems map[string]struct{ Status int } `json:"x-problems"`
	}
	if err := json.Unmarshal(get(t, h, "/openapi.json").Body.Bytes(), &described); err != nil || len(described.Problems) < 40 {
		t.Fatalf("%d kinds of problems, %v", len(described.Problems), err)
	}
	reference := parse(t, get(t, h, "/docs").Body.String())
	listed := map[string]string{}
	for _, row := range elements(byID(reference, "codes").Parent, "tr") {
		if cells := elements(row, "td"); len(cells) == 2 {
			listed[textOf(elements(row, "th")[0])] = textOf(cells[0])
		}
	}
	for code, kind := range described.Problems {
		if listed[code] != strconv.Itoa(kind.Status) {
			t.Errorf("the reference lists %s with the status %q, want %d", code, listed[code], kind.Status)
		}
	}
	update := get(t, h, "/docs/update-agent").Body.String()
	if !strings.Contains(update, "One of these is enough:") || !strings.Contains(update, `href="/docs#codes"`) {
		t.Errorf("the page of an operation does not say which credentials and errors there are: %s", update)
	}
	if text := textOf(parse(t, update)); !strings.Contains(text, "Usual codes: ") || !strings.Contains(text, "no-agent (404)") {
		t.Errorf("the page of an operation does not name its codes: %s", text)
	}
	if search := get(t, h, "/docs/search").Body.String(); strings.Contains(search, "One of these") {
		t.Error("a public operation needs credentials")
	}
}

// TestUnknownOperationLeadsToNearOnes checks that the page of an unknown operation names those that it may mean.
func TestUnknownOperationLeadsToNearOnes(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	for id, want := range map[string][]string{"badge": {"/docs/agent-badge", "/docs/service-badge"}, "serach": {"/docs/search"}, "zzz": nil} {
		var got []string
		for _, a := range elements(byID(parse(t, get(t, h, "/docs/"+id).Body.String()), "main"), "a") {
			if address := attribute(a, "href"); strings.HasPrefix(address, "/docs/") {
				got = append(got, address)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s leads to %q, want %q", id, got, want)
		}
	}
}
