package boltqueue

import "context"

// Compact replaces the file by a copy that holds nothing of the mail which was deleted: see
// [boltfile.File.CopyWhole]. Pushes wait while it is made.
func (q *Queue) Compact(ctx context.Context) error {
	return q.file.CopyWhole(ctx, "queue", append([][]byte{mailBucket, idsBucket, inboxBucket, seenBucket, stateBucket}, laterBuckets()...)...)
}
