package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// maxBytes is how much of one text is read. Readers of documents refuse far less, with the size in
// the message; descriptions to convert may be long.
const maxBytes = 64 << 20

// readFile reads a file of bounded size.
func readFile(ctx context.Context, name string) ([]byte, error) {
	return awaitRead(ctx, func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f)
	})
}

// readAll reads a text of bounded size.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	return awaitRead(ctx, func() ([]byte, error) { return readBounded(r) })
}

func readBounded(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if n > maxBytes {
		return nil, fmt.Errorf("it is longer than %d bytes, which no document is", maxBytes)
	}
	return b.Bytes(), nil
}

// awaitRead waits for a read, until ctx ends at the latest. A read from a terminal or an idle pipe
// cannot be interrupted. It is abandoned then, since the program is about to end.
func awaitRead[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := read()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
