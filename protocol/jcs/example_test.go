package jcs_test

import (
	"fmt"

	"gazetteer/protocol/jcs"
)

func ExampleCanonicalize() {
	text, err := jcs.Canonicalize([]byte(`{ "price": 9007199254740993, "name": "cafe\u0301" }`), jcs.Options{})
	fmt.Println(string(text), err)
	_, err = jcs.Canonicalize([]byte(`{"price": 1.5}`), jcs.Options{})
	fmt.Println(err)
	// Output:
	// {"name":"café","price":9007199254740993} <nil>
	// a number has a fraction or an exponent at byte 10
}

// What a signature covers: the object without the signature.
func ExampleValue_AppendWith() {
	var d jcs.Document
	if err := d.Parse([]byte(`{"signature":"z…","to":"b","from":"a"}`), jcs.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(d.Root().AppendWith(nil, "signature", nil)))
	fmt.Println(d.Root().Member("to").Text())
	// Output:
	// {"from":"a","to":"b"}
	// b
}
