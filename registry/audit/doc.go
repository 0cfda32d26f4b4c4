// Package audit keeps the transparency log of a registry: an append-only Merkle
// tree (RFC 6962) over what was registered, changed, attested and crawled, in
// the formats of C2SP that other tools read too (tlog-tiles, tlog-checkpoint,
// tlog-proof, tlog-witness, tlog-cosignature).
//
// Begin with [Open] and [Log.Run], which follow a store into a tree;
// [Log.Checkpoint], [Log.Prove] and [Log.Handler] are what the tree is for.
// [Verify] checks a log from its files alone, and a [Witness] co-signs the
// checkpoints of other registries.
//
// # Leaves
//
// The records of a store whose keys [HistoryKey] accepts become leaves, in the
// order in which they were written. Such records are never overwritten. A leaf
// is the canonical JSON (RFC 8785, numbers kept as they were written) of
//
//	{"key": the record's key, "record": its JSON value, "salt": …}
//
// with "base64" in the place of "record" for a value that is not JSON, and with
// "sha256" and "size" of the value when the leaf would be longer than the 65,535
// bytes that the layout allows. The salt keeps a hash from telling a content that
// could be guessed.
//
// Content is erased by deleting the record in the store. The bytes of its leaves
// are overwritten where they lie, their hashes stay, so every proof and
// checkpoint stays good, and another leaf says what was erased:
//
//	{"deleted": true, "erases": [numbers of leaves], "key": …, "salt": …}
//
// A leaf without content that no such leaf names was not erased but removed.
//
// # Files
//
//	key          public key, for those who verify ([Log.Export] writes it too)
//	checkpoint   the last signed checkpoint, on disk before anybody gets it
//	state        origin, cursor, size, secret of the salts, with a checksum
//	hashes       every hash of the tree, in the order of tlog.StoredHashIndex
//	entries      key and leaf of each leaf, one behind the other
//	rows         64 bytes a leaf: where it lies, and the leaf before of the same key
//	LOCK         held by the process that has the log open
//
// A batch of leaves is written and synced behind what counts; then the state is
// replaced, which makes it count together with the cursor, so a crash loses no
// leaf and doubles none; then the checkpoint is signed, synced, and handed out.
//
// # What is never signed
//
// A tree that does not contain the last signed checkpoint. If a backup was put
// back, the tree may be shorter than that: it is then grown from the store until
// it contains the checkpoint again, and nothing is signed before; if the store
// cannot grow it so far, or grows another tree, the log stops with a [ForkError].
// It stops with one too when the store has lost records that were logged.
package audit
