// Search goes from words to how an operation is called and to the inbox of an agent.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
)

var base = cmp.Or(os.Getenv("BASE"), "http://127.0.0.1:8080")

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

func main() {
	// 1. Operations for what somebody said, with how each one is called.
	var found struct {
		Hits []struct {
			Host      string `json:"host"`
			Operation struct {
				Verb, Intent string
			} `json:"operation"`
			Call struct {
				Method, URL string
				HTTPBinding string `json:"http_binding"` // of AGTP: a POST there, with the verb in a header, calls it
			} `json:"call"`
		} `json:"hits"`
	}
	get("/api/v1/search", url.Values{"q": {"book a table"}, "limit": {"3"}}, &found)
	for _, hit := range found.Hits {
		fmt.Println(hit.Operation.Verb, hit.Host, hit.Operation.Intent)
		if call := hit.Call; call.HTTPBinding != "" {
			fmt.Println("POST", call.HTTPBinding, "X-AGIS-Method:", call.Method)
		} else {
			fmt.Println(call.Method, call.URL)
		}
	}

	// 2. The agents that serve the operations, and the inboxes to write to.
	var served struct {
		Operations []struct {
			Agents []struct{ Inbox, DID, Strength string } `json:"agents"`
		} `json:"operations"`
	}
	get("/api/v1/orchestrate", url.Values{"q": {"book a table"}, "limit": {"3"}}, &served)
	for _, operation := range served.Operations {
		for _, agent := range operation.Agents {
			fmt.Println("write to", agent.Inbox, agent.DID, agent.Strength)
		}
	}
}
