// Package repair puts right in a document what can be put right without knowing
// what its author meant: letter case, quotes, a member listed twice, a verb that
// was used and not declared, the notations of other tools.
//
// Begin with [Fix], which returns the text repaired and says what was repaired in
// it; [Diff] shows the difference to a person. A repair is a handful of
// [protocol.Edit] to the text, so comments, order and layout stay as they were.
//
// A repair is kept only if the document reads better with it: it has fewer errors,
// or as many and fewer findings, or a part of it is judged at last that could not
// be before. In a document without errors it must also leave the meaning alone: service, operations, data classes and links, as
// [gazetteer/document.Read] reads them, are the same before and after, but for
// the letter case of verbs. What Fix returns it would not change again.
package repair
