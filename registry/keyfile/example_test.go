package keyfile_test

import (
	"crypto/ed25519"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gazetteer/registry/keyfile"
)

// A private key is stored in a file that is encrypted with a passphrase, and read again.
func Example() {
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	path := filepath.Join(dir, "agent.key")
	if err := keyfile.Create(path, key, []byte("a passphrase"), nil); err != nil {
		log.Fatal(err)
	}
	again, err := keyfile.Read(path, func() ([]byte, error) { return []byte("a passphrase"), nil })
	if err != nil {
		log.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Equal(key), info.Mode())
	// Output: true -rw-------
}
