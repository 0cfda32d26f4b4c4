package boltqueue

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"gazetteer/relay"
	"gazetteer/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordHead is the length of the fixed part of a mail record: received, expires, checksum.
const recordHead = 8 + 8 + 4

// checkName refuses names that would make keys ambiguous.
func checkName(what, name string, most int) error {
	if name == "" || len(name) > most || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("%w: %s must have 1 to %d bytes and no zero byte", store.ErrInvalid, what, most)
	}
	return nil
}

// Limits of what becomes part of a key, in bytes.
const (
	maxInbox = 1024
	maxID    = 256
)

func inboxPrefix(inbox string) []byte { return append([]byte(inbox), 0) }

func mailKey(inbox string, number uint64) []byte {
	return binary.BigEndian.AppendUint64(inboxPrefix(inbox), number)
}

// lastNumber reads the number at the end of a key.
func lastNumber(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

func unixMillis(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }

// encodeMail writes a record: the fixed part, then each field with its length before it. The fields
// are the sender, the id, what the receipt says (receiptMark, the recipient and the SHA-256 of what
// the sender signed; format 1 has the signed receipt instead), and the envelope. The checksum
// covers everything else.
func encodeMail(in relay.Incoming) []byte {
	raw := make([]byte, recordHead, recordHead+len(in.Sender)+len(in.ID)+len(in.Digest)+len(in.To)+len(in.Text)+16)
	binary.BigEndian.PutUint64(raw, unixMillis(in.Received))
	binary.BigEndian.PutUint64(raw[8:], unixMillis(in.Expires))
	raw = append(binary.AppendUvarint(raw, uint64(len(in.Sender))), in.Sender...)
	raw = append(binary.AppendUvarint(raw, uint64(len(in.ID))), in.ID...)
	raw = append(binary.AppendUvarint(raw, uint64(1+len(in.To)+len(in.Digest))), receiptMark)
	raw = append(append(raw, in.To...), in.Digest[:]...)
	raw = append(binary.AppendUvarint(raw, uint64(len(in.Text))), in.Text...)
	binary.BigEndian.PutUint32(raw[16:], recordChecksum(raw))
	return raw
}

func recordChecksum(raw []byte) uint32 {
	return crc32.Update(crc32.Checksum(raw[:16], castagnoli), castagnoli, raw[recordHead:])
}

// receiptMark begins what format 2 stores for the receipt. JSON never does.
const receiptMark = 0

// decodeMail reads a record. What it returns does not share memory with raw.
func decodeMail(number uint64, raw []byte) (relay.Mail, error) {
	if len(raw) < recordHead || binary.BigEndian.Uint32(raw[16:]) != recordChecksum(raw) {
		return relay.Mail{}, store.Corruptf("envelope %d does not match its checksum", number)
	}
	m := relay.Mail{
		Number:   number,
		Received: time.UnixMilli(int64(binary.BigEndian.Uint64(raw))).UTC(),
		Expires:  time.UnixMilli(int64(binary.BigEndian.Uint64(raw[8:]))).UTC(),
	}
	rest := append([]byte(nil), raw[recordHead:]...)
	var fields [4][]byte
	for i := range fields {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return relay.Mail{}, store.Corruptf("envelope %d is cut short", number)
		}
		fields[i], rest = rest[w:w+int(n):w+int(n)], rest[w+int(n):]
	}
	m.Sender, m.ID, m.Text = string(fields[0]), string(fields[1]), fields[3]
	switch about := fields[2]; {
	case len(about) > len(m.Digest) && about[0] == receiptMark:
		to := len(about) - len(m.Digest)
		m.To, m.Digest = string(about[1:to]), [len(m.Digest)]byte(about[to:])
	default:
		m.Receipt = about
	}
	return m, nil
}

// tally is what the inbox bucket holds of one inbox. No envelope of it expires before expires.
type tally struct {
	mail            int
	bytes           int64
	oldest, expires uint64 // milliseconds
}

func (t *tally) countMail(in relay.Incoming) {
	if t.mail == 0 {
		t.oldest, t.expires = unixMillis(in.Received), unixMillis(in.Expires)
	}
	t.expires = min(t.expires, unixMillis(in.Expires))
	t.mail++
	t.bytes += int64(len(in.Text))
}

func decodeTally(v []byte) tally {
	if len(v) != 32 {
		return tally{}
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(v[8*i:]) }
	return tally{int(at(0)), int64(at(1)), at(2), at(3)}
}

func (t tally) encodeTally() []byte {
	v := make([]byte, 0, 32)
	for _, n := range []uint64{uint64(t.mail), uint64(t.bytes), t.oldest, t.expires} {
		v = binary.BigEndian.AppendUint64(v, n)
	}
	return v
}
