package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
)

// vectors are the cases of testdata/vectors.json.
type vectors struct {
	ToMCP []struct {
		ID               string            `json:"id"`
		Endpoints        []json.RawMessage `json:"endpoints"`
		Tools            []map[string]any  `json:"tools"`
		UniqueNames      bool              `json:"unique_names"`
		OneOfNames       []string          `json:"one_of_names"`
		ForbiddenMembers []string          `json:"forbidden_members"`
	} `json:"to_mcp"`
	FromMCP []struct {
		ID       string          `json:"id"`
		Tool     json.RawMessage `json:"tool"`
		Endpoint *struct {
			Method, Path, Intent, Actor string
		} `json:"endpoint"`
		RejectedMethod string   `json:"rejected_method"`
		Suggested      []string `json:"suggested"`
		Review         []string `json:"review"`
	} `json:"from_mcp"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.ToMCP)+len(v.FromMCP) != 13 {
		t.Fatalf("%d cases, want 13", len(v.ToMCP)+len(v.FromMCP))
	}
	return v
}

// around puts endpoints into a document.
func around(endpoints []json.RawMessage) []byte {
	verbs := map[string]bool{}
	var list []string
	for _, e := range endpoints {
		var m struct{ Method string }
		_ = json.Unmarshal(e, &m)
		verbs[m.Method] = true
		list = append(list, string(e))
	}
	return fmt.Appendf(nil, `{"agis":"1.0","service":"S","agtp":"agtp://s.example","description":"d","version":"1",
		"vocabulary":{"declared_verbs":[%s],"domain":"d"},"endpoints":[%s]}`,
		`"`+strings.Join(slices.Sorted(maps.Keys(verbs)), `","`)+`"`, strings.Join(list, ","))
}

type toolsList struct {
	Tools []map[string]any `json:"tools"`
}

func TestAGISToMCPVectors(t *testing.T) {
	for _, c := range readVectors(t).ToMCP {
		t.Run(c.ID, func(t *testing.T) {
			out, err := FromAGIS(around(c.Endpoints), conversion.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got toolsList
			if err := json.Unmarshal(out.Text, &got); err != nil {
				t.Fatal(err)
			}
			for _, tool := range slices.Concat(got.Tools, c.Tools) {
				if s, ok := tool["description"].(string); ok { // the note of the case "hints" says so
					tool["description"] = strings.Join(strings.Fields(s), " ")
				}
			}
			if c.Tools != nil && !reflect.DeepEqual(got.Tools, c.Tools) {
				t.Errorf("tools %v, want %v", got.Tools, c.Tools)
			}
			seen := map[any]bool{}
			for _, tool := range got.Tools {
				if seen[tool["name"]] {
					t.Errorf("the name %v stands twice", tool["name"])
				}
				seen[tool["name"]] = true
				for _, name := range c.ForbiddenMembers {
					if _, ok := tool[name]; ok {
						t.Errorf("the tool has the member %s", name)
					}
				}
			}
			if c.UniqueNames && (got.Tools[0]["name"] != "find_restaurant" || got.Tools[1]["name"] != "find_restaurant_by_id") {
				t.Errorf("names %v", seen)
			}
			if c.OneOfNames != nil && got.Tools[0]["name"] != "find_patient_record" {
				t.Errorf("name %v, want the form with an underscore", got.Tools[0]["name"])
			}
		})
	}
}

func TestMCPToAGISVectors(t *testing.T) {
	for _, c := range readVectors(t).FromMCP {
		t.Run(c.ID, func(t *testing.T) {
			out, err := ToAGIS(fmt.Appendf(nil, `{"tools":[%s]}`, c.Tool), conversion.Options{Name: "S", URL: "https://s.example"})
			if bytes.Contains(out.Text, []byte("a list of tools has no address")) {
				t.Error("the address was given, and a review says that there is none")
			}
			var tool struct{ Name string }
			if json.Unmarshal(c.Tool, &tool) != nil {
				t.Fatal("the case is broken")
			}
			m := splitToolName(tool.Name)
			if m.rejected != c.RejectedMethod {
				t.Errorf("rejected %q, want %q", m.rejected, c.RejectedMethod)
			}
			if c.Suggested != nil && !reflect.DeepEqual(m.suggested, c.Suggested) {
				t.Errorf("suggested %v, want %v", m.suggested, c.Suggested)
			}
			if c.Endpoint == nil {
				if m.suggested == nil && err == nil || m.verb == "" && (err == nil || !strings.Contains(err.Error(), tool.Name)) {
					t.Errorf("error %v: it must say that the tool cannot become an endpoint", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d := parseAGIS(t, out.Text)
			e := d.Endpoints[0]
			want := *c.Endpoint
			if e.Method != want.Method || e.Path != want.Path || e.Semantic.Actor != want.Actor || want.Intent != "" && e.Semantic.Intent != want.Intent {
				t.Errorf("endpoint %+v, want %+v", e, want)
			}
			// Facts that a list of tools never contains are always reviewed; the case lists the
			// other reviews.
			var reviewed []string
			for _, r := range out.Reviews {
				switch name := r.Pointer[strings.LastIndexByte(r.Pointer, '/')+1:]; name {
				case "method", "path", "intent":
					reviewed = append(reviewed, name)
				}
			}
			if !slices.Equal(reviewed, c.Review) {
				t.Errorf("reviews of %v, want %v", reviewed, c.Review)
			}
		})
	}
}

// parseAGIS reads a document that must have no error.
func parseAGIS(t testing.TB, text []byte) *agis.Document {
	t.Helper()
	d, findings, err := agis.Parse(text, agis.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			t.Fatalf("%s at %s: %s\n%s", f.Code, f.Pointer, f.Message, text)
		}
	}
	return d
}

// TestToolsRoundTrip checks that tools whose names and descriptions follow AGIS are the same after
// a round trip.
func TestToolsRoundTrip(t *testing.T) {
	tools := `{"tools": [
	{"name": "book_reservation", "description": "Books a restaurant reservation",
		"inputSchema": {"type": "object", "properties": {"party_size": {"type": "integer", "minimum": 1}}, "required": ["party_size"]},
		"outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
		"annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false}},
	{"name": "search_room", "description": "Searches rooms by city", "inputSchema": {"type": "object"},
		"annotations": {"readOnlyHint": true, "idempotentHint": true}},
	{"name": "search_room_list", "description": "Searches rooms in a list", "inputSchema": {"type": "object", "$defs": {"a": {"type": "string"}},
		"properties": {"a": {"$ref": "#/$defs/a"}}, "additionalProperties": false}},
	{"name": "remove_user", "description": "Removes a user", "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
		"annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true}}
	]}`
	for _, format := range []string{"yaml", "json"} {
		there, err := ToAGIS([]byte(tools), conversion.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		parseAGIS(t, there.Text)
		back, err := FromAGIS(there.Text, conversion.Options{Extended: true})
		if err != nil {
			t.Fatal(err)
		}
		var want, got toolsList
		if json.Unmarshal([]byte(tools), &want) != nil || json.Unmarshal(back.Text, &got) != nil {
			t.Fatal("no JSON")
		}
		for i, w := range want.Tools {
			for member := range w {
				if i == 2 && member == "inputSchema" {
					continue // its $defs are written anew, below
				}
				if !reflect.DeepEqual(got.Tools[i][member], w[member]) {
					t.Errorf("%v: %s is %v, want %v", w["name"], member, got.Tools[i][member], w[member])
				}
			}
		}
	}
}

func TestReferencesAreBundled(t *testing.T) {
	document := `{"agis":"1.0","service":"S","agtp":"agtp://s.example","description":"d","version":"1",
	"vocabulary":{"declared_verbs":["FIND"],"domain":"d"},
	"schemas":{"Node":{"type":"object","properties":{"next":{"$ref":"#/schemas/Node"},"tag":{"$ref":"#/schemas/Tag"}}},"Tag":{"type":"string"},
		"In":{"type":"object","properties":{"root":{"$ref":"#/schemas/Node"}},"required":["root"]}},
	"endpoints":[{"method":"FIND","path":"/node","semantic":{"intent":"Finds nodes","actor":"agent","outcome":"o"},
		"input":{"$ref":"#/schemas/In"},"output":{"$ref":"#/schemas/Node"},"errors":["node_not_found"]}]}`
	out, err := FromAGIS([]byte(document), conversion.Options{Extended: true})
	if err != nil {
		t.Fatal(err)
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tool := root.Member("tools").Items[0]
	for _, name := range []string{"inputSchema", "outputSchema"} {
		schema := tool.Member(name)
		if schema.Member("type").Str() != "object" || schema.Member("properties") == nil {
			t.Errorf("%s: %s", name, protocol.WriteJSON(schema, ""))
		}
		refs := 0
		var walk func(n *protocol.Node)
		walk = func(n *protocol.Node) {
			if ref := n.Member("$ref"); ref != nil {
				refs++
				def, ok := strings.CutPrefix(ref.Text, "#/$defs/")
				if ref.Text != "#" && (!ok || schema.Member("$defs").Member(def) == nil) {
					t.Errorf("%s: the reference %s leads out of the schema", name, ref.Text)
				}
			}
			for _, item := range n.Items {
				walk(item)
			}
		}
		walk(schema)
		if refs < 2 {
			t.Errorf("%s has %d references: %s", name, refs, protocol.WriteJSON(schema, ""))
		}
	}
}

func TestToolNames(t *testing.T) {
	endpoint := func(method, path, tool string) json.RawMessage {
		if tool != "" {
			tool = `,"mcp_tool_name":"` + tool + `"`
		}
		return json.RawMessage(`{"method":"` + method + `","path":"` + path + `","semantic":{"intent":"Finds it","actor":"agent","outcome":"o"` + tool +
			`},"input":{"type":"object"},"output":{"type":"object"},"errors":["not_possible"]}`)
	}
	long := strings.Repeat("long-", 20) + "noun"
	out, err := FromAGIS(around([]json.RawMessage{
		endpoint("FIND", "/room", ""), endpoint("FIND", "/room/{id}", ""), endpoint("FIND", "/room/{id}/bed", ""),
		endpoint("FIND", "/room/{id}/bed/{bed_id}", ""), endpoint("FIND", "/seat", "find_room"), endpoint("LIST", "/"+long, ""), endpoint("LIST", "/"+long+"/{id}", ""),
	}), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got toolsList
	if err := json.Unmarshal(out.Text, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range got.Tools {
		name := tool["name"].(string)
		if len(name) > maxToolName || slices.Contains(names, name) {
			t.Errorf("the name %s is too long or stands twice", name)
		}
		names = append(names, name)
	}
	want := []string{"find_room_2", "find_room_by_id", "find_room_id_bed", "find_room_by_id_bed_bed_id", "find_room"}
	if !slices.Equal(names[:5], want) {
		t.Errorf("names %q, want %q", names[:5], want)
	}
}

// A declared name that is used twice or too long gives another one, and a review says so.
func TestDeclaredToolNames(t *testing.T) {
	endpoint := func(path, tool string) json.RawMessage {
		return json.RawMessage(`{"method":"FIND","path":"` + path + `","semantic":{"intent":"Finds it","actor":"agent","outcome":"o","mcp_tool_name":"` + tool +
			`"},"input":{"type":"object"},"output":{"type":"object"},"errors":["not_possible"]}`)
	}
	longest := strings.Repeat("a", maxToolName)
	out, err := FromAGIS(around([]json.RawMessage{
		endpoint("/room", "find_it"), endpoint("/seat", "find_it"), endpoint("/bed", longest), endpoint("/table", longest+"a"),
	}), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got toolsList
	if err := json.Unmarshal(out.Text, &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"find_it", "find_seat", longest, "find_table"} {
		if name := got.Tools[i]["name"]; name != want {
			t.Errorf("tool %d is %q, want %q", i, name, want)
		}
	}
	var reviews []string
	for _, r := range out.Reviews {
		if r.Pointer == "/tools/3/name" {
			reviews = append(reviews, fmt.Sprint(r))
		}
	}
	if len(reviews) != 1 || !strings.Contains(reviews[0], "1 to 64") {
		t.Errorf("reviews %q of %+v", reviews, out.Reviews)
	}
}

func TestMCPInputs(t *testing.T) {
	tool := `{"name":"listPets","inputSchema":{"type":"object"}}`
	for _, text := range []string{`[` + tool + `]`, `{"tools":[` + tool + `]}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`, tool, "tools:\n- name: list_pets\n"} {
		out, err := ToAGIS([]byte(text), conversion.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if e := parseAGIS(t, out.Text).Endpoints[0]; e.Method != "LIST" || e.Path != "/pets" {
			t.Errorf("%s: %s %s", text, e.Method, e.Path)
		}
	}
	for text, want := range map[string]string{
		`{"openapi":"3.0.0"}`:      "OpenAPI description",
		`[]`:                       "empty",
		`[{"title":"x"}]`:          "has no name",
		`[{"name":"weather_now"}]`: `"WEATHER"`,
		`3`:                        "a number",
		`[`:                        "unreadable",
	} {
		if _, err := ToAGIS([]byte(text), conversion.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
