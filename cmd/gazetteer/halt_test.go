package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/exit"
)

// metricsAddress returns an address for the metrics of a program.
func metricsAddress(t *testing.T) string {
	t.Helper()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// metricsOf returns what a program answers at its address for metrics.
func metricsOf(t *testing.T, address string) string {
	t.Helper()
	p := program{t: t, child: &child{base: "http://" + address}}
	_, text := p.ask(http.MethodGet, "/metrics", "")
	return text
}

// wantMetrics checks that a program's metrics have a line for each expression, which begins a line.
func wantMetrics(t *testing.T, address string, expressions ...string) {
	t.Helper()
	text := metricsOf(t, address)
	for _, e := range expressions {
		if !regexp.MustCompile("(?m)^" + e).MatchString(text) {
			t.Errorf("the metrics do not have a line %s:\n%s", e, text)
		}
	}
}

// flipByte changes a byte of a file, or changes it back.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x20
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// register registers an agent without proof, and returns the status of the answer.
func (p *program) register(name string) int {
	p.t.Helper()
	status, _ := p.ask(http.MethodPost, "/api/v1/agents/register", fmt.Sprintf(`{"name":%q,"public_key":%q}`, name, newPublicKey(p.t)))
	return status
}

// awaitLeaves waits until the log of a program has so many leaves under its checkpoint, and the
// index is complete.
func (p *program) awaitLeaves(leaves int) {
	p.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		p.ask(http.MethodGet, "/log/entries?key=agent%2FAIR-0000-0000-0000", "") // waits for the log
		_, checkpoint := p.ask(http.MethodGet, "/log/checkpoint", "")
		ready, _ := p.ask(http.MethodGet, "/readyz", "")
		if ready == 200 && strings.Contains(checkpoint, fmt.Sprintf("\n%d\n", leaves)) {
			return
		}
	}
	p.t.Fatalf("the log does not get %d leaves\n%s", leaves, p.log)
}

// awaitHalt waits until the log of a program is halted.
func (p *program) awaitHalt() {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		p.ask(http.MethodGet, "/log/entries?key=agent%2FAIR-0000-0000-0000", "") // waits for the log
		if _, text := p.ask(http.MethodGet, "/readyz?work=sign", ""); strings.Contains(text, "signs nothing more") {
			return
		}
	}
	p.t.Fatalf("the log does not halt\n%s", p.log)
}

// signing reads the state of a program's log from every place that shows it.
func (p *program) signing(metrics string) (signs bool, cause string) {
	p.t.Helper()
	var status struct {
		Work struct{ Read, Write, Sign bool }
		Log  struct {
			Signs  bool
			Halted *struct{ Cause string }
		}
	}
	if code, text := p.ask(http.MethodGet, "/api/v1/status", ""); code != 200 || json.Unmarshal([]byte(text), &status) != nil {
		p.t.Fatalf("/api/v1/status: %d %s", code, text)
	}
	if status.Log.Halted != nil {
		cause = status.Log.Halted.Cause
	}
	code, ready := p.ask(http.MethodGet, "/readyz", "")
	if code != 200 || !strings.Contains(ready, fmt.Sprintf(`"sign":%t`, status.Work.Sign)) || !status.Work.Read || !status.Work.Write {
		p.t.Errorf("/readyz: %d %s, status %+v", code, ready, status)
	}
	if code, text := p.ask(http.MethodGet, "/readyz?work=sign", ""); (code == 200) != status.Work.Sign || !status.Work.Sign && cause != "" && !strings.Contains(text, "gazetteer registry resume-signing") {
		p.t.Errorf("/readyz?work=sign: %d %s", code, text)
	}
	if code, page := p.ask(http.MethodGet, "/status", "", "Accept", "text/html"); code != 200 || strings.Contains(page, "signs nothing more since") != (cause != "") {
		p.t.Errorf("/status does not say how the log stands: %d, the cause is %q", code, cause)
	}
	text := metricsOf(p.t, metrics)
	lines := []string{fmt.Sprintf(`gazetteer_work_possible{work="sign"} %d`, map[bool]int{true: 1}[status.Work.Sign])}
	for _, c := range []string{"damage", "lock", "witness"} {
		lines = append(lines, fmt.Sprintf("gazetteer_log_halted{cause=%q} %d", c, map[bool]int{true: 1}[cause == c]))
	}
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			p.t.Errorf("the metrics do not have the line %s", line)
		}
	}
	if strings.Contains(ready, p.dir) {
		p.t.Errorf("strangers are told a path: %s", ready)
	}
	return status.Work.Sign, cause
}

// TestDamagedLogIsHalted changes the bytes of a tile on the disk and requests the tile. It is not
// served and the log halts. Every place shows the halt, a restart keeps it, and the operator cannot
// resume signing before the file is repaired. Reads and registrations continue, and the log signs
// them in the end.
func TestDamagedLogIsHalted(t *testing.T) {
	t.Parallel()
	metrics := metricsAddress(t)
	settings := []string{"crawler.enabled=false", "metrics_listen=" + metrics}
	p := startTroubledProgram(t, t.TempDir(), settings...)
	for i := range 5 {
		if status := p.register(fmt.Sprintf("Before %d", i)); status != 201 {
			t.Fatal(status)
		}
	}
	p.awaitLeaves(5)
	if signs, _ := p.signing(metrics); !signs {
		t.Error("a sound log does not sign")
	}
	wantMetrics(t, metrics, `gazetteer_log_bytes [1-9]`, `gazetteer_log_checkpoint_age_seconds [0-9.e-]*[1-9]`)
	_, whole := p.ask(http.MethodGet, "/log/tile/0/000.p/3", "")
	hashes := filepath.Join(p.data(), "log", "hashes")
	flipByte(t, hashes, 3) // of the first leaf
	// A narrower tile, because the one above is in the cache of answers.
	if status, text := p.ask(http.MethodGet, "/log/tile/0/000.p/2", ""); status != 500 || strings.Contains(text, whole[:16]) || strings.Contains(text, "hashes") {
		t.Errorf("a damaged tile was answered %d %q", status, text)
	}
	if _, cause := p.signing(metrics); cause != "damage" {
		t.Errorf("the cause is %q", cause)
	}
	if status := p.register("Meanwhile"); status != 201 {
		t.Errorf("a registration was answered %d", status)
	}
	stopped(t, p)
	p = startTroubledProgram(t, p.dir, settings...)
	p.awaitLeaves(5)
	if _, cause := p.signing(metrics); cause != "damage" {
		t.Errorf("after a restart the cause is %q", cause)
	}
	if !strings.Contains(p.log.String(), "signs nothing more since") || !strings.Contains(p.log.String(), "put back a copy of the directory of the log") {
		t.Errorf("at the start the operator is told: %s", p.log)
	}
	if out, code := p.cli("registry"); code != exit.OK || !strings.Contains(out, "signs nothing more since") {
		t.Errorf("%d\n%s", code, out)
	}
	if out, code := p.cli("registry", "resume-signing"); code != exit.NotFound || !strings.Contains(out, "hashes") {
		t.Errorf("with the damage: %d\n%s", code, out)
	}
	flipByte(t, hashes, 3) // repaired
	if out, code := p.cli("registry", "resume-signing"); code != exit.OK || !strings.Contains(out, "it signs") {
		t.Errorf("after the repair: %d\n%s", code, out)
	}
	if signs, cause := p.signing(metrics); !signs || cause != "" {
		t.Errorf("after the repair: %t %q", signs, cause)
	}
	p.awaitLeaves(6)
	if out, code := p.cli("log", "verify", p.base+"/log"); code != exit.OK {
		t.Errorf("%d\n%s", code, out)
	}
}

// copyData copies a data directory while nothing runs in it.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-Rp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// TestOnlyOneOfTwoMachinesSigns checks that two copies of a data directory run as on two machines,
// with nothing in common but the witness that is the lock of their log. The first that writes
// signs; the other halts, also after a restart, and cannot be resumed.
func TestOnlyOneOfTwoMachinesSigns(t *testing.T) {
	t.Parallel()
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	log, lock := ownKey(t, first, "log.key", "first.example/log"), ownKey(t, third, "witness.key", "third.example/witness")
	witness := startTroubledProgram(t, third, "crawler.enabled=false", "registry.did_host=third.example", "registry.witness_for="+log.Public())
	settings := func(metrics string) []string {
		return []string{"crawler.enabled=false", "registry.did_host=first.example", "registry.checkpoint_copy=none", "metrics_listen=" + metrics,
			"registry.lock_witness=" + lock.PublicWitness() + " " + witness.base + "/witness"}
	}
	firstMetrics, secondMetrics := metricsAddress(t), metricsAddress(t)
	p := startTroubledProgram(t, first, settings(firstMetrics)...)
	if status := p.register("Before"); status != 201 {
		t.Fatal(status)
	}
	p.awaitLeaves(1)
	if out, code := p.cli("log", "verify", p.base+"/log", "--key", log.Public(), "--witness", lock.PublicWitness()); code != exit.OK || !strings.Contains(out, "cosigned  third.example/witness") {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	copyData(t, p.data(), second)

	one := startTroubledProgram(t, first, settings(firstMetrics)...)
	two := startTroubledProgram(t, second, settings(secondMetrics)...)
	if status := one.register("One"); status != 201 {
		t.Fatal(status)
	}
	one.awaitLeaves(2)
	two.awaitLeaves(1)
	before, checkpoint := two.ask(http.MethodGet, "/log/checkpoint", "")
	if status := two.register("Two"); status != 201 {
		t.Fatal(status)
	}
	two.awaitHalt()
	if _, cause := two.signing(secondMetrics); cause != "lock" {
		t.Fatalf("the second: %q\n%s", cause, two.log)
	}
	if status, now := two.ask(http.MethodGet, "/log/checkpoint", ""); status != before || now != checkpoint {
		t.Errorf("the second has signed: %s", now)
	}
	if out, code := two.cli("registry", "resume-signing"); code != exit.NotFound || !strings.Contains(out, "another copy of this directory is in use") {
		t.Errorf("%d\n%s", code, out)
	}
	if signs, cause := one.signing(firstMetrics); !signs || cause != "" {
		t.Errorf("the first: %t %q", signs, cause)
	}
	wantMetrics(t, firstMetrics, `gazetteer_log_lock_answer_age_seconds [0-9.e-]*[1-9]`)
	stopped(t, one)
	stopped(t, two)
}

// TestLockOnSameDiskIsWarnedOf checks that the operator is warned at the start if the lock of the
// log is on the disk of the data directory, and not if it is elsewhere.
func TestLockOnSameDiskIsWarnedOf(t *testing.T) {
	t.Parallel()
	const warning = "it is on the same disk as the log"
	p := startProgram(t, "crawler.enabled=false")
	if !strings.Contains(p.log.String(), warning) {
		t.Errorf("beside the data directory: %s", p.log)
	}
	stopped(t, p)
	elsewhere, err := os.MkdirTemp("/dev/shm", "gazetteer-test-")
	if err != nil {
		t.Logf("this machine has no second file system: %v", err)
		return
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	p = startProgramIn(t, p.dir, "crawler.enabled=false", "registry.checkpoint_copy="+filepath.Join(elsewhere, "checkpoint"))
	if strings.Contains(p.log.String(), warning) {
		t.Errorf("on another disk: %s", p.log)
	}
	if _, status := p.ask(http.MethodGet, "/api/v1/status", ""); !strings.Contains(status, `"lock":{"kind":"file","apart":true}`) {
		t.Errorf("the status: %s", status)
	}
	stopped(t, p)
}

// TestEmptyDirectoryOfAKnownLogIsRefused mistypes data_dir: the second copy of the checkpoint shows that
// this is not the directory of the log, and the refusal says so and begins nothing there.
func TestEmptyDirectoryOfAKnownLogIsRefused(t *testing.T) {
	t.Parallel()
	checkpointCopy := "registry.checkpoint_copy=" + filepath.Join(t.TempDir(), "checkpoint")
	p := startProgram(t, "crawler.enabled=false", checkpointCopy)
	if status := p.register("Somebody"); status != http.StatusCreated {
		t.Fatal(status)
	}
	stopped(t, p)
	mistyped := filepath.Join(p.dir, "dta")
	for range 2 {
		out, code := p.cli("--data-dir", mistyped, "serve", "--no-crawl", "--listen", "127.0.0.1:0", "--set", checkpointCopy)
		if code != exit.Data || !strings.Contains(out, "there is no data in "+mistyped) || !strings.Contains(out, "of a log that has leaves") || !strings.Contains(out, "(data_dir)") {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(mistyped, "log.key")); err == nil {
		t.Error("the refused start made a key")
	}
}
