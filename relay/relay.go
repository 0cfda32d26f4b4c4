package relay

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// Defaults of [Options].
const (
	DefaultKeep             = 7 * 24 * time.Hour // §7.3
	DefaultKeepUnread       = 30 * 24 * time.Hour
	defaultMaxMail          = 10_000
	defaultMaxBytes         = 64 << 20
	defaultSendersPerMinute = 100
	defaultFirstContacts    = 1000
)

// An Inbox is the inbox of one agent.
type Inbox struct {
	// Name is the canonical name, under which the queue keeps the mail: the agent's DID.
	Name string
	// Addresses are all texts that the member "to" of an envelope may hold for this inbox.
	Addresses []string
	AirID     string // "" for an inbox of another registry's agent
	// Key is the current key of the agent as text, with a note while a recovery is under way. It is
	// only compared: a reader that began under another Key is cut off.
	Key string
	// Foreign is set for an agent of another registry.
	Foreign bool
	// Suspended says that the agent is suspended: its mail is kept and not given out.
	Suspended bool
	// Gone is why the agent takes no more mail, such as "deactivated"; "" for an agent that does.
	Gone string
	// MovedTo is the DID under which the agent continues elsewhere; "" if it has not moved.
	MovedTo string
}

// Inboxes finds inboxes by name. Package relay/recipients implements it over the registry's agents.
type Inboxes interface {
	// FindInbox returns the inbox for a name in a path: an AIR ID or a DID. The error matches
	// ErrNoInbox if there is none, and ErrNoAnswer.
	FindInbox(ctx context.Context, name string) (Inbox, error)
	// VerifyRead reports whether a request is signed with the current key of the inbox. The error
	// says why it is not, or matches ErrNoAnswer or ErrSuspended.
	VerifyRead(ctx context.Context, box Inbox, request httpsig.Message) error
	// AdmitSender reports whether a verified sender may write to an inbox, by the evidence that the
	// operator requires. The error says what is missing.
	AdmitSender(ctx context.Context, box Inbox, sender string) error
	// KnowsSender reports whether there is evidence about a verified sender that costs more than a
	// registration: a domain, or an attestation.
	KnowsSender(ctx context.Context, sender string) bool
}

// Errors of [Inboxes].
var (
	// ErrNoInbox: no inbox has this name.
	ErrNoInbox = errors.New("no such inbox")
	// ErrSuspended: the operator has suspended the agent, and nobody reads its mail.
	ErrSuspended = errors.New("the agent is suspended")
	// ErrNoAnswer: the registry of the recipient does not answer; a later request may succeed.
	ErrNoAnswer = errors.New("the registry of the recipient does not answer")
)

// Options configure a [Relay]. Queue, Senders, Inboxes, DID and Key are required.
type Options struct {
	Queue   Queue
	Senders a2a.KeyFinder
	Inboxes Inboxes
	// DID names the relay in its receipts; Key signs them.
	DID string
	Key ed25519.PrivateKey
	// Profile is how strictly envelopes are read: a2a.Wire also accepts the form that deployed
	// clients send.
	Profile a2a.Profile
	// Keep is how long mail waits for its acknowledgement after it was first delivered, KeepUnread how
	// long it waits to be delivered, at least Keep.
	Keep, KeepUnread time.Duration
	// MaxMail and MaxBytes bound the mail that waits in one inbox.
	MaxMail  int
	MaxBytes int64
	// SenderPerMinute bounds the pushes of one verified sender, NetworkPerMinute the attempts of
	// one network before anything is verified. SenderPerWindow bounds the entries of a sender in
	// the replay window. A negative number lifts a limit.
	SenderPerMinute, NetworkPerMinute, SenderPerWindow int
	// FirstContacts is how many inboxes a sender may write to for the first time in a day. All DIDs
	// below one foreign domain together may write to ten times as many.
	FirstContacts int
	// Allow and Block are DIDs, or hosts of DIDs such as "agents.example.com". If Allow is not
	// empty, only its entries may write. Block takes precedence.
	Allow, Block []string
	// Wake sends wake-ups and decides which addresses are allowed; nil sends none. Host is the name
	// of this server, which gets no wake-ups. AllowLoopback allows wake-up addresses of this
	// machine, for tests and trials.
	Wake          http.RoundTripper
	Host          string
	AllowLoopback bool
	Limits        *limit.Set
	Log           *slog.Logger
	Now           func() time.Time
	// Due is the clock by which mail expires and the replay window is shortened: it does not jump
	// ahead when the machine's clock is set. Nil: Now.
	Due func() time.Time
	// Steady returns a time that never jumps, for intervals. Nil: Now.
	Steady func() time.Time
}

// A Relay accepts mail and gives it out. Its methods may be called from any goroutine.
type Relay struct {
	Options
	senders, networks *limit.Limiter
	unverified        *limit.Limiter // envelopes of foreign senders that did not verify
	host              did.Web        // of the senders that are registered here
	metrics           metrics
	wakes             *wakes
	signatures        *signatureChecker
	receipts          receiptSigner
	wiped             wipedInboxes
	nonces            usedNonces
}

// wipedInboxes are the inboxes whose mail was deleted lately. A push may have found the agent active
// before that and store its envelope afterwards, so it looks here once more.
type wipedInboxes struct {
	mu    sync.Mutex
	times map[string]time.Time // guarded by mu
}

// keepWiped is longer than a push can take.
const keepWiped = 10 * time.Minute

func (w *wipedInboxes) add(inbox string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.times == nil {
		w.times = map[string]time.Time{}
	}
	w.times[inbox] = now
}

func (w *wipedInboxes) contains(inbox string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, found := w.times[inbox]
	return found
}

func (w *wipedInboxes) dropOld(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.times, func(_ string, at time.Time) bool { return now.Sub(at) > keepWiped })
}

// New returns a relay. It starts nothing: see [Relay.Run].
func New(o Options) *Relay {
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.KeepUnread = max(cmp.Or(o.KeepUnread, DefaultKeepUnread), o.Keep)
	o.MaxMail, o.MaxBytes = cmp.Or(o.MaxMail, defaultMaxMail), cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.FirstContacts = cmp.Or(o.FirstContacts, defaultFirstContacts)
	o.SenderPerWindow = cmp.Or(o.SenderPerWindow, a2a.DefaultPerThread)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Due == nil {
		o.Due = o.Now
	}
	if o.Steady == nil {
		o.Steady = o.Now
	}
	host, _ := did.ParseWeb(o.DID) // without one, all senders are foreign
	unverified := maxUnverified
	if o.NetworkPerMinute < 0 {
		unverified = -1
	}
	return &Relay{
		Options:    o,
		signatures: newSignatureChecker(),
		receipts:   receiptSigner{key: o.Key},
		wakes: &wakes{
			transport: o.Wake, queue: o.Queue, keyID: o.DID + a2a.RelayFragment, key: o.Key, log: o.Log, now: o.Now,
			pending: map[string]pendingWake{}, hosts: map[string]*wakeHost{}, domains: map[string]int{}, slow: map[string]time.Time{},
		},
		senders:    o.Limits.Limiter(limit.Rule{Name: "relay-senders", Each: cmp.Or(o.SenderPerMinute, defaultSendersPerMinute), All: -1, Span: time.Minute, MaxKeys: 100_000}),
		networks:   o.Limits.Limiter(limit.Rule{Name: "relay-networks", Each: cmp.Or(o.NetworkPerMinute, 10*defaultSendersPerMinute), All: -1, Span: time.Minute}),
		unverified: o.Limits.Limiter(limit.Rule{Name: "relay-unverified", Each: unverified, Wide: limit.WideFactor * unverified, All: -1, Span: time.Hour}),
		host:       host,
	}
}

// Accepted is an envelope that the relay has stored.
type Accepted struct {
	Number  uint64 // orders the mail of an inbox
	ID      string
	Inbox   string
	Receipt []byte // JSON, signed; see [a2a.Receipt]
}

// Accept verifies an envelope that a client pushes to an inbox, and stores it. Cheap checks come
// first, and a limit that several senders share is charged only to verified senders: the client's
// network before anything is read, the sender after its signature was verified. The error is an
// *a2a.Refusal (§9.2), a *Refusal, or that of ctx.
func (r *Relay) Accept(ctx context.Context, name string, text []byte, client netip.Addr) (Accepted, error) {
	accepted, err := r.acceptEnvelope(ctx, name, text, client)
	r.metrics.countPush(err)
	return accepted, err
}

func (r *Relay) acceptEnvelope(ctx context.Context, name string, text []byte, client netip.Addr) (Accepted, error) {
	if err := rateRefusal(r.networks.Take(ctx, client), "your network"); err != nil {
		return Accepted{}, err
	}
	read, err := a2a.Read(text, r.Profile)
	if err != nil {
		return Accepted{}, err
	}
	box, err := r.findInbox(ctx, name)
	if err != nil {
		return Accepted{}, err
	}
	envelope, err := r.verifySender(ctx, read, client)
	if err != nil {
		return Accepted{}, err
	}
	rules, err := r.admitSender(ctx, box, envelope)
	if err != nil {
		return Accepted{}, err
	}
	accepted, err := r.storeMail(ctx, box, envelope, rules)
	if err == nil {
		r.wakes.addPending(box.Name, rules.WakeURL, accepted.Number)
	}
	return accepted, err
}

// maxUnverified is the number of envelopes of foreign senders in an hour that one network can push
// without a valid signature, if the relay has a limit for networks. Each can cost a request to the host
// of a DID that somebody else owns.
const maxUnverified = 300

// verifySender verifies the signature of an envelope.
func (r *Relay) verifySender(ctx context.Context, e *a2a.Envelope, client netip.Addr) (*a2a.Verified, error) {
	verify := a2a.Verifier{Profile: r.Profile, Keys: r.Senders, Now: r.Now, Check: r.signatures.checkSignature}.VerifyEnvelope
	if from, err := did.ParseWeb(e.From); err != nil || from.SameHost(r.host) {
		return verify(ctx, e)
	}
	attempt, err := r.unverified.Reserve(ctx, client)
	if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
		refusal := refuseRate(fmt.Sprintf("your network has pushed %d envelopes within an hour whose foreign senders have not signed them", exceeded.Quota), exceeded.Wait)
		refusal.Code = "too_many_unverified"
		return nil, refusal
	}
	verified, err := verify(ctx, e)
	if err == nil {
		attempt.Cancel()
	}
	return verified, err
}

// findInbox returns an inbox that accepts mail.
func (r *Relay) findInbox(ctx context.Context, name string) (Inbox, error) {
	box, err := r.Inboxes.FindInbox(ctx, name)
	switch {
	case errors.Is(err, ErrNoInbox):
		return box, refuseUnknown(name)
	case ctx.Err() != nil:
		return box, ctx.Err()
	case errors.Is(err, ErrNoAnswer):
		return box, refuseUnresolved()
	case err != nil:
		r.Log.Error("look up an inbox", "error", err)
		return box, refuseUnavailable("the recipient cannot be looked up at the moment")
	case box.Gone != "":
		return box, refuseGone(box)
	}
	return box, nil
}

// admitSender applies the rules about senders to a sender whose signature was verified, and returns
// the rules of the recipient.
func (r *Relay) admitSender(ctx context.Context, box Inbox, e *a2a.Verified) (Rules, error) {
	if !slices.Contains(box.Addresses, e.To) {
		return Rules{}, &a2a.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Rule: a2a.RuleRecipient, Detail: "the envelope is not addressed to this inbox, which belongs to " + box.Name, AirID: box.AirID}
	}
	if blocksSender(r.Block, e.From) || len(r.Allow) > 0 && !NamesSender(r.Allow, e.From) {
		return Rules{}, refuseForbidden("sender_blocked", "this relay accepts no mail from this sender")
	}
	if err := rateRefusal(r.senders.TakeKey(ctx, senderKey(e.From)), "this sender"); err != nil {
		return Rules{}, err
	}
	if err := r.Inboxes.AdmitSender(ctx, box, e.From); err != nil {
		return Rules{}, refuseForbidden("evidence_required", err.Error())
	}
	return r.checkSender(ctx, box, e.From)
}

// storeMail puts an envelope into the queue, and signs its receipt when it is stored.
func (r *Relay) storeMail(ctx context.Context, box Inbox, e *a2a.Verified, rules Rules) (Accepted, error) {
	to := e.To
	if to == box.Name {
		to = "" // most envelopes say it, and the record is shorter without it
	}
	receipt := a2a.NewReceipt(r.DID, e.Envelope, r.Now())
	pending := r.receipts.addReceipt(receipt)
	mail := Incoming{
		Inbox: box.Name, Sender: e.From, ID: e.ID, ThreadID: e.ThreadID, Nonce: e.Nonce, To: to, Digest: receipt.Digest,
		Received: receipt.ReceivedAt, Expires: receipt.ReceivedAt.Add(r.KeepUnread), Text: e.Text,
		MaxMail: r.MaxMail, MaxBytes: r.MaxBytes, ShareKey: r.shareKey, MaxSenderPerWindow: max(r.SenderPerWindow, 0), Wake: r.Wake != nil && rules.WakeURL != "",
		SenderKey: senderKey(e.From), ContactKey: r.shareKey(e.From), MaxFirstContacts: r.maxFirstContacts(e.From),
	}
	number, err := r.Queue.Push(ctx, mail)
	if errors.Is(err, ErrRoomReserved) && r.Inboxes.KnowsSender(ctx, e.From) {
		mail.Known = true
		number, err = r.Queue.Push(ctx, mail)
	}
	if err != nil {
		return Accepted{ID: e.ID, Inbox: box.Name}, r.explainPush(ctx, e, err)
	}
	if err := r.removeIfEnded(context.WithoutCancel(ctx), box.Name); err != nil {
		return Accepted{ID: e.ID, Inbox: box.Name}, err
	}
	return Accepted{Number: number, ID: e.ID, Inbox: box.Name, Receipt: r.receipts.signReceipt(pending)}, nil
}

// removeIfEnded deletes mail that was stored while its recipient ended, and returns the refusal.
func (r *Relay) removeIfEnded(ctx context.Context, inbox string) error {
	if !r.wiped.contains(inbox) {
		return nil
	}
	_, err := r.findInbox(ctx, inbox)
	if refused, ok := errors.AsType[*Refusal](err); !ok || refused.Status != http.StatusGone && refused.Status != http.StatusNotFound {
		return nil
	}
	if failed := r.Wipe(ctx, inbox); failed != nil {
		r.Log.Error("delete the mail of an agent that ended", "error", failed)
	}
	return err
}

func (r *Relay) explainPush(ctx context.Context, e *a2a.Verified, err error) error {
	if contacts, ok := errors.AsType[*ContactsError](err); ok {
		refusal := refuseRate(fmt.Sprintf("%s: at most %d within 24 hours", contacts, r.maxFirstContacts(e.From)), contacts.Wait)
		refusal.Code = "too_many_first_contacts"
		return refusal
	}
	switch {
	case errors.Is(err, ErrRepeated), errors.Is(err, ErrTaken):
		return &a2a.Refusal{Status: http.StatusConflict, Reason: a2a.ErrorReplay, Rule: a2a.RuleReplay, Detail: err.Error(), ThreadID: e.ThreadID}
	case errors.Is(err, ErrWindowFull):
		// §9.2 has Replay Window Exhausted for one thread: the sender opens another one, which does not
		// help here.
		refusal := refuseRate(err.Error()+": it has room again when the earliest messages are old enough", time.Hour)
		refusal.Code = "replay_window_full"
		return refusal
	case errors.Is(err, ErrShareUsed):
		refusal := refuseRate(err.Error()+": wait until its owner pulls mail", 10*time.Minute)
		refusal.Code = "sender_share_used"
		return refusal
	case errors.Is(err, ErrRoomReserved):
		refusal := refuseRate(err.Error()+": wait until its owner pulls mail, or prove a domain", 10*time.Minute)
		refusal.Code = "inbox_room_reserved"
		return refusal
	case errors.Is(err, ErrInboxFull):
		return refuseRate("the inbox is full until its owner pulls mail", 10*time.Minute)
	case errors.Is(err, store.ErrInvalid):
		return &a2a.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Rule: "id", Detail: err.Error()}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrFull):
		return refuseFull()
	}
	r.Log.Error("store an envelope", "error", err)
	return refuseUnavailable("the envelope could not be stored; it is not known whether it was")
}

// rateRefusal turns the error of a limit into a refusal.
func rateRefusal(err error, who string) error {
	if e, ok := errors.AsType[*limit.ExceededError](err); ok {
		return refuseRate(fmt.Sprintf("%s sends too much: %d a minute is the most", who, e.Quota), e.Wait)
	}
	return err
}

// A Reader is an inbox opened by its verified recipient.
type Reader struct {
	relay *Relay
	box   Inbox
}

// Read opens an inbox for the owner that signed the request. The error is a *Refusal, or that of ctx.
func (r *Relay) Read(ctx context.Context, name string, request httpsig.Message) (*Reader, error) {
	return r.openInbox(ctx, name, func(box Inbox) error {
		if err := r.Inboxes.VerifyRead(ctx, box, request); err != nil {
			return err
		}
		return r.checkNonces(box, request)
	})
}

// checkNonces refuses a verified request with a nonce that was used before. A nonce is not required.
func (r *Relay) checkNonces(box Inbox, request httpsig.Message) error {
	signatures, err := httpsig.Read(request)
	for _, s := range signatures {
		if s.Nonce != "" && !r.nonces.addNonce(box.Name, s.Nonce, r.Steady()) {
			return errors.New("a request with this nonce was answered before: sign each request with a new nonce")
		}
	}
	return err
}

// ReadUnsigned opens an inbox without a signature, for operators whose clients cannot sign.
func (r *Relay) ReadUnsigned(ctx context.Context, name string) (*Reader, error) {
	return r.openInbox(ctx, name, func(Inbox) error { return nil })
}

func (r *Relay) openInbox(ctx context.Context, name string, verify func(Inbox) error) (*Reader, error) {
	box, err := r.findInbox(ctx, name)
	if err != nil {
		return nil, err
	}
	err = verify(box)
	switch {
	case errors.Is(err, ErrNoAnswer):
		return nil, refuseUnresolved()
	case errors.Is(err, ErrSuspended), err == nil && box.Suspended:
		return nil, refuseForbidden("suspended", "the agent is suspended: its mail is stored until the operator restores it")
	case err != nil:
		return nil, &Refusal{Status: http.StatusUnauthorized, Reason: reasonUnauthorized, Code: "unauthorized", Detail: err.Error()}
	}
	return &Reader{r, box}, nil
}

// Inbox returns the canonical name of the inbox.
func (b *Reader) Inbox() string { return b.box.Name }

// MaxPage and maxPageBytes bound one page of mail.
const (
	MaxPage      = 200
	maxPageBytes = 4 << 20
)

// Pull returns the mail after a number, at most limit envelopes (1 to MaxPage).
func (b *Reader) Pull(ctx context.Context, after uint64, limit int) (Page, error) {
	page, err := b.relay.Queue.Pull(ctx, b.box.Name, after, min(max(limit, 1), MaxPage), maxPageBytes, b.relay.Due())
	if err != nil {
		return Page{}, b.relay.explainRead(ctx, "pull mail", err)
	}
	if n := len(page.Mail); n > 0 {
		b.relay.Queue.NoteDelivered(b.box.Name, page.Mail[n-1].Number, b.relay.Due().Add(b.relay.Keep))
	}
	b.relay.addReceipts(b.box.Name, page.Mail)
	b.relay.metrics.pulled.Add(uint64(len(page.Mail)))
	return page, nil
}

// WaitAndPull is [Reader.Pull], but waits up to a time if there is no mail yet.
func (b *Reader) WaitAndPull(ctx context.Context, after uint64, limit int, wait time.Duration) (Page, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		pushed, stop := b.relay.Queue.Watch(b.box.Name) // before the pull, so that no push is missed
		page, err := b.Pull(ctx, after, limit)
		if err != nil || len(page.Mail) > 0 || wait <= 0 {
			stop()
			return page, err
		}
		select {
		case <-pushed:
			stop()
			if err := b.CheckAccess(ctx); err != nil {
				return Page{}, err
			}
		case <-timer.C:
			stop()
			return page, nil
		case <-ctx.Done():
			stop()
			return Page{}, ctx.Err()
		}
	}
}

// CheckAccess reports whether the recipient may still read, for a reader that stays open: the agent may
// have been suspended or have ended, or its key may have changed. The error is a *Refusal, or that of
// ctx.
func (b *Reader) CheckAccess(ctx context.Context) error {
	now, err := b.relay.openInbox(ctx, b.box.Name, func(box Inbox) error {
		if box.Key != b.box.Key {
			return errors.New("the key of the inbox changed: sign with the new one")
		}
		return nil
	})
	if err == nil {
		b.box = now.box
	}
	return err
}

// Watch is that of the queue for this inbox.
func (b *Reader) Watch() (pushed <-chan struct{}, stop func()) {
	return b.relay.Queue.Watch(b.box.Name)
}

// MaxAcknowledge is how many ids one acknowledgement may hold.
const MaxAcknowledge = 500

// Acknowledge deletes mail and returns how many envelopes it deleted.
func (b *Reader) Acknowledge(ctx context.Context, ids []string) (int, error) {
	n, err := b.relay.Queue.Acknowledge(ctx, b.box.Name, ids)
	if err != nil {
		return 0, b.relay.explainRead(ctx, "acknowledge mail", err)
	}
	b.relay.metrics.acknowledged.Add(uint64(n))
	return n, nil
}

func (r *Relay) explainRead(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Log.Error(doing, "error", err)
	return refuseUnavailable("the mail cannot be read at the moment")
}

// Wipe deletes the mail of an agent that ended. Pushes that are under way leave none behind.
func (r *Relay) Wipe(ctx context.Context, inbox string) error {
	r.wiped.add(inbox, r.Steady())
	_, err := r.Queue.Wipe(ctx, inbox)
	return err
}

// expireEvery is the interval between two searches for expired mail, expireChunk the number of
// envelopes that one write deletes. forgetDelay is longer than an envelope can be fresh.
const (
	expireEvery = time.Minute
	expireChunk = 1000
	forgetDelay = 6 * time.Minute
)

// A forgetClock gives the time by which replay entries are forgotten: the earliest due time of the last
// forgetDelay. The due time may run ahead with the clock. When the clock is right again, envelopes of
// the last minutes are fresh again and must not have been forgotten.
type forgetClock struct{ readings []clockReading }

// A clockReading is what two clocks showed at one moment.
type clockReading struct{ steady, due time.Time }

// read notes the present times and returns the time to forget by, zero while none is known.
func (f *forgetClock) read(steady, due time.Time) time.Time {
	f.readings = append(f.readings, clockReading{steady, due})
	for len(f.readings) > 1 && steady.Sub(f.readings[1].steady) >= forgetDelay {
		f.readings = f.readings[1:]
	}
	if steady.Sub(f.readings[0].steady) < forgetDelay {
		return time.Time{}
	}
	forget := due
	for _, r := range f.readings {
		if r.due.Before(forget) { // also after the clock was set back
			forget = r.due
		}
	}
	return forget
}

// Run deletes expired mail and sends wake-ups until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	var waking sync.WaitGroup
	waking.Go(func() { r.wakes.sendUntilDone(ctx) })
	defer waking.Wait()
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	var clock forgetClock
	for {
		due := r.Due()
		forget := clock.read(r.Steady(), due)
		for {
			n, err := r.Queue.Expire(ctx, due, forget, expireChunk)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				r.Log.Error("delete expired mail", "error", err)
			}
			r.metrics.expired.Add(uint64(n))
			if err != nil || n < expireChunk {
				break
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.wiped.dropOld(r.Steady())
		}
	}
}
