package api_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"gazetteer/api/route"
	"gazetteer/document"
	"gazetteer/protocol/altar"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
)

// signedByReader are the operations of an inbox, which its owner signs.
var signedByReader = []string{"pull", "pull-deployed", "acknowledge", "acknowledge-deployed", "inbox-rules", "set-inbox-rules"}

// recordExample sends the request of an example and records the answer.
func recordExample(t *testing.T, h *testServer, a owner, r route.Route, e route.Example) route.Example {
	t.Helper()
	var response bufferedResponse
	if slices.Contains(signedByReader, r.ID) {
		e.Signed = true
		o := httpsig.SignOptions{}
		if r.Method == http.MethodGet {
			o.Components = httpsig.ReadComponents()
		}
		response = h.requestSigned(a.key, a.CreatorDID+did.KeyFragment, r.Method, e.Target, e.Body, o)
	} else if r.AIR && r.Method != http.MethodGet && strings.Contains(r.Path, "{air_id}") && r.ID != "rotate-key" && r.ID != "recover-agent" && r.ID != "report-agent" || r.ID == "export-agent" {
		e.Signed = true
		response = h.requestSigned(a.key, a.CreatorDID+did.KeyFragment, r.Method, e.Target, e.Body, httpsig.SignOptions{})
	} else if e.WebSocket {
		response = h.announceRuntime(e.Target)
	} else if e.Token {
		response = h.request(r.Method, e.Target, e.Body, "Content-Type", jsonType, "Authorization", "Bearer "+exampleToken, "Accept", cmp.Or(e.Accept, "*/*"))
	} else if r.Stream != "" {
		e.Signed = r.ID == "stream-mail"
		response = h.readFirstEvent(a, r, e)
	} else if e.Body != "" {
		response = h.request(r.Method, e.Target, e.Body, "Content-Type", e.BodyType)
	} else {
		response = h.request(r.Method, e.Target, "")
	}
	if response.StatusCode >= 500 {
		t.Errorf("%s: %s %s", r.ID, response.Status, response.body)
	}
	e.Status = response.StatusCode
	e.MediaType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
	e.Answer = shortenAnswer(t, r.ID, e, response.body)
	return e
}

// shortenAnswer returns an answer as an example has it: JSON with short lists, or the beginning of a
// text.
func shortenAnswer(t *testing.T, id string, e route.Example, answer []byte) json.RawMessage {
	t.Helper()
	if e.Base64 {
		return encodeJSON(t, base64.StdEncoding.EncodeToString(answer)+"\n")
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if strings.HasSuffix(e.MediaType, "json") && e.MediaType != "application/x-ndjson" && decoder.Decode(&v) == nil {
		if id == "openapi" { // the rest has the form of a description, of which tools would read it as a part
			whole := v.(map[string]any)
			v = map[string]any{"openapi": whole["openapi"], "info": whole["info"], "servers": whole["servers"]}
		}
		return encodeJSON(t, shortenLists(v))
	}
	if !utf8.Valid(answer) {
		t.Fatalf("the answer of %s is no text", id)
	}
	const most = 2000
	if len(answer) > most {
		answer = answer[:most]
		answer = answer[:max(bytes.LastIndexByte(answer, '\n'), bytes.LastIndexByte(answer, '>'))+1]
	}
	return encodeJSON(t, string(answer))
}

// readFirstEvent opens a stream and returns its answer up to the first event.
func (h *testServer) readFirstEvent(a owner, r route.Route, e route.Example) bufferedResponse {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), r.Method, h.base+e.Target, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if e.Signed {
		request.Host = "registry.example"
		o := httpsig.SignOptions{KeyID: a.CreatorDID + did.KeyFragment, Components: httpsig.ReadComponents()}
		if err := httpsig.Sign(request, nil, a.key, o); err != nil {
			h.t.Fatal(err)
		}
	}
	response, err := plain.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	if r.ID == "stream-changes" {
		h.publish("www.example.com", document.AI, jsonType, aiText("Corner Shop"), time.Now())
	}
	var text []byte
	lines := bufio.NewReader(response.Body)
	for event := false; ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			h.t.Fatalf("%s: the stream ends after %s: %v", r.ID, text, err)
		}
		text = append(text, line...)
		event = event || bytes.HasPrefix(line, []byte("data:"))
		if event && len(line) == 1 {
			return bufferedResponse{response, text}
		}
	}
}

// announceRuntime connects a runtime and returns the first message of each side, a line each.
func (h *testServer) announceRuntime(target string) bufferedResponse {
	h.t.Helper()
	ctx := h.t.Context()
	ws, response, err := websocket.Dial(ctx, h.base+target, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer runtime-token"}}})
	if err != nil {
		h.t.Fatal(err)
	}
	defer ws.CloseNow()
	announcement := altar.Encode(altar.AnnounceRuntime{RuntimeID: "tables-2", Language: "go", ProtocolVersion: "1.0.0"})
	if err := ws.Write(ctx, websocket.MessageText, announcement); err != nil {
		h.t.Fatal(err)
	}
	_, reply, err := ws.Read(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return bufferedResponse{response, []byte("> " + string(announcement) + "\n< " + string(reply) + "\n")}
}
