// Package format writes results of package lint for people and for programs.
//
// Begin with [Write]; [Names] lists the formats: "text" for a person, with the line of the document
// and a mark under the exact place; "json", one object a line; "sarif" (2.1.0) and "github" for
// code hosting; "junit" for build servers; "compact", one line a finding. [Summary] writes the page
// that GitHub shows for a job.
//
// Findings quote untrusted texts. Every format makes the characters visible that could move a
// cursor, reorder a line or begin a command for the reader ([Visible]).
package format
