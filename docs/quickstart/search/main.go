// Search goes from words to a call, and to the inbox of an agent.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
)

var base = cmp.Or(os.Getenv("BASE"), "http://127.0.0.1:8080")

// hit is what the program reads of a result of a search.
type hit struct {
	Host      string `json:"host"`
	Operation struct {
		ID, Verb, Intent string
	} `json:"operation"`
	Call how `json:"call"`
}

// how says how an operation is called.
type how struct {
	Method, URL string
	HTTPBinding string `json:"http_binding"` // of an operation of AGTP that can be called over HTTP: its verb is in a header
	Parameters  []struct{ Name, In string }
}

// get asks for path and decodes the answer into v.
func get(path string, parameters url.Values, v any) {
	answer, err := http.Get(base + path + "?" + parameters.Encode())
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		log.Fatal(path, ": ", answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(v); err != nil {
		log.Fatal(err)
	}
}

// search returns the first results of a search.
func search(parameters url.Values) []hit {
	var found struct{ Hits []hit }
	get("/api/v1/search", parameters, &found)
	return found.Hits
}

// request returns the request that calls the operation with values, its arguments by name.
func (h how) request(values map[string]any) (*http.Request, error) {
	method, address := h.Method, h.URL
	headers, query, body := http.Header{}, url.Values{}, map[string]any{}
	if h.HTTPBinding != "" {
		method, address = http.MethodPost, h.HTTPBinding
		headers.Set("X-AGIS-Method", h.Method)
		headers.Set("X-AGIS-Grammar", "AGIS/1.0")
	}
	for _, p := range h.Parameters {
		value, given := values[p.Name]
		switch text := fmt.Sprint(value); {
		case !given:
		case p.In == "path":
			address = strings.ReplaceAll(address, "{"+p.Name+"}", url.PathEscape(text))
		case p.In == "query":
			query.Set(p.Name, text)
		case p.In == "header":
			headers.Set(p.Name, text)
		default:
			body[p.Name] = value
		}
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var send io.Reader
	if len(body) > 0 {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		send = bytes.NewReader(text)
		headers.Set("Content-Type", "application/json")
	}
	request, err := http.NewRequest(method, address, send)
	if err != nil {
		return nil, err
	}
	request.Header = headers
	return request, nil
}

func main() {
	// 1. Operations for what somebody said.
	for _, h := range search(url.Values{"q": {"book a table"}, "limit": {"3"}}) {
		fmt.Println(h.Operation.Verb, h.Host, h.Operation.Intent)
	}

	// 2. One that only reads, and its call. The services of the demo answer inside the demo alone.
	read := url.Values{"q": {"find a free table in a restaurant"}, "verb": {"FIND"}, "safe": {"true"}, "limit": {"1"}}
	for _, h := range search(read) {
		fmt.Println("call", h.Operation.ID, "at", h.Host)
		request, err := h.Call.request(map[string]any{"location": "Rome", "party_size": 2})
		if err != nil {
			log.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println("no answer:", err)
			continue
		}
		body, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
		answer.Body.Close()
		fmt.Println("answer", answer.Status, string(body), err)
	}

	// 3. The agents that serve the operations, and the inboxes to write to: ../agent writes to one.
	var served struct {
		Operations []struct {
			Agents []struct{ Inbox, DID, Strength string }
		}
	}
	get("/api/v1/orchestrate", url.Values{"q": {"book a table"}, "limit": {"3"}}, &served)
	for _, operation := range served.Operations {
		for _, agent := range operation.Agents {
			fmt.Println("write to", agent.Inbox, agent.DID, agent.Strength)
		}
	}
}
