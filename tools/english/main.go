// Command english writes the word table of package english from the files of a WordNet
// dictionary and a supplement of newer words.
//
// WordNet 3.0 is in every Debian as the package wordnet-base. To get its files
// without installing anything:
//
//	apt-get download wordnet-base
//	dpkg-deb -x wordnet-base_*.deb wordnet
//	WORDNET=$PWD/wordnet/usr/share/wordnet go generate ./protocol/english
//
// The same input always gives the same bytes; their digest is written beside
// them, and a test compares it. The shape of the table is
// described in layout.go of package english.
package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dict := flag.String("dict", "", "folder of the WordNet files index.verb, data.verb, ... (/usr/share/wordnet when empty)")
	supplement := flag.String("supplement", "supplement.txt", "file of newer words")
	out := flag.String("out", "words.zlib", "file to write")
	flag.Parse()
	if *dict == "" {
		*dict = "/usr/share/wordnet"
	}
	if err := generate(*dict, *supplement, *out); err != nil {
		fmt.Fprintln(os.Stderr, "english:", err)
		os.Exit(1)
	}
}

func generate(dict, supplement, out string) error {
	d, err := readDictionary(dict)
	if err != nil {
		return fmt.Errorf("read WordNet: %w", err)
	}
	if err := d.readSupplement(supplement); err != nil {
		return fmt.Errorf("read supplement: %w", err)
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	if err != nil {
		return err
	}
	raw := d.encode()
	if _, err := z.Write(raw); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%d words, %d bytes, %d compressed\n", len(d.words), len(raw), packed.Len())
	if err := os.WriteFile(out, packed.Bytes(), 0o644); err != nil {
		return err
	}
	sum := sha256.Sum256(packed.Bytes())
	digest := strings.TrimSuffix(out, filepath.Ext(out)) + ".sha256"
	return os.WriteFile(digest, []byte(hex.EncodeToString(sum[:])+"\n"), 0o644)
}
