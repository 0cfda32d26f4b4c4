package driver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// Verdicts.
const (
	Accept           = "accept"
	Reject           = "reject"
	AlreadyProcessed = "already-processed"
)

// An Outcome is a verdict and the reason for it.
type Outcome struct {
	Verdict string  `json:"verdict"`
	Status  int     `json:"status"`
	Error   *string `json:"error"` // the text of A2A §9, null for none
	Rule    string  `json:"rule,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}

// A Result is the answer to one case in one profile. Members that the operation does not have are
// left out; after a rejection, all of them are.
type Result struct {
	ID      json.RawMessage `json:"id"`
	Profile string          `json:"profile"`
	Outcome
	CanonicalB64    string          `json:"canonical_b64,omitempty"`
	CanonicalSHA256 string          `json:"canonical_sha256,omitempty"`
	SignatureForm   string          `json:"signature_form,omitempty"`
	PublicKeyHex    string          `json:"public_key_hex,omitempty"`
	SealedBodyJSON  json.RawMessage `json:"sealed_body_json,omitempty"`
	PlaintextB64    string          `json:"plaintext_b64,omitempty"`
	AirID           string          `json:"air_id,omitempty"`
	Warning         string          `json:"warning,omitempty"`
	Steps           []Outcome       `json:"steps,omitempty"`
}

// maxLine is the longest case, in bytes.
const maxLine = 64 << 20

// Run answers the cases of in until its end, each before it reads the next. The error is that of
// reading or writing, or of ctx.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for ctx.Err() == nil {
		line, err := readLine(lines)
		if len(bytes.TrimSpace(line)) > 0 {
			if err := writeResults(out, Answer(ctx, line)); err != nil {
				return fmt.Errorf("write an answer: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a case: %w", err)
		}
	}
	return ctx.Err()
}

// readLine reads a line. Of a line that is too long it returns only the beginning, which is not
// valid JSON.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

func writeResults(out io.Writer, results [2]Result) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range results {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// profiles lists the profiles in the order of the answers.
var profiles = [2]a2a.Profile{a2a.Strict, a2a.Wire}

// Answer answers one case in both profiles, strict first.
func Answer(ctx context.Context, line []byte) (results [2]Result) {
	c := &input{}
	id := json.RawMessage("null")
	defer func() {
		if failure := recover(); failure != nil {
			text := http.StatusText(http.StatusInternalServerError)
			for i := range results {
				results[i] = Result{Outcome: Outcome{Verdict: Reject, Status: http.StatusInternalServerError, Error: &text, Detail: fmt.Sprint(failure)}}
			}
		}
		for i := range results {
			results[i].ID, results[i].Profile = id, profiles[i].String()
		}
	}()
	both := func(r Result) [2]Result { return [2]Result{r, r} }
	outer, err := membersOf(line)
	if raw := outer["id"]; json.Valid(raw) {
		id = json.RawMessage(raw)
	}
	if err == nil {
		if c.members, err = membersOf(outer["input"]); err != nil {
			err = fmt.Errorf("input: %w", err)
		}
	}
	if err != nil {
		return both(rejectedResult(fmt.Errorf("the case cannot be read: %w", err)))
	}
	op, _ := textOf(outer["op"])
	if answer := commonOperations()[op]; answer != nil {
		return both(answer(c))
	}
	switch op {
	case "verify":
		return c.answerVerify(ctx)
	case "verify_then_open":
		return c.answerOpen(ctx)
	case "receive_all":
		return c.answerReceive(ctx)
	}
	return both(rejectedResult(fmt.Errorf("there is no op %.60q: the ops are %s", op, strings.Join(operationNames(), ", "))))
}

// commonOperations are the operations with the same answer in both profiles.
func commonOperations() map[string]func(*input) Result {
	return map[string]func(*input) Result{
		"canonicalize": (*input).answerCanonicalize, "decode_public_key": (*input).answerDecodeKey, "register_public_key": (*input).answerRegisterKey,
		"seal": (*input).answerSeal, "air_id_from_identity_document": (*input).answerDeriveAirID, "parse_air_id": (*input).answerParseAirID,
	}
}

// operationNames lists the names of all operations.
func operationNames() []string {
	names := []string{"verify", "verify_then_open", "receive_all"}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(commonOperations()))))
}

func acceptedResult() Result { return Result{Outcome: Outcome{Verdict: Accept, Status: http.StatusOK}} }

func rejectedResult(err error) Result { return Result{Outcome: outcomeOf(err)} }

// outcomeOf returns the outcome of an error, nil for none.
func outcomeOf(err error) Outcome {
	if err == nil {
		return Outcome{Verdict: Accept, Status: http.StatusOK}
	}
	r, ok := errors.AsType[*a2a.Refusal](err)
	if !ok {
		r = &a2a.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Detail: err.Error()}
		if e, ok := errors.AsType[*did.Error](err); ok {
			r.Rule = e.Code
		}
		if e, ok := errors.AsType[*jcs.Error](err); ok {
			r.Rule = string(e.Problem)
		}
	}
	return Outcome{Verdict: Reject, Status: r.Status, Error: &r.Reason, Rule: r.Rule, Detail: r.Detail}
}

// membersOf splits a JSON object into its members and keeps their bytes. The last of two members
// with one name counts, because a case may hold an invalid document on purpose.
func membersOf(object jsontext.Value) (map[string]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	members := map[string]jsontext.Value{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return members, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return members, err
		}
		end := dec.InputOffset()
		members[key] = object[end-int64(len(value)) : end]
	}
	return members, nil
}

// elementsOf splits a JSON array.
func elementsOf(array jsontext.Value) ([]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(array), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '[' {
		return nil, errors.New("it is no JSON array")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var elements []jsontext.Value
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := dec.InputOffset()
		elements = append(elements, array[end-int64(len(value)):end])
	}
	return elements, nil
}

// textOf returns a JSON string, and false for anything else.
func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, _ := jsontext.AppendUnquote(nil, v) // invalid UTF-8 becomes U+FFFD
	return string(text), true
}
