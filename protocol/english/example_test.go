package english_test

import (
	"fmt"

	"gazetteer/protocol/english"
)

func ExampleLookup() {
	use := english.Lookup("restaurant")
	fmt.Println(use.Noun, use.Verb)
	// Output: true false
}

func ExampleBase() {
	fmt.Println(english.Base("booked"), english.Base("found"))
	// Output: [book] [find]
}

func ExampleSynonyms() {
	fmt.Println(english.SameSense("book", "reserve"), english.VerbsOf("cancellation"))
	// Output: true [cancel]
}
