package altar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A FrameError says why a frame or a body cannot be read. The sender gets it as INVALID_PARAMETERS.
type FrameError struct {
	// Type is the member type of the frame, "" when there is none.
	Type string
	// InvocationID and SessionID are the ids in the frame, if they can be read.
	InvocationID, SessionID string
	// Broken says that the text is not JSON.
	Broken bool
	// Path is a JSON Pointer to the member that is wrong, "" when it is not one member.
	Path   string
	Reason string
}

// Error implements error.
func (e *FrameError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Protocol returns the message that answers the frame.
func (e *FrameError) Protocol() ProtocolError {
	reply := ProtocolError{Error: Errorf(InvalidParameters, "%v", e), InReplyTo: e.Type}
	if e.Path != "" {
		reply.Error.With("path", e.Path)
	}
	switch {
	case e.InvocationID != "":
		reply.InReplyTo = e.InvocationID
	case e.SessionID != "":
		reply.InReplyTo = e.SessionID
	}
	return reply
}

// Encode writes a message as a frame.
func Encode(m Message) []byte {
	if r, ok := m.(ToolResult); ok && isJSON(r.Payload) && isJSON(r.RuntimeMetadata) {
		b := append(make([]byte, 0, len(r.Payload)+len(r.RuntimeMetadata)+128), `{"type":"ToolResult",`...)
		start := len(b) - 1 // AppendToolResult begins with a brace
		b = AppendToolResult(b[:start], &r)
		b[start] = ','
		return b
	}
	text, err := json.Marshal(m)
	if err != nil {
		// The payload is not JSON, or a detail cannot be encoded.
		text, _ = json.Marshal(ProtocolError{Error: Errorf(InternalError, "a message could not be written")})
		return withType(text, ProtocolError{}.MessageType())
	}
	return withType(text, m.MessageType())
}

// isJSON reports whether a member is JSON or absent.
func isJSON(raw json.RawMessage) bool { return len(raw) == 0 || jsontext.Value(raw).IsValid() }

// withType puts the type before the members of an object.
func withType(object []byte, name string) []byte {
	frame := make([]byte, 0, len(object)+len(name)+12)
	frame = append(frame, `{"type":"`...)
	frame = append(frame, name...)
	frame = append(frame, '"')
	if len(object) > 2 {
		frame = append(frame, ',')
	}
	return append(frame, object[1:]...)
}

// AppendToolCall appends the frame of a call. The parameters must be JSON.
func AppendToolCall(b []byte, c *ToolCall) []byte {
	b = append(b, `{"type":"ToolCall","invocation_id":`...)
	b = appendString(b, c.InvocationID)
	if c.SessionID != "" {
		b = append(b, `,"session_id":`...)
		b = appendString(b, c.SessionID)
	}
	b = append(b, `,"tool_name":`...)
	b = appendString(b, c.ToolName)
	b = append(b, `,"parameters":`...)
	b = append(b, c.Parameters...)
	if c.TimeoutMS > 0 {
		b = append(b, `,"timeout_ms":`...)
		b = strconv.AppendInt(b, c.TimeoutMS, 10)
	}
	if c.ClientInvocationID != "" {
		b = append(b, `,"client_invocation_id":`...)
		b = appendString(b, c.ClientInvocationID)
	}
	return append(b, '}')
}

// AppendStreamChunk appends a chunk as an object without type, for an event of a client. The payload
// must be JSON.
func AppendStreamChunk(b []byte, c *StreamChunk) []byte {
	b = append(b, `{"invocation_id":`...)
	b = appendString(b, c.InvocationID)
	b = append(b, `,"chunk_id":`...)
	b = strconv.AppendInt(b, c.ChunkID, 10)
	if len(c.Payload) > 0 {
		b = append(b, `,"payload":`...)
		b = append(b, c.Payload...)
	}
	if c.Error != nil {
		b = appendError(append(b, `,"error":`...), c.Error)
	}
	b = append(b, `,"is_final":`...)
	b = strconv.AppendBool(b, c.IsFinal)
	return append(b, '}')
}

// AppendToolResult appends a result as an object without type. The payload and the metadata must be
// JSON.
func AppendToolResult(b []byte, r *ToolResult) []byte {
	b = append(b, `{"invocation_id":`...)
	b = appendString(b, r.InvocationID)
	b = append(b, `,"status":`...)
	b = appendString(b, r.Status)
	if len(r.Payload) > 0 {
		b = append(b, `,"payload":`...)
		b = append(b, r.Payload...)
	}
	if r.Error != nil {
		b = appendError(append(b, `,"error":`...), r.Error)
	}
	if len(r.RuntimeMetadata) > 0 {
		b = append(b, `,"runtime_metadata":`...)
		b = append(b, r.RuntimeMetadata...)
	}
	return append(b, '}')
}

func appendError(b []byte, e *Error) []byte {
	text, err := json.Marshal(e)
	if err != nil {
		text = []byte(`{"code":"INTERNAL_ERROR","message":"the error could not be written"}`)
	}
	return append(b, text...)
}

// ReadMessage reads a frame: a JSON object with the member type, without duplicate names. It
// ignores members that the message does not define, unless strict. The error is a [*FrameError].
func ReadMessage(text []byte, strict bool) (Message, error) {
	name, err := frameType(text)
	if err != nil {
		return nil, err
	}
	if !strict { // what nearly every frame is goes a shorter way
		switch name {
		case "ToolResult":
			if r, ok := scanResult(text); ok {
				return r, nil
			}
		case "ToolCall":
			if c, ok := scanToolCall(text); ok {
				return c, nil
			}
		}
	}
	read, known := readerOf(name)
	if !known {
		reason := fmt.Sprintf("the type %.60q is unknown", name)
		if name == "" {
			reason = "the frame has no type"
		}
		return nil, describeFrame(text, name, "", reason)
	}
	m, err := read(text, strict)
	if err != nil {
		path, reason := describeDecode(err)
		return nil, describeFrame(text, name, path, reason)
	}
	if missing := missingMember(m, text); missing != "" {
		return nil, describeFrame(text, name, "/"+missing, "is missing")
	}
	return m, nil
}

// missingMember returns a required member that is absent or null, and whose default would change the
// meaning: no tools, or the first chunk.
func missingMember(m Message, text []byte) string {
	switch m := m.(type) {
	case FulfillTools:
		if m.ToolNames == nil {
			return "tool_names"
		}
	case StreamChunk:
		if m.ChunkID == noChunk {
			return "chunk_id"
		}
		if m.ChunkID != 0 {
			return ""
		}
		// The decoder takes null for 0.
		if members, err := frameMembers(text); err == nil && members["chunk_id"].Kind() == 'n' {
			return "chunk_id"
		}
	}
	return ""
}

// noChunk is the initial chunk_id of a chunk that is being read, to notice a missing one.
const noChunk = math.MinInt64

func readerOf(name string) (func([]byte, bool) (Message, error), bool) {
	switch name {
	case "ToolResult":
		return readAs[ToolResult], true
	case "StreamChunk":
		return readAs[StreamChunk], true
	case "ToolCall":
		return readAs[ToolCall], true
	case "CancelCall":
		return readAs[CancelCall], true
	case "FulfillTools":
		return readAs[FulfillTools], true
	case "RequestFulfillment":
		return readAs[RequestFulfillment], true
	case "AnnounceRuntime":
		return readAs[AnnounceRuntime], true
	case "AcknowledgeRuntime":
		return readAs[AcknowledgeRuntime], true
	case "ProtocolError":
		return readAs[ProtocolError], true
	case "CreateSession":
		return readAs[CreateSession], true
	case "DestroySession":
		return readAs[DestroySession], true
	case "SessionCreated":
		return readAs[SessionCreated], true
	case "SessionDestroyed":
		return readAs[SessionDestroyed], true
	}
	return nil, false
}

// typed is a message together with its type, as in a frame.
type typed[M Message] struct {
	Type string `json:"type"`
	Body M      `json:",embed"`
}

func readAs[M Message](text []byte, strict bool) (Message, error) {
	var in typed[M]
	if chunk, ok := any(&in.Body).(*StreamChunk); ok {
		chunk.ChunkID = noChunk
	}
	if err := jsonv2.Unmarshal(text, &in, jsonv2.RejectUnknownMembers(strict)); err != nil {
		return nil, err
	}
	return in.Body, nil
}

// ReadBody reads the body of a client's request: an object with the message's members and no
// others, none of them null. A member type is optional and must be the name of the message. The
// error is a [*FrameError].
func ReadBody[M Message](text []byte) (M, error) {
	var in typed[M]
	name := in.Body.MessageType()
	members, err := frameMembers(text)
	if err != nil {
		return in.Body, err
	}
	if path, reason := refuseMember(name, members); reason != "" {
		return in.Body, describeFrame(text, name, path, reason)
	}
	if err := jsonv2.Unmarshal(text, &in, jsonv2.RejectUnknownMembers(true)); err != nil {
		path, reason := describeDecode(err)
		return in.Body, describeFrame(text, name, path, reason)
	}
	return in.Body, nil
}

// refuseMember returns where a member of a client's message stands that decoding would take for an
// absent one, and what is wrong with it; reason is "" for none.
func refuseMember(name string, members map[string]jsontext.Value) (path, reason string) {
	for _, member := range slices.Sorted(maps.Keys(members)) {
		value, at := members[member], "/"+escapePointer(member)
		switch {
		case member == "parameters": // the contract judges them
		case value.Kind() == 'n':
			return at, "is null: leave the member out instead"
		case member == "type" && textOf(value) != name:
			return at, fmt.Sprintf("is %.60s, want %q", value, name)
		case member == "session_id" && string(value) == `""` && name != (CreateSession{}).MessageType():
			return at, "is empty"
		case (member == "timeout_ms" || member == "client_invocation_id") && name == (ToolCall{}).MessageType():
			return at, "is set by the Host, not by the client"
		case member == "security_context":
			var inner map[string]jsontext.Value
			if jsonv2.Unmarshal(value, &inner) != nil {
				continue // decoding says what is wrong
			}
			for _, member := range slices.Sorted(maps.Keys(inner)) {
				if inner[member].Kind() == 'n' {
					return at + "/" + escapePointer(member), "is null: leave the member out instead"
				}
			}
		}
	}
	return "", ""
}

// ReadCall reads the body of a client's call like [ReadBody], and its parameters like [ReadValue],
// in one pass.
func ReadCall(text []byte) (ToolCall, error) {
	if call, ok := scanCall(text); ok {
		return call, nil
	}
	return ReadBody[ToolCall](text) // it says what is wrong, or takes what is written in another way
}

// scanCall reads a call that has only the usual members. It returns false for any other text.
func scanCall(text []byte) (call ToolCall, ok bool) {
	err := scanObject(text, func(d *jsontext.Decoder, name string) (err error) {
		switch name {
		case "invocation_id":
			call.InvocationID, err = scanString(d)
		case "tool_name":
			call.ToolName, err = scanString(d)
		case "parameters":
			begin := d.InputOffset()
			if call.Values, err = decodeValue(d, 0); err == nil {
				call.Parameters = bytes.TrimLeft(text[begin:d.InputOffset()], ": \t\r\n")
			}
		default:
			err = errNotScanned
		}
		return err
	})
	return call, err == nil && call.Values != nil
}

// ReadResult reads a frame of a runtime that is a result, as [ReadMessage] does but in less time. It
// returns false for any other frame, and for one that only ReadMessage can read.
func ReadResult(text []byte) (ToolResult, bool) {
	if !bytes.HasPrefix(text, []byte(`{"type":"ToolResult"`)) {
		return ToolResult{}, false
	}
	return scanResult(text)
}

// scanResult reads a result of a runtime. It returns false for any text that needs the slower
// reader.
func scanResult(text []byte) (r ToolResult, ok bool) {
	err := scanObject(text, func(d *jsontext.Decoder, name string) (err error) {
		switch name {
		case "invocation_id":
			r.InvocationID, err = scanString(d)
		case "status":
			var status []byte
			if status, err = scanUnescaped(d); string(status) == Success {
				r.Status = Success // without an allocation
			} else {
				r.Status = string(status)
			}
		case "payload":
			r.Payload, err = scanRaw(d)
		case "runtime_metadata":
			r.RuntimeMetadata, err = scanRaw(d)
		case "error":
			err = errNotScanned
		default:
			err = d.SkipValue()
		}
		return err
	})
	return r, err == nil
}

// scanToolCall reads a call of the Host. It returns false for any text that needs the slower
// reader.
func scanToolCall(text []byte) (c ToolCall, ok bool) {
	err := scanObject(text, func(d *jsontext.Decoder, name string) (err error) {
		switch name {
		case "invocation_id":
			c.InvocationID, err = scanString(d)
		case "session_id":
			c.SessionID, err = scanString(d)
		case "tool_name":
			c.ToolName, err = scanString(d)
		case "parameters":
			c.Parameters, err = scanRaw(d)
		case "timeout_ms":
			var number jsontext.Value
			if number, err = d.ReadValue(); err == nil {
				c.TimeoutMS, err = strconv.ParseInt(string(number), 10, 64)
			}
		case "client_invocation_id":
			c.ClientInvocationID, err = scanString(d)
		case "confirmation":
			err = errNotScanned
		default:
			err = d.SkipValue()
		}
		return err
	})
	return c, err == nil
}

var errNotScanned = errors.New("not scanned")

// scanners is a pool of decoders for [scanObject]: creating one costs more than reading a frame.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanner is a decoder and the text that it reads.
type scanner struct {
	text    bytes.Buffer
	decoder jsontext.Decoder
}

// scanObject calls member for each member of the object in text; member reads the value. A name
// with escapes is errNotScanned.
func scanObject(text []byte, member func(d *jsontext.Decoder, name string) error) error {
	s := scanners.Get().(*scanner)
	defer func() {
		s.text = bytes.Buffer{}
		scanners.Put(s)
	}()
	s.text = *bytes.NewBuffer(text)
	d := &s.decoder
	d.Reset(&s.text)
	if d.PeekKind() != '{' {
		return errNotScanned
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := scanUnescaped(d)
		if err != nil {
			return err
		}
		if err := member(d, nameOf(name)); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errNotScanned
	}
	return nil
}

// nameOf returns the name of a member that a message has, without an allocation; "" for another.
func nameOf(name []byte) string {
	for _, known := range [...]string{"invocation_id", "session_id", "tool_name", "parameters", "timeout_ms", "status", "payload", "error", "runtime_metadata", "client_invocation_id", "confirmation", "chunk_id", "is_final", "type"} {
		if string(name) == known {
			return known
		}
	}
	return ""
}

// scanUnescaped reads a string without escapes. The bytes are valid until the next read.
func scanUnescaped(d *jsontext.Decoder) ([]byte, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	if v.Kind() != '"' || bytes.IndexByte(v, '\\') >= 0 {
		return nil, errNotScanned
	}
	return v[1 : len(v)-1], nil
}

func scanString(d *jsontext.Decoder) (string, error) {
	text, err := scanUnescaped(d)
	return string(text), err
}

func scanRaw(d *jsontext.Decoder) (json.RawMessage, error) {
	v, err := d.ReadValue()
	return json.RawMessage(bytes.Clone(v)), err
}

// frameType returns the type of a frame. Most frames begin with it.
func frameType(text []byte) (string, error) {
	if rest, first := bytes.CutPrefix(text, []byte(`{"type":"`)); first {
		if name, _, ok := bytes.Cut(rest, []byte{'"'}); ok && len(name) < 40 && bytes.IndexByte(name, '\\') < 0 {
			switch string(name) { // without an allocation
			case "ToolResult":
				return "ToolResult", nil
			case "ToolCall":
				return "ToolCall", nil
			}
			return string(name), nil
		}
	}
	members, err := frameMembers(text)
	if err != nil {
		return "", err
	}
	return textOf(members["type"]), nil
}

// frameMembers returns the members of a frame.
func frameMembers(text []byte) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	err := jsonv2.Unmarshal(text, &members)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		bad := &FrameError{Broken: true, Reason: "broken JSON: " + strings.TrimPrefix(syntax.Error(), "jsontext: ")}
		// A duplicate name or half a surrogate pair in a payload does not hide whose frame it is.
		var readable map[string]jsontext.Value
		twice := errors.Is(err, jsontext.ErrDuplicateName) && strings.Count(string(syntax.JSONPointer), "/") == 1
		if !twice && jsonv2.Unmarshal(text, &readable, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
			bad.Type, bad.InvocationID, bad.SessionID = textOf(readable["type"]), textOf(readable["invocation_id"]), textOf(readable["session_id"])
		}
		return nil, bad
	}
	if err != nil || members == nil {
		return nil, &FrameError{Reason: "want a JSON object"}
	}
	return members, nil
}

func textOf(v jsontext.Value) string {
	var s string
	if jsonv2.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// describeFrame returns the error of a frame with the ids that it can read from it.
func describeFrame(text []byte, name, path, reason string) error {
	members, err := frameMembers(text)
	if err != nil {
		return err
	}
	return &FrameError{Type: name, InvocationID: textOf(members["invocation_id"]), SessionID: textOf(members["session_id"]), Path: path, Reason: reason}
}

// describeDecode describes the problem of a member and says where it is.
func describeDecode(err error) (path, reason string) {
	semantic, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return "", strings.TrimPrefix(err.Error(), "json: ")
	}
	path = string(semantic.JSONPointer)
	switch {
	case errors.Is(err, jsonv2.ErrUnknownName):
		return path, "there is no such member"
	case semantic.GoType == nil:
		return path, "does not fit"
	}
	value := string(semantic.JSONValue) // only of a number where a number is wanted
	switch semantic.JSONKind {
	case '0':
		value = cmp.Or(value, "a number")
	case '"':
		value = "a string"
	case 't', 'f':
		value = "a boolean"
	case '[':
		value = "an array"
	case '{':
		value = "an object"
	}
	return path, fmt.Sprintf("%.60s is no %s", cmp.Or(value, "the value"), kindName(semantic.GoType.Kind().String()))
}

func kindName(kind string) string {
	switch kind {
	case "int64":
		return "integer of 64 bits"
	case "slice":
		return "list"
	case "map", "struct", "ptr":
		return "object"
	case "bool":
		return "boolean"
	}
	return kind
}
