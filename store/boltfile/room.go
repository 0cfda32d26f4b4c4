package boltfile

// bbolt makes its file longer without writing the new part, and every commit that puts pages there
// makes the file system allocate blocks for them: the sync then waits for its journal, too. Where
// something has been written before, a sync writes nothing but the pages. So the file keeps zeroes
// ahead of the pages in use.
const (
	roomAhead = 1 << 20   // bytes written at once
	roomLeast = 256 << 10 // and when: a commit of a full group of small records takes as much
)

var zeroes [roomAhead]byte

// writeRoom writes zeroes behind the pages that are in use, if few are left there. It is called
// within a transaction for writing, before that has written anything, so the space behind the pages
// is unused. A failure does not matter here: the commit will report it.
func (f *File) writeRoom(used int64) {
	if f.room-used >= roomLeast {
		return
	}
	from := max(f.room, used)
	if n, err := f.handle.WriteAt(zeroes[:], from); err == nil {
		f.room = from + int64(n)
	}
}
