// Package wording finds the words of an AGIS endpoint in descriptions that were written for
// something else: the verb of an operation in its name, its summary and its HTTP method ([Verb]),
// a path of nouns in an HTTP path ([NewPath]), and sentences for intent and outcome
// ([GenericIntent], [ClassifyVerb]).
//
// Everything is judged as English, with the dictionary of [gazetteer/protocol/english] and the
// classes of [gazetteer/protocol/effect]. Texts in other languages are copied, never interpreted.
package wording
