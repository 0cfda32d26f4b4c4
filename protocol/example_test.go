package protocol_test

import (
	"errors"
	"fmt"

	"gazetteer/protocol"
)

func ExampleReadJSON() {
	root, err := protocol.ReadJSON([]byte(`{"service": {"name": "Acme"}}`), protocol.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	name := root.Member("service").Member("name")
	fmt.Println(name.Text, name.Pointer, name.Line, name.Column)
	// Output: Acme /service/name 1 22
}

func ExampleSyntaxError() {
	_, err := protocol.ReadJSON([]byte("{\n  \"a\": 1,\n  \"a\": 2\n}"), protocol.Limits{})
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok {
		fmt.Println(syntax.Problem, syntax.Line, syntax.Message)
	}
	// Output: duplicate 3 the member "a" occurs twice in one object
}
