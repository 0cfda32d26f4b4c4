package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/internal/teststore"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/directory"
	"gazetteer/registry/registrar"
)

// storeAgent stores an agent with the n-th key.
func storeAgent(t *testing.T, r *registrar.Registrar, name string, n byte) (registry.Agent, ed25519.PrivateKey) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	agent, _, err := r.Register(t.Context(), registry.Registration{Name: name, Editable: registry.Editable{Capabilities: []string{"BOOK"}}, PublicKey: did.FormatPublicKey(key.Public().(ed25519.PublicKey))})
	if err != nil {
		t.Fatal(err)
	}
	return agent, key
}

func TestPagesOfAgentsAndLog(t *testing.T) {
	ctx := t.Context()
	s := teststore.New(t)
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "gazetteer.test"})
	if err != nil {
		t.Fatal(err)
	}
	a := &answer.Answers{Store: s, Registry: r}
	if _, _, err := a.FindAgents(ctx, directory.Query{}, ""); !errors.Is(err, answer.ErrNoDirectory) {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := a.LogStatus(ctx, 0); !errors.Is(err, answer.ErrNoLog) {
		t.Errorf("without a log: %v", err)
	}
	key, err := checkpoint.OpenKey(filepath.Join(t.TempDir(), "key"), "gazetteer.test/log")
	if err != nil {
		t.Fatal(err)
	}
	a.Log, err = audit.Open(ctx, audit.Options{Dir: filepath.Join(t.TempDir(), "log"), Store: s, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Log.Close() })
	a.Directory = r.NewDirectory()
	if _, _, err := a.FindAgents(ctx, directory.Query{}, ""); !errors.Is(err, answer.ErrReading) {
		t.Errorf("before the agents are read: %v", err)
	}
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	t.Cleanup(func() { stop(); group.Wait() })
	for _, follow := range []func(context.Context) error{a.Log.Run, a.Directory.Run} {
		group.Go(func() {
			if err := follow(running); err != nil {
				t.Errorf("follow the store: %v", err)
			}
		})
	}

	booker, old := storeAgent(t, r, "Booker", 1)
	storeAgent(t, r, "Other", 2)
	next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	if booker, err = r.Rotate(ctx, booker.AirID, registry.NewRotation(r.DID(booker.AirID), old, next, "", time.Now())); err != nil {
		t.Fatal(err)
	}
	find := func() ([]directory.Result, int, error) {
		return a.FindAgents(ctx, directory.Query{Words: "booker", Require: []string{registry.SignalKey}}, "")
	}
	found, total, err := find()
	for try := 0; try < 5 && total == 0 && err == nil; try++ { // each waits half a second, which is little on a busy machine
		found, total, err = find()
	}
	if err != nil || total != 1 || found[0].AirID != booker.AirID {
		t.Errorf("what was just written is not found: %v, %d, %v", found, total, err)
	}

	d, err := a.AgentDetails(ctx, r.DID(booker.AirID))
	if err != nil {
		t.Fatal(err)
	}
	if d.Entries != 2 || len(d.History) != 2 || d.History[0].Event != registry.EventRotated || d.History[1].Event != registry.EventRegistered {
		t.Errorf("history of %d entries, newest first: %+v", d.Entries, d.History)
	}
	if len(d.Evidence) == 0 || !d.Logged || d.Record != r.DomainRecord(booker) || d.DID.ID != r.DID(booker.AirID) {
		t.Errorf("dossier %+v", d)
	}
	if _, err := a.AgentDetails(ctx, "AIR-0000-0000-0000"); !errors.Is(err, registry.ErrNoAgent) {
		t.Errorf("an agent that is not there: %v", err)
	}

	if err := a.Log.WaitFor(ctx, s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	standing, err := a.LogStatus(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if standing.Size != 3 || standing.Origin != "gazetteer.test/log" || standing.Signed == "" || standing.Key != a.Log.Key() {
		t.Errorf("standing %+v", standing)
	}
	if n := standing.Newest; len(n) != 3 || n[0].Event != registry.EventRotated || n[0].Index != 2 || !n[0].At.Equal(d.History[0].At) {
		t.Errorf("newest leaves %+v", n)
	}
	last := standing.Growth[len(standing.Growth)-1]
	if last.Size != 3 || !last.At.Equal(d.History[0].At) {
		t.Errorf("growth %+v", standing.Growth)
	}
	for i := 1; i < len(standing.Growth); i++ {
		if before, now := standing.Growth[i-1], standing.Growth[i]; now.Size <= before.Size || !now.At.After(before.At) {
			t.Errorf("the log shrinks from %+v to %+v", before, now)
		}
	}
}
