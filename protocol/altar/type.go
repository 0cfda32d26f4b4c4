package altar

import (
	"fmt"
	"strings"
)

// The basic types of section 4.
const (
	String  = "string"
	Integer = "integer" // 64 bits, signed
	Float   = "float"   // IEEE 754, 64 bits
	Boolean = "boolean"
	Binary  = "binary" // base64 in JSON (RFC 4648 section 4, padded)
	Object  = "object"
)

// maxArrays is the deepest nesting of array types.
const maxArrays = 16

// A Type is a type of section 4: a basic type, or nested arrays of one.
type Type struct {
	// Base is one of the basic types.
	Base string
	// Arrays is the number of arrays around it: 2 for "array[array[string]]".
	Arrays int
}

// ParseType reads a type such as "string" or "array[integer]".
func ParseType(text string) (Type, error) {
	t := Type{Base: text}
	for {
		inner, found := strings.CutPrefix(t.Base, "array[")
		if !found {
			break
		}
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return Type{}, fmt.Errorf("the type %q has no closing bracket", text)
		}
		t.Base = inner
		if t.Arrays++; t.Arrays > maxArrays {
			return Type{}, fmt.Errorf("the type %.40q… has more than %d arrays", text, maxArrays)
		}
	}
	switch t.Base {
	case String, Integer, Float, Boolean, Binary, Object:
		return t, nil
	}
	return Type{}, fmt.Errorf("%.60q is not a type: want string, integer, float, boolean, binary, object or array[…] of one", text)
}

// String writes the type as [ParseType] reads it.
func (t Type) String() string {
	return strings.Repeat("array[", t.Arrays) + t.Base + strings.Repeat("]", t.Arrays)
}

// elementType returns the type of the elements of an array.
func (t Type) elementType() Type { return Type{Base: t.Base, Arrays: t.Arrays - 1} }
