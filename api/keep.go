package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/maypok86/otter/v2"

	"gazetteer/store"
)

// The most bytes that are kept of answers, and of their compressed forms.
const (
	maxKept       = 32 << 20
	maxCompressed = 32 << 20
)

// A keeper holds answers that are asked for again and again. Each belongs to
// one record of the store and holds while that record has the same sequence, so
// a kept answer is never older than one computed now.
type keeper struct {
	store   store.Store
	answers *otter.Cache[keptKey, kept]
}

// A keptKey is a record of the store and which answer about it is meant.
type keptKey struct{ sort, key string }

type kept struct {
	seq  uint64
	body []byte
}

func newKeeper(s store.Store) (*keeper, error) {
	answers, err := otter.New(&otter.Options[keptKey, kept]{
		MaximumWeight: maxKept,
		Weigher:       func(key keptKey, k kept) uint32 { return uint32(len(key.key) + len(k.body) + 96) },
		Executor:      func(work func()) { work() }, // no goroutine of its own
	})
	if err != nil {
		return nil, fmt.Errorf("set up the kept answers: %w", err)
	}
	return &keeper{store: s, answers: answers}, nil
}

// answer returns the JSON of what compute returns, or what is kept of it. Every
// change to what compute reads must come with a write to the record of key: a
// visit writes its host's record, an update its agent's. Sort tells the answers
// about one record apart; compute says false of what must not be kept.
func (k *keeper) answer(ctx context.Context, sort, key string, compute func() (any, bool, error)) ([]byte, error) {
	record, err := k.store.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if old, ok := k.answers.GetIfPresent(keptKey{sort, key}); ok && err == nil && old.seq == record.Seq {
		return old.body, nil
	}
	// What is read now is as new as the record, or newer; then the next
	// request finds another sequence and computes again.
	missing := err != nil
	v, keep, err := compute()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer of %s: %w", key, err)
	}
	if keep && !missing {
		k.answers.Set(keptKey{sort, key}, kept{seq: record.Seq, body: b.Bytes()})
	}
	return b.Bytes(), nil
}

// A press compresses bodies, and remembers those it compressed lately.
type press struct {
	done *otter.Cache[[sha256.Size]byte, []byte]
}

func newPress() (*press, error) {
	done, err := otter.New(&otter.Options[[sha256.Size]byte, []byte]{
		MaximumWeight: maxCompressed,
		Weigher:       func(_ [sha256.Size]byte, b []byte) uint32 { return uint32(len(b) + 64) },
		Executor:      func(work func()) { work() }, // no goroutine of its own
	})
	if err != nil {
		return nil, fmt.Errorf("set up the compressed answers: %w", err)
	}
	return &press{done: done}, nil
}

// compress returns body, whose SHA-256 is sum, in gzip.
func (p *press) compress(sum [sha256.Size]byte, body []byte) []byte {
	if done, ok := p.done.GetIfPresent(sum); ok {
		return done
	}
	zipped := compressed(body)
	p.done.Set(sum, zipped)
	return zipped
}
