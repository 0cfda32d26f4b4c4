package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/internal/exit"
	"gazetteer/registry/audit/checkpoint"
)

// ownKey makes a key of a data directory before its first start, so that others can
// be given it.
func ownKey(t *testing.T, dir, file, name string) *checkpoint.Key {
	t.Helper()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	key, err := checkpoint.OpenKey(filepath.Join(data, file), name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// stopped stops a program as an operator would.
func stopped(t *testing.T, p *program) {
	t.Helper()
	if err := p.end(os.Interrupt); err != nil {
		t.Fatalf("%v\n%s", err, p.log)
	}
}

// TestOneRegistryWitnessesAnother checks that two programs, of which the second cosigns the log of
// the first, and tells when an older copy of it was put back: the first signs nothing more, and every
// place that shows its state names the witness.
func TestOneRegistryWitnessesAnother(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	log, cosigner := ownKey(t, first, "log.key", "first.example/log"), ownKey(t, second, "witness.key", "second.example/witness")
	witness := startProgramIn(t, second, "crawler.enabled=false", "registry.did_host=second.example", "registry.witness_for="+log.Public())
	settings := []string{"crawler.enabled=false", "registry.did_host=first.example", "registry.witnesses=" + cosigner.PublicWitness() + " " + witness.base + "/witness"}
	signer := startProgramIn(t, first, settings...)

	if status, key := witness.ask("GET", "/witness/key", ""); status != 200 || strings.TrimSpace(key) != cosigner.PublicWitness() {
		t.Errorf("%d %s", status, key)
	}
	says := func(want string, wantCode int, args ...string) {
		t.Helper()
		if out, code := signer.cli(args...); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", args, code, wantCode, want, out)
		}
	}
	says("nothing to cosign", exit.NotFound, "registry", "cosign")
	says("agent.key, proved by signature", exit.OK, "agent", "new", "Witnessed")
	stopped(t, signer)
	restore := filepath.Join(first, "restore")
	if err := os.Mkdir(restore, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-Rp", signer.data(), restore).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	metrics := metricsAddress(t)
	signer = startProgramIn(t, first, append(slices.Clone(settings), "metrics_listen="+metrics)...)
	says("changed   description", exit.OK, "agent", "update", "--description", "later")
	says("by second.example/witness at ", exit.OK, "registry", "cosign")
	says("cosigned  second.example/witness at ", exit.OK, "log", "verify", signer.base+"/log", "--key", log.Public(), "--witness", cosigner.PublicWitness())
	wantMetrics(t, metrics, `gazetteer_log_witness_answer_age_seconds\{witness="second\.example/witness"\} [0-9.e-]*[1-9]`,
		`gazetteer_log_witness_failing\{witness="second\.example/witness"\} 0$`, `process_open_fds [1-9]`, `process_max_fds [1-9]`)
	status, kept := witness.ask("GET", "/witness/checkpoint?origin=first.example%2Flog", "")
	if status != 200 || !strings.HasPrefix(kept, "first.example/log\n") || !strings.Contains(kept, "— second.example/witness ") {
		t.Errorf("what the witness has kept: %d %s", status, kept)
	}

	stopped(t, signer)
	// Without a copy of the checkpoint only the witness knows it.
	restored := startTroubledProgram(t, restore, append(settings, "registry.checkpoint_copy=none", "metrics_listen="+metrics)...)
	restored.awaitHalt()
	if _, cause := restored.signing(metrics); cause != "witness" {
		t.Errorf("the cause of the halt is %q", cause)
	}
	if _, ready := restored.ask("GET", "/readyz?work=sign", ""); !strings.Contains(ready, "because a witness contradicts it; its operator repairs that") {
		t.Errorf("/readyz: %s", ready)
	}
	if out, _ := restored.cli("registry"); !strings.Contains(out, "\nwitness   second.example/witness does not cosign the log: ") {
		t.Errorf("gazetteer registry does not name the witness that contradicts the log:\n%s", out)
	}
	stopped(t, restored)
	told := slices.ContainsFunc(strings.Split(restored.log.String(), "\n"), func(line string) bool {
		return strings.Contains(line, "the transparency log signs nothing more") &&
			strings.Contains(line, "a witness has cosigned a tree of 2 leaves, and this one has 1: an older copy of the log was put back")
	})
	if !told {
		t.Errorf("the operator is not told that an older copy was put back: %s", restored.log)
	}
}

// A hidingProxy forwards requests to a witness, except those for its checkpoints.
type hidingProxy struct {
	t      *testing.T
	url    string
	target atomic.Pointer[httputil.ReverseProxy] // nil: nothing answers
}

func startHidingProxy(t *testing.T, witness *program) *hidingProxy {
	p := &hidingProxy{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch to := p.target.Load(); {
		case to == nil:
			http.Error(w, "the witness is not there", http.StatusBadGateway)
		case r.Method != http.MethodPost:
			http.NotFound(w, r)
		default:
			to.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	p.forwardTo(witness)
	return p
}

func (p *hidingProxy) forwardTo(witness *program) {
	p.t.Helper()
	base, err := url.Parse(witness.base)
	if err != nil {
		p.t.Fatal(err)
	}
	p.target.Store(httputil.NewSingleHostReverseProxy(base))
}

// TestWitnessAsLockFindsCompleteRestore restores a whole server, without the second copy of the
// checkpoint, to a state before the newest checkpoint. Its witness is of a program that shows no
// checkpoint, so the log goes on without the cosignature. With the witness as the lock of the log,
// the server does not start, or it ends when the lock answers. A newer backup continues with the
// lock, and so does another log that the witness knows.
func TestWitnessAsLockFindsCompleteRestore(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	log, cosigner := ownKey(t, first, "log.key", "first.example/log"), ownKey(t, second, "witness.key", "second.example/witness")
	startWitness := func(key string) *program {
		return startTroubledProgram(t, second, "crawler.enabled=false", "registry.did_host=second.example", "registry.witness_for="+key)
	}
	witness := startWitness(log.Public())
	hidden := startHidingProxy(t, witness)
	line := cosigner.PublicWitness() + " " + hidden.url + "/witness"
	settings := []string{"crawler.enabled=false", "registry.did_host=first.example", "registry.witnesses=" + line}
	locked := append(slices.Clip(settings), "registry.lock_witness="+line)

	p := startProgramIn(t, first, settings...)
	must := func(p *program, args ...string) {
		t.Helper()
		if out, code := p.cli(args...); code != exit.OK {
			t.Fatalf("%v: exit code %d:\n%s", args, code, out)
		}
	}
	must(p, "agent", "new", "One", "--key", "one.key")
	must(p, "backup", "older")
	must(p, "agent", "new", "Two", "--key", "two.key")
	must(p, "registry", "cosign")
	must(p, "backup", "newest")
	stopped(t, p)
	restore := func(backup string) *program {
		t.Helper()
		p := &program{t: t, dir: t.TempDir()}
		must(p, "restore", filepath.Join(first, backup))
		return p
	}

	metrics := metricsAddress(t)
	p = startTroubledProgram(t, restore("older").dir, append(slices.Clip(settings), "metrics_listen="+metrics)...)
	must(p, "agent", "new", "Three", "--key", "three.key")
	if out, code := p.cli("registry", "cosign"); code != exit.Network || !strings.Contains(out, "claims without proof, so that the log continues: a witness has cosigned another tree of 2 leaves") {
		t.Errorf("without the lock: exit code %d:\n%s", code, out)
	}
	wantMetrics(t, metrics, `gazetteer_log_witness_failing\{witness="second\.example/witness"\} 1$`)
	if signs, cause := p.signing(metrics); !signs || cause != "" {
		t.Errorf("without the lock: signs %t, halted by %q", signs, cause)
	}
	stopped(t, p)

	p = restore("older")
	const older = "the tree has 1 leaves, a checkpoint of 2 was signed, and the store has no more records: an older copy of the log and of the store was put back"
	serve := []string{"serve", "--listen", "127.0.0.1:0"}
	for _, s := range locked {
		serve = append(serve, "--set", s)
	}
	if out, code := p.cli(serve...); code != exit.Data || !strings.Contains(out, older) {
		t.Errorf("with the lock: exit code %d, want %d and %q:\n%s", code, exit.Data, older, out)
	}
	hidden.target.Store(nil)
	late := startTroubledProgram(t, p.dir, locked...)
	if status, body := late.ask("GET", "/readyz?work=sign", ""); status != 503 {
		t.Errorf("a lock that does not answer: %d %s", status, body)
	}
	hidden.forwardTo(witness)
	select {
	case <-late.ended:
	case <-time.After(time.Minute):
		t.Error("the server goes on after its lock has answered")
	}
	late.end(os.Kill)
	if code := late.command.ProcessState.ExitCode(); code != exit.Data || !strings.Contains(late.log.String(), older) {
		t.Errorf("a lock that answers after the start: exit code %d, want %d and %q:\n%s", code, exit.Data, older, late.log)
	}

	newest := startProgramIn(t, restore("newest").dir, locked...)
	must(newest, "agent", "new", "Three", "--key", "three.key")
	newest.awaitLeaves(3)
	stopped(t, newest)

	for _, name := range []string{"log", "log.key"} {
		if err := os.Rename(filepath.Join(p.data(), name), filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p = startTroubledProgram(t, p.dir, append(slices.Clip(locked), "registry.log_origin=first.example/log-2")...)
	status, key := p.ask("GET", "/log/key", "")
	if signing, body := p.ask("GET", "/readyz?work=sign", ""); status != 200 || signing != 503 {
		t.Errorf("another log, which the witness does not know: %d %s, %d %s", status, key, signing, body)
	}
	key = strings.TrimSpace(key)
	stopped(t, witness)
	hidden.forwardTo(startWitness(key))
	p.awaitLeaves(1)
	if out, code := p.cli("log", "verify", p.base+"/log", "--key", key, "--witness", cosigner.PublicWitness()); code != exit.OK || !strings.Contains(out, "cosigned  second.example/witness at ") {
		t.Errorf("another log: exit code %d:\n%s", code, out)
	}
	stopped(t, p)
}

// TestOlderCopyOfAWitnessIsRefused checks that a witness does not cosign after its directory was
// lost or an older copy was put back while its store is newer: it could cosign a fork. With another
// key it can begin again. The operator of the log sees that it does not answer.
func TestOlderCopyOfAWitnessIsRefused(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	log, cosigner := ownKey(t, first, "log.key", "first.example/log"), ownKey(t, second, "witness.key", "second.example/witness")
	witnessFor := "registry.witness_for=" + log.Public()
	witness := startProgramIn(t, second, "crawler.enabled=false", "registry.did_host=second.example", witnessFor)
	signer := startTroubledProgram(t, first, "crawler.enabled=false", "registry.did_host=first.example", "registry.witnesses="+cosigner.PublicWitness()+" "+witness.base+"/witness")
	cosign := func(change ...string) {
		t.Helper()
		if out, code := signer.cli(append([]string{"agent"}, change...)...); code != exit.OK {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		if out, code := signer.cli("registry", "cosign"); code != exit.OK {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	dir, aside := filepath.Join(witness.data(), "witness"), filepath.Join(second, "aside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cosign("new", "Witnessed")
	must(os.CopyFS(aside, os.DirFS(dir)))
	cosign("update", "--description", "later")
	stopped(t, witness)
	signer.cli("registry", "cosign")
	if out, _ := signer.cli("registry"); !strings.Contains(out, "\nwitness   second.example/witness does not cosign the log: ") || !strings.Contains(out, "; it cosigned ") {
		t.Errorf("gazetteer registry does not name the witness that does not answer:\n%s", out)
	}
	stopped(t, signer)

	// A list of this directory alone: nothing listens on the address.
	start := []string{"--set", "listen=127.0.0.1:1", "--set", "registry.did_host=second.example", "--set", witnessFor, "agents"}
	checked := func(wantCode int, want string) {
		t.Helper()
		if out, code := witness.cli("check"); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("check: exit code %d, want %d and %q:\n%s", code, wantCode, want, out)
		}
	}
	checked(exit.OK, "")
	refused := func(want string) {
		t.Helper()
		if out, code := witness.cli(start...); code != exit.Data || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", code, exit.Data, want, out)
		}
	}
	must(os.RemoveAll(dir))
	checked(exit.NotFound, "of which a tree with 2 leaves was cosigned\n  what to do: put the newest copy")
	refused("with 2 leaves was cosigned, and this one has 0")
	must(os.RemoveAll(dir))
	must(os.CopyFS(dir, os.DirFS(aside)))
	must(os.Chmod(dir, 0o700))
	checked(exit.NotFound, "is an older copy: a tree of first.example/log with 2 leaves was cosigned, and this one has 1")
	refused("with 2 leaves was cosigned, and this one has 1")
	must(os.RemoveAll(dir))
	must(os.Remove(filepath.Join(witness.data(), "witness.key")))
	if out, code := witness.cli(start...); code == exit.Data || !strings.Contains(out, "no agents") {
		t.Errorf("with another key: exit code %d:\n%s", code, out)
	}
}

// TestMixedOlderCopiesAreRefused combines the store of the second day, the log of the first and the
// lock of the third: the server refuses to start, before it acknowledges anything. With the store of
// the third day the log grows again.
func TestMixedOlderCopiesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	days := make([]string, 3)
	for day := range days {
		p := startProgramIn(t, dir, "crawler.enabled=false")
		if out, code := p.cli("agent", "new", "Agent", "--key", fmt.Sprint(day, ".key")); code != exit.OK {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		stopped(t, p)
		days[day] = filepath.Join(dir, fmt.Sprint("day", day))
		copyTree(t, p.data(), days[day])
	}
	for _, c := range []struct {
		store, code int
		says        string
	}{
		{1, exit.Data, "a checkpoint of 3 was signed, and the store has no more records"},
		{2, exit.OK, "3 agents"},
	} {
		p := &program{t: t, dir: dir}
		if err := os.RemoveAll(p.data()); err != nil {
			t.Fatal(err)
		}
		copyTree(t, days[2], p.data())
		for _, part := range []struct{ from, name string }{{days[c.store], "store.bolt"}, {days[c.store], "HEAD"}, {days[0], "log"}} {
			to := filepath.Join(p.data(), part.name)
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			copyTree(t, filepath.Join(part.from, part.name), to)
		}
		// A list of this directory alone: nothing listens on the address.
		if out, code := p.cli("--set", "listen=127.0.0.1:1", "agents"); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("the store of day %d: exit code %d, want %d and %q:\n%s", c.store, code, c.code, c.says, out)
		}
	}
}

// TestMissingLogIsNotRecreated checks that the key that has signed a log signs no other of its
// name.
func TestMissingLogIsNotRecreated(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Logged"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	if err := os.RemoveAll(filepath.Join(p.data(), "log")); err != nil {
		t.Fatal(err)
	}
	out, code := p.cli("agent", "show")
	for _, want := range []string{"log is gone", "restore any copy of the directory", "set registry.log_origin to a new name"} {
		if code != exit.Data || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", code, exit.Data, want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(p.data(), "log")); err == nil {
		t.Error("a log was begun")
	}
	if err := os.Rename(filepath.Join(p.data(), "log.key"), filepath.Join(p.dir, "old.key")); err != nil {
		t.Fatal(err)
	}
	if out, code := p.cli("--set", "registry.log_origin=localhost/log-2", "agent", "show"); code != exit.OK {
		t.Errorf("another log cannot be begun: %d\n%s", code, out)
	}
	if out, code := p.cli("log", "verify"); code != exit.OK || !strings.Contains(out, "log       localhost/log-2") {
		t.Errorf("the other log: %d\n%s", code, out)
	}
}

// TestStoreWithoutLogDoesNotStartAnotherLog checks that a store that is put back without its log
// and key, as from a backup of two files, is refused with one line, and nothing is written.
func TestStoreWithoutLogDoesNotStartAnotherLog(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Logged"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	restored := filepath.Join(t.TempDir(), "data") // elsewhere, without the checkpoint beside the directory
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"FORMAT", "store.bolt"} {
		content, err := os.ReadFile(filepath.Join(p.data(), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(restored, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := p.cli("--data-dir", restored, "agent", "show")
	if code != exit.Data || !strings.Contains(out, "log is gone, and it was signed") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for _, name := range []string{"log", "log.key"} {
		if _, err := os.Stat(filepath.Join(restored, name)); err == nil {
			t.Errorf("%s was begun", name)
		}
	}
}

// TestOnlyOneOfTwoDirectoriesSigns checks that a copy of the data directory does not sign beside
// the first one.
func TestOnlyOneOfTwoDirectoriesSigns(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "First"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	beside, elsewhere := filepath.Join(p.dir, "data2"), filepath.Join(t.TempDir(), "data")
	for _, to := range []string{beside, elsewhere} {
		if out, err := exec.Command("cp", "-a", p.data(), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	copies := map[string][]string{
		"beside":            {"--data-dir", beside},
		"elsewhere":         {"--data-dir", elsewhere},
		"with its own copy": {"--data-dir", elsewhere, "--set", "registry.checkpoint_copy=" + filepath.Join(t.TempDir(), "checkpoint")},
	}
	again := startProgramIn(t, p.dir, "crawler.enabled=false")
	for name, words := range copies {
		out, code := again.cli(append(words, "agent", "new", "Second", "--key", "second.key")...)
		if code != exit.Data || !strings.Contains(out, "signs the same log") {
			t.Errorf("%s, while the first runs: exit code %d:\n%s", name, code, out)
		}
	}
	if out, code := again.cli("agent", "new", "Third", "--key", "third.key"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, again)
	for name, words := range copies {
		out, code := again.cli(append(words, "agent", "show")...)
		if code != exit.Data || !strings.Contains(out, "an older copy of the log and of the store was put back") {
			t.Errorf("%s, after the first: exit code %d:\n%s", name, code, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(elsewhere), ".gazetteer-checkpoint-*")); err != nil || len(left) > 0 {
		t.Errorf("the copy has begun %q, %v", left, err)
	}
}

// TestMovedDirectoryKeepsItsCheckpointCopy moves a data directory: it uses the second copy of the
// checkpoint where that is recorded. If it is not there, as on a disk that is not mounted, the
// program does not begin another one before the operator names its path.
func TestMovedDirectoryKeepsItsCheckpointCopy(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "First"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	moved := filepath.Join(t.TempDir(), "data")
	if err := os.Rename(p.data(), moved); err != nil {
		t.Fatal(err)
	}
	if out, code := p.cli("--data-dir", moved, "compact"); code != exit.OK || !strings.Contains(out, "set registry.checkpoint_copy") {
		t.Errorf("the moved directory: %d\n%s", code, out)
	}
	copies, err := filepath.Glob(filepath.Join(p.dir, ".gazetteer-checkpoint-*"))
	if err != nil || len(copies) == 0 {
		t.Fatalf("%q, %v", copies, err)
	}
	for _, path := range copies {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if out, code := p.cli("--data-dir", moved, "compact"); code != exit.Data || !strings.Contains(out, "is recorded at "+p.dir) || !strings.Contains(out, "mount its disk; or, if no other copy of this data directory is in use, set registry.checkpoint_copy") {
			t.Errorf("without the recorded copy: %d\n%s", code, out)
		}
	}
	chosen := filepath.Join(t.TempDir(), "checkpoint")
	if out, code := p.cli("--data-dir", moved, "--set", "registry.checkpoint_copy="+chosen, "compact"); code != exit.OK {
		t.Errorf("with another path: %d\n%s", code, out)
	}
	if out, code := p.cli("--data-dir", moved, "compact"); code != exit.OK {
		t.Errorf("with that path recorded: %d\n%s", code, out)
	}
	if _, err := os.Stat(chosen); err != nil {
		t.Error(err)
	}
}
