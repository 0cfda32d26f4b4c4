package query

// An Error points to the invalid character of the query.
type Error struct {
	Query   string
	Offset  int // in characters, from 0
	Message string
	Help    string
}

func (e *Error) Error() string { return e.Message }
