package mailbox

// Schema is that of the file, for tests.
var Schema = schema
