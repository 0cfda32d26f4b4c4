package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/need"
)

// TestIdleConnectionsDoNotBlockServer opens far more connections than the process has descriptors,
// with writes between them: the server keeps running, registers agents and answers.
func TestIdleConnectionsDoNotBlockServer(t *testing.T) {
	const descriptors = 200
	metrics := metricsAddress(t)
	p := startLimitedProgram(t, descriptors, "metrics_listen="+metrics)
	address := strings.TrimPrefix(p.base, "http://")
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for round := range 4 {
		for range 2 * descriptors {
			if conn, err := net.Dial("tcp", address); err == nil {
				held = append(held, conn)
			}
		}
		body := fmt.Sprintf(`{"name":"agent %d","public_key":%q}`, round, newPublicKey(t))
		response, err := client.Post(p.base+"/api/v1/agents/register", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, p.log)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("round %d: a registration was answered %s", round, response.Status)
		}
	}
	wantMetrics(t, metrics, `gazetteer_connections [1-9]`, `gazetteer_connections_dropped_total [1-9]`)
	select {
	case <-p.ended:
		t.Fatalf("the server ended:\n%s", p.log)
	default:
	}
}

// TestIdleConnectionMemory checks that, besides 8 MiB for all, a connection that waits costs less than
// 8 kB before its first byte, and less than 24 kB for each of 2,000 of which half have sent a byte or have
// been answered. CONNECTIONS=10000 makes it more; those must take less than 100 MB in all.
func TestIdleConnectionMemory(t *testing.T) {
	t.Parallel()
	count := 2000
	if text := os.Getenv("CONNECTIONS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		request string // sent on every second connection
		most    int    // bytes a connection
	}{
		"silent":          {"", 8 << 10},
		"half one byte":   {"G", 24 << 10},
		"half was served": {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 24 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProgram(t, "crawler.enabled=false")
			before := residentMemory(t, p)
			address := strings.TrimPrefix(p.base, "http://")
			for i := range count {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if i%2 == 0 && c.request != "" {
					fmt.Fprint(conn, c.request)
				}
			}
			if status, _ := p.ask(http.MethodGet, "/healthz", ""); status != http.StatusOK {
				t.Fatalf("healthz answers %d", status)
			}
			after := residentMemory(t, p)
			t.Logf("%d connections: %d kB before, %d kB after, %d bytes each", count, before>>10, after>>10, (after-before)/count)
			most := c.most*count + 8<<20
			if count <= 10_000 {
				most = min(most, 100_000_000)
			}
			if after-before > most {
				t.Errorf("%d connections take %d kB, want at most %d", count, (after-before)>>10, most>>10)
			}
		})
	}
}

// residentMemory returns the memory that a program takes now, in bytes.
func residentMemory(t *testing.T, p *program) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		need.Missing(t, "the system does not tell the memory of a process: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	need.Missing(t, "the system does not tell the resident memory of a process")
	return 0
}

// startLimitedProgram is startProgram with so many descriptors at the most.
func startLimitedProgram(t *testing.T, descriptors int, settings ...string) *program {
	t.Helper()
	t.Setenv(descriptorLimit, strconv.Itoa(descriptors))
	return startProgram(t, append(settings, "crawler.enabled=false")...)
}

// descriptorLimit is the environment variable that says how many files the program may open.
const descriptorLimit = "DESCRIPTOR_LIMIT"

// limitDescriptors applies descriptorLimit to this process.
func limitDescriptors() error {
	text := os.Getenv(descriptorLimit)
	if text == "" {
		return nil
	}
	most, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most})
}

// newPublicKey returns an unregistered public key.
func newPublicKey(t *testing.T) string {
	t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(key)
}
