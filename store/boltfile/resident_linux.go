package boltfile

import (
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// releasePages is the number of pages that are written before releaseMapped runs again, and
// releaseListed the number of bytes that are listed before ReleaseListed does.
const (
	releasePages  = 16 << 20 / pageSize
	releaseListed = 64 << 20
)

// releaseMapped removes the mapped pages of the file from the memory of the process. bbolt maps the
// whole file, so that otherwise each page that was ever read counts as memory of the process. The
// pages stay in the page cache of the system, and the next reader maps those that it needs again.
// Only runCommits calls it: no one else replaces or closes db.
func (f *File) releaseMapped() {
	if f.written-f.released < releasePages || f.isClosed() || f.isBroken() {
		return
	}
	f.released = f.written
	if info, err := f.handle.Stat(); err == nil {
		f.releasePagesOf(f.db, info.Size())
	}
}

// ReleaseListed does the same for readers of long lists: it counts the bytes of a page of a list, and
// releases the mapped pages when many were listed. tx must be the open transaction that read them,
// because bbolt does not move the mapping as long as one is open.
func (f *File) ReleaseListed(tx *bolt.Tx, size int) {
	if f.listed.Add(int64(size)) >= releaseListed {
		f.releasePagesOf(tx.DB(), tx.Size())
	}
}

func (f *File) releasePagesOf(db *bolt.DB, size int64) {
	f.listed.Store(0)
	// A failure leaves the pages where they are, which does no harm.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, db.Info().Data, uintptr(size), syscall.MADV_DONTNEED)
}
