package boltqueue

import "context"

// Compact replaces the file by a copy that holds nothing of the mail that was deleted before: see
// [boltfile.File.CopyWhole].
func (q *Queue) Compact(ctx context.Context) error {
	return q.file.CopyWhole(ctx, "queue", copiedBuckets()...)
}

// WriteBackup writes such a copy into a new file at path; see [boltfile.File.CopyTo] for its errors.
func (q *Queue) WriteBackup(ctx context.Context, path string) error {
	return q.file.CopyWholeTo(ctx, path, copiedBuckets()...)
}

// copiedBuckets are the buckets with content.
func copiedBuckets() [][]byte {
	return append([][]byte{mailBucket, idsBucket, inboxBucket, seenBucket, stateBucket}, laterBuckets()...)
}
