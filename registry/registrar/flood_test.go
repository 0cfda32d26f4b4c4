package registrar_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// TestProvedRegistrationFloodGrowsLogByAccepted sends 10,000 registrations from one address, then
// 10,000 from as many networks, each with a valid proof; refused ones are sent again. The limits
// hold, a refused client is told how long to wait, other clients are served meanwhile, and the
// store and the transparency log grow by the accepted ones and by nothing else.
func TestProvedRegistrationFloodGrowsLogByAccepted(t *testing.T) {
	const flood, fromOne, limit, kept = 10_000, 3, 200, 10
	c := newClock()
	s := openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, RequireProof: true, Limits: admission.Limits{Registrations: fromOne, AllRegistrations: limit}})
	log := followed(t, s)
	grown := recordsOf(t, s)
	n, reg := 0, provedRegistration(t, r, 0)
	try := func(from netip.Addr) error {
		reg.Client = from
		_, _, err := r.Register(t.Context(), reg)
		if err == nil {
			n++
			reg = provedRegistration(t, r, n)
		}
		return err
	}
	won := func(from func(i int) netip.Addr, code string) (taken int) {
		for i := range flood {
			err := try(from(i))
			if err == nil {
				taken++
				continue
			}
			if e := refusal(t, err, code); e.Kind != registry.ErrTooMany || e.Wait <= 0 {
				t.Fatalf("%+v", e)
			}
		}
		return taken
	}
	one := client("192.0.2.1")
	if taken := won(func(int) netip.Addr { return one }, "registrations-network"); taken != fromOne {
		t.Errorf("%d were taken from one address", taken)
	}
	if err := try(client("198.51.100.1")); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	many := func(i int) netip.Addr { // each of another /24
		return netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), 1})
	}
	taken := won(many, "registrations-all") // which come from forty /16
	if taken < limit/2 || taken > limit-kept-fromOne-1 {
		t.Errorf("%d were taken from everybody", taken)
	}
	fromAll := taken + fromOne + 1
	if err := try(client("203.0.113.1")); err != nil {
		t.Errorf("somebody else, after the flood: %v", err)
	}
	fromAll++
	head := s.Head()
	if err := log.WaitFor(t.Context(), head.Seq); err != nil {
		t.Fatal(err)
	}
	if leaves := log.Head().N; leaves != int64(fromAll) {
		t.Errorf("%d leaves, %d were taken", leaves, fromAll)
	}
	// Of each its record, its entry and its key; and the admission policy, once.
	if grown := recordsOf(t, s) - grown; grown != 3*fromAll+1 || head.Seq != uint64(3*fromAll+1) {
		t.Errorf("%d records after %d writes, want %d", grown, head.Seq, 3*fromAll+1)
	}
}

// followed returns a transparency log that follows the store until the test ends.
func followed(t *testing.T, s store.Store) *audit.Log {
	t.Helper()
	dir := t.TempDir()
	key, err := checkpoint.OpenKey(filepath.Join(dir, "key"), "registry.test/log")
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- log.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func recordsOf(t *testing.T, s store.Store) (n int) {
	t.Helper()
	for _, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// provedRegistration is the n-th of many, with a separate key and the answer to a challenge.
func provedRegistration(t *testing.T, r *registrar.Registrar, n int) registry.Registration {
	t.Helper()
	seed := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	private := ed25519.NewKeyFromSeed(seed[:])
	public := private.Public().(ed25519.PublicKey)
	members := map[string]any{"name": fmt.Sprintf("Agent %d", n), "public_key": did.FormatPublicKey(public)}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	challenge := challengeOf(t, r)
	text := registrationStatement(t, "registry.test", challenge, did.FormatMultikey(public), body)
	members["proof"] = map[string]string{"challenge": challenge, "signature": did.FormatSignature(ed25519.Sign(private, text))}
	if body, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	reg, err := airjson.ReadRegistration(body)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}
