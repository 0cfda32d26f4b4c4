package route

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// codesText has the codes of problems by operation ID. The tests of package api record them from the
// answers that they get, and refuse an answer with a code that is not recorded.
//
//go:embed codes.json
var codesText []byte

// Codes returns the codes of the problems that an operation answers with because of its request, by
// operation ID. Limits (429) and failures of the server (from 500 on) are common to all operations and not
// in it. Callers must not change it.
func Codes() (map[string][]string, error) { return readCodes() }

var readCodes = sync.OnceValues(func() (map[string][]string, error) {
	var codes map[string][]string
	if err := json.Unmarshal(codesText, &codes); err != nil {
		return nil, fmt.Errorf("read the codes of the operations: %w", err)
	}
	return codes, nil
})

// codesExtension is the member of an operation with its codes in the description of the API.
const codesExtension = "x-problem-codes"

// addCodes describes the codes of an operation.
func addCodes(op *huma.Operation, codes []string) {
	problem := op.Responses["default"]
	if len(codes) == 0 || problem == nil {
		return
	}
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	op.Extensions[codesExtension] = codes
	problem.Description = "A problem. Usual codes: " + strings.Join(codes, ", ") + ". Limits (429) and failures (from 500 on) have others; x-problems explains all."
}

// KindsOf returns the kinds of problems in the description of an operation.
func KindsOf(op *huma.Operation) []ProblemKind {
	codes, _ := op.Extensions[codesExtension].([]string)
	var kinds []ProblemKind
	for _, code := range codes {
		kinds = append(kinds, problemKinds[code])
	}
	return kinds
}
