package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gazetteer/api/route"
)

var updateCodes = flag.Bool("update-codes", false, "write route/codes.json anew; only with all tests")

// codesFile has the codes of problems by operation.
const codesFile = "route/codes.json"

// seenCodes are the codes of the problems that the tests have got, by operation.
var seenCodes = struct {
	sync.Mutex
	byOperation map[string]map[string]bool
}{byOperation: map[string]map[string]bool{}}

// recordCode records the code of an answer. It leaves out limits and failures, which every operation can
// answer with, and answers of addresses and methods that are not served.
func recordCode(operator bool, method, path string, status int, body []byte) {
	if status < 400 || status >= 500 || status == http.StatusTooManyRequests {
		return
	}
	var problem struct {
		Code string `json:"code"`
	}
	id := operationAt(operator, method, path)
	if id == "" || json.Unmarshal(body, &problem) != nil || problem.Code == "not-found" || problem.Code == "method-not-allowed" {
		return
	}
	if !slices.ContainsFunc(route.ProblemKinds(), func(k route.ProblemKind) bool { return k.Code == problem.Code }) {
		return // of the relay or of the tool host
	}
	seenCodes.Lock()
	defer seenCodes.Unlock()
	if seenCodes.byOperation[id] == nil {
		seenCodes.byOperation[id] = map[string]bool{}
	}
	seenCodes.byOperation[id][problem.Code] = true
}

// operationAt returns the operation that answers a request, "" for none. A literal segment of a path goes
// before a parameter.
func operationAt(operator bool, method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	id, most := "", -1
	for _, row := range route.Table {
		if row.Method != method || row.Operator && !operator {
			continue
		}
		if literal, ok := matchPath(row.Path, path); ok && literal > most {
			id, most = row.ID, literal
		}
	}
	return id
}

// matchPath reports whether a path fits a pattern, and how many of its segments are literal.
func matchPath(pattern, path string) (literal int, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, segment := range want {
		switch {
		case strings.HasPrefix(segment, "*"):
			return literal, len(got) > i
		case i >= len(got) || got[i] == "" && i > 0:
			return 0, false
		case strings.HasPrefix(segment, "{"):
		case segment == got[i]:
			literal++
		default:
			return 0, false
		}
	}
	return literal, len(want) == len(got)
}

// checkCodes compares the codes that the tests have got with the recorded ones, and returns the exit code
// of the tests. A run of some tests gets some of the codes.
func checkCodes() int {
	seenCodes.Lock()
	defer seenCodes.Unlock()
	seen := map[string][]string{}
	for id, codes := range seenCodes.byOperation {
		seen[id] = slices.Sorted(maps.Keys(codes))
	}
	if *updateCodes {
		if err := writeCodes(seen); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	recorded, err := route.Codes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	result := 0
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		for _, code := range seen[id] {
			if !slices.Contains(recorded[id], code) && !dependsOnTime(code) {
				fmt.Fprintf(os.Stderr, "%s answers with the code %s, and %s does not say so: go test ./api -update-codes writes it anew\n", id, code, codesFile)
				result = 1
			}
		}
	}
	return result
}

// dependsOnTime reports whether a code can be the result of a race between requests or of a slow machine,
// so that not every run of the tests gets it.
func dependsOnTime(code string) bool {
	return slices.ContainsFunc(route.ProblemKinds(), func(k route.ProblemKind) bool {
		return k.Code == code && slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed}, k.Status)
	})
}

func writeCodes(seen map[string][]string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(seen); err != nil {
		return err
	}
	return os.WriteFile(codesFile, b.Bytes(), 0o644)
}

// TestDescriptionNamesCodes checks that the description of an operation names its codes, each of which is
// a kind of problem, and that no code is recorded for an operation that does not exist.
func TestDescriptionNamesCodes(t *testing.T) {
	codes, err := route.Codes()
	if err != nil {
		t.Fatal(err)
	}
	for id, list := range codes {
		if !slices.ContainsFunc(route.Table, func(r route.Route) bool { return r.ID == id }) {
			t.Errorf("%s has codes for %s, which is no operation", codesFile, id)
		}
		for _, code := range list {
			if !slices.ContainsFunc(route.ProblemKinds(), func(k route.ProblemKind) bool { return k.Code == code }) {
				t.Errorf("%s: %s is no kind of problem", id, code)
			}
		}
	}
	h := newTestServer(t, options{})
	var described struct {
		Paths map[string]map[string]struct {
			ID        string   `json:"operationId"`
			Codes     []string `json:"x-problem-codes"`
			Responses map[string]struct{ Description string }
		}
	}
	decodeInto(t, h.get("/openapi.json", 200), &described)
	named := 0
	for _, methods := range described.Paths {
		for _, op := range methods {
			if !slices.Equal(op.Codes, codes[op.ID]) {
				t.Errorf("%s names the codes %v, want %v", op.ID, op.Codes, codes[op.ID])
			}
			for _, code := range op.Codes {
				named++
				if !strings.Contains(op.Responses["default"].Description, code) {
					t.Errorf("%s: the description of its problems does not name %s", op.ID, code)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("the description names %d codes", named)
	}
}
