// Package tiles reads and verifies a transparency log from its files, without the program that
// serves it: the checkpoint and the tiles of C2SP tlog-tiles, in a directory or over HTTP. Start
// with [Verify].
package tiles
