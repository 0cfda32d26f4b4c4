package server

import (
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/registry"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/toolhost/httpruntime"
)

// checkSettings refuses a configuration that a part of the server refuses, before anything is written:
// a start that fails must not leave the key of a log or half of a data directory.
func checkSettings(c config.Config) error {
	for _, check := range []func(config.Config) error{
		checkRegistrySettings, checkCheckpointCopy, checkCrawlerSettings, checkRelaySettings, checkToolSettings,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func checkRegistrySettings(c config.Config) error {
	if _, err := registry.ParseHost(c.Registry.DIDHost); err != nil {
		return exit.Usagef("registry.did_host %q: %w", c.Registry.DIDHost, err)
	}
	if err := checkpoint.CheckName(logOrigin(c)); err != nil {
		return exit.Usagef("registry.log_origin: %w", err)
	}
	if _, err := parseRegistries(c.Registry.RemoteRegistries); err != nil {
		return err
	}
	if _, err := parseCosigners(c.Registry.Witnesses); err != nil {
		return err
	}
	if _, err := parseWitnessedLogs(c.Registry.WitnessFor); err != nil {
		return err
	}
	_, err := parseLockWitness(c.Registry.LockWitness)
	return err
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
	if _, err := newGuard(c); err != nil {
		return err
	}
	if _, err := parseNetworkLimits(c.Crawler.NetworkLimits); err != nil {
		return err
	}
	_, err := parseFormats(c.Crawler.Formats)
	return err
}

func checkRelaySettings(c config.Config) error {
	if !c.Relay.Enabled {
		return nil
	}
	if time.Duration(c.Relay.ReplayWindow) < minReplayWindow {
		return exit.Usagef("relay.replay_window is %s; want at least %s", time.Duration(c.Relay.ReplayWindow), minReplayWindow)
	}
	if _, err := registry.ParseRequire(c.Relay.Require); err != nil {
		return exit.Usagef("relay.require: %v", err)
	}
	return nil
}

func checkToolSettings(c config.Config) error {
	if !c.Altar.Enabled {
		return nil
	}
	if _, err := registry.ParseRequire(c.Altar.Require); err != nil {
		return exit.Usagef("altar.require: %v", err)
	}
	if c.Altar.HTTPRuntime && c.Altar.CredentialsFile != "" {
		if _, err := httpruntime.ReadCredentials(c.Altar.CredentialsFile); err != nil {
			return exit.Usagef("altar.credentials_file: %v", err)
		}
	}
	return nil
}

// CheckHostLists refuses seeds and a block list that the crawler of a server would refuse. Only a server
// with a public address reads them.
func CheckHostLists(c config.Config) error {
	if c.Crawler.BlockListFile != "" {
		if _, err := readBlockList(c.Crawler.BlockListFile); err != nil {
			return &exit.Error{Code: exit.Usage, Err: fmt.Errorf("crawler.block_list_file: %w", err)}
		}
	}
	if !c.Crawler.Enabled {
		return nil
	}
	for _, host := range c.Crawler.Seeds {
		if _, err := fetch.CheckHost(host); err != nil {
			return exit.Usagef("crawler.seeds: %w", err)
		}
	}
	return nil
}
