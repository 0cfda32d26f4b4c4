package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode/utf8"

	"gazetteer/store"
)

// Limits of a write, as store.Store states them.
const (
	maxKey    = 1024 // two host names of 253 bytes, and the rest of the key
	maxValue  = 16 << 20
	maxWrites = 20_000
)

// A record is stored in the file as
//
//	sequence 8 | flags 1 | CRC-32C 4 | value
//
// with the checksum over key, value, flags and sequence. The sequence is the last part of the sum,
// so that a caller can sum key and value before the number is known.
const (
	flagsAt    = 8
	sumAt      = 9
	headerSize = 13

	flagDeleted = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// change is one store.Write, encoded in the goroutine of its caller so that the one goroutine that
// commits has little work left.
type change struct {
	key    []byte
	raw    []byte // the record; sequence and checksum are set by setSequence
	sum    uint32 // CRC-32C of key and value
	delete bool
	expect *uint64
	void   bool // a deletion of nothing; set by checkRequest
}

func newChange(w store.Write) (change, error) {
	if err := checkKey(w.Key); err != nil {
		return change{}, err
	}
	if len(w.Value) > maxValue {
		return change{}, fmt.Errorf("%w: the value of %q has %d bytes, at most %d are allowed", store.ErrInvalid, w.Key, len(w.Value), maxValue)
	}
	if w.Delete && len(w.Value) > 0 {
		return change{}, fmt.Errorf("%w: the deletion of %q carries a value", store.ErrInvalid, w.Key)
	}
	memory := make([]byte, len(w.Key)+headerSize+len(w.Value))
	copy(memory, w.Key)
	key, raw := memory[:len(w.Key):len(w.Key)], memory[len(w.Key):]
	copy(raw[headerSize:], w.Value)
	c := change{
		key:    key,
		raw:    raw,
		sum:    crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, raw[headerSize:]),
		delete: w.Delete,
		expect: w.Expect,
	}
	if w.Delete {
		c.raw[flagsAt] = flagDeleted
	}
	return c, nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty", store.ErrInvalid)
	case len(key) > maxKey:
		return fmt.Errorf("%w: a key of %d bytes, at most %d are allowed", store.ErrInvalid, len(key), maxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the key %q is not UTF-8", store.ErrInvalid, key)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: the key %q contains NUL", store.ErrInvalid, key)
	}
	return nil
}

// setSequence gives the record its number and returns its bytes.
func (c *change) setSequence(seq uint64) []byte {
	binary.BigEndian.PutUint64(c.raw, seq)
	binary.BigEndian.PutUint32(c.raw[sumAt:], addStamp(c.sum, c.raw))
	return c.raw
}

// growth returns how many bytes the change adds to the file in the place of the old record, the zero
// record if there is none: then the key is stored, too, in the records and in the log.
func (c *change) growth(old record) int {
	if old.Seq == 0 {
		return len(c.raw) + 2*len(c.key) + 8
	}
	return len(c.raw) - headerSize - len(old.Value)
}

// addStamp adds flags and sequence of a raw record to the sum of key and value.
func addStamp(sum uint32, raw []byte) uint32 {
	sum = crc32.Update(sum, castagnoli, raw[flagsAt:flagsAt+1])
	return crc32.Update(sum, castagnoli, raw[:flagsAt])
}

// record is a store.Record whose Value still points into the memory of the file: cloneRecord must
// be called before the transaction ends.
type record store.Record

// decodeRecord verifies a raw record and returns it. The error names the key, never
// the value.
func decodeRecord(key, raw []byte) (record, error) {
	if len(raw) < headerSize || len(raw) > headerSize+maxValue {
		return record{}, &recordError{store.Corruptf("record %q has an impossible size", key)}
	}
	value := raw[headerSize:]
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	if addStamp(sum, raw) != binary.BigEndian.Uint32(raw[sumAt:]) {
		return record{}, &recordError{store.Corruptf("record %q does not match its checksum", key)}
	}
	r := record{
		Key:     string(key),
		Seq:     binary.BigEndian.Uint64(raw),
		Deleted: raw[flagsAt]&flagDeleted != 0,
	}
	if !r.Deleted {
		r.Value = value
	}
	return r, nil
}

// cloneRecord copies the value out of the file's memory.
func cloneRecord(r record) store.Record {
	r.Value = bytes.Clone(r.Value)
	return store.Record(r)
}

// A recordError says that one record is damaged but nothing else is.
type recordError struct{ err error }

func (e *recordError) Error() string { return e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

// logKey is the key of a sequence in the log bucket; bytes sort like numbers.
func logKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, seq)
}
