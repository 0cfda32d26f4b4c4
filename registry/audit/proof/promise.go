// Package proof checks what a transparency log has given to somebody: proofs that it contains a leaf,
// and promises that it will. Start with [Check] and [ParsePromise].
package proof

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// promiseHeader is the first line of a promise. No checkpoint begins with it: its second line would
// not be a number.
const promiseHeader = "gazetteer inclusion promise v1"

// A Promise says that the log will include a leaf. It is signed with the log's key, as a signed
// note of C2SP whose text is six lines: the header, the origin of the log, the key of the record,
// the hash of the leaf in base64, and two times of RFC 3339: when it was issued, and by when the
// leaf is included. If the leaf is missing then, the note proves that the log broke its promise.
type Promise struct {
	Origin string
	Key    string // of the record
	Leaf   tlog.Hash
	Issued time.Time
	By     time.Time
}

// Text returns the text of the promise, which the log signs.
func (p Promise) Text() string {
	return strings.Join([]string{promiseHeader, p.Origin, p.Key, p.Leaf.String(),
		p.Issued.Format(time.RFC3339), p.By.Format(time.RFC3339), ""}, "\n")
}

// ParsePromise checks the signature of a promise with the log's key and returns the promise.
func ParsePromise(signed []byte, verifier note.Verifier) (Promise, error) {
	if len(signed) > checkpoint.MaxSize {
		return Promise{}, fmt.Errorf("the promise has %d bytes, more than %d", len(signed), checkpoint.MaxSize)
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return Promise{}, errors.New("the promise is not signed with the key of the log")
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 7 || lines[0] != promiseHeader || lines[6] != "" {
		return Promise{}, errors.New("it is no promise of inclusion: want six lines that begin with " + promiseHeader)
	}
	p := Promise{Origin: lines[1], Key: lines[2]}
	if p.Origin != verifier.Name() {
		return Promise{}, errors.New("the promise is of another log")
	}
	var errs [3]error
	p.Leaf, errs[0] = checkpoint.ParseHash(lines[3])
	p.Issued, errs[1] = time.Parse(time.RFC3339, lines[4])
	p.By, errs[2] = time.Parse(time.RFC3339, lines[5])
	return p, errors.Join(errs[:]...)
}
