package registrar_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"gazetteer/registry/registrar"
	"gazetteer/store/boltstore"
)

// A registry with a new store registers an agent and publishes its DID document.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "registry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := boltstore.Open(ctx, filepath.Join(dir, "data"), boltstore.Options{MinFree: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "registry.example"})
	if err != nil {
		log.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	agent, secret, err := r.Register(ctx, registry.Registration{
		Name:      "Table booker",
		PublicKey: did.FormatPublicKey(key.Public().(ed25519.PublicKey)),
		Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{
			{Type: did.TypeInbox, ServiceEndpoint: "https://agent.example/inbox"},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	document := r.DIDDocument(agent)
	fmt.Println(agent.Status, len(secret))
	fmt.Println(document.ID == "did:wba:registry.example:agents:"+agent.AirID)
	fmt.Println(document.Service[1].Type, document.Service[1].ServiceEndpoint)
	// Output:
	// active 32
	// true
	// A2AInbox https://agent.example/inbox
}

// The owner of an agent replaces its key: both keys sign the statement of the rotation.
func ExampleRegistrar_rotate() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "registry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := boltstore.Open(ctx, filepath.Join(dir, "data"), boltstore.Options{MinFree: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "registry.example"})
	if err != nil {
		log.Fatal(err)
	}
	_, old, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	_, next, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	agent, _, err := r.Register(ctx, registry.Registration{Name: "Table booker", PublicKey: did.FormatPublicKey(old.Public().(ed25519.PublicKey))})
	if err != nil {
		log.Fatal(err)
	}

	agent, err = r.Rotate(ctx, agent.AirID, registry.NewRotation(r.DID(agent.AirID), old, next, "", time.Now()))
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range agent.Keys() {
		fmt.Println(k.ID, k.Proof)
	}

	d := r.NewDirectory()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	if err := d.WaitFor(ctx, 1); err != nil {
		log.Fatal(err)
	}
	found, total := d.Search(directory.Query{Words: "booker", Require: []string{registry.SignalKey}})
	fmt.Println(total, found[0].Name, found[0].Signals)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// #key-1 statement
	// #retired-1 statement
	// 1 Table booker [key]
}
