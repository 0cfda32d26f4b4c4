package frontier

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc64"
	"io"
	"strings"
	"time"

	"gazetteer/store"
)

// A snapshot is
//
//	magic, length of the cursor, cursor (JSON), number of hosts,
//	for each host: due (seconds), length of its name, name;
//	CRC-64 of all that
//
// Numbers are little-endian and 4 bytes long, but for the length of a name, which is one byte.
const snapshotMagic = "gazetteer frontier 1\n"

var crcTable = crc64.MakeTable(crc64.ECMA)

// WriteSnapshot writes the names and due times of the known hosts, and the place in the store's log
// up to which they are complete.
func (f *Frontier) WriteSnapshot(w io.Writer, cursor store.Cursor) error {
	at, err := json.Marshal(cursor)
	if err != nil {
		return err
	}
	sum := crc64.New(crcTable)
	out := io.MultiWriter(w, sum)
	text := append([]byte(snapshotMagic), binary.LittleEndian.AppendUint32(nil, uint32(len(at)))...)
	text = binary.LittleEndian.AppendUint32(append(text, at...), uint32(f.known))
	for n := range uint32(f.hosts.len()) {
		if *f.hosts.place.at(n) != placeNone {
			text = f.hosts.appendHost(text, n)
		}
		if len(text) > 1<<15 {
			if _, err := out.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, sum.Sum64())
}

const (
	maxSnapshotCursor = 1 << 10 // bytes of the text of a cursor
	minHostBytes      = 6       // bytes of a host
)

// ErrDamaged says that a text is not a whole snapshot.
var ErrDamaged = errors.New("the snapshot of the frontier is damaged")

// ReadSnapshot reads what [Frontier.WriteSnapshot] has written. The interval and atOnce are those of
// [New]. The error is [ErrDamaged] for a text that is not such a snapshot.
func ReadSnapshot(text []byte, interval time.Duration, atOnce int, now time.Time) (*Frontier, store.Cursor, error) {
	var cursor store.Cursor
	rest, ok := strings.CutPrefix(string(text), snapshotMagic)
	end := len(text) - 8
	if !ok || end < len(snapshotMagic) || crc64.Checksum(text[:end], crcTable) != binary.LittleEndian.Uint64(text[end:]) {
		return nil, cursor, ErrDamaged
	}
	r := &snapshotReader{text: rest[:len(rest)-8]}
	at := r.readBytes(r.readNumber(maxSnapshotCursor))
	hosts := r.readNumber(1 << 31)
	if err := json.Unmarshal([]byte(at), &cursor); err != nil || r.short {
		return nil, cursor, ErrDamaged
	}
	f := New(interval, atOnce, min(hosts, len(r.text)/minHostBytes))
	for range hosts {
		due := r.readNumber(1<<32 - 1)
		name := r.readBytes(int(r.readByte()))
		if r.short || name == "" {
			return nil, cursor, ErrDamaged
		}
		f.AddHost(name, now, time.Unix(int64(due), 0))
	}
	return f, cursor, nil
}

// A snapshotReader parses a text.
type snapshotReader struct {
	text  string
	short bool // there was less than wanted
}

func (r *snapshotReader) readBytes(n int) string {
	if n > len(r.text) {
		r.short = true
		return ""
	}
	part := r.text[:n]
	r.text = r.text[n:]
	return part
}

func (r *snapshotReader) readNumber(most int) int {
	b := r.readBytes(4)
	if r.short {
		return 0
	}
	n := int(binary.LittleEndian.Uint32([]byte(b)))
	if n > most {
		r.short = true
		return 0
	}
	return n
}

func (r *snapshotReader) readByte() byte {
	b := r.readBytes(1)
	if r.short {
		return 0
	}
	return b[0]
}
