package altar

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
	"gazetteer/toolhost/httpruntime"
)

func (v *verbs) toolCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tool",
		Short: "Call a tool through the tool host",
		Long: `Tool calls the tools that contracts define and connected runtimes execute. On the machine of the
server you are its client "operator"; elsewhere name the server and your token:

  gazetteer tool list
  gazetteer tool call add --arg a=1 --arg b=2
  gazetteer --server https://tools.example tool list --token-file planner.token`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.callCommand(), v.listToolsCommand(), v.runtimesCommand())
	return c
}

// callFlags contains the flags of a call.
type callFlags struct {
	tokenFile, tenant, parameters string
	arguments                     []string
	yes, print                    bool
}

// addFlags declares the flags that all commands with a session share.
func (f *callFlags) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "file of your bearer token, for a server elsewhere")
	c.Flags().StringVar(&f.tenant, "tenant", "", "tenant_id of the session")
}

func (v *verbs) callCommand() *cobra.Command {
	f := &callFlags{}
	c := &cobra.Command{
		Use:   "call TOOL",
		Short: "Call a tool and print what it returns, chunk by chunk",
		Long: `Call opens a session, calls the tool, prints each payload on a line of its own, and ends
the session. TOOL is the name of a contract, or RUNTIME/NAME for one runtime.

  gazetteer tool call add --arg a=1 --arg b=2
  gazetteer tool call upload --arg data=@picture.png --yes
  gazetteer tool call search --parameters '{"query": "pizza", "tags": ["a", "b"]}'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 && strings.Contains(args[1], "=") {
				return cli.UsageError(c, "a parameter needs --arg before it: --arg %s", cli.QuoteForShell(args[1]))
			}
			return cli.ExactArgs(1, "the name of a tool")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return v.callTool(c.Context(), args[0], f) },
	}
	f.addFlags(c)
	c.Flags().StringArrayVar(&f.arguments, "arg", nil, "a parameter, NAME=VALUE; @FILE as the value reads a file")
	c.Flags().StringVar(&f.parameters, "parameters", "", "all parameters, as a JSON object")
	c.Flags().BoolVar(&f.yes, "yes", false, "confirm a call that cannot be undone")
	c.Flags().BoolVar(&f.print, "print", false, "print the request that the HTTP runtime would send, and send nothing")
	return c
}

func (v *verbs) listToolsCommand() *cobra.Command {
	f := &callFlags{}
	c := &cobra.Command{
		Use: "list", Short: "List the tools that you may call now",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.withSession(c.Context(), f, func(s *session) error {
				tools, raw, err := s.listTools(c.Context())
				if err != nil || v.JSON {
					return v.PrintJSON(raw, err)
				}
				for _, t := range tools {
					fmt.Fprintf(v.Out, "%s\n", format.Visible(t.Name+" "+describeParameters(t)))
					if t.Description != "" {
						fmt.Fprintf(v.Out, "  %s\n", format.Visible(t.Description))
					}
				}
				if len(tools) == 0 {
					fmt.Fprintln(v.Err, "no tools: no connected runtime executes a contract that you may call")
				}
				return nil
			})
		},
	}
	f.addFlags(c)
	return c
}

// describeParameters lists the parameters of a tool; a star marks those that are required.
func describeParameters(t toolhost.Tool) string {
	var parts []string
	for _, p := range t.Parameters {
		mark := ""
		if p.Required {
			mark = "*"
		}
		parts = append(parts, p.Name+mark+" "+p.Type)
	}
	text := "(" + strings.Join(parts, ", ") + ")"
	if t.Confirm {
		text += " needs --yes"
	}
	return text
}

func (v *verbs) runtimesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "runtimes", Short: "List the connected runtimes (for the operator)",
		Long: `Runtimes lists each connected runtime with its identity, the time (UTC) since when it is
connected, the number of calls that it executes, and the tools that it executes.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return showAnswer(c.Context(), v, "/admin/altar/runtimes", func(list api.RuntimeList) error {
				for _, r := range list.Runtimes {
					fmt.Fprintf(v.Out, "%-30s %s, since %s, %d running; %s\n", format.Visible(r.ID), format.Visible(r.Identity), r.Connected.Format(time.DateTime), r.Running, strings.Join(r.Tools, ", "))
				}
				if len(list.Runtimes) == 0 {
					fmt.Fprintln(v.Err, "no runtimes are connected; altar.http_runtime = true in config.toml starts the one inside the program")
				}
				return nil
			})
		},
	}
}

// session is an open session of a command.
type session struct {
	server *cli.Client
	token  string
	id     string
}

// withSession opens a session, calls use, and ends the session.
func (v *verbs) withSession(ctx context.Context, f *callFlags, use func(*session) error) error {
	token := ""
	if f.tokenFile != "" {
		var err error
		if token, err = readToken(f.tokenFile); err != nil {
			return err
		}
	}
	if v.Server != "" && token == "" {
		return exit.Usagef("a server elsewhere needs your token: name its file with --token-file")
	}
	err := v.WithServer(ctx, cli.Operate, func(server *cli.Client) error {
		s := &session{server: server, token: token}
		body := altar.CreateSession{}
		if f.tenant != "" {
			body.SecurityContext = &altar.SecurityContext{TenantID: f.tenant}
		}
		var created altar.SessionCreated
		if _, err := s.requestJSON(ctx, http.MethodPost, "/altar/v1/sessions", body, &created); err != nil {
			return err
		}
		s.id = created.SessionID
		err := use(s)
		_, endErr := s.requestJSON(context.WithoutCancel(ctx), http.MethodDelete, "/altar/v1/sessions/"+s.id, nil, new(json.RawMessage))
		return errors.Join(err, endErr)
	})
	if failed, ok := errors.AsType[*callError](err); ok {
		return v.exitError(failed)
	}
	return err
}

// sendRequest sends a request with the token.
func (s *session) sendRequest(ctx context.Context, method, path, accept string, body any) (*http.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, exit.Usagef("write the request: %v", err)
		}
	}
	request, err := s.server.NewRequest(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	return s.server.Do(request)
}

// requestJSON sends a request and decodes the answer.
func (s *session) requestJSON(ctx context.Context, method, path string, body, v any) ([]byte, error) {
	response, err := s.sendRequest(ctx, method, path, "application/json", body)
	if err != nil {
		return nil, err
	}
	raw, err := s.server.ReadAnswer(response)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, s.hostError(response, raw)
	}
	if err := s.server.Decode(raw, v); err != nil {
		return nil, err
	}
	return raw, nil
}

// hostError returns the error of an answer: an Error, or a ToolResult with one.
func (s *session) hostError(response *http.Response, raw []byte) error {
	var in struct {
		altar.Error
		Inner *altar.Error `json:"error"`
	}
	if json.Unmarshal(raw, &in) == nil && in.Inner != nil {
		return &callError{status: response.StatusCode, err: in.Inner}
	}
	if in.Code != "" && in.Code.Known() {
		return &callError{status: response.StatusCode, err: &in.Error}
	}
	return s.server.RefusalError(response, raw)
}

// callError is an error of the tool host.
type callError struct {
	status   int
	err      *altar.Error
	question string // for a similar tool, "" for none
}

// Error implements error.
func (e *callError) Error() string {
	if e.question == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; " + format.Visible(e.question)
}

// exitError returns the error of a call with its exit code, and names the command that shows more.
func (v *verbs) exitError(e *callError) error {
	operator := v.Server == ""
	switch {
	case e.err.Code == altar.ToolNotFound && operator:
		return exit.NotFoundf("%v\n%s shows what may be called, %s shows what is connected; contracts by http need altar.http_runtime = true in the configuration of the server", e, v.FormatCommand("contracts list"), v.FormatCommand("tool runtimes"))
	case e.err.Code == altar.ToolNotFound:
		return exit.NotFoundf("%v\ngazetteer tool list shows the tools that you may call now", e)
	case e.err.Code == altar.InvalidParameters:
		return exit.Usagef("%v\ngazetteer tool list shows the parameters of each tool", e)
	case e.status == http.StatusUnauthorized:
		return exit.Usagef("%v\nthe operator of the server gives access: gazetteer altar identity add --client ID --token-file FILE", e)
	case e.err.Code == altar.AuthorizationFailed && operator:
		return exit.Usagef("%v\n%s shows who may call each tool", e, v.FormatCommand("contracts list"))
	case e.err.Code == altar.AuthorizationFailed, e.err.Code == altar.SessionInvalid:
		return exit.Usagef("%v", e)
	case e.err.Code == altar.RuntimeUnavailable && operator:
		return exit.Networkf("%v\n%s shows the connected runtimes", e, v.FormatCommand("tool runtimes"))
	}
	return exit.Networkf("%v", e)
}

func (s *session) listTools(ctx context.Context) ([]toolhost.Tool, []byte, error) {
	var list struct{ Tools []toolhost.Tool }
	raw, err := s.requestJSON(ctx, http.MethodGet, "/altar/v1/sessions/"+s.id+"/tools", nil, &list)
	return list.Tools, raw, err
}

func (v *verbs) callTool(ctx context.Context, name string, f *callFlags) error {
	return v.withSession(ctx, f, func(s *session) error {
		parameters, err := s.buildParameters(ctx, name, f)
		if err != nil {
			return err
		}
		if f.print {
			return v.printCall(ctx, s, name, parameters)
		}
		call := altar.ToolCall{InvocationID: a2a.NewID(), ToolName: name, Parameters: parameters}
		err = v.sendCall(ctx, s, call)
		if failed, ok := errors.AsType[*callError](err); ok {
			token, _ := failed.err.Details["confirmation"].(string)
			if token == "" {
				return v.suggestTool(ctx, s, name, failed)
			}
			if !f.yes {
				return exit.Usagef("%s cannot be undone: --yes confirms the call", name)
			}
			call.Confirmation = token
			err = v.sendCall(ctx, s, call)
		}
		return err
	})
}

// suggestTool adds similar tools to the error of a call of an unknown one: those that may be called now,
// and for the operator also the other contracts.
func (v *verbs) suggestTool(ctx context.Context, s *session, name string, failed *callError) error {
	if failed.err.Code != altar.ToolNotFound {
		return failed
	}
	tools, _, err := s.listTools(ctx)
	if err != nil {
		return failed
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	if v.Server == "" {
		var list api.ContractList
		if _, err := s.server.GetJSON(ctx, "/admin/altar/contracts", &list); err == nil {
			for _, c := range list.Contracts {
				if c.Name == name && c.State != toolhost.Approved {
					return v.explainUnapproved(c)
				}
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if !strings.Contains(failed.err.Message, "did you mean") {
		failed.question = nearest.Question(name, names)
	}
	return failed
}

// explainUnapproved says which step a contract needs before it can be called.
func (v *verbs) explainUnapproved(c toolhost.ContractStatus) error {
	return exit.NotFoundf("the contract %s is %s: nobody can call it\n%s approves it", c.Name, c.State, v.FormatCommand("contracts approve "+c.Name))
}

// printCall prints the request of a call without its credentials.
func (v *verbs) printCall(ctx context.Context, s *session, name string, parameters json.RawMessage) error {
	var list api.ContractList
	if _, err := s.server.GetJSON(ctx, "/admin/altar/contracts", &list); err != nil {
		return operatorError(v, err)
	}
	for _, c := range list.Contracts {
		if c.Name != name {
			continue
		}
		if c.Pin == nil {
			return exit.Usagef("%s is executed by a runtime: there is no request to print", name)
		}
		request, err := httpruntime.NewRequest(ctx, c.Pin, parameters)
		if err != nil {
			return exit.Usagef("%v", err)
		}
		var body []byte
		if request.Body != nil {
			if body, err = io.ReadAll(request.Body); err != nil {
				return err
			}
		}
		v.printRequest(request, body)
		return nil
	}
	return v.findContract(ctx, s.server, name)
}

// sendCall sends a call and prints its chunks as they come.
func (v *verbs) sendCall(ctx context.Context, s *session, call altar.ToolCall) error {
	response, err := s.sendRequest(ctx, http.MethodPost, "/altar/v1/sessions/"+s.id+"/calls", "text/event-stream", call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := s.server.ReadAnswer(response)
		if err != nil {
			return err
		}
		return s.hostError(response, raw)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, found := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !found {
			continue
		}
		var chunk altar.StreamChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return exit.Networkf("an event cannot be read: %v", err)
		}
		if chunk.Error != nil {
			return &callError{status: http.StatusOK, err: chunk.Error}
		}
		if len(chunk.Payload) > 0 {
			if err := v.printPayload(chunk.Payload); err != nil {
				return err
			}
		}
		if chunk.IsFinal {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return exit.Networkf("the stream ended without its last chunk: %v", err)
	}
	return exit.Networkf("the stream ended without its last chunk")
}

// printPayload prints a text unchanged and other values as JSON.
func (v *verbs) printPayload(payload json.RawMessage) error {
	var text string
	if !v.JSON && json.Unmarshal(payload, &text) == nil {
		_, err := fmt.Fprintln(v.Out, cli.VisibleLines(text))
		return err
	}
	return cli.WriteJSONText(v.Out, payload)
}

// buildParameters builds the parameters of a call from the flags, with the types of the contract.
func (s *session) buildParameters(ctx context.Context, name string, f *callFlags) (json.RawMessage, error) {
	if f.parameters != "" {
		if len(f.arguments) > 0 {
			return nil, exit.Usagef("give --parameters or --arg, not both")
		}
		if !json.Valid([]byte(f.parameters)) {
			return nil, exit.Usagef("--parameters is not JSON")
		}
		return json.RawMessage(f.parameters), nil
	}
	if len(f.arguments) == 0 {
		return json.RawMessage("{}"), nil
	}
	tools, _, err := s.listTools(ctx)
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	for _, t := range tools {
		if t.Name == name[strings.LastIndexByte(name, '/')+1:] {
			for _, p := range t.Parameters {
				types[p.Name] = p.Type
			}
		}
	}
	values := map[string]json.RawMessage{}
	for _, argument := range f.arguments {
		key, text, found := strings.Cut(argument, "=")
		if !found || key == "" {
			return nil, exit.Usagef("--arg %s has no value: write --arg NAME=VALUE", cli.QuoteForShell(argument))
		}
		if values[key] != nil {
			return nil, exit.Usagef("--arg %s is there twice", key)
		}
		if values[key], err = argumentValue(text, types[key]); err != nil {
			return nil, exit.Usagef("--arg %s: %w", key, err)
		}
	}
	return json.Marshal(values)
}

// argumentValue converts the text of an argument to JSON of its type.
func argumentValue(text, kind string) (json.RawMessage, error) {
	if file, found := strings.CutPrefix(text, "@"); found {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if kind == altar.Binary {
			return json.Marshal(base64.StdEncoding.EncodeToString(content))
		}
		text = strings.TrimSuffix(string(content), "\n")
	}
	switch kind {
	case altar.String, altar.Binary:
		return json.Marshal(text)
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	if kind == "" {
		return json.Marshal(text)
	}
	return nil, fmt.Errorf("%.60q is not %s", text, withArticle(kind))
}

// withArticle returns a type with its article: an integer, a number.
func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
