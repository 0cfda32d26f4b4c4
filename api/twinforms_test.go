package api_test

import (
	"strings"
	"testing"

	"gazetteer/call"
	"gazetteer/document"
)

const (
	ferryAI = `{"aiendpoint": "1.0", "service": {"name": "Ferry", "description": "Books crossings."}, "auth": {"type": "apikey", "header": "X-Ferry-Key"}, "capabilities": [
  {"id": "cancel_booking", "description": "Cancel a booking of a crossing", "endpoint": "/api/v2/bookings/{ref}", "method": "DELETE", "params": {"ref": "string, required"}}]}`
	ferryAGIS = `{agis: "1.0", service: Ferry, agtp: "agtp://ferry.example", description: Books crossings., version: "1",
vocabulary: {declared_verbs: [CANCEL], domain: travel, namespace: ferry}, endpoints: [{method: CANCEL, path: "/bookings/{ref}",
semantic: {intent: Cancel a booking of a crossing, actor: agent, outcome: The booking is cancelled, impact_tier: irreversible, is_idempotent: true, capability: modification, confidence_guidance: 0.9},
input: {type: object, properties: {ref: {type: string}}, required: [ref]}, output: {type: object}, errors: [booking_not_found]}]}`
)

// An operation that two documents describe is called over HTTP, where the AI Discovery document says
// how, and has the effects that the AGIS document declares.
func TestFormsPreferHTTP(t *testing.T) {
	h := newTestServer(t, options{})
	h.publish("ferry.example", document.AI, "application/json", ferryAI, seen)
	h.publish("ferry.example", document.AGIS, "application/agis+yaml", ferryAGIS, seen)
	h.awaitFiled()
	line := string(h.get("/api/v1/search?q=cancel+a+crossing&as=curl", 200).body)
	if want := "curl --globoff --request DELETE 'https://ferry.example/api/v2/bookings/{ref}' --header 'X-Ferry-Key: {api_key}'"; !strings.Contains(line, want) || strings.Contains(line, "X-AGIS-Method") {
		t.Errorf("got %s, want %s", line, want)
	}
	tools := readAs[call.MCP](h, "/api/v1/search?q=cancel+a+crossing&as=mcp", 200).Tools
	chosen := decoded[call.MCP](h, h.post("/api/v1/export", `{"as": "mcp", "operations": ["ferry.example/agis/CANCEL /bookings/{ref}"]}`, 200)).Tools
	for _, list := range [][]call.MCPTool{tools, chosen} {
		if len(list) != 1 || list[0].Name != "cancel_booking" || list[0].Annotations == nil || !*list[0].Annotations.Destructive || !*list[0].Annotations.Idempotent {
			t.Errorf("got %+v", list)
		}
	}
	// A document with errors is not used.
	h.publish("ferry.example", document.AI, "application/json", strings.Replace(ferryAI, `"DELETE"`, `"delete"`, 1), seen.Add(1))
	h.awaitFiled()
	if line := string(h.get("/api/v1/search?q=cancel+a+crossing&as=curl", 200).body); !strings.Contains(line, "X-AGIS-Method: CANCEL") {
		t.Errorf("got %s", line)
	}
}
