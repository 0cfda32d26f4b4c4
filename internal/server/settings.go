package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/backup"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/registry"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/toolhost/httpruntime"
)

// CheckSettings reports every fault of a configuration that a start of a server with a public address
// refuses. It reads the files that the configuration names, and the names and modes in the data directory;
// it writes nothing.
func CheckSettings(c config.Config) error {
	c.PublicURL = cmp.Or(c.PublicURL, config.LocalURL(cmp.Or(c.Listen, config.Default().Listen)))
	_, vectors := readVectors(c.Search.VectorFile)
	return c.Locate(errors.Join(checkSettings(c), CheckHostLists(c), checkToolCertificate(c), vectors, checkDataDir(c.DataDir)))
}

// checkDataDir refuses a data directory that is unsafe, a backup, or one that has lost its store. A missing
// directory is fine.
func checkDataDir(dir string) error {
	if err := privatefile.CheckDir(dir); err != nil {
		return &exit.Error{Code: exit.Data, Err: fmt.Errorf("data directory: %w", err)}
	}
	if backup.IsBackup(dir) {
		return exit.Usagef("%s is a backup: it could not be restored any more after it was served\nrestore it into a data directory: gazetteer --data-dir NEW restore %s", dir, dir)
	}
	return checkStoreFiles(dir)
}

// checkSettings refuses a configuration that a part of the server refuses, before anything is written:
// a start that fails must not leave the key of a log or half of a data directory.
func checkSettings(c config.Config) error {
	return c.Locate(errors.Join(checkRegistrySettings(c), checkCheckpointCopy(c), checkCrawlerSettings(c), checkRelaySettings(c), checkToolSettings(c)))
}

func checkRegistrySettings(c config.Config) error {
	_, host := registry.ParseHost(c.Registry.DIDHost)
	if host != nil {
		host = exit.Usagef("registry.did_host %q: %w", c.Registry.DIDHost, host)
	}
	origin := checkpoint.CheckName(logOrigin(c))
	if origin != nil && (host == nil || c.Registry.LogOrigin != "") {
		origin = exit.Usagef("registry.log_origin: %w", origin)
	} else {
		origin = nil // it is made of registry.did_host
	}
	_, registries := parseRegistries(c.Registry.RemoteRegistries)
	_, witnesses := parseCosigners(c.Registry.Witnesses)
	_, logs := parseWitnessedLogs(c.Registry.WitnessFor)
	_, lock := parseLockWitness(c.Registry.LockWitness)
	return errors.Join(host, origin, registries, witnesses, logs, lock)
}

// checkCheckpointCopy refuses a configured second copy of the checkpoint that cannot be written.
func checkCheckpointCopy(c config.Config) error {
	path := c.Registry.CheckpointCopy
	if path == "" || path == noCheckpointCopy {
		return nil
	}
	switch dir := filepath.Dir(path); {
	case !fileExists(dir):
		return exit.Usagef("registry.checkpoint_copy is %s, and there is no directory %s: make it, or mount its disk", path, dir)
	case isDirectory(path):
		return exit.Usagef("registry.checkpoint_copy is %s, which is a directory: name a file in it, such as %s", path, filepath.Join(path, "checkpoint"))
	case syscall.Access(dir, writable) != nil:
		return exit.Usagef("registry.checkpoint_copy is %s, and this process may not write to %s", path, dir)
	}
	return nil
}

func checkCrawlerSettings(c config.Config) error {
	_, guard := newGuard(c)
	_, networks := parseNetworkLimits(c.Crawler.NetworkLimits)
	_, formats := parseFormats(c.Crawler.Formats)
	return errors.Join(guard, networks, formats)
}

func checkRelaySettings(c config.Config) error {
	if !c.Relay.Enabled {
		return nil
	}
	var window error
	if time.Duration(c.Relay.ReplayWindow) < minReplayWindow {
		window = exit.Usagef("relay.replay_window is %s; want at least %s", time.Duration(c.Relay.ReplayWindow), minReplayWindow)
	}
	return errors.Join(window, checkRequire("relay.require", c.Relay.Require))
}

func checkToolSettings(c config.Config) error {
	if !c.Altar.Enabled {
		return nil
	}
	var credentials error
	if c.Altar.HTTPRuntime && c.Altar.CredentialsFile != "" {
		if _, err := httpruntime.ReadCredentials(c.Altar.CredentialsFile); err != nil {
			credentials = exit.Usagef("altar.credentials_file: %v", err)
		}
	}
	return errors.Join(checkRequire("altar.require", c.Altar.Require), credentials)
}

// checkRequire refuses a list of required evidence that has an unknown word.
func checkRequire(key, text string) error {
	if _, err := registry.ParseRequire(text); err != nil {
		return exit.Usagef("%s: %v", key, err)
	}
	return nil
}

// checkToolCertificate refuses a certificate and a key with which the tool host cannot serve.
func checkToolCertificate(c config.Config) error {
	if !c.Altar.Enabled || c.Altar.TLSListen == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(c.Altar.TLSCertificate, c.Altar.TLSKey); err != nil {
		return exit.Usagef("altar.tls_certificate %s and altar.tls_key %s: %w", c.Altar.TLSCertificate, c.Altar.TLSKey, err)
	}
	return nil
}

// CheckHostLists refuses seeds and a block list that the crawler of a server would refuse. Only a server
// with a public address reads them.
func CheckHostLists(c config.Config) error {
	var faults []error
	if c.Crawler.BlockListFile != "" {
		if _, err := readBlockList(c.Crawler.BlockListFile); err != nil {
			faults = append(faults, exit.Usagef("crawler.block_list_file: %w", err))
		}
	}
	for _, host := range c.Crawler.Seeds {
		if _, err := fetch.CheckHost(host); err != nil && c.Crawler.Enabled {
			faults = append(faults, exit.Usagef("crawler.seeds: %w", err))
		}
	}
	return c.Locate(errors.Join(faults...))
}
