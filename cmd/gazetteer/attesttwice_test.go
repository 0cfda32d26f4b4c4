package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
	"gazetteer/store/boltstore"
)

// TestAttestationAtTwoRegistries shows at which other registry the signed text of an attestation can be
// stored: nowhere with the request that the first registry got, nor at a registry that has just imported
// the attester, which has not known it for 30 days; at one that has, and where its domain is proved, with
// the secret that the attester has there.
func TestAttestationAtTwoRegistries(t *testing.T) {
	t.Parallel()
	const domain = "attester.example"
	hosts := []string{"first.example", "old.example", "new.example"}
	born := time.Now().Add(-40 * 24 * time.Hour)
	clock, names := testclock.New(born), zone{}
	var dirs []string
	var registries []*registrar.Registrar
	var stores []*boltstore.Store
	for _, host := range hosts {
		dirs = append(dirs, t.TempDir())
		s, err := boltstore.Open(t.Context(), filepath.Join(dirs[len(dirs)-1], "data"), boltstore.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
		r, err := registrar.New(registrar.Options{Store: s, DIDHost: host, DNS: names, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		registries = append(registries, r)
	}
	register := func() (registry.Agent, ed25519.PrivateKey, string) {
		key, _ := newKey()
		a, secret, err := registries[0].Register(t.Context(), registry.Registration{Name: "agent", PublicKey: did.FormatPublicKey(key.Public().(ed25519.PublicKey))})
		if err != nil {
			t.Fatal(err)
		}
		return a, key, secret
	}
	attester, key, secret := register()
	subject, _, _ := register()
	moveTo := func(r *registrar.Registrar) {
		for _, a := range []registry.Agent{attester, subject} {
			var file bytes.Buffer
			if err := registries[0].Export(t.Context(), a.AirID, &file, transfer.ExportOptions{Secret: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Import(t.Context(), &file); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock.Advance(24 * time.Hour)
	moveTo(registries[1])
	clock.Set(time.Now().Add(-time.Minute))
	moveTo(registries[2])
	for i, r := range registries {
		if _, err := r.SetRegistrationPolicy(t.Context(), admission.ModeOpen, ""); err != nil {
			t.Fatal(err)
		}
		a, _, err := r.Agent(t.Context(), attester.AirID)
		if err != nil {
			t.Fatal(err)
		}
		names[evidence.DomainLabel+"."+domain] = r.DomainRecord(a)
		if d, _, err := r.ProveDomain(t.Context(), a.AirID, domain, registry.Credentials{Secret: secret}); err != nil || d.Since.IsZero() {
			t.Fatalf("%s: %+v, %v", hosts[i], d, err)
		}
		if err := stores[i].Close(); err != nil {
			t.Fatal(err)
		}
	}

	q := attestation.Request{Attester: attester.AirID, Type: "dependency", SignedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Statement: "they answer"}
	payload, err := q.Payload(subject.AirID)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"attester_air_id": q.Attester, "attestation_type": q.Type, "statement": q.Statement,
		"signed_at": q.SignedAt, "signature_multibase": did.FormatSignature(ed25519.Sign(key, payload))})
	if err != nil {
		t.Fatal(err)
	}
	path := cli.AgentPath(subject.AirID, "/attestations")
	signed, err := http.NewRequest(http.MethodPost, "https://"+hosts[0]+path, nil)
	if err == nil {
		err = httpsig.Sign(signed, body, key, httpsig.SignOptions{KeyID: registries[0].DID(attester.AirID) + did.KeyFragment})
	}
	if err != nil {
		t.Fatal(err)
	}
	send := func(base, host string, header http.Header) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Host, request.Header = host, header.Clone()
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", response.StatusCode, text)
	}
	withSecret := http.Header{"X-Agent-Secret": {secret}}
	for i, want := range []struct{ signed, secret string }{{"201 ", "409 "}, {"401 ", "201 "}, {"401 ", "403 "}} {
		p := startProgramIn(t, dirs[i], "crawler.enabled=false", "public_url=https://"+hosts[i], "registry.did_host="+hosts[i])
		if got := send(p.base, hosts[i], signed.Header); !strings.HasPrefix(got, want.signed) {
			t.Errorf("%s: the request that the first registry got: %s, want %s", hosts[i], got, want.signed)
		}
		if got := send(p.base, hosts[i], withSecret); !strings.HasPrefix(got, want.secret) || want.secret == "403 " && !strings.Contains(got, "tenure") {
			t.Errorf("%s: the signed text with the secret: %s, want %s", hosts[i], got, want.secret)
		}
	}
}
