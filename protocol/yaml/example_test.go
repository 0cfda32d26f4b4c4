package yaml_test

import (
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

func ExampleRead() {
	root, err := yaml.Read([]byte("host: &h notes.example\nalias: *h\n"), protocol.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(protocol.WriteJSON(root, "")))
	// Output: {"host":"notes.example","alias":"notes.example"}
}

func ExampleWrite() {
	root, err := protocol.ReadJSON([]byte(`{"agis": "1.0", "methods": ["BOOK", "yes"]}`), protocol.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(yaml.Write(root)))
	// Output:
	// agis: "1.0"
	// methods:
	//   - BOOK
	//   - "yes"
}
