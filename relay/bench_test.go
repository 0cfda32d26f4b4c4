package relay_test

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/store/boltfile"
)

const host = "did:wba:registry.test:agents:"

// agents are a registry whose agents have the keys that their names say.
type agents struct{}

// agentKey is the key of the agent with this name.
func agentKey(name string) ed25519.PrivateKey {
	if key, known := agentKeys.Load(name); known {
		return key.(ed25519.PrivateKey)
	}
	seed := make([]byte, 32)
	copy(seed, name)
	key := ed25519.NewKeyFromSeed(seed)
	agentKeys.Store(name, key)
	return key
}

// What was made is remembered, as a resolver does.
var agentKeys, agentDocuments sync.Map

func (agents) FindInbox(_ context.Context, name string) (relay.Inbox, error) {
	name = strings.TrimPrefix(name, host)
	if strings.HasPrefix(name, "unknown") {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	return relay.Inbox{Name: host + name, AirID: name, Addresses: []string{host + name}}, nil
}

func (agents) VerifyRead(context.Context, relay.Inbox, httpsig.Message) error { return nil }

func (agents) AdmitSender(context.Context, relay.Inbox, string) error { return nil }

func (agents) Resolve(_ context.Context, id string) (did.Document, error) {
	if document, known := agentDocuments.Load(id); known {
		return document.(did.Document), nil
	}
	key := agentKey(strings.TrimPrefix(id, host)).Public().(ed25519.PublicKey)
	document := did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{
		ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key),
	}}}
	agentDocuments.Store(id, document)
	return document, nil
}

func openQueue(t testing.TB, dir string) *boltqueue.Queue {
	t.Helper()
	q, err := boltqueue.Open(context.Background(), dir, boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// newRelay returns a relay without limits, changed by change.
func newRelay(t testing.TB, queue relay.Queue, change func(*relay.Options)) *relay.Relay {
	t.Helper()
	o := relay.Options{
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: agents{}}, Inboxes: agents{}, DID: "did:wba:registry.test", Key: agentKey("relay"),
		Profile: a2a.Wire, SenderPerMinute: -1, NetworkPerMinute: -1, SenderPerWindow: -1, FirstContacts: -1, MaxMail: 1 << 30, MaxBytes: 1 << 50, Limits: &limit.Set{},
	}
	if change != nil {
		change(&o)
	}
	return relay.New(o)
}

// signOffer signs an offer of some 1,000 bytes.
func signOffer(t testing.TB, from, to string, at time.Time) []byte {
	t.Helper()
	e, err := a2a.Sign(a2a.Message{From: host + from, To: host + to, Timestamp: at, Body: a2a.Offer{
		Description: strings.Repeat("a table for two at eight, by the window ", 10), Price: a2a.Money{AmountCents: 500, Currency: "EUR"}, ExpiresAt: at.Add(time.Hour),
	}}, a2a.Strict, agentKey(from))
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

// Pushes that arrive together share a signature, and each sender gets a receipt that counts.
func TestReceiptsOfConcurrentPushes(t *testing.T) {
	at := time.Now()
	r := newRelay(t, openQueue(t, t.TempDir()), nil)
	var senders sync.WaitGroup
	for n := range 32 {
		senders.Go(func() {
			text := signOffer(t, fmt.Sprint("sender-", n), "inbox", at)
			accepted, err := r.Accept(t.Context(), "inbox", text, netip.Addr{})
			if err != nil {
				t.Error(err)
				return
			}
			e, err := a2a.Read(text, a2a.Strict)
			if err != nil {
				t.Error(err)
				return
			}
			receipt, err := a2a.ReadReceipt(accepted.Receipt)
			if err == nil {
				err = receipt.Verify(e, agentKey("relay").Public().(ed25519.PublicKey))
			}
			if err != nil || receipt.Relay != "did:wba:registry.test" {
				t.Errorf("%v: %s", err, accepted.Receipt)
			}
		})
	}
	senders.Wait()
}

// BenchmarkAccept has 64 senders push to 100 inboxes, everything verified, and reports the share of
// bare group commits of the same bytes (of-bare). Both are done in turn, in rounds, so that what else
// the machine does falls on both; the share is the median of the rounds.
func BenchmarkAccept(b *testing.B) {
	const round = 640
	mail := make([][]byte, b.N)
	at := time.Now()
	for n := range mail {
		mail[n] = signOffer(b, fmt.Sprint("sender-", n%64), fmt.Sprint("inbox-", n%100), at)
	}
	queue := openQueue(b, b.TempDir())
	r := newRelay(b, queue, func(o *relay.Options) { o.Now = func() time.Time { return at } })
	file := openBare(b)
	var bare, full pushTimes
	var shares []float64
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		before := bare.add(from, to, func(n int) error { return putBare(file, n, mail[n]) })
		took := full.add(from, to, func(n int) error {
			_, err := r.Accept(context.Background(), fmt.Sprint("inbox-", n%100), mail[n], netip.Addr{})
			return err
		})
		shares = append(shares, float64(before)/float64(took))
	}
	if err := errors.Join(bare.err, full.err); err != nil {
		b.Fatal(err)
	}
	slices.Sort(shares)
	b.ReportMetric(shares[len(shares)/2], "of-bare")
	b.ReportMetric(float64(b.N)/full.took.Seconds(), "pushes/s")
	b.ReportMetric(float64(b.N)/bare.took.Seconds(), "bare/s")
	b.ReportMetric(float64(full.processor.Microseconds())/float64(b.N), "cpu-µs/push")
	b.ReportMetric(float64(bare.processor.Microseconds())/float64(b.N), "cpu-µs/bare")
}

// pushTimes sums up rounds of pushes from 64 goroutines.
type pushTimes struct {
	took, processor time.Duration
	err             error
}

// add makes the pushes of one round and returns how long they took.
func (p *pushTimes) add(from, to int, push func(n int) error) time.Duration {
	next, failed := atomic.Int64{}, make([]error, 64)
	next.Store(int64(from))
	var senders sync.WaitGroup
	began, processor := time.Now(), processorTime()
	for sender := range failed {
		senders.Go(func() {
			for n := next.Add(1) - 1; n < int64(to) && failed[sender] == nil; n = next.Add(1) - 1 {
				failed[sender] = push(int(n))
			}
		})
	}
	senders.Wait()
	took := time.Since(began)
	p.took, p.processor, p.err = p.took+took, p.processor+processorTime()-processor, errors.Join(p.err, errors.Join(failed...))
	return took
}

// processorTime returns how long this process has used a processor, 0 where the system does not say.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var bareBucket = []byte("bare")

func openBare(b *testing.B) *boltfile.File {
	b.Helper()
	file, err := boltfile.Open(context.Background(), b.TempDir(), boltfile.Schema{
		Name: "bare.bolt", Noun: "file", Format: 1, Buckets: [][]byte{bareBucket}, LastSequence: func(*bolt.Tx) (uint64, error) { return 0, nil },
	}, boltfile.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { file.Close() })
	return file
}

// putBare writes an envelope under its inbox and its number, and nothing else.
func putBare(file *boltfile.File, n int, text []byte) error {
	key := binary.BigEndian.AppendUint64(fmt.Appendf(nil, "%sinbox-%d\x00", host, n%100), uint64(n))
	_, err := file.Write(context.Background(), boltfile.Request{Writes: 1, Bytes: len(text), Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, tx.Bucket(bareBucket).Put(key, text)
	}})
	return err
}
