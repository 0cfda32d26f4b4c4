package call_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/call"
	"gazetteer/internal/need"
)

// TestProgramsCall runs the programs that are shown and looks at the requests that arrive. The
// names are as hostile as a document can make them.
func TestProgramsCall(t *testing.T) {
	python, node := need.Program(t, "python3"), need.Program(t, "node")
	requests := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if r.ParseMultipartForm(1000) == nil {
			for name, files := range r.MultipartForm.File {
				fmt.Fprintf(&body, "%s has %d bytes, ", name, files[0].Size)
			}
			fmt.Fprint(&body, r.MultipartForm.Value)
		}
		body.ReadFrom(r.Body)
		requests <- fmt.Sprintf("%s %s|%s|%s|%s", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Place"), body.String())
	}))
	defer server.Close()
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "{photo}"), []byte("{photo}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		how  call.How
		want string
	}{
		"a read": {call.How{Protocol: "http", Method: "GET", URL: server.URL + "/tables", Parameters: []call.PlacedParameter{{Name: "day", In: "query", Required: true}, {Name: "X-Place", In: "header", Required: true}}},
			"GET /tables|day={day}|{X-Place}|"},
		"a write": {call.How{Protocol: "http", Method: "POST", URL: server.URL + "/tables", MediaType: "application/json", Parameters: []call.PlacedParameter{{Name: `"); process.exit(7) //\`, In: "body"}, {Name: "Gäste", In: "body", Type: "integer", Sample: "3"}}},
			`POST /tables|||{"\"); process.exit(7) //\\":"{\"); process.exit(7) //\\}","Gäste":3}`},
		"a form with a file": {call.How{Protocol: "http", Method: "POST", URL: server.URL + "/photos", MediaType: call.MultipartType, Parameters: []call.PlacedParameter{
			{Name: "photo", In: "body", File: true}, {Name: `a"b` + "\r\n", In: "body", Sample: `"it's\n<b>é\\"`}, {Name: "room", In: "body", Type: "integer", Sample: "7"}}},
			`POST /photos|||photo has 7 bytes, map[a%22b%0D%0A:[its<b>é\] room:[7]]`},
	} {
		for language, run := range map[string]struct {
			write   func() (string, bool)
			command []string
		}{
			"Python": {c.how.Python, []string{python, "-"}}, "JavaScript": {c.how.JavaScript, []string{node, "--input-type=module", "-"}},
		} {
			program, ok := run.write()
			if !ok {
				t.Fatalf("%s in %s: no program", name, language)
			}
			command := exec.Command(run.command[0], run.command[1:]...)
			command.Stdin, command.Dir = strings.NewReader(program), files
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s in %s: %v\n%s\n%s", name, language, err, program, out)
			}
			if got := <-requests; strings.NewReplacer("%7B", "{", "%7D", "}").Replace(got) != c.want {
				t.Errorf("%s in %s: %s, want %s", name, language, got, c.want)
			}
		}
	}
	if _, ok := (call.How{Protocol: "agtp", Method: "BOOK", URL: "agtp://a.test"}).Python(); ok {
		t.Error("a program calls over AGTP")
	}
}
