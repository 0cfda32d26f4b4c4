package query

// A Error points at the character of the query that cannot be read.
type Error struct {
	Query   string
	Offset  int // in characters, from 0
	Message string
	Help    string
}

func (e *Error) Error() string { return e.Message }
