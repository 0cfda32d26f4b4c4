package mailbox

import (
	"context"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/crypto/chacha20poly1305"

	"gazetteer/protocol/did"
	"gazetteer/store/boltfile"
)

// ErrKey: the mailbox is encrypted under a key that was not given.
var ErrKey = errors.New("the mailbox is encrypted under another key")

var (
	// keyKey is where the bucket state has the key of the mailbox, see wrapKey.
	keyKey = []byte("key")
	// staleKey says in the bucket state that free pages of the file hold what must not be read any
	// more: plain text of an earlier layout, or the key of the mailbox under a retired key.
	staleKey = []byte("stale")
)

// wrapInfo separates the key that encrypts the key of a mailbox from others that are derived from an
// agent's key.
const wrapInfo = "gazetteer/mailbox/v1"

// A recordCipher encrypts and decrypts the records of one mailbox (XChaCha20-Poly1305). Each is bound
// to the place where it is stored.
type recordCipher struct{ aead cipher.AEAD }

func newRecordCipher(key []byte) (*recordCipher, error) {
	aead, err := chacha20poly1305.NewX(key)
	return &recordCipher{aead}, err
}

// encrypt returns a record for a key of a bucket.
func (c *recordCipher) encrypt(plain, bucket, key []byte) []byte {
	out := make([]byte, c.aead.NonceSize(), c.aead.NonceSize()+len(plain)+c.aead.Overhead())
	rand.Read(out) // never fails
	return c.aead.Seal(out, out, plain, placeOf(bucket, key))
}

// decrypt reads what encrypt wrote for the same place. It appends to buffer.
func (c *recordCipher) decrypt(buffer, sealed, bucket, key []byte) ([]byte, error) {
	n := c.aead.NonceSize()
	if len(sealed) < n+c.aead.Overhead() {
		return nil, corruptf("a record of the bucket %s is cut short", bucket)
	}
	plain, err := c.aead.Open(buffer, sealed[:n], sealed[n:], placeOf(bucket, key))
	if err != nil {
		return nil, corruptf("a record of the bucket %s was changed", bucket)
	}
	return plain, nil
}

// placeOf names a key of a bucket.
func placeOf(bucket, key []byte) []byte {
	return append(append(append(make([]byte, 0, len(bucket)+1+len(key)), bucket...), 0), key...)
}

// wrappingCipher returns the cipher under which an agent's key keeps the key of its mailbox.
func wrappingCipher(key ed25519.PrivateKey) (*recordCipher, error) {
	secret, err := hkdf.Key(sha256.New, key.Seed(), nil, wrapInfo, chacha20poly1305.KeySize)
	if err != nil {
		return nil, err
	}
	return newRecordCipher(secret)
}

// wrapKey encrypts the key of a mailbox under an agent's key, and puts the public half before it.
func wrapKey(secret []byte, key ed25519.PrivateKey) ([]byte, error) {
	c, err := wrappingCipher(key)
	if err != nil {
		return nil, err
	}
	public := key.Public().(ed25519.PublicKey)
	return append([]byte(public), c.encrypt(secret, stateBucket, public)...), nil
}

// unwrapKey returns the key of a mailbox, and which of the agent's keys has it. The error matches
// [ErrKey] when none has.
func unwrapKey(wrapped []byte, keys []ed25519.PrivateKey) (secret []byte, by int, err error) {
	if len(wrapped) < ed25519.PublicKeySize {
		return nil, 0, corruptf("its key has %d bytes", len(wrapped))
	}
	public := ed25519.PublicKey(wrapped[:ed25519.PublicKeySize])
	for i, key := range keys {
		if !public.Equal(key.Public()) {
			continue
		}
		c, err := wrappingCipher(key)
		if err != nil {
			return nil, 0, err
		}
		secret, err = c.decrypt(nil, wrapped[len(public):], stateBucket, public)
		if err == nil && len(secret) != chacha20poly1305.KeySize {
			err = corruptf("its key has another length")
		}
		return secret, i, err
	}
	return nil, 0, fmt.Errorf("%w: %s", ErrKey, did.FormatMultikey(public))
}

// A reading is a transaction that reads a mailbox, a writing one that writes it.
type (
	reading struct {
		*bolt.Tx
		cipher *recordCipher
	}
	writing struct {
		*boltfile.Tx
		cipher *recordCipher
	}
)

// reading returns the transaction for functions that only read.
func (tx writing) reading() reading { return reading{tx.Tx.Tx, tx.cipher} }

// openCipher finds the cipher of the mailbox. It makes the key of a new mailbox, encrypts one of the
// first layout, and puts the current key of the agent in the place of a retired one.
func (m *Mailbox) openCipher(ctx context.Context, f *boltfile.File) error {
	stale := false
	if err := f.View("read the key of the mailbox", func(tx *bolt.Tx) error {
		state := tx.Bucket(stateBucket)
		stale = state.Get(staleKey) != nil
		wrapped := state.Get(keyKey)
		if wrapped == nil {
			return nil
		}
		secret, by, err := unwrapKey(wrapped, m.options.Keys)
		if err != nil || by > 0 {
			return err // the cipher of another key is found when it is wrapped again
		}
		m.cipher, err = newRecordCipher(secret)
		return err
	}); err != nil {
		return fmt.Errorf("%s: %w", m.dir, err)
	}
	if m.cipher == nil {
		if err := writeBare(ctx, f, func(tx *boltfile.Tx) (err error) {
			stale, err = m.changeKey(tx)
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", m.dir, err)
		}
	}
	if !stale {
		return nil
	}
	if err := f.CopyWhole(ctx, "mailbox", schema().Buckets...); err != nil {
		return err
	}
	return writeBare(ctx, f, func(tx *boltfile.Tx) error {
		tx.MarkChanged()
		return tx.Bucket(stateBucket).Delete(staleKey)
	})
}

// changeKey wraps the key of the mailbox, or a new one, under the agent's current key. stale reports
// that free pages hold what must not stay.
func (m *Mailbox) changeKey(tx *boltfile.Tx) (stale bool, err error) {
	state := tx.Bucket(stateBucket)
	secret := make([]byte, chacha20poly1305.KeySize)
	first := true
	if wrapped := state.Get(keyKey); wrapped != nil {
		if secret, _, err = unwrapKey(wrapped, m.options.Keys); err != nil {
			return false, &refusedWrite{err}
		}
		first = false
	} else {
		rand.Read(secret) // never fails
	}
	c, err := newRecordCipher(secret)
	if err != nil {
		return false, err
	}
	wrapped, err := wrapKey(secret, m.options.Keys[0])
	if err != nil {
		return false, err
	}
	tx.MarkChanged()
	if stale = !first; first {
		if stale, err = encryptFirstLayout(writing{tx, c}); err != nil {
			return stale, err
		}
	}
	if stale {
		if err := state.Put(staleKey, []byte{1}); err != nil {
			return stale, err
		}
	}
	m.cipher = c
	return stale, state.Put(keyKey, wrapped)
}

// encryptFirstLayout encrypts the messages and threads of the first layout, which were plain text, and
// reports whether there were any.
func encryptFirstLayout(tx writing) (found bool, err error) {
	for _, name := range [][]byte{mailBucket, statesBucket} {
		bucket := tx.Bucket(name)
		plain := map[string][]byte{}
		if err := bucket.ForEach(func(key, raw []byte) error {
			if string(name) == string(mailBucket) {
				if err := checkFirstLayout(raw); err != nil {
					return err
				}
				raw = raw[firstLayoutSum:]
			}
			plain[string(key)] = clone(raw)
			return nil
		}); err != nil {
			return found, err
		}
		for key, raw := range plain {
			found = true
			if err := bucket.Put([]byte(key), tx.cipher.encrypt(raw, name, []byte(key))); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}
