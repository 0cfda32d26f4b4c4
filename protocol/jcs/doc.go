// Package jcs writes canonical JSON (RFC 8785): one text for all spellings of a value, so that a
// signature or a hash covers the value and not its white space.
//
// Begin with [Canonicalize]. To read the value as well, call [Document.Parse] once and read members
// through [Value]; [Value.AppendWith] writes the canonical form of an object without one of its
// members, which is what A2A signs, or with another value in its place.
//
// The zero [Options] are the rules of A2A draft-1 §4.4 and §5.2, which restrict the RFC:
//
//   - Numbers are integers from -2^63 to 2^64-1 and keep every digit. The RFC
//     itself rounds them to IEEE 754 doubles. A fraction or an exponent is
//     refused; -0 becomes 0.
//   - String values are in Unicode Normalization Form C. Member names are
//     unchanged.
//   - Members are sorted by the UTF-16 code units of their names, as the RFC
//     requires. The draft also says "code points", which differs above U+FFFF.
//
// All options refuse a text that two readers could understand differently: a repeated member name,
// even if one is spelled with escapes; half a surrogate pair; bytes that are not UTF-8; text after
// the value; and more nesting than [Options] allow.
//
//	parse.go    text to nodes: one pass, each rule where it applies
//	value.go    reading the nodes, and writing them in canonical form
//	number.go   the three ways to treat numbers
//	nfc.go      Normalization Form C without the marks that x/text inserts
package jcs
