package agent

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/protocol/did"
	"gazetteer/registry/attestation"
)

// attestFlags contains the flags of agent attest.
type attestFlags struct {
	kind, statement string
	revoke          int
}

func (a *verbs) attestCommand(k *keyring) *cobra.Command {
	t := &attestFlags{}
	c := &cobra.Command{
		Use:   "attest AGENT",
		Short: "Attest another agent with a signature, or revoke that",
		Long: `Attest signs a statement of your agent about another one. The registry accepts it
from agents that are older than 30 days and whose key is in the DID document of
their own domain.

  gazetteer agent attest AIR-7F3K-M9JQ-X2PW --type identity_verification --statement "We met."
  gazetteer agent attest AIR-7F3K-M9JQ-X2PW --revoke 7`,
		Args: cli.ExactArgs(1, "the agent that it is about"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := t.check(c); err != nil {
				return err
			}
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.attestAgent(c, server, k, t, args) })
		},
	}
	c.Flags().StringVar(&t.kind, "type", "", "identity_verification, operator_confirmation, dependency or safety_review")
	c.Flags().StringVar(&t.statement, "statement", "", "the statement, at most 1,000 characters")
	c.Flags().IntVar(&t.revoke, "revoke", 0, "revoke the attestation with this number")
	return c
}

// check refuses flags that ask for nothing or for two things, and unknown types.
func (t *attestFlags) check(c *cobra.Command) error {
	if (t.kind == "") == (t.revoke == 0) {
		return cli.UsageError(c, "attest needs --type (identity_verification, operator_confirmation, dependency or safety_review), or --revoke with the number of an attestation")
	}
	if t.revoke != 0 {
		return nil
	}
	return cli.CheckChoice("--type", t.kind, attestation.Types)
}

func (a *verbs) attestAgent(c *cobra.Command, server *cli.Client, k *keyring, t *attestFlags, args []string) error {
	ctx := c.Context()
	subject, err := a.findAgent(ctx, server, k, args)
	if err != nil {
		return err
	}
	owner, key, keys, err := a.readOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	if t.revoke != 0 {
		path := cli.AgentPath(subject, "/attestations/"+strconv.Itoa(t.revoke))
		return cli.ShowAnswer(ctx, a.App, server, http.MethodDelete, path, nil, cli.NewSigner(owner, key), func(done airjson.RevokedView) error {
			a.PrintField("revoked", fmt.Sprintf("attestation %d of %s", done.AttestationID, done.SubjectAirID))
			return nil
		})
	}
	q := attestation.Request{Attester: keys.AirID, Type: t.kind, Statement: t.statement, SignedAt: a.Environment.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	payload, err := q.Payload(subject)
	if err != nil {
		return err
	}
	body := air.AttestationBody{
		AttesterAirID: q.Attester, AttestationType: q.Type, SignedAt: q.SignedAt, Statement: q.Statement, Signature: did.FormatSignature(ed25519.Sign(key, payload)),
	}
	return cli.ShowAnswer(ctx, a.App, server, http.MethodPost, cli.AgentPath(subject, "/attestations"), body, cli.NewSigner(owner, key), func(done airjson.AttestedView) error {
		a.PrintField("attested", fmt.Sprintf("%s, as number %d: %s", done.SubjectAirID, done.AttestationID, done.AttestationType))
		a.PrintField("weight", fmt.Sprintf("%v, for the domain %s", done.Weight, done.WhoisRoot))
		a.PrintField("note", done.Note)
		a.PrintNextSteps("Take it back with:", a.formatAgentCommand(k, fmt.Sprintf("attest %s --revoke %d", subject, done.AttestationID)))
		return nil
	})
}
