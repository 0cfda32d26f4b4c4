package cli

import (
	"io"
)

type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}
