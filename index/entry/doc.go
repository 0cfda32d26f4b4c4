// Package entry converts a document to entries of the index: one for each operation, one for its
// service and one for each data class, with prepared texts and the values of filters.
//
// [CurrentVersion] names the form of the entries. An index that was built in another form is rebuilt.
package entry
