package mail

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a/a2ahttp"
)

// rulesFlags contains the new rules of the inbox. A missing flag leaves its rule unchanged.
type rulesFlags struct {
	allow, block []string
	wake         string
}

func (v *verbs) rulesCommand() *cobra.Command {
	f := &rulesFlags{}
	c := &cobra.Command{
		Use:   "rules",
		Short: "Show or change the allowed senders of the inbox, and its wake-up address",
		Long: `Rules shows the rules of the agent's inbox at its relay. A flag replaces its rule and keeps
the others; an empty value removes it. Entries are DIDs, hosts of DIDs, or agents of the
registry by handle or AIR ID. The block list comes first; if there is an allow list, nobody
else may write.

  gazetteer inbox rules
  gazetteer inbox rules --block spam.example,did:wba:shop.example:agents:AIR-7F3K-M9JQ-X2PW
  gazetteer inbox rules --allow partner.example --wake https://me.example/wake
  gazetteer inbox rules --allow ""`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error {
				return v.showRules(c.Context(), server, f, c.Flags().Changed)
			})
		},
	}
	c.Flags().StringSliceVar(&f.allow, "allow", nil, "the only senders that may write, separated by commas; \"\" for everybody")
	c.Flags().StringSliceVar(&f.block, "block", nil, "senders that may not write, separated by commas; \"\" for nobody")
	c.Flags().StringVar(&f.wake, "wake", "", "https address that gets a wake-up when mail arrives; \"\" for none")
	return c
}

// showRules changes the rules whose flags are set, and prints all rules.
func (v *verbs) showRules(ctx context.Context, server *cli.Client, f *rulesFlags, given func(flag string) bool) error {
	me, err := v.readSelf(ctx)
	if err != nil {
		return err
	}
	document, err := v.newDirectory(server).Resolve(ctx, me.owner.String())
	if err != nil {
		return err
	}
	in, err := v.openInbox(ctx, server, me, document)
	if err != nil {
		return err
	}
	rules, err := in.Rules(ctx)
	if err != nil {
		return v.explainInbox(in, err)
	}
	if given("allow") || given("block") || given("wake") {
		if given("allow") {
			if rules.Allow, err = resolveSenders(ctx, server, f.allow); err != nil {
				return err
			}
		}
		if given("block") {
			if rules.Block, err = resolveSenders(ctx, server, f.block); err != nil {
				return err
			}
		}
		if given("wake") {
			rules.WakeURL = f.wake
		}
		if err := in.SetRules(ctx, rules); err != nil {
			return v.explainInbox(in, err)
		}
		rules.Signed = v.Environment.Now()
	}
	return v.printRules(rules)
}

// resolveSenders returns the entries of a rule with the DID in place of a handle or an AIR ID. An entry
// with a dot is a host, and localhost is the host of a registry on this machine.
func resolveSenders(ctx context.Context, server *cli.Client, entries []string) ([]string, error) {
	senders := make([]string, 0, len(entries))
	for _, entry := range entries {
		if strings.HasPrefix(entry, "did:") || strings.Contains(entry, ".") || entry == "localhost" {
			senders = append(senders, entry)
			continue
		}
		var found struct {
			DID string `json:"did"`
		}
		_, err := server.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {entry}}.Encode(), &found)
		if err != nil && !cli.IsRefusedWithStatus(err, http.StatusNotFound) && !cli.IsRefusedWithStatus(err, http.StatusBadRequest) {
			return nil, err
		}
		if err != nil || found.DID == "" {
			return nil, exit.NotFoundf("%.60q is no agent of this registry%s\nname a sender by its DID, its handle or its AIR ID, or by the host of its DID", entry, cli.SuggestAgents(ctx, server, entry))
		}
		senders = append(senders, found.DID)
	}
	return senders, nil
}

func (v *verbs) printRules(rules a2ahttp.InboxRules) error {
	if v.JSON {
		return cli.WriteJSON(v.Out, rules)
	}
	v.PrintField("allow", format.Visible(cmp.Or(strings.Join(rules.Allow, ", "), "everybody")))
	v.PrintField("block", format.Visible(cmp.Or(strings.Join(rules.Block, ", "), "nobody")))
	v.PrintField("wake", format.Visible(cmp.Or(rules.WakeURL, "no address")))
	if !rules.Signed.IsZero() {
		v.PrintField("signed", rules.Signed.UTC().Format(time.RFC3339))
	}
	return nil
}
