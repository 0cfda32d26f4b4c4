package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// fetchKeys requests the current and the retired keys of an agent.
func fetchKeys(ctx context.Context, c *cli.Client, airID string) (airjson.KeysView, error) {
	var v airjson.KeysView
	_, err := c.GetJSON(ctx, cli.AgentPath(airID, "/keys"), &v)
	if err != nil || len(v.Keys) > 0 {
		return v, err
	}
	// The agent's record says whether it is erased or never had a key.
	var record airjson.RecordView
	if _, err := c.GetJSON(ctx, cli.AgentPath(airID, ""), &record); err != nil {
		return v, err
	}
	return v, exit.NotFoundf("%s has no key: it was registered with a DID of its creator alone", airID)
}

// readOwnAgent returns the agent whose key is in the file, that key, and the agent's keys in the
// registry. It first replaces the key if a rotation or a recovery has taken effect meanwhile.
func (a *verbs) readOwnAgent(ctx context.Context, c *cli.Client, k *keyring) (did.Web, ed25519.PrivateKey, airjson.KeysView, error) {
	owner, keys, err := a.findOwnAgent(ctx, c, k)
	if err != nil {
		return did.Web{}, nil, airjson.KeysView{}, err
	}
	key, _, err := k.readKey(ctx, a, k.path)
	return owner, key, keys, err
}

// findOwnAgent returns the agent whose key is in the file, and its keys in the registry. It needs
// no passphrase. It returns an error if the key is not the current one.
func (a *verbs) findOwnAgent(ctx context.Context, c *cli.Client, k *keyring) (did.Web, airjson.KeysView, error) {
	fail := func(err error) (did.Web, airjson.KeysView, error) { return did.Web{}, airjson.KeysView{}, err }
	owner, err := k.readOwner(a)
	if err != nil {
		return fail(err)
	}
	airID, _ := owner.AirID()
	keys, err := fetchKeys(ctx, c, airID)
	if cli.IsUnknownAgent(err) {
		return fail(exit.NotFoundf("%s, whose key is in %s, is not registered here\nThe agents here: %s", airID, k.path, a.FormatCommand("agents")))
	}
	if err != nil {
		return fail(err)
	}
	if owner, err = ownerInRegistry(owner, keys); err != nil {
		return fail(err)
	}
	if err := a.promoteKeys(ctx, k, keys); err != nil {
		return fail(err)
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return fail(keyError(err, k.path))
	}
	return owner, keys, requireCurrentKey(k.path, f.Public, keys)
}

// ownerInRegistry returns the agent's DID in the requested registry: a registry that imported the
// agent uses a different DID from the one in the key file.
func ownerInRegistry(owner did.Web, keys airjson.KeysView) (did.Web, error) {
	if keys.DID == owner.String() {
		return owner, nil
	}
	there, err := did.ParseWeb(keys.DID)
	mine, _ := owner.AirID()
	if airID, ok := there.AirID(); err != nil || !ok || airID != mine {
		return did.Web{}, exit.Networkf("the registry returned the keys of %q for a request for those of %s", keys.DID, mine)
	}
	return there, nil
}

// readOwner returns the agent whose key is in the file, or whose recovery key is there if the key
// is lost.
func (k *keyring) readOwner(a *verbs) (did.Web, error) {
	path := k.path
	if !cli.FileExists(path) && (cli.FileExists(keyfile.Next(path)) || cli.FileExists(k.recoveryPath())) {
		path = k.recoveryPath()
	}
	f, err := keyfile.Open(path)
	if err != nil {
		return did.Web{}, keyError(err, path)
	}
	owner, err := parseOwner(f, path)
	if err != nil {
		return did.Web{}, err
	}
	if _, ok := owner.AirID(); !ok {
		return did.Web{}, exit.Usagef("%s does not name the agent of the key. If the agent was never registered, register it: gazetteer agent new NAME. If it was, name it once: %s", path, a.formatAgentCommand(k, "show AIR-…"))
	}
	return owner, nil
}

// promoteKeys moves the next keys to the current files if the registry lists them as current.
func (a *verbs) promoteKeys(ctx context.Context, k *keyring, keys airjson.KeysView) error {
	unlock, err := a.lockKeys(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	next := keyfile.Next(k.path)
	if f, err := keyfile.Open(next); err == nil && did.FormatMultikey(f.Public) == keys.Keys[0].PublicKeyMultibase {
		if err := k.promoteKey(); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "The new key is in force: %s is now it.\n", format.Visible(k.path))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyError(err, next)
	}
	recovery := k.recoveryPath()
	if f, err := keyfile.Open(keyfile.Next(recovery)); err == nil && keys.Commitment != "" && registry.RecoveryCommitment(f.Public) == keys.Commitment {
		if err := keyfile.Promote(recovery); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "The new recovery key is in force: %s is now it.\n", format.Visible(recovery))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyError(err, keyfile.Next(recovery))
	}
	return nil
}

// requireCurrentKey returns an error unless a key is the current one in the registry.
func requireCurrentKey(path string, key ed25519.PublicKey, keys airjson.KeysView) error {
	mine := did.FormatMultikey(key)
	if keys.Keys[0].PublicKeyMultibase == mine {
		return nil
	}
	for _, old := range keys.Keys[1:] {
		if old.PublicKeyMultibase == mine && old.Until != nil {
			return exit.Usagef("the key in %s was retired on %s by a %s and signs nothing any more; the current one is %s", path, *old.Until, old.RetiredBy, keys.Keys[0].PublicKeyMultibase)
		}
	}
	return exit.Usagef("the key in %s is not that of %s, whose current one is %s", path, keys.AirID, keys.Keys[0].PublicKeyMultibase)
}

// formatTime formats a time of an answer for a user, or returns it unchanged if it is invalid.
func formatTime(now time.Time, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	if t.After(now) {
		return text + " (" + cli.FormatWait(now, t) + ")"
	}
	return text + " (" + cli.FormatAge(now, t) + ")"
}
