package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gazetteer/document"
	"gazetteer/registry/audit"
	"gazetteer/relay/boltqueue"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// maxProblems bounds how many problems a check names.
const maxProblems = 100

// A Report says what a check has read.
type Report struct {
	Records int   // of the store
	Blobs   int   // of those, raw documents, each compared with its digest
	Leaves  int64 // of the transparency log, each with its hash
	Mail    bool  // whether there is a queue of mail, which could be opened
}

// Check reads everything in a data directory that no process uses: every record of the store with its
// checksum, every raw document with its digest, every leaf and hash of the transparency log, and the
// structure of the queue of mail. The error is a [*DamageError] that names what is wrong.
func Check(ctx context.Context, dir string, progress func(part string)) (r Report, err error) {
	var damage DamageError
	note := func(format string, args ...any) {
		if len(damage.Problems) < maxProblems {
			damage.Problems = append(damage.Problems, fmt.Sprintf(format, args...))
		}
	}
	progress("the store")
	s, err := boltstore.Open(ctx, dir, boltstore.Options{KeepDeletion: audit.HistoryKey})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := checkRecords(ctx, s, &r, note); err != nil {
		return r, err
	}
	progress("the transparency log")
	if err := checkLog(ctx, filepath.Join(dir, "log"), &r, note); err != nil {
		return r, err
	}
	if _, err := os.Stat(filepath.Join(dir, "relay")); err == nil {
		progress("the mail")
		q, err := boltqueue.Open(ctx, filepath.Join(dir, "relay"), boltqueue.Options{})
		if err != nil {
			note("the mail cannot be opened: %v", err)
		} else if err := q.Close(); err != nil {
			return r, err
		}
		r.Mail = true
	}
	if len(damage.Problems) > 0 {
		return r, &damage
	}
	return r, nil
}

// checkRecords reads every record. The bytes of a document must have the digest of their key, and a
// document must have its bytes.
func checkRecords(ctx context.Context, s *boltstore.Store, r *Report, note func(string, ...any)) error {
	for record, err := range s.List(ctx, "", "") {
		if store.Damaged(record, err) {
			note("the record %s is damaged: %v", record.Key, err)
			continue
		}
		if err != nil {
			return err
		}
		r.Records++
		if digest, ok := strings.CutPrefix(record.Key, store.BlobPrefix); ok {
			r.Blobs++
			if document.Digest(record.Value) != digest {
				note("the bytes under %s have another digest", record.Key)
			}
		}
	}
	return nil
}

// checkLog verifies every leaf and hash against the checkpoint.
func checkLog(ctx context.Context, dir string, r *Report, note func(string, ...any)) error {
	files := audit.FilesIn(dir)
	key, err := files(ctx, "key")
	if errors.Is(err, audit.ErrNoFile) || errors.Is(err, fs.ErrNotExist) {
		note("the transparency log is missing: %s has no key", dir)
		return nil
	}
	if err != nil {
		return err
	}
	verifier, err := audit.NewVerifier(strings.TrimSpace(string(key)))
	if err != nil {
		note("the key of the transparency log cannot be read: %v", err)
		return nil
	}
	report, err := audit.Verify(ctx, files, verifier)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		note("the transparency log: %v", err)
		return nil
	}
	r.Leaves = report.N
	return nil
}
