package cli

import (
	"io"
	"os"
	"syscall"
	"unicode/utf8"
)

// The keys that edit or end a hidden line.
const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keyBackspace = 0x08
	keyClear     = 0x15 // Ctrl-U
	keyDelete    = 0x7f
)

// maxHiddenLine is the largest number of bytes of a hidden line; more are ignored.
const maxHiddenLine = 4096

// readHiddenLine reads a line from a terminal in raw mode, in which no text is shown. term.ReadPassword
// does not end at Ctrl-D. The error is io.EOF if the user ends the input on an empty line.
func readHiddenLine(terminal *os.File) ([]byte, error) {
	var line []byte
	key := make([]byte, 1) // what follows the line belongs to the next reader
	for {
		if n, err := terminal.Read(key); err != nil || n == 0 {
			return nil, io.EOF
		}
		switch key[0] {
		case '\r', '\n':
			return line, nil
		case keyInterrupt:
			// The terminal sends no signal in raw mode. The signal ends the context, and with it the wait
			// for this line.
			syscall.Kill(os.Getpid(), syscall.SIGINT)
		case keyEnd, 0: // 0 is a Ctrl-D that was typed before the raw mode
			if len(line) == 0 {
				return nil, io.EOF
			}
		case keyBackspace, keyDelete:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
		case keyClear:
			line = line[:0]
		default:
			if len(line) < maxHiddenLine {
				line = append(line, key[0])
			}
		}
	}
}
