package agent

import (
	"context"
	"errors"
	"slices"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// missingFiles returns the key files that do not exist yet.
func missingFiles(paths ...string) []string {
	var missing []string
	for _, path := range paths {
		if !cli.FileExists(path) {
			missing = append(missing, path)
		}
	}
	return missing
}

// removeRefusedKeys removes the keys that this command created and the registry refused, and
// returns the refusal. It keeps a key that the registry may hold: if no answer of the registry
// arrived, if the agent's keys cannot be fetched, if they contain the key (an intermediary may have
// sent the request twice), or if the key is from an earlier attempt whose request may still be in
// progress.
func (a *verbs) removeRefusedKeys(ctx context.Context, c *cli.Client, airID string, refused error, made []string) error {
	if no, ok := errors.AsType[*cli.RefusedError](refused); !ok || no.Code == "" || no.Status >= 500 {
		return refused
	}
	keys, err := fetchKeys(ctx, c, airID)
	if err != nil {
		return refused
	}
	for _, path := range made {
		if f, err := keyfile.Open(path); err == nil && knowsKey(keys, f) {
			return refused
		}
	}
	return errors.Join(refused, removeFiles(made))
}

// knowsKey reports whether a key is or was the agent's key, or will become its key or its recovery
// key.
func knowsKey(keys airjson.KeysView, f keyfile.File) bool {
	mine := did.FormatMultikey(f.Public)
	held := func(k airjson.KeyView) bool { return k.PublicKeyMultibase == mine }
	return slices.ContainsFunc(keys.Keys, held) || keys.Recovery != nil && keys.Recovery.To == mine || registry.RecoveryCommitment(f.Public) == keys.Commitment
}
