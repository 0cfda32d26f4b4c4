package boltqueue

import "context"

// Compact replaces the file by a copy that holds nothing of the mail that was deleted before: see
// [boltfile.File.CopyWhole].
func (q *Queue) Compact(ctx context.Context) error {
	return q.file.CopyWhole(ctx, "queue", append([][]byte{mailBucket, idsBucket, inboxBucket, seenBucket, stateBucket}, laterBuckets()...)...)
}
