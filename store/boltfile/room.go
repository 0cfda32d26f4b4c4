package boltfile

// bbolt extends its file without writing the new part, and every commit that puts pages there makes
// the file system allocate blocks for them: the sync then also waits for the journal of the file
// system. Where something has been written before, a sync writes only the pages. So the file keeps
// zeroes after the pages in use.
const (
	roomAhead = 1 << 20   // bytes written at once
	roomLeast = 256 << 10 // the remaining room at which they are written: a commit of a full group of small records takes as much
)

var zeroes [roomAhead]byte

// writeRoom writes zeroes after the pages that are in use, if few are left there. It is called in a
// write transaction that has not written anything yet, so the space after the pages is unused. A
// failure does not matter here: the commit will report it.
func (f *File) writeRoom(used int64) {
	if f.room-used >= roomLeast {
		return
	}
	from := max(f.room, used)
	if n, err := f.handle.WriteAt(zeroes[:], from); err == nil {
		f.room = from + int64(n)
	}
}
