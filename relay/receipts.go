package relay

import (
	"cmp"
	"crypto/ed25519"
	"sync"

	"gazetteer/protocol/a2a"
)

// A receiptSigner signs the receipts of envelopes that are stored at about the same time together.
type receiptSigner struct {
	key  ed25519.PrivateKey
	mu   sync.Mutex
	open *receiptBatch // the batch that receipts are added to; guarded by mu
}

// maxReceiptBatch bounds a batch: refused envelopes add to it as well, and never end it.
const maxReceiptBatch = 256

// A receiptBatch has receipts that are signed together, once.
type receiptBatch struct {
	once     sync.Once
	receipts []a2a.UnsignedReceipt // guarded by receiptSigner.mu until the batch is closed
	signed   a2a.ReceiptBatch
}

// A pendingReceipt is the receipt of an envelope that is not stored yet.
type pendingReceipt struct {
	batch *receiptBatch
	index int
}

// addReceipt prepares the receipt of an envelope before it is stored. The receipt of one that is then
// refused is a leaf of the tree that is signed, but is never formatted, and nobody else knows its salt.
func (s *receiptSigner) addReceipt(receipt a2a.Receipt) pendingReceipt {
	prepared := receipt.Prepare()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || len(s.open.receipts) >= maxReceiptBatch {
		s.open = new(receiptBatch)
	}
	s.open.receipts = append(s.open.receipts, prepared)
	return pendingReceipt{s.open, len(s.open.receipts) - 1}
}

// signReceipt returns the receipt of an envelope that is stored, as JSON. The first call for a batch
// closes and signs it.
func (s *receiptSigner) signReceipt(pending pendingReceipt) []byte {
	batch := pending.batch
	batch.once.Do(func() {
		s.mu.Lock()
		if s.open == batch {
			s.open = nil
		}
		s.mu.Unlock()
		batch.signed = a2a.SignReceipts(batch.receipts, s.key)
	})
	return batch.signed.Receipt(pending.index)
}

// addReceipts signs the receipts of the mail of an inbox on its way to the recipient, all at once.
func (r *Relay) addReceipts(inbox string, mail []Mail) {
	var receipts []a2a.UnsignedReceipt
	for _, m := range mail {
		if len(m.Receipt) == 0 {
			receipt := a2a.Receipt{Relay: r.DID, From: m.Sender, To: cmp.Or(m.To, inbox), ID: m.ID, Digest: m.Digest, ReceivedAt: m.Received}
			receipts = append(receipts, receipt.Prepare())
		}
	}
	batch, next := a2a.SignReceipts(receipts, r.Key), 0
	for i := range mail {
		if len(mail[i].Receipt) == 0 {
			mail[i].Receipt = batch.Receipt(next)
			next++
		}
	}
}
