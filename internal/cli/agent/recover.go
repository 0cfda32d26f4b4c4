package agent

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// recoverFlags contains the flags of agent recover.
type recoverFlags struct {
	file     string
	withdraw bool
	yes      bool
}

func (a *verbs) recoverCommand(k *keyring) *cobra.Command {
	r := &recoverFlags{}
	c := &cobra.Command{
		Use:   "recover",
		Short: "Replace a lost or stolen key with the recovery key",
		Long: `Recover makes a new key and a new recovery key beside the old ones, and asks the
registry to accept the new key. It comes into force after a delay (three days,
unless the registry sets another), during which the holder of the recovery key can
cancel it with --withdraw. Until then the old key can neither be rotated nor read
mail. The first command after the delay moves the new files into the places of the
old ones.

  gazetteer agent recover               asks for confirmation
  gazetteer agent recover --withdraw    cancels it`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changeKeys(c.Context(), k, func(server *cli.Client) error { return a.recoverAgent(c, server, k, r) })
		},
	}
	c.Flags().StringVar(&r.file, "recovery", "", "file with the recovery key (default: agent.recovery.key beside the key)")
	c.Flags().BoolVar(&r.withdraw, "withdraw", false, "cancel the pending recovery")
	c.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	return c
}

// formatFile returns the flag of the recovery key as the user gave it, "" for none.
func (r *recoverFlags) formatFile() string {
	if r.file == "" {
		return ""
	}
	return " --recovery " + cli.QuoteForShell(r.file)
}

func (a *verbs) recoverAgent(c *cobra.Command, server *cli.Client, k *keyring, r *recoverFlags) error {
	ctx := c.Context()
	path := cmp.Or(r.file, k.recoveryPath())
	f, err := keyfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !cli.FileExists(keyfile.Next(path)) {
		return exit.NotFoundf("there is no recovery key in %s: name its file with --recovery. If it is lost, it cannot be replaced: make another agent, "+
			"and merge this one into it (gazetteer agent merge); if the agent's key is lost or stolen, too, ask the operator of the registry", path)
	}
	if err != nil {
		return keyError(err, path)
	}
	recovery, owner, err := k.readKey(ctx, a, path)
	if err != nil {
		return err
	}
	airID, ok := owner.AirID()
	if !ok {
		return exit.Usagef("%s does not name the agent of the recovery key: add a line %q after the key", path, agentNote+": did:wba:…")
	}
	keys, err := fetchKeys(ctx, server, airID)
	if err != nil {
		return err
	}
	if owner, err = ownerInRegistry(owner, keys); err != nil {
		return err
	}
	if !r.withdraw && !r.yes {
		if err := a.Confirm(ctx, airID, "a recovery of "+airID+" would begin; until it ends, in three days unless the registry sets another delay, the present key cannot read mail or be rotated"); err != nil {
			return err
		}
	}
	var next, reserve ed25519.PrivateKey
	commitment := ""
	made := missingFiles(keyfile.Next(k.path), keyfile.Next(k.recoveryPath()))
	if !r.withdraw {
		if next, err = k.readOrCreateKey(ctx, a, keyfile.Next(k.path), owner, f.Encrypted); err != nil {
			return err
		}
		if reserve, err = k.readOrCreateKey(ctx, a, keyfile.Next(k.recoveryPath()), owner, f.Encrypted); err != nil {
			return err
		}
		commitment = registry.RecoveryCommitment(reserve.Public().(ed25519.PublicKey))
	}
	x := registry.NewRecovery(owner.String(), keys.Keys[0].PublicKeyMultibase, recovery, next, commitment, a.Environment.Now())
	body := map[string]string{"agent": x.Agent, "current_key": x.From, "recovery_key": x.Key, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"recovery_signature": x.RecoverySignature}
	if next != nil {
		body["public_key"], body["next_commitment"], body["new_signature"] = x.To, x.Next, x.NewSignature
	}
	var after airjson.KeysView
	raw, err := server.SendJSON(ctx, http.MethodPost, cli.AgentPath(airID, "/recovery"), body, nil, &after)
	if err != nil {
		return a.removeRefusedKeys(ctx, server, airID, err, made)
	}
	if r.withdraw {
		// The planned next keys are no longer useful.
		for _, gone := range []string{keyfile.Next(k.path), keyfile.Next(k.recoveryPath())} {
			if cli.FileExists(gone) {
				if err := os.Remove(gone); err != nil {
					return &exit.Error{Code: exit.Data, Err: fmt.Errorf("the recovery is withdrawn, but %w", err)}
				}
			}
		}
	}
	if a.JSON {
		return cli.WriteJSONText(a.Out, raw)
	}
	a.PrintField("agent", airID)
	if after.Recovery == nil {
		a.PrintField("recovery", "withdrawn; the key in use stays")
		return nil
	}
	a.PrintField("recovery", "under way to "+after.Recovery.To)
	a.PrintField("in force", formatTime(a.Environment.Now(), after.Recovery.Due))
	a.PrintField("keep", keyfile.Next(k.path)+" and "+keyfile.Next(k.recoveryPath())+": they take their places then")
	a.PrintNextSteps("Until then the old key signs, but can neither be rotated nor read mail. See the state:", a.formatAgentCommand(k, "show "+airID))
	a.PrintNextSteps("To cancel the recovery:", a.formatAgentCommand(k, "recover --withdraw"+r.formatFile()))
	return nil
}
