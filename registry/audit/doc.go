// Package audit implements the transparency log of a registry: an append-only Merkle tree (RFC
// 6962) of registrations, changes, attestations and crawled documents, in the C2SP formats, which
// other tools can read (tlog-tiles, tlog-checkpoint, tlog-proof, tlog-witness, tlog-cosignature).
//
// Start with [Open] and [Log.Run], which follow a store and build the tree. [Log.Checkpoint],
// [Log.Prove] and [Log.Answer] publish it. [VerifyDir] checks a directory of a log,
// [Cosigners] ask witnesses to cosign its checkpoints. Package tiles checks a log from its files
// alone, package proof what a log has given to somebody; package witness is such a witness.
//
// # Leaves
//
// The records of a store whose keys [leafform.HistoryKey] accepts become leaves, in the order of the writes.
// Such records are never overwritten. A leaf is the canonical JSON (RFC 8785, but with unchanged
// numbers) of
//
//	{"key": the record's key, "record": its JSON value, "salt": …}
//
// with "base64" instead of "record" for a value that is not JSON, and with "sha256" and "size" of
// the value if the leaf would be longer than the 65,535 bytes that the layout allows. Because of
// the salt, nobody can confirm a guessed content from its hash.
//
// To erase content, delete the record in the store. The log then overwrites the bytes of its leaves
// in place. The hashes stay, so every proof and checkpoint stays valid. Another leaf lists the
// erased leaves:
//
//	{"deleted": true, "erases": [numbers of leaves], "key": …, "salt": …}
//
// An erasure does not wait for a signature: while the log cannot sign, it erases the leaves, and the
// leaf that lists them follows. A leaf without content that no such leaf lists, and whose deletion is
// not in the store, was not erased but tampered with.
//
// # Files
//
//	key          public key, for those who verify
//	checkpoint   the last signed checkpoint, on disk before anybody gets it
//	state        origin, cursor, size, secret of the salts, with a checksum
//	hashes       every hash of the tree, in the order of tlog.StoredHashIndex
//	entries      key and leaf of each leaf, one behind the other
//	rows         64 bytes a leaf: where it lies, and the leaf before of the same key
//	LOCK         held by the process that has the log open
//	halted       the reason why the log signs nothing, while it is halted
//
// The server adds the file checkpoint-copy, with the path of the second copy of the checkpoint.
//
// The log writes and syncs a batch of leaves after the committed bytes. It then replaces the state,
// which commits the batch and the cursor together, so a crash neither loses nor duplicates a leaf.
// It then signs, syncs and publishes the checkpoint.
//
// # What is never signed
//
// The log never signs a tree that does not contain the last signed checkpoint. After a restored
// backup the tree may be shorter than that: the log then grows it from the store and signs nothing
// until it contains the checkpoint again. If the store cannot grow it so far, or grows another
// tree, the log stops with a [ForkError]. It also stops with a [ForkError] if the store has lost
// logged records.
package audit
