package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestKillLosesNoRegistryData kills the program at random moments, while agents are registered,
// claim handles, rotate their keys and attest others, all at once. After every kill each
// acknowledged write exists, no AIR ID and no handle is assigned twice, and every event of an agent
// is one leaf of the log, whose tree contains every published checkpoint. KILLS sets the number of
// kills.
func TestKillLosesNoRegistryData(t *testing.T) {
	t.Parallel()
	kills := killsOr(t, 6)
	dir := filepath.Join(t.TempDir(), "data")
	b := &book{t: t, agents: map[string]*booked{}, handles: map[string]string{}, attested: map[int]string{}, progress: make(chan struct{}, 1), first: make(chan struct{})}
	attesters := prepareAttesters(t, dir, 8+kills*2)
	rotators := []*rotator{{}, {}}
	for range kills {
		b.run(dir, []int{0, rand.IntN(20), 20 + rand.IntN(150)}[rand.IntN(3)], rotators, attesters)
		b.check(dir)
		if t.Failed() {
			return
		}
	}
	b.run(dir, 60, rotators, attesters) // what is left is not read-only
	b.check(dir)
	rotations := 0
	for _, agent := range b.agents {
		rotations += max(0, len(agent.keys)-1)
	}
	if len(b.agents) == 0 || len(b.handles) == 0 || rotations == 0 || len(b.attested) == 0 || len(b.checkpoints) == 0 {
		t.Error("not everything was done at least once")
	}
	t.Logf("%d kills; acknowledged: %d agents, %d handles, %d rotations, %d attestations; %d different checkpoints were given out",
		kills+1, len(b.agents), len(b.handles), rotations, len(b.attested), len(b.checkpoints))
}

// A book is what the server acknowledged and gave out.
type book struct {
	t        *testing.T
	progress chan struct{} // one token for something new
	first    chan struct{} // closed when an agent is registered

	mu          sync.Mutex // guards the following fields
	count       int        // of acknowledged writes
	agents      map[string]*booked
	order       []string          // AIR IDs, as they came
	handles     map[string]string // to the AIR ID
	attested    map[int]string    // by number, to the subject
	checkpoints [][]byte
	wanted      int // number of the handle that everybody claims now
}

// booked has the acknowledged facts of an agent.
type booked struct {
	keys []string // multikeys, oldest first
	key  ed25519.PrivateKey
}

func (b *book) note(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	b.count++
	remind(b.progress)
}

// run lets the program work until that many writes were acknowledged, and kills it.
func (b *book) run(dir string, writes int, rotators []*rotator, attesters []*attester) {
	b.t.Helper()
	c, stderr := launch(b.t, dir, "crawler.enabled=false", "registry.name_server=127.0.0.1:1")
	ctx, stop := context.WithCancel(b.t.Context())
	c.stop = stop
	c.work.Go(func() { c.readLog(b.t, stderr, newLedger()) })
	call := caller{c.base, b}
	work := func(f func()) {
		c.work.Go(func() {
			if c.up(ctx) {
				f()
			}
		})
	}
	for range 3 {
		work(func() { call.register(ctx) })
	}
	for _, r := range rotators {
		work(func() { call.rotate(ctx, r) })
	}
	for i := range 2 {
		work(func() { call.attest(ctx, attesters[i*len(attesters)/2:(i+1)*len(attesters)/2]) })
	}
	work(func() { call.watch(ctx) })
	for b.since(writes) {
		select {
		case <-b.progress:
		case <-c.ended:
			b.t.Error("the program ended by itself")
			writes = 0
		case <-time.After(3 * time.Minute): // since the last one
			b.t.Error("nothing is acknowledged any more")
			writes = 0
		}
	}
	c.command.Process.Kill()
	c.stop()
	c.work.Wait()
	c.command.Wait() // killed
	b.mu.Lock()
	b.count = 0
	b.mu.Unlock()
}

// since reports whether fewer writes than that were acknowledged in this run.
func (b *book) since(writes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count < writes
}

// A caller plays clients of one run of the program.
type caller struct {
	base string
	book *book
}

// killHost is what the registry calls itself.
const killHost = "localhost"

// send sends a request, signed if there is a key, and decodes the answer. The status is 0 if there
// was no answer: then it is unknown whether the request was executed.
func (c caller) send(ctx context.Context, method, path string, body any, keyID string, key ed25519.PrivateKey, v any) int {
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.book.t.Error(err)
			return 0
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		c.book.t.Error(err)
		return 0
	}
	request.Host = killHost
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != nil {
		if err := httpsig.Sign(request, text, key, httpsig.SignOptions{KeyID: keyID}); err != nil {
			c.book.t.Error(err)
			return 0
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0 // killed: ctx ends
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0 // cut by the kill
	}
	if response.StatusCode >= 500 && response.StatusCode != http.StatusServiceUnavailable {
		c.book.t.Errorf("%s %s: %s %s", method, path, response.Status, raw)
	}
	if bytes, ok := v.(*[]byte); ok {
		*bytes = raw
		return response.StatusCode
	}
	if v != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(raw, v); err != nil {
			c.book.t.Errorf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return response.StatusCode
}

func newKey() (ed25519.PrivateKey, string) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // it never fails
	}
	return key, did.FormatMultikey(public)
}

// agent registers an agent with a proof of its key.
func (c caller) agent(ctx context.Context) (airID string, ok bool) {
	key, multikey := newKey()
	var made air.RegistrationAnswer
	status := c.send(ctx, http.MethodPost, "/api/v1/agents/register", map[string]any{"name": "kill test", "no_secret": true,
		"public_key": did.FormatPublicKey(key.Public().(ed25519.PublicKey))}, multikey, key, &made)
	if status != http.StatusCreated {
		if status != 0 {
			c.book.t.Errorf("register: %d", status)
		}
		return "", false
	}
	c.book.note(func() {
		if c.book.agents[made.AirID] != nil {
			c.book.t.Errorf("%s was given out twice", made.AirID)
		}
		c.book.agents[made.AirID] = &booked{keys: []string{multikey}, key: key}
		if c.book.order = append(c.book.order, made.AirID); len(c.book.order) == 1 {
			close(c.book.first)
		}
	})
	return made.AirID, true
}

// register registers agents that all claim the handle which is next.
func (c caller) register(ctx context.Context) {
	for ctx.Err() == nil {
		airID, ok := c.agent(ctx)
		if !ok {
			continue
		}
		c.book.mu.Lock()
		n, key := c.book.wanted, c.book.agents[airID].key
		c.book.mu.Unlock()
		handle := "kill_" + strconv.Itoa(n)
		status := c.send(ctx, http.MethodPut, cli.AgentPath(airID, ""), map[string]string{"username": handle}, didOf(airID)+did.KeyFragment, key, nil)
		switch status {
		case http.StatusOK:
			c.book.note(func() {
				if other := c.book.handles[handle]; other != "" {
					c.book.t.Errorf("%s was given to %s and to %s", handle, other, airID)
				}
				c.book.handles[handle] = airID
			})
		case 0, http.StatusConflict:
		default:
			c.book.t.Errorf("claim %s: %d", handle, status)
		}
		c.book.mu.Lock()
		c.book.wanted = max(c.book.wanted, n+1)
		c.book.mu.Unlock()
	}
}

func didOf(airID string) string { return "did:wba:" + killHost + ":agents:" + airID }

// A rotator rotates the key of an agent, over all runs.
type rotator struct {
	airID string
	key   ed25519.PrivateKey
	next  ed25519.PrivateKey // of a rotation that was not answered
}

func (c caller) rotate(ctx context.Context, r *rotator) {
	for ctx.Err() == nil {
		if r.airID == "" {
			airID, ok := c.agent(ctx)
			if !ok {
				continue
			}
			c.book.mu.Lock()
			r.airID, r.key = airID, c.book.agents[airID].key
			c.book.mu.Unlock()
		}
		if r.next != nil && !c.settle(ctx, r) {
			continue
		}
		r.next, _ = newKey()
		x := registry.NewRotation(didOf(r.airID), r.key, r.next, "", time.Now())
		status := c.send(ctx, http.MethodPost, cli.AgentPath(r.airID, "/keys"), air.RotationBody{Agent: x.Agent, CurrentKey: x.From, PublicKey: x.To,
			Created: x.Created.Format(time.RFC3339), Nonce: x.Nonce, OldSignature: x.OldSignature, NewSignature: x.NewSignature}, "", nil, nil)
		switch status {
		case http.StatusOK:
			c.rotated(r)
		case 0:
		case http.StatusTooManyRequests: // 300 in five minutes: on with another
			*r = rotator{}
		default:
			c.book.t.Errorf("rotate %s: %d", r.airID, status)
			return
		}
	}
}

// settle finds out whether a rotation was done that was not answered.
func (c caller) settle(ctx context.Context, r *rotator) bool {
	var keys airjson.KeysView
	if c.send(ctx, http.MethodGet, cli.AgentPath(r.airID, "/keys"), nil, "", nil, &keys) != http.StatusOK {
		return false
	}
	if keys.Keys[0].PublicKeyMultibase == did.FormatMultikey(r.next.Public().(ed25519.PublicKey)) {
		c.rotated(r)
	}
	r.next = nil
	return true
}

func (c caller) rotated(r *rotator) {
	c.book.note(func() {
		agent := c.book.agents[r.airID]
		agent.keys = append(agent.keys, did.FormatMultikey(r.next.Public().(ed25519.PublicKey)))
	})
	r.key, r.next = r.next, nil
}

// An attester is an agent that was there long before, with a proved domain.
type attester struct {
	airID string
	key   ed25519.PrivateKey
	made  int // attestations, of which a week allows ten
}

// attest has attesters attest the agent that was registered last.
func (c caller) attest(ctx context.Context, attesters []*attester) {
	select {
	case <-c.book.first:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		i := slices.IndexFunc(attesters, func(a *attester) bool { return a.made < 10 })
		if i < 0 {
			return
		}
		a := attesters[i]
		c.book.mu.Lock()
		subject := c.book.order[rand.IntN(len(c.book.order))]
		c.book.mu.Unlock()
		q := attestation.Request{Attester: a.airID, Type: "identity_verification", SignedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
		payload, err := q.Payload(subject)
		if err != nil {
			c.book.t.Error(err)
			return
		}
		a.made++
		var made airjson.AttestedView
		status := c.send(ctx, http.MethodPost, cli.AgentPath(subject, "/attestations"), map[string]string{"attester_air_id": a.airID, "attestation_type": q.Type,
			"signed_at": q.SignedAt, "signature_multibase": did.FormatSignature(ed25519.Sign(a.key, payload))}, didOf(a.airID)+did.KeyFragment, a.key, &made)
		switch status {
		case http.StatusCreated:
			c.book.note(func() {
				if other := c.book.attested[made.AttestationID]; other != "" {
					c.book.t.Errorf("attestation %d is about %s and about %s", made.AttestationID, other, subject)
				}
				c.book.attested[made.AttestationID] = subject
			})
		case 0:
		case http.StatusConflict: // this subject once more
		default:
			c.book.t.Errorf("attest by %s: %d", a.airID, status)
			return
		}
	}
}

// watch keeps every checkpoint that is given out.
func (c caller) watch(ctx context.Context) {
	for ctx.Err() == nil {
		var text []byte
		if c.send(ctx, http.MethodGet, "/log/checkpoint", nil, "", nil, &text) != http.StatusOK {
			continue
		}
		c.book.mu.Lock()
		if n := len(c.book.checkpoints); n == 0 || !bytes.Equal(c.book.checkpoints[n-1], text) {
			c.book.checkpoints = append(c.book.checkpoints, text)
		}
		c.book.mu.Unlock()
	}
}

// a zone answers the questions of the domains' proofs.
type zone map[string]string

func (z zone) TXT(_ context.Context, name string) ([]string, error) {
	if value, ok := z[name]; ok {
		return []string{value}, nil
	}
	return nil, nil
}

// prepareAttesters makes a data directory with agents that are 40 days old and
// have proved a domain each: who may attest.
func prepareAttesters(t *testing.T, dir string, n int) []*attester {
	t.Helper()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // before the program opens it
	names, clock := zone{}, testclock.New(time.Now().Add(-40*24*time.Hour))
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: killHost, DNS: names, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	attesters, secrets := make([]*attester, n), make([]string, n)
	agents := make([]registry.Agent, n)
	for i := range n {
		key, _ := newKey()
		attesters[i] = &attester{key: key}
		if agents[i], secrets[i], err = r.Register(t.Context(), registry.Registration{Name: "attester", PublicKey: did.FormatPublicKey(key.Public().(ed25519.PublicKey))}); err != nil {
			t.Fatal(err)
		}
		attesters[i].airID = agents[i].AirID
	}
	clock.Set(time.Now().Add(-time.Minute))
	if _, err := r.SetRegistrationPolicy(t.Context(), admission.ModeOpen, ""); err != nil {
		t.Fatal(err)
	}
	for i, agent := range agents {
		domain := fmt.Sprintf("attester-%d.example", i)
		names[evidence.DomainLabel+"."+domain] = r.DomainRecord(agent)
		d, _, err := r.ProveDomain(t.Context(), agent.AirID, domain, registry.Credentials{Secret: secrets[i]})
		if err != nil || d.Since.IsZero() {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	return attesters
}

// check reads the data directory that a killed program left behind.
func (b *book) check(dir string) {
	t, ctx := b.t, b.t.Context()
	t.Helper()
	s, err := boltstore.Open(ctx, dir, boltstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("the store does not open after a kill: %v", err)
	}
	defer s.Close()
	for airID, want := range b.agents {
		record, err := s.Get(ctx, store.AgentKey(airID))
		var agent registry.Agent
		if err != nil || json.Unmarshal(record.Value, &agent) != nil {
			t.Errorf("agent %s was acknowledged and is gone: %v", airID, err)
			continue
		}
		have := []string{}
		for _, k := range append(agent.Keys()[1:], agent.Keys()[0]) { // oldest first
			have = append(have, did.FormatMultikey(k.PublicKey))
		}
		// One more rotation may be there that was not answered.
		if len(have) < len(want.keys) || len(have) > len(want.keys)+1 || !slices.Equal(have[:len(want.keys)], want.keys) {
			t.Errorf("%s: %d keys were acknowledged, %d are there", airID, len(want.keys), len(have))
		}
	}
	for handle, airID := range b.handles {
		if record, err := s.Get(ctx, store.HandleKey(handle)); err != nil || string(record.Value) != airID {
			t.Errorf("handle %s was acknowledged to %s and is %q's, %v", handle, airID, record.Value, err)
		}
	}
	for n, subject := range b.attested {
		record, err := s.Get(ctx, store.AttestationKey(n))
		if err != nil || !bytes.Contains(record.Value, []byte(subject)) {
			t.Errorf("attestation %d was acknowledged and is gone: %v", n, err)
		}
	}
	b.checkLog(s, dir, b.checkAgents(s))
}

// checkAgents looks that the records of all agents agree with each other, and
// returns the keys of their histories.
func (b *book) checkAgents(s store.Store) map[string]bool {
	t, ctx := b.t, b.t.Context()
	t.Helper()
	holders, entries := map[string]string{}, map[string]bool{}
	for record, err := range s.List(ctx, store.AgentPrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		if len(store.SplitKey(record.Key)) == 3 {
			entries[record.Key] = true
			continue
		}
		var agent registry.Agent
		if err := json.Unmarshal(record.Value, &agent); err != nil {
			t.Fatal(err)
		}
		if agent.Handle == "" {
			continue
		}
		if other := holders[agent.Handle]; other != "" {
			t.Errorf("%s and %s both hold %s", other, agent.AirID, agent.Handle)
		}
		holders[agent.Handle] = agent.AirID
	}
	for record, err := range s.List(ctx, store.AgentPrefix, "") {
		var agent registry.Agent
		if err != nil || len(store.SplitKey(record.Key)) == 3 || json.Unmarshal(record.Value, &agent) != nil {
			continue
		}
		for n := 1; n <= agent.Entries; n++ {
			if !entries[store.EntryKey(agent.AirID, n)] {
				t.Errorf("%s has no entry %d of %d", agent.AirID, n, agent.Entries)
			}
		}
		if entries[store.EntryKey(agent.AirID, agent.Entries+1)] {
			t.Errorf("%s has more entries than its %d", agent.AirID, agent.Entries)
		}
	}
	return entries
}

// checkLog looks that every entry is one leaf, and that the tree contains all that
// was signed before.
func (b *book) checkLog(s store.Store, dir string, entries map[string]bool) {
	t, ctx := b.t, b.t.Context()
	t.Helper()
	key, err := checkpoint.OpenKey(filepath.Join(dir, "log.key"), killHost+"/log")
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	if err != nil {
		t.Fatalf("the log does not open after a kill: %v", err)
	}
	running, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- l.Run(running) }()
	err = l.WaitFor(ctx, s.Head().Seq)
	seen := map[string]int64{}
	for i := range l.Head().N {
		e, err := l.Entry(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[e.Key]; twice && strings.HasPrefix(e.Key, store.AgentPrefix) {
			t.Errorf("leaves %d and %d are both %s", before, i, e.Key)
		}
		seen[e.Key] = i
		delete(entries, e.Key)
	}
	for key := range entries {
		t.Errorf("%s is not in the log", key)
	}
	stop()
	if err := errors.Join(err, <-ran, l.Close()); err != nil {
		t.Fatal(err)
	}
	verifier, err := checkpoint.NewVerifier(l.Key())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := tiles.Verify(ctx, audit.FilesIn(filepath.Join(dir, "log")), verifier, b.checkpoints...); err != nil {
		t.Errorf("the log: %v", err)
	} else if r.Older != len(b.checkpoints) {
		t.Errorf("the log contains %d of %d checkpoints", r.Older, len(b.checkpoints))
	}
}
