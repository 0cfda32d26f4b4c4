package limit

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLarge means that a text is longer than its reader accepts.
var ErrTooLarge = errors.New("the text is too long")

// ReadAll reads a text of at most so many bytes. It gives [ErrTooLarge] for a longer one.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, ErrTooLarge
	}
	return text, err
}

// maxDrain is the size of the largest body that is read although it is refused: many clients read no
// answer before they have sent everything.
const maxDrain = 16 << 20

// ReadOrDrain reads a body like [ReadAll]. It discards one that is too long if its size is known and
// at most 16 MiB, unless the client waits for permission to send it.
func ReadOrDrain(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > maxDrain || r.ContentLength > most && r.Header.Get("Expect") != "" {
		return nil, ErrTooLarge
	}
	text, err := ReadAll(r.Body, most)
	if errors.Is(err, ErrTooLarge) && r.ContentLength > 0 {
		io.CopyN(io.Discard, r.Body, maxDrain) // an error ends the connection, too
	}
	return text, err
}
