package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// fetchKeys asks which keys an agent has and had.
func fetchKeys(ctx context.Context, c *cli.Client, airID string) (airjson.KeysView, error) {
	var v airjson.KeysView
	_, err := c.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, "/keys"), nil, nil, &v)
	if err != nil || len(v.Keys) > 0 {
		return v, err
	}
	// Whether it is erased or never had one its record says.
	var record airjson.RecordView
	if _, err := c.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, ""), nil, nil, &record); err != nil {
		return v, err
	}
	return v, exit.NotFoundf("%s has no key: it was registered with a DID of its creator alone", airID)
}

// readOwnAgent returns the agent whose key is in the file, its key, and its keys as the
// registry has them. Before that it puts the key in its place that a rotation or
// a recovery has brought into force meanwhile.
func (a *verbs) readOwnAgent(ctx context.Context, c *cli.Client, k *keyring) (did.Web, ed25519.PrivateKey, airjson.KeysView, error) {
	owner, keys, err := a.findOwnAgent(ctx, c, k)
	if err != nil {
		return did.Web{}, nil, airjson.KeysView{}, err
	}
	key, _, err := k.readKey(a, k.path)
	return owner, key, keys, err
}

// findOwnAgent returns whose key the file holds and what the registry knows of it, for
// which no passphrase is needed; an error when the key is not the current one.
func (a *verbs) findOwnAgent(ctx context.Context, c *cli.Client, k *keyring) (did.Web, airjson.KeysView, error) {
	fail := func(err error) (did.Web, airjson.KeysView, error) { return did.Web{}, airjson.KeysView{}, err }
	owner, err := k.readOwner(a)
	if err != nil {
		return fail(err)
	}
	airID, _ := owner.AirID()
	keys, err := fetchKeys(ctx, c, airID)
	if err != nil {
		return fail(err)
	}
	if owner, err = ownerInRegistry(owner, keys); err != nil {
		return fail(err)
	}
	if err := a.promoteKeys(k, keys); err != nil {
		return fail(err)
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return fail(keyError(err, k.path))
	}
	return owner, keys, requireCurrentKey(k.path, f.Public, keys)
}

// ownerInRegistry returns the agent's DID in the registry that was asked: in one that has
// imported it, it is another than where its key was made.
func ownerInRegistry(owner did.Web, keys airjson.KeysView) (did.Web, error) {
	if keys.DID == owner.String() {
		return owner, nil
	}
	there, err := did.ParseWeb(keys.DID)
	mine, _ := owner.AirID()
	if airID, ok := there.AirID(); err != nil || !ok || airID != mine {
		return did.Web{}, exit.Networkf("the registry answers with the keys of %q when it is asked for those of %s", keys.DID, mine)
	}
	return there, nil
}

// readOwner says whose key the file holds, or the recovery key when the other is
// lost.
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
		return did.Web{}, exit.Usagef("%s does not say whose key it is. If its agent was never registered, register it: gazetteer agent new NAME. If it was, tell once which it is: %s", path, a.formatAgentCommand(k, "show AIR-…"))
	}
	return owner, nil
}

// promoteKeys moves keys into their place that the registry knows as current.
func (a *verbs) promoteKeys(k *keyring, keys airjson.KeysView) error {
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

// requireCurrentKey reports whether a key is the one that the registry has as current.
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

// formatTime writes a time of an answer for a person, or as it came.
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
