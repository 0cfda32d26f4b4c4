package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
	"gazetteer/registry/proofofwork"
)

// recordFlags contains the members of a record that flags set.
type recordFlags struct {
	description string
	others      registry.Editable
	inbox       string
	endpoints   []string
}

func (t *recordFlags) addTo(c *cobra.Command) {
	f := c.Flags()
	for _, m := range registry.EditableMembers() {
		switch value := m.Value(&t.description, &t.others).(type) {
		case *string:
			f.StringVar(value, m.Flag, "", m.Usage)
		case *[]string:
			f.StringSliceVar(value, m.Flag, nil, m.Usage)
		case *bool:
			f.BoolVar(value, m.Flag, false, m.Usage)
		}
	}
	f.StringVar(&t.inbox, "inbox", "", "address of its inbox (A2AInbox); \"here\" for an inbox at the registry")
	f.StringArrayVar(&t.endpoints, "endpoint", nil, "another service endpoint, as TYPE=URL; may be repeated")
}

// changedMembers returns the members that flags have set, except the endpoints.
func (t *recordFlags) changedMembers(c *cobra.Command) map[string]any {
	body := map[string]any{}
	for _, m := range registry.EditableMembers() {
		if m.Flag != "" && c.Flags().Changed(m.Flag) {
			body[m.Name] = m.Value(&t.description, &t.others)
		}
	}
	return body
}

// parseEndpoints returns the service endpoints that flags name; false if they name none.
func (t *recordFlags) parseEndpoints(c *cobra.Command) ([]registry.ServiceEndpoint, bool, error) {
	var list []registry.ServiceEndpoint
	if t.inbox != "" {
		list = append(list, registry.ServiceEndpoint{Type: did.TypeInbox, ServiceEndpoint: t.inbox})
	}
	for _, text := range t.endpoints {
		kind, address, ok := strings.Cut(text, "=")
		if !ok || kind == "" {
			return nil, false, exit.Usagef("--endpoint %s: want TYPE=URL, for example AgentCard=https://agent.example/card.json", text)
		}
		list = append(list, registry.ServiceEndpoint{Type: kind, ServiceEndpoint: address})
	}
	return list, c.Flags().Changed("inbox") || c.Flags().Changed("endpoint"), nil
}

// newFlags contains the flags of agent new.
type newFlags struct {
	texts        recordFlags
	creatorDID   string
	creatorName  string
	organization bool
	encrypt      bool
	noRecovery   bool
	secret       bool
}

func (a *verbs) newCommand(k *keyring) *cobra.Command {
	n := &newFlags{}
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent's keys and register it",
		Long: `New makes two keys, in files that only you can read: agent.key, which signs for
the agent, and agent.recovery.key, for the case that the first is lost or stolen.
The registry gets only a digest of the second. The first signs the registration,
which proves that you hold it; no secret is sent or stored.

  gazetteer agent new "Table booker" --capability BOOK --inbox https://agent.example/inbox

If it is interrupted, run it again: it continues with the keys that exist.`,
		Args: cli.ExactArgs(1, "the name of the agent"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeKeys(c.Context(), k, func(server *cli.Client) error { return a.registerAgent(c, server, k, n, args[0]) })
		},
	}
	n.texts.addTo(c)
	c.Flags().StringVar(&n.creatorDID, "creator", "", "did:wba or did:web that you control elsewhere (default: the agent's own)")
	c.Flags().StringVar(&n.creatorName, "creator-name", "", "who is responsible for it")
	c.Flags().BoolVar(&n.organization, "organization", false, "an organization is responsible for it")
	c.Flags().BoolVar(&n.encrypt, "encrypt", false, "protect the keys with a passphrase")
	c.Flags().BoolVar(&n.noRecovery, "no-recovery", false, "make no recovery key: a lost key then ends your control of the agent")
	c.Flags().BoolVar(&n.secret, "secret", false, "ask for the secret that clients of the public AIR reference use")
	return c
}

func (a *verbs) registerAgent(c *cobra.Command, server *cli.Client, k *keyring, n *newFlags, name string) error {
	ctx := c.Context()
	if strings.TrimSpace(name) == "" {
		return cli.UsageError(c, "new needs the name of the agent, and got an empty one")
	}
	body := n.texts.changedMembers(c)
	services, _, err := n.texts.parseEndpoints(c)
	if err != nil {
		return err
	}
	if err := replaceInboxHere(ctx, server, registry.AirIDVariable, services); err != nil {
		return err
	}
	host, err := fetchRegistryHost(ctx, server)
	if err != nil {
		return err
	}
	if f, err := keyfile.Open(k.path); err == nil && f.Notes[agentNote] != "" {
		return exit.Usagef("%s is the key of %s: name another file with --key, so that each agent has its own", k.path, f.Notes[agentNote])
	}
	created := missingFiles(k.path, k.recoveryPath())
	key, recovery, err := a.createKeys(ctx, k, n)
	if err != nil && slices.Contains(created, k.path) && cli.FileExists(k.path) {
		return fmt.Errorf("%w\nThe key is in %s and is not registered. To continue with it, run the same command again", err, k.path)
	}
	if err != nil {
		return err
	}
	public := key.Public().(ed25519.PublicKey)
	body["name"], body["public_key"], body["no_secret"] = name, did.FormatPublicKey(public), !n.secret
	if len(services) > 0 {
		body["service_endpoints"] = services
	}
	if recovery != nil {
		body["recovery_commitment"] = registry.RecoveryCommitment(recovery)
	}
	for member, value := range map[string]string{"creator_did": n.creatorDID, "creator_name": n.creatorName} {
		if value != "" {
			body[member] = value
		}
	}
	if n.organization {
		body["creator_type"] = "organization"
	}
	var made air.RegistrationAnswer
	signer := &cli.Signer{Key: key, KeyID: did.FormatMultikey(public), Host: host}
	raw, err := a.sendRegistration(ctx, server, body, signer, &made)
	refused, ok := errors.AsType[*cli.RefusedError](err)
	if ok && refused.AirID != "" {
		return a.adoptAgent(ctx, server, k, refused)
	}
	if ok && isFinal(refused) {
		return errors.Join(nameFlag(err, services, ""), removeFiles(created))
	}
	if err != nil {
		return fmt.Errorf("%w\nThe keys are in %s. To continue with them, run the same command again", err, k.formatFiles())
	}
	owner, err := did.ParseWeb(made.DID)
	if airID, ok := owner.AirID(); err != nil || !ok || airID != made.AirID {
		return exit.Networkf("%s did not answer as Gazetteer would: %q is not the DID of %q", server.Base, made.DID, made.AirID)
	}
	if made.Status == registry.Pending {
		return a.printApplication(ctx, server, k, made, raw)
	}
	keys, logged, err := a.completeRegistration(ctx, server, k, made)
	if a.JSON {
		return errors.Join(cli.WriteJSONText(a.Out, raw), err)
	}
	a.printRegistered(k, n, made, keys, logged)
	if err != nil {
		return err
	}
	if n.texts.inbox == "" {
		a.PrintNextSteps("It has no inbox yet. Set one, at the registry or elsewhere:",
			a.formatAgentCommand(k, "update --inbox here"), a.formatAgentCommand(k, "update --inbox https://agent.example/inbox"))
		return nil
	}
	for _, s := range services {
		if s.Type == did.TypeInbox {
			a.PrintField("inbox", strings.ReplaceAll(s.ServiceEndpoint, registry.AirIDVariable, made.AirID))
		}
	}
	a.PrintNextSteps("Its statements are only claims so far. Prove that a domain is yours:", a.formatAgentCommand(k, "prove agent.example"))
	return nil
}

// completeRegistration marks the key files of a registered agent as its own, and compares what the
// registry and its log say about the agent. Its errors name the command that continues.
func (a *verbs) completeRegistration(ctx context.Context, server *cli.Client, k *keyring, made air.RegistrationAnswer) (keys airjson.KeysView, logged string, err error) {
	if err := k.annotateKeys(made.DID); err != nil {
		return keys, "", fmt.Errorf("%w\nTo mark it: %s", err, a.formatAgentCommand(k, "show "+made.AirID))
	}
	if logged, err = a.CheckLogged(ctx, server, made.AirID, made.Log); err != nil {
		return keys, "", fmt.Errorf("%s is registered, but do not rely on this registry: %w\nTo see what it shows: %s", made.AirID, err, a.formatAgentCommand(k, "show"))
	}
	if keys, err = fetchKeys(ctx, server, made.AirID); err != nil {
		return keys, logged, fmt.Errorf("%s is registered, but its keys could not be read back: %w\nTo see what is registered: %s", made.AirID, err, a.formatAgentCommand(k, "show"))
	}
	return keys, logged, nil
}

// isFinal reports whether a registration was refused in such a way that the same request is refused
// again, so that no agent has its key: for its content, by a closed registry or a ban, or because there
// is no registry.
func isFinal(refused *cli.RefusedError) bool {
	switch refused.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity:
		return refused.Code != ""
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// refusedEndpoint matches the place in a list of service endpoints that the registry refuses.
var refusedEndpoint = regexp.MustCompile(`Invalid service_endpoints: service_endpoints\[(\d+)\](?:\.\w+)?`)

// refusedHandle matches the beginning of the refusal of a handle, which the AIR reference calls a username.
var refusedHandle = regexp.MustCompile(`^Invalid username: (?:username )?`)

// nameFlag names in a refusal the flag with the refused endpoint or handle.
func nameFlag(err error, services []registry.ServiceEndpoint, handle string) error {
	e, ok := errors.AsType[*exit.Error](err)
	if !ok {
		return err
	}
	text := refusedEndpoint.ReplaceAllStringFunc(err.Error(), func(place string) string {
		i, err := strconv.Atoi(refusedEndpoint.FindStringSubmatch(place)[1])
		switch {
		case err != nil || i >= len(services):
			return place
		case services[i].Type == did.TypeInbox:
			return "--inbox " + services[i].ServiceEndpoint
		}
		return "--endpoint " + services[i].Type + "=" + services[i].ServiceEndpoint
	})
	text = refusedHandle.ReplaceAllLiteralString(text, "--handle "+handle+": it ")
	return &exit.Error{Code: e.Code, Err: errors.New(text)}
}

// removeFiles removes key files that this command has created for nothing.
func removeFiles(created []string) error {
	for _, path := range created {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the new key could not be removed: %w", err)
		}
	}
	return nil
}

// sendRegistration sends a registration, and computes the proof of work that an overloaded registry
// requires.
func (a *verbs) sendRegistration(ctx context.Context, server *cli.Client, body map[string]any, signer *cli.Signer, made *air.RegistrationAnswer) ([]byte, error) {
	path := cli.AgentPath("register", "") + "?wait=5"
	raw, err := server.SendJSON(ctx, http.MethodPost, path, body, signer, made)
	refused, ok := errors.AsType[*cli.RefusedError](err)
	if !ok || refused.Work == nil || refused.Work.Bits > proofofwork.MaxBits {
		return raw, err
	}
	fmt.Fprintf(a.Err, "Very many agents are being registered, so the registry requires %d bits of work. This takes a while.\n", refused.Work.Bits)
	if signer.Work, err = proofofwork.Solve(ctx, *refused.Work, signer.Key.Public().(ed25519.PublicKey)); err != nil {
		return nil, err
	}
	return server.SendJSON(ctx, http.MethodPost, path, body, signer, made)
}

// adoptAgent marks the key files as the keys of the agent that an earlier attempt registered with
// other content, and prints the next steps.
func (a *verbs) adoptAgent(ctx context.Context, server *cli.Client, k *keyring, refused *cli.RefusedError) error {
	keys, err := fetchKeys(ctx, server, refused.AirID)
	if err != nil {
		return fmt.Errorf("%w; its keys could not be read back: %w", refused, err)
	}
	if err := k.annotateKeys(keys.DID); err != nil {
		return err
	}
	return exit.Usagef("%v\n%s is its key from now on. See what is registered: %s", refused, k.path, a.formatAgentCommand(k, "show"))
}

// printApplication describes a registration that waits for the operator.
func (a *verbs) printApplication(ctx context.Context, server *cli.Client, k *keyring, made air.RegistrationAnswer, raw []byte) error {
	err := k.annotateKeys(made.DID)
	if err != nil {
		err = fmt.Errorf("%w\nTo see the state of the registration: %s", err, a.formatAgentCommand(k, "show "+made.AirID))
	}
	if a.JSON {
		return errors.Join(cli.WriteJSONText(a.Out, raw), err)
	}
	a.PrintField("agent", made.AirID+"  "+made.Name)
	a.PrintField("status", "waits for the approval of the registry's operator")
	var state air.ApplicationAnswer
	if _, err := server.GetJSON(ctx, cli.AgentPath(made.AirID, "/application"), &state); err == nil {
		a.PrintField("note", state.Note)
	}
	a.PrintField("key", k.formatFiles())
	a.PrintField("secret", made.AgentSecret)
	if err != nil {
		return err
	}
	a.PrintNextSteps("Ask again later whether it was approved:", a.formatAgentCommand(k, "show"))
	return nil
}

// createKeys creates the two keys, or reads the keys of an interrupted attempt. recovery is nil if
// there is no recovery key.
func (a *verbs) createKeys(ctx context.Context, k *keyring, n *newFlags) (key ed25519.PrivateKey, recovery ed25519.PublicKey, err error) {
	if n.encrypt && !cli.FileExists(k.path) {
		if err := k.newPassphrase(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	if key, err = k.readOrCreateKey(ctx, a, k.path, did.Web{}, n.encrypt); err != nil || n.noRecovery {
		return key, nil, err
	}
	other, err := k.readOrCreateKey(ctx, a, k.recoveryPath(), did.Web{}, n.encrypt)
	if err != nil {
		return nil, nil, err
	}
	return key, other.Public().(ed25519.PublicKey), nil
}

// fetchRegistryHost returns the registry's own host name, which the signature of the first request
// contains.
func fetchRegistryHost(ctx context.Context, c *cli.Client) (string, error) {
	if !c.Local {
		u, err := url.Parse(c.Base)
		if err != nil {
			return "", exit.Usagef("ask %s: %v", c.Base, err)
		}
		return u.Host, nil
	}
	// The server's name may differ from the one in the local configuration.
	var own did.Document
	if _, err := c.GetJSON(ctx, "/.well-known/did.json", &own); err != nil {
		return "", err
	}
	w, err := did.ParseWeb(own.ID)
	if err != nil {
		return "", exit.Networkf("%s did not answer as Gazetteer would: %v", c.Base, err)
	}
	return w.Authority(), nil
}

// annotateKeys writes the name of the owner into the key files.
func (k *keyring) annotateKeys(id string) error {
	for _, path := range []string{k.path, k.recoveryPath()} {
		if path != k.path && !cli.FileExists(path) {
			continue
		}
		if err := keyfile.Annotate(path, keyfile.Attributes{agentNote: id}); err != nil {
			return &exit.Error{Code: exit.Data, Err: errors.Join(fmt.Errorf("%s is registered, but its key file could not be marked as its own", id), err)}
		}
	}
	return nil
}

// printRegistered describes a registered agent.
func (a *verbs) printRegistered(k *keyring, n *newFlags, made air.RegistrationAnswer, keys airjson.KeysView, logged string) {
	a.PrintField("agent", made.AirID+"  "+made.Name)
	a.PrintField("did", made.DID)
	if len(keys.Keys) > 0 {
		a.PrintField("key", keys.Keys[0].PublicKeyMultibase+" in "+k.path+", proved by "+keys.Keys[0].Proof)
	} else {
		a.PrintField("key", k.path)
	}
	if n.noRecovery {
		a.PrintField("recovery", "none: if the key is lost or stolen, the agent is")
	} else {
		a.PrintField("recovery", k.recoveryPath()+": keep it elsewhere; it takes over when "+k.path+" is lost or stolen")
	}
	a.PrintField("log", logged)
	a.PrintField("secret", made.AgentSecret)
	if n.secret && made.AgentSecret == "" {
		a.PrintField("secret", "was in the answer to the first try, which is not repeated: sign requests with the key")
	}
	if made.AgentSecret != "" {
		a.PrintField("", "shown this once; clients of the public reference send it as X-Agent-Secret")
	}
	if made.DIDWBAResolved != nil && !*made.DIDWBAResolved {
		a.PrintField("creator", made.CreatorDID+" was not seen to list this key: publish it there, then it counts as proved")
	}
}

// findAgent returns the AIR ID in an argument, or the one in the key file.
func (a *verbs) findAgent(ctx context.Context, c *cli.Client, k *keyring, args []string) (airID string, err error) {
	if len(args) == 0 {
		owner, err := k.readOwner(a)
		airID, _ = owner.AirID()
		return airID, err
	}
	if did.CheckAirID(args[0]) == nil {
		return args[0], nil
	}
	if cli.FileExists(args[0]) {
		return "", exit.Usagef("%s is a file: --key names the file with the key of an agent", args[0])
	}
	var r struct {
		AirID string `json:"air_id"`
	}
	if _, err := c.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {args[0]}}.Encode(), &r); err != nil {
		return "", a.ExplainUnknownAgent(ctx, c, args[0], err)
	}
	if r.AirID == "" {
		return "", exit.NotFoundf("%s is not the name of an agent", args[0])
	}
	return r.AirID, nil
}
