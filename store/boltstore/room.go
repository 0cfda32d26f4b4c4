package boltstore

// bbolt makes its file longer without writing what is new of it, and every commit
// that puts pages there makes the file system find places for them: the sync then
// waits for its journal, too. Where something has been written before, a sync
// writes nothing but the pages. So the store keeps zeroes ahead of the pages in
// use.
const (
	roomAhead = 1 << 20   // bytes written at once
	roomLeast = 256 << 10 // and when: a commit of a full group of small records takes as much
)

var zeroes [roomAhead]byte

// makeRoom writes zeroes behind the pages that are in use, if few are left there.
// It is called within a transaction for writing, before that has written anything:
// so what lies behind is nobody's. That it cannot be done is no trouble: the commit
// will say what is.
func (s *Store) makeRoom(used int64) {
	if s.room-used >= roomLeast {
		return
	}
	from := max(s.room, used)
	if n, err := s.file.WriteAt(zeroes[:], from); err == nil {
		s.room = from + int64(n)
	}
}
