package frontier

import (
	"encoding/binary"
	"hash/maphash"
)

// A hostTable numbers host names and keeps for each its due time and its part in about 40 bytes
// plus the name. A map of structs takes five times as much, and a million hosts should fit into a
// small machine. Numbers start at 0, have no gaps and do not change.
type hostTable struct {
	seed  maphash.Seed
	slots []uint32 // open addressing: number + 1, 0 is free; a power of two long

	text  [][]byte // names, each behind its length, in pieces of textPiece
	names pieceList[uint32]
	due   pieceList[uint32] // seconds since 1970
	place pieceList[hostPlace]
}

// hostPlace is the part of the frontier in which a host waits.
type hostPlace uint8

const (
	placeNone     hostPlace = iota // no longer known
	placeFar                       // in the calendar
	placeNear                      // in the heap of the coming minutes
	placeBooked                    // the same, with a slot of its address reserved
	placeReady                     // due, in ready
	placeCalled                    // the same, after it was booked
	placeParked                    // due, in the list of its domain
	placeInFlight                  // being visited
)

const textPiece = 1 << 20

// newHostTable returns a table with room for this many hosts before it grows.
func newHostTable(hosts int) *hostTable {
	size := 1 << 10
	for 3*size < 4*hosts {
		size *= 2
	}
	return &hostTable{seed: maphash.MakeSeed(), slots: make([]uint32, size)}
}

// len returns how many names have a number.
func (t *hostTable) len() int { return t.names.size() }

func (t *hostTable) nameOf(n uint32) string {
	at := *t.names.at(n)
	piece := t.text[at/textPiece][at%textPiece:]
	return string(piece[1 : 1+int(piece[0])])
}

// findHost returns the number of a name, and false when it has none.
func (t *hostTable) findHost(name string) (uint32, bool) {
	n := t.slots[t.slotOf(name)]
	return n - 1, n != 0
}

// slotOf returns the slot that holds a name or would hold it.
func (t *hostTable) slotOf(name string) uint64 {
	mask := uint64(len(t.slots) - 1)
	i := maphash.String(t.seed, name) & mask
	for t.slots[i] != 0 && !t.hasName(t.slots[i]-1, name) {
		i = (i + 1) & mask
	}
	return i
}

func (t *hostTable) hasName(n uint32, name string) bool {
	at := *t.names.at(n)
	piece := t.text[at/textPiece][at%textPiece:]
	return int(piece[0]) == len(name) && string(piece[1:1+len(name)]) == name
}

// numberOf returns the number of a name, adding it if it is new: a new name is in no part. Names
// are at most 253 bytes long.
func (t *hostTable) numberOf(name string) uint32 {
	if 4*t.len() >= 3*len(t.slots) {
		t.growSlots()
	}
	slot := t.slotOf(name)
	if t.slots[slot] != 0 {
		return t.slots[slot] - 1
	}
	n := uint32(t.len())
	last := len(t.text) - 1
	if last < 0 || len(t.text[last])+1+len(name) > textPiece {
		t.text = append(t.text, make([]byte, 0, textPiece))
		last++
	}
	at := last*textPiece + len(t.text[last])
	t.text[last] = append(append(t.text[last], byte(len(name))), name...)
	t.names.appendValue(uint32(at))
	t.due.appendValue(0)
	t.place.appendValue(placeNone)
	t.slots[slot] = n + 1
	return n
}

func (t *hostTable) growSlots() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for n := range uint32(t.len()) {
		at := *t.names.at(n)
		piece := t.text[at/textPiece][at%textPiece:]
		i := maphash.Bytes(t.seed, piece[1:1+int(piece[0])]) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = n + 1
	}
}

// A pieceList is a slice stored in pieces, which grows without copying.
type pieceList[T any] struct {
	pieces [][]T
	length int
}

const listPiece = 1 << 14

func (l *pieceList[T]) size() int { return l.length }

func (l *pieceList[T]) at(i uint32) *T { return &l.pieces[i/listPiece][i%listPiece] }

func (l *pieceList[T]) appendValue(v T) {
	if l.length%listPiece == 0 {
		l.pieces = append(l.pieces, make([]T, listPiece))
	}
	l.length++
	*l.at(uint32(l.length - 1)) = v
}

// appendHost encodes a host for a snapshot.
func (t *hostTable) appendHost(to []byte, n uint32) []byte {
	name := t.nameOf(n)
	to = binary.LittleEndian.AppendUint32(to, *t.due.at(n))
	return append(append(to, byte(len(name))), name...)
}
