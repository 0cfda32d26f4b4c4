package altar_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/altar"
)

func TestTypes(t *testing.T) {
	for text, want := range map[string]altar.Type{
		"string": {Base: "string"}, "array[integer]": {Base: "integer", Arrays: 1}, "array[array[object]]": {Base: "object", Arrays: 2},
	} {
		got, err := altar.ParseType(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "number", "array", "array[]", "array[string", "array[null]", "String", strings.Repeat("array[", 17) + "string" + strings.Repeat("]", 17)} {
		if got, err := altar.ParseType(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// everything is a contract with a parameter of each type.
var everything = altar.Contract{Name: "everything", Parameters: []altar.ParameterSchema{
	{Name: "s", Type: "string"}, {Name: "i", Type: "integer"}, {Name: "f", Type: "float"}, {Name: "b", Type: "boolean"}, {Name: "bin", Type: "binary"},
	{Name: "list", Type: "array[integer]"}, {Name: "grid", Type: "array[array[float]]"}, {Name: "open", Type: "object"},
	{Name: "closed", Type: "object", Properties: []altar.ParameterSchema{}},
	{Name: "who", Type: "object", Properties: []altar.ParameterSchema{{Name: "name", Type: "string", Required: true}, {Name: "a/b~c", Type: "integer"}}},
	{Name: "rows", Type: "array[object]", Properties: []altar.ParameterSchema{{Name: "n", Type: "integer", Required: true}}},
}}

func TestParametersAreChecked(t *testing.T) {
	for _, test := range []struct{ parameters, path string }{
		{`{}`, "ok"},
		{`{"s":"x","i":9223372036854775807,"f":1.5,"b":true,"bin":"AAEC","list":[1,2],"grid":[[1],[2.5]],"open":{"any":[1,"x"]},"closed":{},"who":{"name":"n"},"rows":[{"n":1}]}`, "ok"},
		{`{"i":-9223372036854775808}`, "ok"}, {`{"i":-0}`, "ok"}, {`{"f":1}`, "ok"}, {`{"f":1e308}`, "ok"}, {`{"bin":""}`, "ok"},
		{`{"i":9223372036854775808}`, "/i"}, {`{"i":-9223372036854775809}`, "/i"}, {`{"i":1.0}`, "/i"}, {`{"i":1e2}`, "/i"}, {`{"i":"1"}`, "/i"},
		{`{"f":1e400}`, "/f"}, {`{"f":"NaN"}`, "/f"}, {`{"s":1}`, "/s"}, {`{"s":null}`, "/s"}, {`{"b":0}`, "/b"},
		{`{"bin":"A A="}`, "/bin"}, {`{"bin":"AAE\n"}`, "/bin"}, {`{"bin":"AAE"}`, "/bin"}, {`{"bin":"AAF="}`, "/bin"}, {`{"bin":"-_8="}`, "/bin"},
		{`{"list":[1,"2"]}`, "/list/1"}, {`{"list":1}`, "/list"}, {`{"list":[null]}`, "/list/0"}, {`{"grid":[[1],2]}`, "/grid/1"},
		{`{"open":{"deep":{"null":null}}}`, "/open/deep/null"}, {`{"open":[]}`, "/open"}, {`{"closed":{"x":1}}`, "/closed/x"},
		{`{"who":{}}`, "/who/name"}, {`{"who":{"name":"n","a/b~c":"x"}}`, "/who/a~1b~0c"}, {`{"rows":[{"n":1},{}]}`, "/rows/1/n"},
		{`{"more":1}`, "/more"}, {`[]`, ""}, {`"x"`, ""}, {`null`, ""},
	} {
		v, err := altar.ReadValue([]byte(test.parameters))
		if err != nil {
			t.Fatalf("%s: %v", test.parameters, err)
		}
		wrong := everything.CheckParameters(v)
		if test.path == "ok" {
			if wrong != nil {
				t.Errorf("%s: %v", test.parameters, wrong)
			}
			continue
		}
		if wrong == nil || wrong.Code != altar.InvalidParameters || wrong.Details["path"] != test.path {
			t.Errorf("%s: %v, want the path %q", test.parameters, wrong, test.path)
		}
	}
}

// The text of one refusal names up to five problems, so that a call is not repaired one by one.
func TestRefusalNamesSeveralProblems(t *testing.T) {
	for n, want := range map[int]string{
		1: "/0: is missing", 2: "/0: is missing; /1: is missing",
		7: "/0: is missing; /1: is missing; /2: is missing; /3: is missing; /4: is missing; and 2 more",
	} {
		var problems []altar.Problem
		for i := range n {
			problems = append(problems, altar.Problem{Path: "/" + strconv.Itoa(i), Message: "is missing"})
		}
		if got := altar.ParametersError(problems).Message; got != want {
			t.Errorf("%d problems: %q, want %q", n, got, want)
		}
	}
}

func TestIntegersKeepAllDigits(t *testing.T) {
	v, err := altar.ReadValue([]byte(`{"i":9007199254740993,"list":[-0,-9223372036854775808]}`))
	if err != nil {
		t.Fatal(err)
	}
	if wrong := everything.CheckParameters(v); wrong != nil {
		t.Fatal(wrong)
	}
	if got := string(altar.AppendValue(nil, v)); got != `{"i":9007199254740993,"list":[0,-9223372036854775808]}` {
		t.Error(got)
	}
}

func TestEqualValuesHaveOneCanonicalForm(t *testing.T) {
	canonical := func(text string) string {
		v, err := altar.ReadValue([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return string(altar.AppendCanonical(nil, v))
	}
	for _, same := range [][]string{
		{`{"a":1,"b":2}`, ` { "b" : 2.0, "a":1 }`}, {`0`, `-0`, `0.000`, `0e5`, `-0.0`}, {`100`, `1e2`, `1.00E+2`, `1000e-1`}, {`"\u0041"`, `"A"`}, {`0.25`, `25e-2`},
		{`1e99999999999999999999`, `1e99999999999999999999`},
	} {
		for _, text := range same[1:] {
			if canonical(text) != canonical(same[0]) {
				t.Errorf("%s and %s differ: %s, %s", same[0], text, canonical(same[0]), canonical(text))
			}
		}
	}
	for _, pair := range [][2]string{{`1`, `"1"`}, {`1`, `-1`}, {`9007199254740993`, `9007199254740992`}, {`[1,2]`, `[2,1]`}, {`10`, `1`}, {`{}`, `[]`}} {
		if canonical(pair[0]) == canonical(pair[1]) {
			t.Errorf("%s and %s are the same: %s", pair[0], pair[1], canonical(pair[0]))
		}
	}
	for _, broken := range []string{``, `{`, `{"a":1,"a":2}`, `1 2`, `NaN`, `01`, "\"\xff\"", strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if v, err := altar.ReadValue([]byte(broken)); err == nil {
			t.Errorf("%.20q was read as %v", broken, v)
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	ttl := int64(5)
	for _, m := range []altar.Message{
		altar.AnnounceRuntime{RuntimeID: "r", Language: "go", ProtocolVersion: "1.0.0", Capabilities: []string{"streaming"}},
		altar.AcknowledgeRuntime{HostID: "h", ProtocolVersion: "1.0.0"}, altar.RequestFulfillment{}, altar.RequestFulfillment{SessionID: "s", ToolNames: []string{"a"}},
		altar.FulfillTools{ToolNames: []string{"a", "b"}}, altar.ToolCall{InvocationID: "i", ToolName: "a", Parameters: json.RawMessage(`{"n":9223372036854775807}`), TimeoutMS: 7},
		altar.ToolResult{InvocationID: "i", Status: "success", Payload: json.RawMessage(`[1]`)}, altar.ToolResult{InvocationID: "i", Status: "error", Error: altar.Errorf(altar.ExecutionFailed, "no")},
		altar.StreamChunk{InvocationID: "i", ChunkID: math.MaxInt64, Payload: json.RawMessage(`"x"`)}, altar.CancelCall{InvocationID: "i", Reason: "timeout"},
		altar.CreateSession{TTLSeconds: &ttl, SecurityContext: &altar.SecurityContext{TenantID: "t"}}, altar.DestroySession{SessionID: "s"},
		altar.SessionCreated{SessionID: "s", TTLSeconds: 60, ExpiresAt: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)}, altar.SessionDestroyed{SessionID: "s"},
		altar.ProtocolError{Error: altar.Errorf(altar.InternalError, "x"), InReplyTo: "y"},
	} {
		back, err := altar.ReadMessage(altar.Encode(m), true)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s came back as %#v, %v", altar.Encode(m), back, err)
		}
	}
	call := altar.ToolCall{InvocationID: "i\"", SessionID: "s", ToolName: "a", Parameters: json.RawMessage(`{}`), TimeoutMS: 7, ClientInvocationID: "c\""}
	if back, err := altar.ReadMessage(altar.AppendToolCall(nil, &call), true); err != nil || !reflect.DeepEqual(back, call) {
		t.Errorf("%#v, %v", back, err)
	}
	chunk := altar.StreamChunk{InvocationID: "i", ChunkID: 3, Error: altar.Errorf(altar.ExecutionFailed, "x"), IsFinal: true}
	var back altar.StreamChunk
	if err := json.Unmarshal(altar.AppendStreamChunk(nil, &chunk), &back); err != nil || !reflect.DeepEqual(back, chunk) {
		t.Errorf("%#v, %v", back, err)
	}
}

func TestInvalidFrameErrors(t *testing.T) {
	for _, test := range []struct {
		text, inReplyTo, about string
	}{
		{`{`, "", "broken JSON"}, {`[]`, "", "object"}, {`null`, "", "object"}, {`{"type":"ToolResult","invocation_id":"i","invocation_id":"j"}`, "", "broken JSON"},
		{`{}`, "", "no type"}, {`{"type":5}`, "", "no type"}, {`{"type":"Dance","session_id":"s"}`, "s", "Dance"}, {`{"type":"Dance"}`, "Dance", "unknown"},
		{`{"type":"StreamChunk","invocation_id":"i","chunk_id":9223372036854775808}`, "i", "chunk_id"},
		{`{"type":"StreamChunk","invocation_id":"i","chunk_id":"0"}`, "i", "/chunk_id"},
		{`{"invocation_id":"i","type":"StreamChunk","chunk_id":1.0}`, "i", "/chunk_id"}, {`{"type":"FulfillTools","session_id":"s"}`, "s", "/tool_names"}, {`{"type":"StreamChunk","invocation_id":"i"}`, "i", "/chunk_id"},
		{`{"type":"FulfillTools","tool_names":"a"}`, "FulfillTools", "/tool_names"},
		{"{\"type\":\"FulfillTools\",\"session_id\":\"\xff\"}", "FulfillTools", "broken JSON"},
		{`{"type":"StreamChunk","invocation_id":"i","chunk_id":null}`, "i", "/chunk_id"},
		{`{"type":"ToolResult","invocation_id":"i","status":"success","payload":{"a":1,"a":2}}`, "i", "broken JSON"},
		{`{"type":"ToolResult","invocation_id":"i","status":"success","payload":"\ud800"}`, "i", "broken JSON"},
	} {
		m, err := altar.ReadMessage([]byte(test.text), false)
		wrong, ok := err.(*altar.FrameError)
		if !ok {
			t.Errorf("%s: %v, %v", test.text, m, err)
			continue
		}
		reply := wrong.Protocol()
		if reply.InReplyTo != test.inReplyTo || reply.Error.Code != altar.InvalidParameters || !strings.Contains(reply.Error.Message, test.about) {
			t.Errorf("%s: %q %v", test.text, reply.InReplyTo, reply.Error)
		}
	}
	if _, err := altar.ReadMessage([]byte(`{"type":"CancelCall","invocation_id":"i","more":1}`), false); err != nil {
		t.Errorf("an extra member: %v", err)
	}
}

func TestClientBodiesAreParsedStrictly(t *testing.T) {
	if _, err := altar.ReadBody[altar.ToolCall]([]byte(`{"type":"ToolCall","invocation_id":"i","tool_name":"t","parameters":{}}`)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{"type":"ToolResult","invocation_id":"i"}`, `{"invocation_id":"i","more":1}`, `{"invocation_id":7}`, `{"Invocation_ID":"i"}`} {
		if _, err := altar.ReadBody[altar.ToolCall]([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		} else if err.(*altar.FrameError).Broken {
			t.Errorf("%s: %v counts as broken", text, err)
		}
	}
	refused := func(path, message string, err error) {
		t.Helper()
		bad, ok := err.(*altar.FrameError)
		if !ok || bad.Broken || bad.Path != path || bad.Protocol().Error.Details["path"] != path || bad.Error() != path+": "+message {
			t.Errorf("%v, want %s: %s", err, path, message)
		}
	}
	const null = "is null: leave the member out instead"
	for _, test := range []struct{ text, path, message string }{
		{`{"ttl_seconds":null}`, "/ttl_seconds", null}, {`{"session_id":null}`, "/session_id", null}, {`{"type":null}`, "/type", null},
		{`{"security_context":null}`, "/security_context", null}, {`{"security_context":{"tenant_id":null}}`, "/security_context/tenant_id", null},
		{`{"type":""}`, "/type", `is "", want "CreateSession"`}, {`{"more":1}`, "/more", "there is no such member"},
		{`{"ttl_seconds":"1"}`, "/ttl_seconds", "a string is no integer of 64 bits"}, {`{"ttl_seconds":true}`, "/ttl_seconds", "a boolean is no integer of 64 bits"},
		{`{"ttl_seconds":1.5}`, "/ttl_seconds", "1.5 is no integer of 64 bits"}, {`{"session_id":5}`, "/session_id", "a number is no string"},
		{`{"security_context":[]}`, "/security_context", "an array is no object"},
	} {
		_, err := altar.ReadBody[altar.CreateSession]([]byte(test.text))
		refused(test.path, test.message, err)
	}
	for _, test := range []struct{ text, path, message string }{
		{`{"invocation_id":null,"tool_name":"t"}`, "/invocation_id", null},
		{`{"invocation_id":"i","tool_name":"t","confirmation":null}`, "/confirmation", null}, {`{"invocation_id":"i","tool_name":"t","session_id":""}`, "/session_id", "is empty"},
		{`{"invocation_id":"i","tool_name":"t","timeout_ms":0}`, "/timeout_ms", "is set by the Host, not by the client"},
		{`{"invocation_id":"i","tool_name":"t","client_invocation_id":"i"}`, "/client_invocation_id", "is set by the Host, not by the client"},
	} {
		_, err := altar.ReadCall([]byte(test.text))
		refused(test.path, test.message, err)
	}
	if call, err := altar.ReadCall([]byte(`{"invocation_id":"i","tool_name":"t","parameters":null}`)); err != nil || string(call.Parameters) != "null" {
		t.Errorf("%s, %v", call.Parameters, err) // checking the parameters says where null stands
	}
	if _, err := altar.ReadBody[altar.CreateSession]([]byte(`{"session_id":"","security_context":{"claims":{"a":null}}}`)); err != nil {
		t.Error(err)
	}
	for text, broken := range map[string]bool{``: true, `{`: true, `{} {}`: true, `{"a":1,"a":2}`: true, ` null`: false, `[]`: false, `"x"`: false} {
		if _, err := altar.ReadBody[altar.CreateSession]([]byte(text)); err == nil || err.(*altar.FrameError).Broken != broken {
			t.Errorf("%s: %v, want broken %v", text, err, broken)
		}
	}
}

func TestContractsAreChecked(t *testing.T) {
	if err := everything.Check(); err != nil {
		t.Error(err)
	}
	for text, about := range map[string]string{
		`{"name":"a b"}`: "letters", `{"name":""}`: "characters", `{"name":"` + strings.Repeat("x", 65) + `"}`: "64",
		`{"name":"a","parameters":[{"name":"p","type":"number"}]}`:                             "/parameters/0/type",
		`{"name":"a","parameters":[{"name":"p","type":"string"},{"name":"p","type":"float"}]}`: "twice",
		`{"name":"a","parameters":[{"name":"p","type":"string","properties":[]}]}`:             "only an object",
		`{"name":"a","effect":"bad"}`:                                                          "effect", `{"name":"a","timeout_ms":-1}`: "timeout_ms", `{"name":"a","input_schema":{"type":"string"}}`: "object schema",
	} {
		var c altar.Contract
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},
"properties":{"name":{"type":"string"},"n":{"type":["integer","null"]},"x":{"type":"number"},"at":{"$ref":"#/$defs/address","description":"where"},"many":{"type":"array","items":{"$ref":"#/$defs/address"}},
"any":{},"size":{"enum":["s","m"]},"raw":{"type":"string","contentEncoding":"base64"}},"required":["name"],"additionalProperties":false}`

func TestMCPToolsBecomeContracts(t *testing.T) {
	yes := true
	tool := altar.MCPTool{Name: "order", Description: "Order it", InputSchema: json.RawMessage(schema2020), Annotations: &altar.MCPAnnotations{ReadOnly: &yes}}
	c, err := altar.ContractOf(tool)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, p := range c.Parameters {
		types[p.Name] = p.Type
	}
	if want := map[string]string{"name": "string", "n": "integer", "x": "float", "at": "object", "many": "array[object]", "size": "string", "raw": "binary"}; !reflect.DeepEqual(types, want) {
		t.Errorf("%v", types)
	}
	if back := c.MCP(); string(back.InputSchema) != schema2020 || c.Effect != altar.Informational || !*back.Annotations.ReadOnly {
		t.Errorf("%+v", back)
	}
	for text, good := range map[string]bool{
		`{"name":"a","any":[1],"at":{"city":"x"}}`: true, `{"name":"a","at":{}}`: false, `{"name":"a","other":1}`: false, `{"any":1}`: false,
	} {
		v, err := altar.ReadValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if wrong := c.CheckParameters(v); (wrong == nil) != good {
			t.Errorf("%s: %v", text, wrong)
		}
	}
	plain := everything.Schema()
	if parameters, err := altar.ParametersOf(plain); err != nil || len(parameters) != len(everything.Parameters) {
		t.Errorf("%s: %v, %v", plain, parameters, err)
	}
	if _, err := altar.ContractOf(altar.MCPTool{Name: "x", InputSchema: json.RawMessage(`{"type":"array"}`)}); err == nil {
		t.Error("an array was taken for the input of a tool")
	}
}

func TestVersions(t *testing.T) {
	own, _ := altar.ParseVersion(altar.Current)
	for text, want := range map[string]string{"1.0": "1.0.0", "1.0.0": "1.0.0", "1.7.3": "1.0.0"} {
		v, err := altar.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := altar.Negotiate(own, v); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"2.0.0", "0.9"} {
		v, err := altar.ParseVersion(text)
		if _, refused := altar.Negotiate(own, v); err != nil || refused == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "1", "v1.0", "1.0.0.0", "1.-1", "a.b"} {
		if v, err := altar.ParseVersion(text); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte(`{"type":"StreamChunk","invocation_id":"i","chunk_id":0,"payload":{"a":[1,2.5,"x",null]},"is_final":true}`))
	f.Add([]byte(`{"type":"ToolCall","invocation_id":"i","tool_name":"everything","parameters":{"i":-0,"who":{"name":"n"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := altar.ReadMessage(text, false)
		if err != nil {
			return
		}
		again, err := altar.ReadMessage(altar.Encode(m), true)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", text, altar.Encode(m), err)
		}
		if call, ok := again.(altar.ToolCall); ok {
			v, err := altar.ReadValue(call.Parameters)
			if err == nil && everything.CheckParameters(v) == nil {
				if _, err := altar.ReadValue(altar.AppendValue(nil, v)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// A schema that refers to itself many times ends, and what cannot be expressed is left to the schema.
func TestSchemasThatReferToThemselves(t *testing.T) {
	properties := map[string]any{"name": map[string]any{"type": "string"}}
	for i := range 100 {
		properties[fmt.Sprintf("child%d", i)] = map[string]any{"$ref": "#"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := altar.ContractOf(altar.MCPTool{Name: "tree", InputSchema: schema}); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

// The short way that most frames go gives what the long way gives.
func TestFastPathEqualsSlowPath(t *testing.T) {
	for _, text := range []string{
		`{"type":"ToolResult","invocation_id":"i","status":"success","payload": {"a" : [1, null]},"runtime_metadata":{}}`,
		`{"type":"ToolResult","status":"error","invocation_id":"\u0069","error":{"code":"EXECUTION_FAILED","message":"m"}}`,
		`{"type":"ToolResult","invocation_id":"i","status":"success","payload":null}`, `{"type":"ToolResult"}`,
		`{"type":"ToolResult","invocation_id":5,"status":"success"}`, `{"type":"ToolResult","invocation_id":"i","status":"success","payload":{"a":1,"a":2}}`,
		`{"type":"ToolResult","invocation_id":"i","status":"success"} x`, `{"type":"ToolResult","invocation_id":"i","status":null}`,
		`{"type":"ToolCall","invocation_id":"i","session_id":"s","tool_name":"t","parameters":{"n":9007199254740993},"timeout_ms":5,"client_invocation_id":"c"}`,
		`{"type":"ToolCall","invocation_id":"i","tool_name":"t","parameters":{},"timeout_ms":1.5}`, `{"type":"ToolCall","invocation_id":"i","confirmation":"c"}`,
	} {
		short, shortErr := altar.ReadMessage([]byte(text), false)
		long, longErr := altar.ReadMessage([]byte(text), true) // strict reading has no short way
		if fmt.Sprint(shortErr) != fmt.Sprint(longErr) || !reflect.DeepEqual(short, long) {
			t.Errorf("%s:\n%+v, %v\n%+v, %v", text, short, shortErr, long, longErr)
		}
	}
	for _, m := range []altar.ToolResult{
		{InvocationID: "i\n", Status: "success", Payload: json.RawMessage(`{"a":1}`), RuntimeMetadata: json.RawMessage(`{}`)}, {Status: "error", Error: altar.Errorf(altar.ExecutionFailed, "no")},
	} {
		back, err := altar.ReadMessage(altar.Encode(m), true)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%+v, %v, want %+v", back, err, m)
		}
	}
	if m, err := altar.ReadMessage(altar.Encode(altar.ToolResult{InvocationID: "i", Status: "success", Payload: json.RawMessage(`{`)}), true); err != nil || m.MessageType() != "ProtocolError" {
		t.Errorf("a payload that is no JSON: %+v, %v", m, err)
	}
}

func TestCallsAreParsedOnce(t *testing.T) {
	c, err := altar.ReadCall([]byte(` { "parameters" : {"n": 1} , "tool_name":"t","invocation_id":"i" } `))
	if err != nil || string(c.Parameters) != `{"n": 1}` || !reflect.DeepEqual(c.Values, map[string]any{"n": altar.Number("1")}) || c.ToolName != "t" || c.InvocationID != "i" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = altar.ReadCall([]byte(`{"type":"ToolCall","session_id":"s","tool_name":"t","invocation_id":"i","parameters":[]}`))
	if err != nil || string(c.Parameters) != `[]` || c.SessionID != "s" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{``, `{`, `{}x`, `{"parameters":{"a":1,"a":2}}`, `{"zzz":1}`, `{"tool_name":5}`, `{"type":"ToolResult"}`, `{"parameters":{}}{}`, strings.Repeat(`{"parameters":`, 100)} {
		if c, err := altar.ReadCall([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, c)
		}
	}
}
