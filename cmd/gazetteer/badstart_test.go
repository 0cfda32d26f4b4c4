package main

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedStartLeavesNoFile starts the server in an empty directory with each kind of configuration
// that it refuses, and checks that the error names the key and that the directory is empty afterwards.
func TestRefusedStartLeavesNoFile(t *testing.T) {
	inUse, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inUse.Close()
	elsewhere := t.TempDir()
	words := filepath.Join(elsewhere, "words")
	if err := os.WriteFile(words, []byte("two words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(elsewhere, "missing", "file")
	for _, settings := range [][]string{
		{"log_level=loud"}, {"listen=nowhere"}, {"listen=" + inUse.Addr().String()}, {"public_url=https://registry.example/?page=1"},
		{"metrics_listen=9464"}, {"metrics_listen=" + inUse.Addr().String()}, {"admin_listen=192.0.2.1:9465"}, {"admin_listen=" + inUse.Addr().String()},
		{"store.compact_hour=24"}, {"changes.keep=1"}, {"shutdown_grace=-1s"}, {"api.trusted_proxies=all"},
		{"crawler.seeds=127.0.0.1"}, {"crawler.block_list_file=" + missing}, {"crawler.block_list_file=" + words}, {"crawler.denied_addresses=all"}, {"crawler.own_addresses=ours"},
		{"crawler.nat64_prefixes=none"}, {"crawler.network_limits=slow"}, {"crawler.formats=html"}, {"crawler.rate=nan"}, {"crawler.rate=inf"},
		{"search.vector_file=" + missing}, {"search.vector_file=" + words},
		{"registry.did_host=registry example"}, {"registry.did_host=registry.example:99999"}, {"registry.did_host="}, {"registry.admission=none"},
		{"registry.remote_registries=agents.example"}, {"registry.remote_registries=agents.example=https://"}, {"registry.remote_registries=agents/example=https://registry.example"},
		{"registry.name_server=dns"}, {"registry.witnesses=witness.example"}, {"registry.witness_for=log.example"}, {"registry.lock_witness=witness.example"},
		{"registry.log_origin=our log"}, {"registry.checkpoint_copy=" + missing}, {"registry.checkpoint_copy=" + elsewhere},
		{"relay.replay_window=1m"}, {"relay.require=money"}, {"relay.keep=-1h"}, {"altar.require=money"}, {"altar.session_ttl=0s"},
		{"altar.credentials_file=" + missing, "altar.http_runtime=true"},
		{"altar.tls_listen=8443", "altar.tls_certificate=" + words, "altar.tls_key=" + words},
		{"altar.tls_certificate=" + words, "altar.tls_listen=127.0.0.1:0", "altar.tls_key=" + words},
		{"altar.tls_listen=127.0.0.1:0", "altar.tls_certificate=" + words, "altar.tls_key=" + words, "altar.enabled=false"},
	} {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"--data-dir", "data"}
			if !strings.HasPrefix(settings[0], "listen=") {
				args = append(args, "--set", "listen=127.0.0.1:0")
			}
			for _, setting := range settings {
				args = append(args, "--set", setting)
			}
			command := exec.CommandContext(t.Context(), os.Args[0], append(args, "serve")...)
			command.Args[0], command.Dir = "gazetteer", dir // testscript.Main picks the program by its name
			out, err := command.CombinedOutput()
			key, _, _ := strings.Cut(settings[0], "=")
			if code := command.ProcessState.ExitCode(); code != 2 && !strings.Contains(settings[0], inUse.Addr().String()) {
				t.Errorf("exit code %d: %v\n%s", code, err, out)
			}
			if !strings.Contains(string(out), key) {
				t.Errorf("the error does not name %s:\n%s", key, out)
			}
			if left := listTree(t, dir); len(left) > 0 {
				t.Errorf("the refused start left %v", left)
			}
			if !strings.Contains(settings[0], inUse.Addr().String()) {
				checkRefusal(t, dir, key, append(args, "serve", "--check"))
			}
		})
	}
}

// checkRefusal checks that serve --check refuses a configuration as the start does, and leaves no file.
func checkRefusal(t *testing.T, dir, key string, args []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Args[0], command.Dir = "gazetteer", dir
	out, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), key) {
		t.Errorf("serve --check: exit code %d: %v\n%s\nwant 2, and %s", code, err, out, key)
	}
	if left := listTree(t, dir); len(left) > 0 {
		t.Errorf("serve --check left %v", left)
	}
}

// listTree returns the paths of everything below a directory.
func listTree(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			paths = append(paths, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
