package relay_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/cputime"
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
func (agents) KnowsSender(context.Context, string) bool               { return false }

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
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: agents{}, Cache: new(did.KeyCache)}, Inboxes: agents{}, DID: "did:wba:registry.test", Key: agentKey("relay"),
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
	return signOfferOf(t, from, to, at, 12)
}

// signOfferOf signs an offer of some 480 bytes and 41 for each repetition.
func signOfferOf(t testing.TB, from, to string, at time.Time, repetitions int) []byte {
	t.Helper()
	e, err := a2a.Sign(a2a.Message{From: host + from, To: host + to, Timestamp: at, Body: a2a.Offer{
		Description: strings.Repeat("a table for two at eight, by the window ", repetitions), Price: a2a.Money{AmountCents: 500, Currency: "EUR"}, ExpiresAt: at.Add(time.Hour),
	}}, a2a.Strict, agentKey(from))
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

// TestReceiptsOfConcurrentPushes checks that concurrent pushes share a signature, as the mail of a
// page does, and that the receipts of each sender and the recipient are valid.
func TestReceiptsOfConcurrentPushes(t *testing.T) {
	const count = 32
	at := time.Now()
	r := newRelay(t, openQueue(t, t.TempDir()), nil)
	verify := func(text, receipt []byte) {
		e, err := a2a.Read(text, a2a.Strict)
		if err != nil {
			t.Error(err)
			return
		}
		read, err := a2a.ReadReceipt(receipt)
		if err == nil {
			err = read.Verify(e, agentKey("relay").Public().(ed25519.PublicKey))
		}
		if err != nil || read.Relay != "did:wba:registry.test" || read.ReceivedAt.Before(at.Truncate(time.Millisecond)) {
			t.Errorf("%v: %s", err, receipt)
		}
	}
	var senders sync.WaitGroup
	for n := range count {
		senders.Go(func() {
			text := signOffer(t, fmt.Sprint("sender-", n), "inbox", at)
			accepted, err := r.Accept(t.Context(), "inbox", text, netip.Addr{})
			if err != nil {
				t.Error(err)
				return
			}
			verify(text, accepted.Receipt)
		})
	}
	senders.Wait()
	reader, err := r.ReadUnsigned(t.Context(), "inbox")
	if err != nil {
		t.Fatal(err)
	}
	page, err := reader.Pull(t.Context(), 0, count)
	if err != nil || len(page.Mail) != count {
		t.Fatalf("%d envelopes, %v", len(page.Mail), err)
	}
	signatures := map[string]bool{}
	for _, m := range page.Mail {
		verify(m.Text, m.Receipt)
		var receipt struct{ Signature string }
		if err := json.Unmarshal(m.Receipt, &receipt); err != nil {
			t.Fatal(err)
		}
		signatures[receipt.Signature] = true
	}
	if len(signatures) != 1 {
		t.Errorf("%d signatures for one page", len(signatures))
	}
}

// meetingQueue refuses the mail of one sender, after that of another one is there, too.
type meetingQueue struct {
	relay.Queue
	refused string
	both    sync.WaitGroup
}

func (q *meetingQueue) Push(ctx context.Context, in relay.Incoming) (uint64, error) {
	q.both.Done()
	q.both.Wait()
	if in.Sender == q.refused {
		return 0, relay.ErrInboxFull
	}
	return q.Queue.Push(ctx, in)
}

// TestRefusedEnvelopeHasNoReceipt refuses an envelope that shares the batch of a stored one. With the
// receipt of the latter, a sender makes one for the former: it does not verify.
func TestRefusedEnvelopeHasNoReceipt(t *testing.T) {
	at := time.Now()
	queue := &meetingQueue{Queue: openQueue(t, t.TempDir()), refused: host + "refused"}
	r := newRelay(t, queue, func(o *relay.Options) { o.Now = func() time.Time { return at } })
	queue.both.Add(2)
	refused, stored := signOffer(t, "refused", "inbox", at), signOffer(t, "stored", "inbox", at)
	var senders sync.WaitGroup
	senders.Go(func() {
		if _, err := r.Accept(t.Context(), "inbox", refused, netip.Addr{}); err == nil {
			t.Error("it is stored")
		}
	})
	accepted, err := r.Accept(t.Context(), "inbox", stored, netip.Addr{})
	senders.Wait()
	if err != nil {
		t.Fatal(err)
	}
	var receipt map[string]any
	if err := json.Unmarshal(accepted.Receipt, &receipt); err != nil {
		t.Fatal(err)
	}
	place, signature := receipt["batch"].(map[string]any), receipt["signature"]
	if place["size"] != 2.0 {
		t.Fatalf("the envelopes are not in one batch: %s", accepted.Receipt)
	}
	delete(receipt, "batch")
	delete(receipt, "signature")
	leaf, err := json.Marshal(receipt) // in canonical form
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(append([]byte{0}, leaf...))
	e, err := a2a.Read(refused, a2a.Strict)
	if err != nil {
		t.Fatal(err)
	}
	digest := e.Digest()
	receipt["envelope_sha256"], receipt["from"], receipt["id"] = hex.EncodeToString(digest[:]), e.From, e.ID
	receipt["signature"] = signature
	for _, salt := range []any{receipt["salt"], "", nil} {
		if receipt["salt"] = salt; salt == nil {
			delete(receipt, "salt")
		}
		receipt["batch"] = map[string]any{"index": 1 - place["index"].(float64), "size": 2, "path": []string{hex.EncodeToString(hash[:])}}
		forged, err := json.Marshal(receipt)
		if err != nil {
			t.Fatal(err)
		}
		read, err := a2a.ReadReceipt(forged)
		if err != nil || read.Verify(e, agentKey("relay").Public().(ed25519.PublicKey)) == nil {
			t.Errorf("a receipt of an envelope that was refused: %v, %s", err, forged)
		}
	}
}

// countingResolver resolves the DIDs of one foreign host, and counts them.
type countingResolver struct{ lookups atomic.Int64 }

func (r *countingResolver) Resolve(ctx context.Context, id string) (did.Document, error) {
	if !strings.HasPrefix(id, host) {
		r.lookups.Add(1)
	}
	if strings.Contains(id, ":absent") {
		return did.Document{}, a2a.ErrUnknownSender
	}
	return agents{}.Resolve(ctx, id)
}

// TestForeignSendersAreLookedUpForWhoSigns pushes envelopes in the names of agents of another host from
// one network: after some hundred the relay asks that host no more. Senders of this host, senders of
// other networks, and any number of foreign senders that have signed, are not affected.
func TestForeignSendersAreLookedUpForWhoSigns(t *testing.T) {
	at := time.Now()
	resolver := &countingResolver{}
	r := newRelay(t, openQueue(t, t.TempDir()), func(o *relay.Options) {
		o.NetworkPerMinute, o.Now = 1_000_000, func() time.Time { return at }
		o.Senders = a2a.DocumentKeys{Resolver: resolver, Cache: new(did.KeyCache)}
	})
	const foreign = "did:wba:victim.example:agents:"
	push := func(from, key, client string) error {
		e, err := a2a.Sign(a2a.Message{From: from, To: host + "inbox", Timestamp: at, Body: a2a.Offer{
			Description: "x", Price: a2a.Money{AmountCents: 500, Currency: "EUR"}, ExpiresAt: at.Add(time.Hour),
		}}, a2a.Strict, agentKey(key))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Accept(t.Context(), "inbox", e.Text, netip.MustParseAddr(client))
		return err
	}
	limited := 0
	for n := range 400 {
		err := push(fmt.Sprint(foreign, "absent-", n), "another", "192.0.2.1")
		if refused, ok := errors.AsType[*relay.Refusal](err); ok && refused.Status == 429 && refused.Code == "too_many_unverified" && refused.Wait > 0 {
			limited++
		} else if err == nil {
			t.Fatal("it is stored")
		}
	}
	if asked := resolver.lookups.Load(); asked != 300 || limited != 100 {
		t.Errorf("%d requests to the host, %d envelopes over the limit", asked, limited)
	}
	if err := push(host+"sender", "sender", "192.0.2.1"); err != nil {
		t.Errorf("a sender of this host: %v", err)
	}
	for n := range 400 {
		from := fmt.Sprint(foreign, "signer-", n)
		if err := push(from, from, "198.51.100.1"); err != nil {
			t.Fatalf("signer %d of another network: %v", n, err)
		}
	}
}

// BenchmarkAccept has 64 senders push to 100 inboxes, everything verified, and reports the share of
// bare group commits of the same bytes: those of bbolt itself (of-bare), and those of package boltfile
// (of-groups). All are done in turn, in rounds, so that what else the machine does falls on all; a
// share is the median of the rounds. A merge of the queue begins after 32,768 pushes.
func BenchmarkAccept(b *testing.B) {
	const round = 640
	mail := make([][]byte, b.N)
	at := time.Now()
	for n := range mail {
		// Different sizes, so that it does not depend on one of them how many fit on a page of the
		// file.
		mail[n] = signOfferOf(b, fmt.Sprint("sender-", n%64), fmt.Sprint("inbox-", n%100), at, 3+n%20)
	}
	queue := openQueue(b, b.TempDir())
	r := newRelay(b, queue, func(o *relay.Options) { o.Now = func() time.Time { return at } })
	db, file := openBareDB(b), openBare(b)
	var bare, groups, full pushTimes
	var ofBare, ofGroups []float64
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		bareTook := bare.add(from, to, func(n int) error {
			return db.Batch(func(tx *bolt.Tx) error { return tx.Bucket(bareBucket).Put(bareKey(n), mail[n]) })
		})
		groupsTook := groups.add(from, to, func(n int) error { return putBare(file, n, mail[n]) })
		took := full.add(from, to, func(n int) error {
			_, err := r.Accept(context.Background(), fmt.Sprint("inbox-", n%100), mail[n], netip.Addr{})
			return err
		})
		ofBare, ofGroups = append(ofBare, float64(bareTook)/float64(took)), append(ofGroups, float64(groupsTook)/float64(took))
	}
	if err := errors.Join(bare.err, groups.err, full.err); err != nil {
		b.Fatal(err)
	}
	slices.Sort(ofBare)
	slices.Sort(ofGroups)
	b.ReportMetric(ofBare[len(ofBare)/2], "of-bare")
	b.ReportMetric(ofGroups[len(ofGroups)/2], "of-groups")
	for name, times := range map[string]pushTimes{"push": full, "bare": bare, "group": groups} {
		b.ReportMetric(float64(b.N)/times.took.Seconds(), name+"/s")
		b.ReportMetric(float64(times.processor.Microseconds())/float64(b.N), "cpu-µs/"+name)
	}
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
	began, processor := time.Now(), cputime.Used()
	for sender := range failed {
		senders.Go(func() {
			for n := next.Add(1) - 1; n < int64(to) && failed[sender] == nil; n = next.Add(1) - 1 {
				failed[sender] = push(int(n))
			}
		})
	}
	senders.Wait()
	took := time.Since(began)
	p.took, p.processor, p.err = p.took+took, p.processor+cputime.Used()-processor, errors.Join(p.err, errors.Join(failed...))
	return took
}

var bareBucket = []byte("bare")

// bareKey is the inbox of an envelope and its number.
func bareKey(n int) []byte {
	return binary.BigEndian.AppendUint64(fmt.Appendf(nil, "%sinbox-%d\x00", host, n%100), uint64(n))
}

// openBareDB opens a file of bbolt, as it comes, but that a group does not wait once it has all senders.
func openBareDB(b *testing.B) *bolt.DB {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare.bolt"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.MaxBatchSize = 64
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bareBucket)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

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
	_, err := file.Write(context.Background(), boltfile.Request{Writes: 1, Bytes: len(text), Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, tx.Bucket(bareBucket).Put(bareKey(n), text)
	}})
	return err
}
