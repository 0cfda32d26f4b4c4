package registrar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
)

func ban(t testing.TB, r *registrar.Registrar, sort, value string) admission.Ban {
	t.Helper()
	b, err := r.Ban(t.Context(), admission.Ban{Kind: sort, Value: value, Reason: "because"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlockLists(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	old, secret := register(t, r, registry.Registration{Name: "Old", PublicKey: keyText(9), Editable: registry.Editable{CodeRepository: "https://git.bad.co.uk/x"}})
	for _, b := range [][3]string{
		{admission.BanKey, keyText(1), multikey(1)}, {admission.BanHandle, "BÄd_ONE", ""}, {admission.BanHandle, "Ｂad_one", "bad_one"},
		{admission.BanDomain, "www.Bad.co.uk.", "bad.co.uk"}, {admission.BanDomain, "GitHub.io", "github.io"}, {admission.BanNetwork, "192.0.2.77", "192.0.2.77/32"}, {admission.BanNetwork, "198.51.100.9/24", "198.51.100.0/24"},
		{admission.BanNetwork, "2001:db8::1", "2001:db8::/64"}, {admission.BanNetwork, "2001:db8:ffff::1/48", "2001:db8:ffff::/48"},
	} {
		if b[2] == "" {
			_, err := r.Ban(t.Context(), admission.Ban{Kind: b[0], Value: b[1]})
			refused(t, err)
			continue
		}
		got := ban(t, r, b[0], b[1])
		if got.Value != b[2] {
			t.Errorf("%s %s stands as %s", b[0], b[1], got.Value)
		}
		if has := got.IsOf(old); has != (b[2] == "bad.co.uk") {
			t.Errorf("%s %s is of the agent: %t", b[0], b[1], has)
		}
	}
	if b := (admission.Ban{Kind: admission.BanKey, Value: multikey(9)}); !b.IsOf(old) {
		t.Error("its key is not of the agent")
	}
	check := func(r *registrar.Registrar) {
		t.Helper()
		for _, test := range []struct {
			code string
			reg  registry.Registration
		}{
			{"banned-key", registry.Registration{PublicKey: keyText(1)}},
			{"banned-domain", registry.Registration{PublicKey: keyText(2), CreatorDID: "did:web:a.b.bad.co.uk"}},
			{"banned-domain", registry.Registration{PublicKey: keyText(2), CreatorDID: "did:web:free.github.io"}},
			{"banned-domain", registry.Registration{PublicKey: keyText(2), Editable: registry.Editable{DocumentationURL: "https://BAD.co.uk/"}}},
			{"banned-domain", registry.Registration{PublicKey: keyText(2), Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: "https://in.bad.co.uk/"}}}}},
			{"banned-network", registry.Registration{PublicKey: keyText(2), Client: client("192.0.2.77")}},
			{"banned-network", registry.Registration{PublicKey: keyText(2), Client: client("::ffff:198.51.100.200")}},
			{"banned-network", registry.Registration{PublicKey: keyText(2), Client: client("2001:db8::ffff")}},
			{"banned-network", registry.Registration{PublicKey: keyText(2), Client: client("2001:db8:ffff:1::1")}},
		} {
			test.reg.Name = "New"
			_, _, err := r.Register(t.Context(), test.reg)
			if e := refusal(t, err, test.code); e.Help == "" || strings.Contains(e.Error(), "because") {
				t.Error(e)
			}
		}
		handle, text := "BAD_one", "x"
		_, _, err := r.Update(t.Context(), old.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
		refusal(t, err, "banned-handle")
		_, _, err = r.Update(t.Context(), old.AirID, registry.Credentials{Secret: secret, Client: client("192.0.2.77")}, changeDescription(text))
		refusal(t, err, "banned-network")
		_, err = r.Report(t.Context(), old.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Client: client("192.0.2.77")})
		refusal(t, err, "banned-network")
	}
	check(r)
	r = open(t, registrar.Options{Store: s, Now: c.Now}) // a restart changes nothing
	check(r)
	// Who had it before can go on, and change something else.
	text := "still here"
	if _, _, err := r.Update(t.Context(), old.AirID, registry.Credentials{Secret: secret}, changeDescription(text)); err != nil {
		t.Error(err)
	}
	for _, free := range []string{"192.0.2.78", "198.51.101.1", "2001:db8:0:1::1", "2001:db9::1"} {
		if err := r.CheckNetwork(t.Context(), client(free)); err != nil {
			t.Errorf("%s: %v", free, err)
		}
	}
	all, next, err := r.Bans(t.Context(), "", "", 0)
	if err != nil || len(all) != 8 || next != "" {
		t.Fatalf("%v, %q, %v", all, next, err)
	}
	first, next, err := r.Bans(t.Context(), admission.BanNetwork, "", 3)
	if err != nil || len(first) != 3 || next == "" {
		t.Fatalf("%v, %q, %v", first, next, err)
	}
	rest, next, err := r.Bans(t.Context(), admission.BanNetwork, next, 3)
	if err != nil || len(rest) != 1 || next != "" {
		t.Errorf("%v, %q, %v", rest, next, err)
	}
	for _, b := range all {
		if _, err := r.LiftBan(t.Context(), b.Kind, b.Value); err != nil {
			t.Error(err)
		}
		_, err := r.LiftBan(t.Context(), b.Kind, b.Value)
		refusal(t, err, "ban-unknown")
	}
	register(t, r, registry.Registration{Name: "New", PublicKey: keyText(1), CreatorDID: "did:web:bad.co.uk", Client: client("192.0.2.77")})
}

func TestBanExpires(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	if _, err := r.Ban(t.Context(), admission.Ban{Kind: admission.BanNetwork, Value: "192.0.2.1", Until: c.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	refusal(t, r.CheckNetwork(t.Context(), client("192.0.2.1")), "banned-network")
	c.Advance(time.Hour)
	if err := r.CheckNetwork(t.Context(), client("192.0.2.1")); err != nil {
		t.Error(err)
	}
}

func TestRotationToBannedKeyIsRefused(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, RecoveryDelay: time.Hour})
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(5)})
	ban(t, r, admission.BanKey, multikey(2))
	_, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, c.Now()))
	refusal(t, err, "banned-key")
	_, err = r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 5, 2, "", c.Now()))
	refusal(t, err, "banned-key")
	// If a key is blocked while a recovery is pending, the agent can still be changed: the operator
	// suspends it.
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 5, 3, "", c.Now())); err != nil {
		t.Fatal(err)
	}
	ban(t, r, admission.BanKey, multikey(3))
	c.Advance(2 * time.Hour)
	if a, err := r.Suspend(t.Context(), a.AirID, "stolen"); err != nil || a.Status != registry.Suspended {
		t.Error(a.Status, err)
	}
}

func TestRefusedBans(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	for _, b := range [][2]string{
		{"", "x"}, {"host", "x"}, {admission.BanKey, ""}, {admission.BanKey, "z6Mk"}, {admission.BanHandle, "a/b"}, {admission.BanHandle, ""}, {admission.BanDomain, ""}, {admission.BanDomain, "a b"},
		{admission.BanDomain, "../x"}, {admission.BanNetwork, ""}, {admission.BanNetwork, "0.0.0.0/0"}, {admission.BanNetwork, "::/0"}, {admission.BanNetwork, "10.0.0.0/7"},
		{admission.BanNetwork, "::ffff:1.2.3.0/120"}, {admission.BanNetwork, "1.2.3.4/33"}, {admission.BanKey, strings.Repeat("z", 10000)}, {admission.BanHandle, strings.Repeat("h", 10000)},
		{admission.BanDomain, strings.Repeat("d", 10000)}, {admission.BanNetwork, strings.Repeat("1", 10000)}, {strings.Repeat("s", 10000), "x"}, {admission.BanHandle, "a\x00b"}, {admission.BanDomain, "\xff.test"},
	} {
		_, err := r.Ban(t.Context(), admission.Ban{Kind: b[0], Value: b[1]})
		if e := refused(t, err); len(e.Error()) > 1500 {
			t.Errorf("a message of %d bytes for %.20q", len(e.Error()), b[1])
		}
		_, err = r.LiftBan(t.Context(), b[0], b[1])
		refused(t, err)
	}
	for _, b := range []admission.Ban{
		{Kind: admission.BanDomain, Value: "com"}, {Kind: admission.BanDomain, Value: "co.uk"},
		{Kind: admission.BanHandle, Value: "bad_one", Reason: strings.Repeat("x", 10000)}, {Kind: admission.BanHandle, Value: "bad_one", Reason: "a\u202eb"},
		{Kind: admission.BanHandle, Value: "bad_one", Until: c.Now()},
	} {
		_, err := r.Ban(t.Context(), b)
		refused(t, err)
	}
	_, _, err := r.Bans(t.Context(), "host", "", 0)
	refused(t, err)
}

func TestBanAppliesToEveryCaller(t *testing.T) {
	r := open(t, registrar.Options{})
	banned := make(chan struct{})
	won := race(t, 64, func(i int) error {
		if i == 10 {
			ban(t, r, admission.BanDomain, "bad.test")
			close(banned)
			return nil
		}
		late := false
		select {
		case <-banned:
			late = true
		default:
		}
		reg := someone(byte(i + 1))
		reg.CodeRepository = fmt.Sprintf("https://r%d.bad.test/", i)
		_, _, err := r.Register(t.Context(), reg)
		if late && err == nil {
			t.Error("a blocked domain was taken")
		}
		return err
	}, "banned-domain")
	if won == 0 {
		t.Error("nobody was done")
	}
}
