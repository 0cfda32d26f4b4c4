package registrar_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/testclock"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
	"gazetteer/store"
)

func export(t testing.TB, r *registrar.Registrar, airID string, o transfer.ExportOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Export(t.Context(), airID, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lived returns an agent with a long life: rotated, recovered, renamed.
func lived(t testing.TB, r *registrar.Registrar, c *testclock.Clock) registry.Agent {
	t.Helper()
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(5), "description": hostile,
		"service_endpoints": []map[string]string{{"type": "A2AInbox", "serviceEndpoint": "https://in.test/"}}})
	a = claim(t, r, a, 1, "long_lived", c.Now())
	c.Advance(time.Hour)
	a, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour)
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 2, 5, 3, commitment(6), c.Now())); err != nil {
		t.Fatal(err)
	}
	c.Advance(80 * time.Hour)
	text := "after the recovery"
	a, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 3, c.Now()), changeDescription(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAgentMovesFromLoopback checks that an agent of a registry under the name localhost moves to one that is
// for trying things out on that machine, and to no other: nobody else can resolve its first DID.
func TestAgentMovesFromLoopback(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, DIDHost: "localhost", AllowLoopback: true})
	a, _ := register(t, r, someone(1))
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	_, err := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test"}).Import(t.Context(), strings.NewReader(text))
	if err == nil || !strings.Contains(err.Error(), "domain cannot be localhost") || !strings.Contains(err.Error(), "registry.allow_loopback") {
		t.Errorf("a public registry: %v", err)
	}
	got, err := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test", AllowLoopback: true}).Import(t.Context(), strings.NewReader(text))
	if err != nil || got.Origin != "localhost" {
		t.Errorf("a registry for trials: %+v, %v", got, err)
	}
}

func TestAgentMovesWithHistory(t *testing.T) {
	c, here := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: here, Now: c.Now})
	a := lived(t, r, c)
	text := export(t, r, a.AirID, transfer.ExportOptions{Secret: true})
	if lines := strings.Count(text, "\n"); lines != a.Entries+3 || strings.Contains(text, "nonces") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	c.Advance(time.Hour)
	there := openStore(t)
	other := open(t, registrar.Options{Store: there, Now: c.Now, DIDHost: "other.test"})
	got, err := other.Import(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	// Signed: registration, handle, rotation, the asking for a recovery, the update.
	if got.Origin != "registry.test" || got.Entries != a.Entries || got.Signed != 5 {
		t.Errorf("%+v", got)
	}
	b := got.Agent
	if b.Origin != "registry.test" || !b.Imported.Equal(c.Now()) || b.Entries != a.Entries+1 || b.Handle != "long_lived" || b.KeyProof == "" || !b.Created.Equal(a.Created) {
		t.Errorf("%+v", b)
	}
	if d := other.DIDDocument(b); d.ID != "did:wba:other.test:agents:"+a.AirID || !strings.HasPrefix(d.Service[1].ID, d.ID+"#") || !slices.Contains(d.AlsoKnownAs, r.DID(a.AirID)) {
		t.Errorf("%+v", d)
	}
	// The history is the same, byte for byte.
	for n := 1; n <= a.Entries; n++ {
		old, err := here.Get(t.Context(), store.EntryKey(a.AirID, n))
		if err != nil {
			t.Fatal(err)
		}
		new, err := there.Get(t.Context(), store.EntryKey(a.AirID, n))
		if err != nil || !bytes.Equal(old.Value, new.Value) {
			t.Errorf("entry %d: %s, %v", n, new.Value, err)
		}
	}
	history, _, err := other.History(t.Context(), a.AirID, 100, 0)
	if last := history[len(history)-1]; err != nil || last.Event != registry.EventImported || last.Origin != "registry.test" || last.PrevHash != a.LastHash {
		t.Errorf("%+v, %v", last, err)
	}
	// Its owner can change it, its old keys stay retired, and its old signatures can be verified.
	description := "moved"
	who := registry.Credentials{Request: signed(t, "PUT", "https://other.test/api/v1/agents/"+a.AirID, "{}", privateKey(3),
		httpsig.SignOptions{KeyID: other.DID(a.AirID) + did.KeyFragment, Created: c.Now()})}
	b, _, err = other.Update(t.Context(), a.AirID, who, changeDescription(description))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = other.Register(t.Context(), someone(1)); err == nil {
		t.Error("a retired key is free")
	}
	if k := b.Keys()[1]; !k.From.Equal(a.Created) || did.FormatMultikey(k.PublicKey) != multikey(1) {
		t.Errorf("the first key is %+v", k)
	}
	_, err = other.Import(t.Context(), strings.NewReader(text))
	refusal(t, err, "air-id-taken")
	// And on to a third; the origin stays the first.
	c.Advance(time.Hour)
	third := open(t, registrar.Options{Now: c.Now, DIDHost: "third.test"})
	got, err = third.Import(t.Context(), strings.NewReader(export(t, other, a.AirID, transfer.ExportOptions{})))
	if err != nil || got.Origin != "other.test" || got.Agent.Origin != "registry.test" || got.Signed != 6 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAgeOfAnotherRegistryDoesNotCount imports an agent from a registry whose clock was six years behind.
func TestAgeOfAnotherRegistryDoesNotCount(t *testing.T) {
	c, s := newClock(), openStore(t)
	behind := open(t, registrar.Options{Now: c.Now})
	text := export(t, behind, proved(t, behind, 1, nil).AirID, transfer.ExportOptions{})
	c.Advance(6 * 365 * 24 * time.Hour)
	r := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test", Store: s})
	first, _ := register(t, r, someone(2))
	d, wait := running(t, s, r)
	c.Advance(time.Hour)
	got, err := r.Import(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	age := func() evidence.Signal { return collectEvidence(t, r, got.Agent, registry.SignalAge)[0] }
	if signal := age(); signal.Holds || signal.What != "0 days" || shows(t, r, got.Agent, registry.SignalAge) ||
		signal.Detail != "in use since 2026-05-04T03:02:01Z according to registry.test, where it was imported from" {
		t.Errorf("on its first day here: %+v", signal)
	}
	// With as few signals as the other agent it comes behind it, which is known for longer here.
	unproved := got.Agent
	unproved.KeyProof = ""
	value, err := json.Marshal(unproved)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Put(store.AgentKey(unproved.AirID), value)); err != nil {
		t.Fatal(err)
	}
	wait()
	if found, _ := d.Search(directory.Query{}); len(found) != 2 || found[0].AirID != first.AirID {
		t.Errorf("%+v", found)
	}
	c.Advance(30 * 24 * time.Hour)
	if signal := age(); !signal.Holds || signal.What != "30 days" {
		t.Errorf("after 30 days: %+v", signal)
	}
}

func TestLostAgentIsRestored(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, secret := register(t, r, registry.Registration{Name: "A", PublicKey: keyText(1)})
	text := export(t, r, a.AirID, transfer.ExportOptions{Secret: true})
	empty := open(t, registrar.Options{Now: c.Now})
	got, err := empty.Import(t.Context(), strings.NewReader(text))
	if err != nil || got.Signed != 0 || got.Agent.Origin != "" || !got.Agent.Imported.IsZero() {
		t.Fatalf("%+v, %v", got, err)
	}
	description := "x"
	if _, _, err := empty.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(description)); err != nil {
		t.Error(err)
	}
	// Without the digest of the secret, nobody can change it, and the answer says so.
	empty = open(t, registrar.Options{Now: c.Now})
	text = export(t, r, a.AirID, transfer.ExportOptions{})
	if strings.Contains(text, "secret_hash") {
		t.Error("the digest of the secret is in an export that did not ask for it")
	}
	got, err = empty.Import(t.Context(), strings.NewReader(text))
	if err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "cannot be changed") {
		t.Errorf("%+v, %v", got, err)
	}
	if err := r.Export(t.Context(), "AIR-0000-0000-0000", &bytes.Buffer{}, transfer.ExportOptions{}); !errors.Is(err, registry.ErrNoAgent) {
		t.Error(err)
	}
	if _, err := r.EraseByOperator(t.Context(), a.AirID); err != nil {
		t.Fatal(err)
	}
	refusal(t, r.Export(t.Context(), a.AirID, &bytes.Buffer{}, transfer.ExportOptions{}), "erased")
	_, err = r.Import(t.Context(), strings.NewReader(text))
	if refusal(t, err, registry.Erased); !strings.Contains(err.Error(), "was erased here") {
		t.Errorf("got %v", err)
	}
}

func TestImportConflictsWithExistingAgent(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := lived(t, r, c)
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	t.Run("a handle that is taken is left", func(t *testing.T) {
		other := open(t, registrar.Options{Now: c.Now})
		claim(t, other, proved(t, other, 9, nil), 9, "long_lived", c.Now())
		got, err := other.Import(t.Context(), strings.NewReader(text))
		if err != nil || got.Agent.Handle != "" || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "long_lived") {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("the handle of the registry's own host is left", func(t *testing.T) {
		got, err := open(t, registrar.Options{Now: c.Now, DIDHost: "long.lived"}).Import(t.Context(), strings.NewReader(text))
		if err != nil || got.Agent.Handle != "" || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "reserved") {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for _, key := range []byte{1, 3} {
		t.Run(fmt.Sprint("key ", key, " of another agent"), func(t *testing.T) {
			other := open(t, registrar.Options{Now: c.Now})
			proved(t, other, key, nil)
			_, err := other.Import(t.Context(), strings.NewReader(text))
			refusal(t, err, "key-taken")
			if _, _, err := other.Agent(t.Context(), a.AirID); !errors.Is(err, registry.ErrNoAgent) {
				t.Error("half of it was stored")
			}
		})
	}
	t.Run("a blocked key", func(t *testing.T) {
		other := open(t, registrar.Options{Now: c.Now})
		ban(t, other, admission.BanKey, multikey(3))
		_, err := other.Import(t.Context(), strings.NewReader(text))
		refusal(t, err, "banned-key")
	})
	for _, key := range []byte{1, 2} {
		t.Run(fmt.Sprint("the blocked key ", key, " of its past"), func(t *testing.T) {
			other := open(t, registrar.Options{Now: c.Now})
			b := ban(t, other, admission.BanKey, multikey(key))
			_, err := other.Import(t.Context(), strings.NewReader(text))
			if e := refusal(t, err, "banned-key"); !strings.Contains(e.Error(), multikey(key)) || !strings.Contains(e.Error(), "which the agent used until 2026-") {
				t.Error(e)
			}
			if _, err := other.LiftBan(t.Context(), b.Kind, b.Value); err != nil {
				t.Fatal(err)
			}
			got, err := other.Import(t.Context(), strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			ban(t, other, admission.BanKey, multikey(key)) // does not stop who has it already
			if _, _, err := other.Update(t.Context(), a.AirID, by(t, other, got.Agent, 3, c.Now()), changeDescription("later")); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("one of many imports wins", func(t *testing.T) {
		other := open(t, registrar.Options{Now: c.Now})
		won := race(t, 64, func(int) error {
			_, err := other.Import(t.Context(), strings.NewReader(text))
			return err
		}, "air-id-taken")
		if won != 1 {
			t.Errorf("%d won", won)
		}
	})
}

// sealed rewrites the last line, as a forger would.
func sealed(lines []string) string {
	text := strings.Join(lines, "\n") + "\n"
	sum := sha256.Sum256([]byte(text))
	return text + fmt.Sprintf(`{"end":%d,"sha256":"%s"}`, len(lines), hex.EncodeToString(sum[:])) + "\n"
}

// forged changes an entry of an export, and seals it again.
func forged(t testing.TB, text string, n int, change func(entry, agent map[string]any)) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var l map[string]map[string]any
	if err := json.Unmarshal([]byte(lines[n]), &l); err != nil {
		t.Fatal(err)
	}
	agent, _ := l["entry"]["agent"].(map[string]any)
	change(l["entry"], agent)
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	lines[n] = string(b)
	return sealed(lines[:len(lines)-1])
}

func TestRefusedExports(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := lived(t, r, c)
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	body := lines[:len(lines)-1]
	replace := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the export", old)
		}
		return sealed(strings.Split(strings.TrimSuffix(strings.ReplaceAll(strings.Join(body, "\n"), old, new), "\n"), "\n"))
	}
	without := func(i int) string { return sealed(slices.Delete(slices.Clone(body), i, i+1)) }
	swap := func(i, j int) string {
		l := slices.Clone(body)
		l[i], l[j] = l[j], l[i]
		return sealed(l)
	}
	key := func(n byte) string { // as records have it
		return base64.StdEncoding.EncodeToString(privateKey(n).Public().(ed25519.PublicKey))
	}
	for name, test := range map[string]struct{ text, code string }{
		"empty":                   {"", "empty"},
		"cut in a line":           {text[:len(text)/2], ""},
		"cut between lines":       {strings.Join(body, "\n") + "\n", "cut"},
		"cut last line end":       {strings.TrimSuffix(text, "\n"), "cut"},
		"a byte changed":          {strings.Replace(text, "after the recovery", "after the recoverz", 1), "digest"},
		"something behind":        {text + "{}\n", "order"},
		"not JSON":                {"hello\n", "syntax"},
		"HTML":                    {"<html>\n", "syntax"},
		"another export":          {`{"export":"x"}` + "\n", "format"},
		"a member twice":          {`{"export":"gazetteer agent","export":"gazetteer agent"}` + "\n", "syntax"},
		"too deep":                {strings.Repeat(`{"a":`, 1000) + "\n", "syntax"},
		"a newer version":         {replace(`"version":1`, `"version":2`), "version"},
		"no entries":              {replace(fmt.Sprintf(`"entries":%d,"exported"`, a.Entries), `"entries":0,"exported"`), "count"},
		"a million entries":       {replace(fmt.Sprintf(`"entries":%d,"exported"`, a.Entries), `"entries":1000000,"exported"`), "count"},
		"no registry":             {replace(`"registry":"registry.test"`, `"registry":"a b"`), "registry"},
		"another registry":        {replace(`"registry":"registry.test"`, `"registry":"evil.test"`), "key"},
		"no AIR ID":               {replace(`,"air_id":"`+a.AirID+`","entries"`, `,"air_id":"../x","entries"`), "air-id"},
		"an endless line":         {strings.Repeat("x", 2<<20), "too-large"},
		"an entry missing":        {without(2), "order"},
		"the first missing":       {without(1), "order"},
		"the agent missing":       {without(len(body) - 1), "order"},
		"entries swapped":         {swap(2, 3), "order"},
		"the agent first":         {swap(1, len(body)-1), "order"},
		"another name":            {replaceLast(body, `"name":"Agent 1"`, `"name":"Bank"`), "record"},
		"another key at the end":  {replaceLast(body, key(3), key(66)), "record"},
		"another event":           {forged(t, text, 2, func(e, _ map[string]any) { e["event"] = "deleted" }), "hash"},
		"another time":            {forged(t, text, 2, func(e, _ map[string]any) { e["at"] = "2020-01-01T00:00:00Z" }), "hash"},
		"no record in an entry":   {forged(t, text, 2, func(e, _ map[string]any) { delete(e, "agent") }), "record"},
		"a signature of another":  {forged(t, text, 1, func(e, _ map[string]any) { e["authority"].(map[string]any)["signed"] = "something else" }), "statement-signature"},
		"a key without signature": {forged(t, text, 3, func(e, _ map[string]any) { delete(e, "authority") }), "key"},
		"a rotation by the new key alone": {forged(t, text, 3, func(e, _ map[string]any) {
			delete(e["authority"].(map[string]any)["signatures"].(map[string]any), multikey(1))
		}), "key"},
		"a key that slipped in":             {forged(t, text, 2, func(_, a map[string]any) { a["public_key"] = key(66) }), "key"},
		"a recovery that nobody asked for":  {forged(t, text, 4, func(e, _ map[string]any) { delete(e, "authority") }), "key"},
		"a recovery to another key":         {forged(t, text, 4, func(_, a map[string]any) { a["recovery"].(map[string]any)["to"] = key(66) }), "key"},
		"a recovery before it was due":      {forged(t, text, 4, func(_, a map[string]any) { a["recovery"].(map[string]any)["due"] = "2099-01-01T00:00:00Z" }), "key"},
		"a recovery key never committed to": {forged(t, text, 3, func(_, a map[string]any) { a["recovery_commitment"] = "x"; a["commitment"] = commitment(9) }), "key"},
		"a recovery with another next key":  {forged(t, text, 4, func(_, a map[string]any) { a["recovery"].(map[string]any)["next"] = commitment(9) }), "key"},
		"another commitment afterwards":     {forged(t, text, 5, func(_, a map[string]any) { a["commitment"] = commitment(9) }), "key"},
		"another retired key":               {forged(t, text, 6, func(_, a map[string]any) { a["retired"].([]any)[0].(map[string]any)["public_key"] = key(66) }), "key"},
		"another kind of proof":             {forged(t, text, 2, func(e, _ map[string]any) { e["authority"].(map[string]any)["by"] = "a seal" }), "authority"},
		"a key that is none":                {forged(t, text, 2, func(e, _ map[string]any) { e["authority"].(map[string]any)["key"] = "my key" }), "authority"},
		"an origin of an update":            {forged(t, text, 2, func(e, _ map[string]any) { e["origin"] = "bank.test" }), "registry"},
		"10 kB of name":                     {replace(`"name":"Agent 1"`, `"name":"`+strings.Repeat("n", 10<<10)+`"`), "length"},
		"a name that turns round":           {replace(`"name":"Agent 1"`, `"name":"a\u202eb"`), "text"},
		"a javascript endpoint":             {replace(`https://in.test/`, `javascript:alert(1)`), ""},
		"a private endpoint":                {replace(`https://in.test/`, `https://10.0.0.1/`), ""},
		"an unknown status":                 {replace(`"status":"active"`, `"status":"blessed"`), "value"},
	} {
		t.Run(name, func(t *testing.T) {
			other := openStore(t)
			_, err := open(t, registrar.Options{Store: other, Now: c.Now, DIDHost: "other.test"}).Import(t.Context(), strings.NewReader(test.text))
			e := refused(t, err)
			if !strings.HasPrefix(e.Field, "line ") || test.code != "" && e.Code != test.code || len(e.Error()) > 2000 {
				t.Errorf("%s, %s: %v", e.Field, e.Code, e)
			}
			if other.Head().Seq != 0 {
				t.Error("something was stored")
			}
		})
	}
}

// forgedRecord changes the record, and the only entry, of an agent that was just registered.
func forgedRecord(t testing.TB, text string, change func(entry, agent, last map[string]any)) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var first, last map[string]map[string]any
	if err := errors.Join(json.Unmarshal([]byte(lines[1]), &first), json.Unmarshal([]byte(lines[2]), &last)); err != nil {
		t.Fatal(err)
	}
	e := first["entry"]
	agent := e["agent"].(map[string]any)
	added := map[string]any{} // to the last line alone
	change(e, agent, added)
	var entry registry.HistoryEntry
	if err := json.Unmarshal(encoded(t, e), &entry); err != nil {
		t.Fatal(err)
	}
	e["entry_hash"] = entry.ComputeHash()
	agent["last_hash"] = e["entry_hash"]
	last["agent"] = maps.Clone(agent)
	maps.Copy(last["agent"], added)
	return sealed([]string{lines[0], string(encoded(t, first)), string(encoded(t, last))})
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestForgedRecordsAreRefused puts what no registry writes into the members that no client of a registry
// can set: they would be shown as statements of the registry that imports them.
func TestForgedRecordsAreRefused(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, _ := register(t, r, someone(1))
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	const hidden = "bank.test, which vouches for it\u202e"
	set := func(name string, value any) func(_, agent, _ map[string]any) {
		return func(_, agent, _ map[string]any) { agent[name] = value }
	}
	merged := func(into string) func(_, agent, _ map[string]any) {
		return func(_, agent, _ map[string]any) { agent["status"], agent["merged_into"] = registry.Merged, into }
	}
	for name, test := range map[string]struct {
		change func(entry, agent, last map[string]any)
		code   string
	}{
		"an origin that is no host":         {set("origin", hidden), "value"},
		"an origin in another spelling":     {set("origin", "Bank.test"), "value"},
		"merged into a text":                {merged(hidden), "value"},
		"merged into nothing":               {set("status", registry.Merged), "value"},
		"merged and active":                 {set("merged_into", a.AirID), "value"},
		"absorbed texts":                    {set("absorbed", []string{hidden}), "value"},
		"absorbed too many":                 {set("absorbed", slices.Repeat([]string{a.AirID}, 21)), "value"},
		"moved by its registration":         {set("moved_to", "did:wba:bank.test"), "moved"},
		"a key of the year 2099":            {set("key_since", "2099-01-01T00:00:00Z"), "time"},
		"an actor that is no word":          {func(e, _, _ map[string]any) { e["actor"] = hidden }, "event"},
		"changed members that are no words": {func(e, _, _ map[string]any) { e["changed_fields"] = []string{hidden} }, "event"},
		"a long actor":                      {func(e, _, _ map[string]any) { e["actor"] = strings.Repeat("a", 41) }, "event"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			_, err := open(t, registrar.Options{Store: s, Now: c.Now, DIDHost: "other.test"}).Import(t.Context(), strings.NewReader(forgedRecord(t, text, test.change)))
			if e := refused(t, err); e.Code != test.code || strings.Contains(e.Error(), hidden) {
				t.Errorf("%s: %v", e.Code, e)
			}
			if s.Head().Seq != 0 {
				t.Error("something was stored")
			}
		})
	}
	lost := forgedRecord(t, text, set("handle_lost", map[string]any{"handle": hidden, "to": hidden, "at": "2026-01-01T00:00:00Z"}))
	got, err := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test"}).Import(t.Context(), strings.NewReader(lost))
	if err != nil || got.Agent.HandleLost != nil {
		t.Errorf("a handle that was lost elsewhere: %+v, %v", got.Agent.HandleLost, err)
	}
	// What comes from the same registry keeps these members, and is checked.
	for _, text := range []string{lost, forgedRecord(t, text, set("imported", "2099-01-01T00:00:00Z"))} {
		_, err = open(t, registrar.Options{Now: c.Now}).Import(t.Context(), strings.NewReader(text))
		refused(t, err)
	}
}

// TestSignatureOfAnEarlierEntryIsRefused lets a change rest on the signature of an earlier one.
func TestSignatureOfAnEarlierEntryIsRefused(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	for _, text := range []string{"first", "second"} {
		if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription(text)); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
	}
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	var first struct{ Entry map[string]any }
	if err := json.Unmarshal([]byte(strings.Split(text, "\n")[2]), &first); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, registrar.Options{Now: c.Now}).Import(t.Context(), strings.NewReader(forged(t, text, 3, func(e, _ map[string]any) { e["authority"] = first.Entry["authority"] })))
	if e := refused(t, err); e.Code != "signature" {
		t.Errorf("%s: %v", e.Code, e)
	}
}

// TestImportTakesNoPrivateMembers puts the latest time of dropped nonces, with which the owner could never
// sign again, and other private members into the last line of an export.
func TestImportTakesNoPrivateMembers(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, _ := register(t, r, someone(1))
	text := forgedRecord(t, export(t, r, a.AirID, transfer.ExportOptions{}), func(_, _, last map[string]any) {
		last["nonce_floor"], last["handle_claims"], last["key_busy"] = int64(math.MaxInt64), slices.Repeat([]int64{math.MaxInt32}, 20), int64(math.MaxInt64)
	})
	other := open(t, registrar.Options{Now: c.Now})
	got, err := other.Import(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Update(t.Context(), a.AirID, by(t, other, got.Agent, 1, c.Now()), changeDescription("mine")); err != nil {
		t.Errorf("the owner cannot sign: %v", err)
	}
	claim(t, other, got.Agent, 1, "mine_again", c.Now())
}

// TestRegistrationOfAnotherAgentProvesNoKey uses the signed registration of an agent, which everybody can
// read, for another one in an export that somebody forges. The key is claimed, as in a registration
// without a proof, and its owner proves it.
func TestRegistrationOfAnotherAgentProvesNoKey(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	text := strings.ReplaceAll(export(t, r, a.AirID, transfer.ExportOptions{}), a.AirID, "AIR-0000-0000-0001")
	other := open(t, registrar.Options{Now: c.Now})
	got, err := other.Import(t.Context(), strings.NewReader(forgedRecord(t, text, func(_, _, _ map[string]any) {})))
	if err != nil || got.Agent.KeyProof != "" || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "counts as claimed until the agent signs here") {
		t.Fatalf("%+v, %v", got, err)
	}
	proved(t, other, 1, nil) // whose key it is
}

func replaceLast(body []string, old, new string) string {
	l := slices.Clone(body)
	l[len(l)-1] = strings.ReplaceAll(l[len(l)-1], old, new)
	return sealed(l)
}

func TestProofMissingFromHistoryIsClaim(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, _ := register(t, r, someone(1))
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"creator_did"`, `"key_proof":"challenge","creator_did"`, 1)
	}
	other := open(t, registrar.Options{Now: c.Now})
	got, err := other.Import(t.Context(), strings.NewReader(sealed(lines[:len(lines)-1])))
	if err != nil || got.Agent.KeyProof != "" || got.Signed != 0 || !strings.Contains(strings.Join(got.Notes, "\n"), "counts as claimed") {
		t.Fatalf("%+v, %v", got, err)
	}
	proved(t, other, 1, nil) // who holds the key is not kept from it
}

func TestAttestationsAreNotTransferred(t *testing.T) {
	c, d, s := newClock(), documents{}, openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Resolver: d})
	attester, secret := d.owner(t, r, "one.test", 1)
	c.Advance(100 * 24 * time.Hour)
	subject, _ := register(t, r, someone(2))
	if _, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, attester, 1, "identity_verification", c.Now()), registry.Credentials{Secret: secret}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{attester.AirID, subject.AirID} {
		text := export(t, r, id, transfer.ExportOptions{})
		other := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test", Resolver: d})
		got, err := other.Import(t.Context(), strings.NewReader(text))
		if err != nil || got.Agent.Standing.Count != 0 || len(got.Agent.Attested)+len(got.Agent.Issued) != 0 || !strings.Contains(strings.Join(got.Notes, "\n"), "1 attestations") {
			t.Errorf("%+v, %v", got, err)
		}
		forgery := strings.Split(strings.TrimSuffix(strings.Replace(text, `"attestation":{"id":1`, `"attestation":{"id":2`, 1), "\n"), "\n")
		for i := range forgery {
			forgery[i] = strings.Replace(forgery[i], `identity_verification\\\"`, `safety_review\\\"`, 1)
		}
		_, err = other.Import(t.Context(), strings.NewReader(sealed(forgery[:len(forgery)-1])))
		if err == nil {
			t.Error("an attestation that nobody signed")
		}
	}
	// The age that another registry tells opens no lock here.
	other := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test", Resolver: d})
	if _, err := other.Import(t.Context(), strings.NewReader(export(t, r, attester.AirID, transfer.ExportOptions{Secret: true}))); err != nil {
		t.Fatal(err)
	}
	stranger, _ := register(t, other, someone(3))
	_, _, err := other.Attest(t.Context(), stranger.AirID, signAttestation(t, stranger.AirID, attester, 1, "identity_verification", c.Now()), registry.Credentials{Secret: secret})
	refusal(t, err, "attester-not-eligible")
	// Restored to the registry that lost it, it is linked to the existing ones.
	text := export(t, r, subject.AirID, transfer.ExportOptions{})
	if _, err := s.Apply(t.Context(), store.Delete(store.AgentKey(subject.AirID))); err != nil {
		t.Fatal(err)
	}
	got, err := r.Import(t.Context(), strings.NewReader(text))
	if err != nil || got.Agent.Standing.Count != 1 || !slices.Equal(got.Agent.Attested, []int{1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLongHistoryIsImported has more entries than go into one write of the store.
func TestLongHistoryIsImported(t *testing.T) {
	const n = 10_050
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, _ := register(t, r, someone(1))
	lines := strings.Split(export(t, r, a.AirID, transfer.ExportOptions{}), "\n")
	var first struct{ Entry registry.HistoryEntry }
	if err := json.Unmarshal([]byte(lines[1]), &first); err != nil {
		t.Fatal(err)
	}
	body := []string{strings.Replace(lines[0], `"entries":1,`, fmt.Sprintf(`"entries":%d,`, n), 1), lines[1]}
	e, agent := first.Entry, *first.Entry.Agent
	write := func(name string, v any) {
		text, err := json.Marshal(map[string]any{name: v})
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, string(text))
	}
	for i := 2; i <= n; i++ {
		e.N, e.Event, e.Actor, e.Fields, e.PrevHash = i, registry.EventUpdated, registry.ActorOwner, []string{"description"}, e.Hash
		e.Hash = sha(strings.Join([]string{e.AirID, e.Event, `["description"]`, e.Actor, e.At.Format("2006-01-02T15:04:05.000Z"), e.PrevHash}, "\n"))
		agent.Entries, agent.LastHash = i, e.Hash
		e.Agent = &agent
		write("entry", e)
	}
	write("agent", agent)
	s := openStore(t)
	other := open(t, registrar.Options{Store: s, Now: c.Now})
	b := ban(t, other, admission.BanKey, multikey(1))
	_, err := other.Import(t.Context(), strings.NewReader(sealed(body)))
	refusal(t, err, "banned-key")
	if _, err := s.Get(t.Context(), store.EntryKey(a.AirID, 1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused import has left an entry: %v", err)
	}
	if _, err := other.LiftBan(t.Context(), b.Kind, b.Value); err != nil {
		t.Fatal(err)
	}
	got, err := other.Import(t.Context(), strings.NewReader(sealed(body)))
	if err != nil || got.Entries != n || got.Agent.Entries != n+1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if again := export(t, other, a.AirID, transfer.ExportOptions{}); strings.Count(again, "\n") != n+4 {
		t.Errorf("%d lines come back", strings.Count(again, "\n"))
	}
}

// TestOlderExports checks that entries are stored and logged as they were exported, also with
// members that an older version wrote and this one does not know, so that the leaves of the log
// stay the same.
func TestOlderExports(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	agent := lived(t, r, c)
	var older strings.Builder
	lines := strings.Split(strings.TrimSuffix(export(t, r, agent.AirID, transfer.ExportOptions{}), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		older.WriteString(strings.ReplaceAll(line, `"status":"active"`, `"next_check":"2026-01-02T03:04:05Z","status":"active"`) + "\n")
	}
	sum := sha256.Sum256([]byte(older.String()))
	fmt.Fprintf(&older, `{"end":%d,"sha256":"%x"}`+"\n", len(lines)-1, sum)
	s := openStore(t)
	if _, err := open(t, registrar.Options{Store: s, Now: c.Now}).Import(t.Context(), strings.NewReader(older.String())); err != nil {
		t.Fatal(err)
	}
	record, err := s.Get(t.Context(), store.EntryKey(agent.AirID, 1))
	if err != nil || !bytes.Contains(record.Value, []byte(`"next_check":"2026-01-02T03:04:05Z"`)) {
		t.Errorf("the first entry is %s, %v", record.Value, err)
	}
}
