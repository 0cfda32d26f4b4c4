package aidiscovery_test

import (
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

const notes = `{
  "aiendpoint": "1.0",
  "service": {"name": "Acme Notes", "description": "Keeps notes that several people edit."},
  "capabilities": [
    {"id": "find_note", "description": "Find notes by a word", "endpoint": "/notes", "method": "get",
     "params": {"word": "string, required"}, "returns": "list of notes"}
  ]
}`

func ExampleParse() {
	doc, findings, err := aidiscovery.Parse([]byte(notes), aidiscovery.Options{Host: "notes.example"})
	if err != nil {
		fmt.Println(err) // not an AI Discovery document at all; the findings say why
		return
	}
	for _, c := range doc.Capabilities {
		fmt.Println(c.ID, c.Endpoint)
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			fmt.Println(f.Code, f.Pointer)
		}
	}
	// Output:
	// find_note /notes
	// AI418 /capabilities/0/method
}

func ExampleSavings() {
	root, err := protocol.ReadJSON([]byte(notes), protocol.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	best := aidiscovery.Savings(root)[0]
	fmt.Println(best.Tokens > 0, best.Message)
	// Output: true serve it compact, without line breaks and indentation: its readers are programs
}
