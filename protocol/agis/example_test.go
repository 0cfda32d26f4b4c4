package agis_test

import (
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

const reservations = `agis: "1.0"
service: Acme Reservations
agtp: agtp://reservations.example
description: Books tables
version: "1.0.0"
endpoints:
  - method: BOOK
    path: /reservation
    semantic: {intent: Books a table for a guest, actor: robot, outcome: A reservation exists}
    input: {type: object}
    output: {type: object}
    errors: [table_taken]
vocabulary: {declared_verbs: [BOOK], domain: hospitality}
`

func ExampleParse() {
	doc, findings, err := agis.Parse([]byte(reservations), agis.Options{})
	if err != nil {
		fmt.Println(err) // not an AGIS document at all; the findings say why
		return
	}
	for _, e := range doc.Endpoints {
		fmt.Println(e.Method, e.Path)
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			fmt.Printf("%d:%d %s %s\n", f.Line, f.Column, f.Code, f.Message)
		}
	}
	// Output:
	// BOOK /reservation
	// 9:58 AGIS504 actor is "robot", not agent, user or system
}

func ExampleCheckMethod() {
	for _, f := range agis.CheckMethod("CANCELLATION") {
		fmt.Println(f.Code, f.Help)
	}
	// Output: AGIS304 use the verb, for example CANCEL
}
