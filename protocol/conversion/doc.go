// Package conversion holds what the conversions between document formats share: their options and
// output, the notes about guesses ([Notes]), the writer that turns each note into a comment
// ([WriteDocument]), the resolution of references ([References]), and the recognition of texts in
// another format ([IdentifyFormat]).
//
// The table of all conversions is in package gazetteer/convert. Begin there.
package conversion
