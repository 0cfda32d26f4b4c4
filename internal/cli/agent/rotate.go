package agent

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/mailbox"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

func (a *verbs) rotateCommand(k *keyring) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Replace the agent's key with a new one",
		Long: `Rotate makes a new key beside the old one and registers it; both keys sign. When
the registry has acknowledged the new key, its file replaces that of the old one. If
the answer is lost, run rotate again. Signatures of the old key can still be
verified, but it signs nothing more. The mailbox beside the key file keeps the old
key, so that mail sealed to it still opens.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changeKeys(c.Context(), k, func(server *cli.Client) error { return a.rotateKey(c, server, k) })
		},
	}
}

func (a *verbs) rotateKey(c *cobra.Command, server *cli.Client, k *keyring) error {
	ctx := c.Context()
	owner, key, keys, err := a.readOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return keyError(err, k.path)
	}
	made := missingFiles(keyfile.Next(k.path))
	next, err := k.readOrCreateKey(ctx, a, keyfile.Next(k.path), owner, f.Encrypted)
	if err != nil {
		return err
	}
	x := registry.NewRotation(owner.String(), key, next, "", a.Environment.Now())
	var after airjson.KeysView
	raw, err := server.SendJSON(ctx, http.MethodPost, cli.AgentPath(keys.AirID, "/keys"), map[string]string{
		"agent": x.Agent, "current_key": x.From, "public_key": x.To, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"old_signature": x.OldSignature, "new_signature": x.NewSignature,
	}, nil, &after)
	if err == nil && len(after.Keys) == 0 {
		err = exit.Networkf("%s did not answer as Gazetteer would: it names no key", server.Base)
	}
	if err != nil {
		return a.removeRefusedKeys(ctx, server, keys.AirID, err, made)
	}
	if err := requireCurrentKey(keyfile.Next(k.path), next.Public().(ed25519.PublicKey), after); err != nil {
		return err
	}
	if err := k.promoteKey(); err != nil {
		return &exit.Error{Code: exit.Data, Err: fmt.Errorf("the registry has the new key, but it is still in %s: %w\nTo put it in its place: %s", keyfile.Next(k.path), err, a.formatAgentCommand(k, "show"))}
	}
	if a.JSON {
		return cli.WriteJSONText(a.Out, raw)
	}
	a.PrintField("agent", keys.AirID)
	a.PrintField("key", x.To+" in "+k.path)
	a.PrintField("retired", x.From+": it signs nothing any more; "+mailbox.DirOf(k.path)+" keeps it for mail that was sealed to it")
	a.PrintNextSteps("A domain that names the old key must name the new one within three days. Publish:", a.formatAgentCommand(k, "prove --print"))
	return nil
}
