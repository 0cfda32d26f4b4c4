// Package repair repairs what has only one possible correction, so that the author need not be
// asked: letter case, quotes, duplicate members, undeclared verbs, the notations of other tools.
//
// Begin with [Fix], which returns the repaired text and the list of repairs; [Diff] shows the
// difference. A repair is a few [protocol.Edit] of the text, so comments, order and layout stay.
//
// A repair is kept only if it makes the document better: fewer errors, or as many errors and fewer
// findings, or a part that can be checked for the first time. In a document without errors it also
// keeps the meaning: service, operations, data classes and links, as
// [gazetteer/document.Read] reads them, are the same before and after, except for the letter case
// of verbs. A second Fix of the result changes nothing.
package repair
