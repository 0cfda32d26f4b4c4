// Package entry turns a document into what the index holds of it: one entry for each operation, one
// for its service and one for each data class, with prepared texts and the values of filters.
//
// [CurrentVersion] names the form of the entries. An index that was built in another form is rebuilt.
package entry
