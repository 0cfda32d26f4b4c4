package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/fetch"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/internal/server"
	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/lint/format"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// Client sends requests to a running server: over the socket of the data directory, or over the
// network if --server is set.
type Client struct {
	HTTP  *http.Client
	Base  string
	Local bool // over the socket, where the admin routes are
	// Own is the configuration of a server that runs in this process; nil for one elsewhere.
	Own *config.Config

	clock func() time.Time // of the signatures; nil: time.Now
	head  *LogHead         // what [App.CheckLog] has found
	// silence is the longest time without data from the server, 0 for no limit.
	silence time.Duration
	dir     string // the data directory of a local server
}

// place names the server in an error.
func (c *Client) place() string {
	if c.Local {
		return "the server of the data directory " + format.Visible(c.dir)
	}
	return c.Base
}

// Access says which servers can answer a command.
type Access int

const (
	// Read is for commands that anybody can use: any server can answer.
	Read Access = iota
	// Crawl is for the command crawl: without a running server this process crawls, and creates the
	// data directory if it does not exist.
	Crawl
	// Registry is for commands about agents: any server can answer. An empty data directory that the
	// user has named is a registry, too. The log of a remote server is compared with what it showed
	// before, and a server that contradicts itself is refused.
	Registry
	// Operate is for the operator: only the owner of the data directory can answer.
	Operate
	// Setup is for the operator, too. It creates the data directory if it does not exist.
	Setup
)

// WithServer connects to a server, calls use with it, and closes the connection. It returns the
// error of use, or an error with an exit code and the places where it looked for a server.
func (a *App) WithServer(ctx context.Context, access Access, use func(*Client) error) error {
	c, stop, err := a.connectToServer(ctx, access)
	if err != nil {
		return err
	}
	c.clock = a.Environment.Clock
	if access == Registry && !c.Local {
		if _, err = a.CheckLog(ctx, c); isRefusal(err) { // owners must be able to act while the log fails
			fmt.Fprintf(a.Err, "The log of %s was not compared with what it has shown before: %s\n", c.Base, format.Visible(Describe(err)))
			err = nil
		}
	}
	if err == nil {
		err = use(c)
	}
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	return err
}

// connectToServer finds the server that answers a command. It takes the first of these that exists:
//
//	the address of --server
//	the socket in the data directory
//	the data directory itself, served by this process while the command runs
//	a server on the configured address
//
// An empty data directory is no reason to ignore a server on the configured address: it answers
// what any server can answer, and the user learns of it otherwise. The returned function closes the
// connection.
func (a *App) connectToServer(ctx context.Context, access Access) (*Client, func() error, error) {
	closeNothing := func() error { return nil }
	if a.Server != "" {
		c, err := a.newRemoteClient()
		return c, closeNothing, err
	}
	settings, err := a.Config()
	if err != nil {
		return nil, nil, err
	}
	dir := settings.DataDir
	if c, ok := NewSocketClient(dir); ok {
		c.silence = a.Timeout
		return c, closeNothing, nil
	}
	if _, err := os.Stat(filepath.Join(dir, boltstore.FormatFile)); errors.Is(err, fs.ErrPermission) {
		return nil, nil, UnreadableError(dir, err)
	} else if err != nil {
		if (access == Crawl || access == Setup) && isNamed(settings) {
			return a.startOwnServer(ctx, settings, access == Crawl)
		}
		c, answers := a.findConfiguredServer(ctx, settings)
		switch {
		case answers && (access == Read || access == Registry && !isNamed(settings)):
			a.reportOtherServer(settings, c)
			return c, closeNothing, nil
		case answers:
			return nil, nil, otherServerError(settings, c.Base, access)
		case access == Crawl || access == Setup:
			return a.startOwnServer(ctx, settings, access == Crawl)
		}
		return nil, nil, NoDataError(settings, access)
	}
	own, stop, err := a.startOwnServer(ctx, settings, access == Crawl)
	if err != nil || access == Registry && isNamed(settings) || !isEmpty(ctx, own) {
		return own, stop, err
	}
	c, answers := a.findConfiguredServer(ctx, settings)
	switch {
	case answers && (access == Read || access == Registry):
		fmt.Fprintf(a.Err, "There are 0 services and 0 agents in the directory %s; the server at %s answers.\n", format.Visible(dir), c.Base)
		return c, closeNothing, stop()
	case answers && !isNamed(settings):
		fmt.Fprintf(a.Err, "There are 0 services and 0 agents in the directory %s. The server at %s has another data directory; --data-dir names it.\n", format.Visible(dir), c.Base)
	case access == Read:
		fmt.Fprintf(a.Err, "There are 0 services and 0 agents in the directory %s, and no server answers at %s.\n", format.Visible(dir), config.LocalURL(settings.Listen))
	}
	return own, stop, nil
}

// isNamed reports whether the user has chosen the data directory.
func isNamed(settings config.Config) bool { return settings.DataDir != config.Default().DataDir }

// NoDataError returns the error of an empty data directory, with the other places where a server
// was looked for and the next step.
func NoDataError(settings config.Config, access Access) error {
	dir, address := format.Visible(settings.DataDir), config.LocalURL(settings.Listen)
	switch access {
	case Operate:
		return exit.Dataf("there is no data in the directory %s: start a server (gazetteer serve), or name its data directory with --data-dir", dir)
	case Registry:
		return exit.Dataf("there is no registry in the directory %s, and no server answers at %s: start one (gazetteer serve), or name one with --server or --data-dir", dir, address)
	default:
		return exit.Dataf("there is no data in the directory %s yet, and no server answers at %s: crawl something first (gazetteer crawl example.com), or name a directory with --data-dir or a server with --server", dir, address)
	}
}

// UnreadableError returns the error of a data directory of another user.
func UnreadableError(dir string, err error) error {
	owner := "OWNER"
	if info, err := os.Stat(dir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = privatefile.UserName(int(stat.Uid))
		}
	}
	return exit.Dataf("the data directory %s cannot be read: %v\nrun the command as its owner: sudo -u %s gazetteer …", format.Visible(dir), err, owner)
}

// otherServerError returns the error of a command that only the owner of a data directory can
// answer, if a server answers whose data directory is not known.
func otherServerError(settings config.Config, address string, access Access) error {
	dir := format.Visible(settings.DataDir)
	text := fmt.Sprintf("there is no data in the directory %s. The server at %s answers, but this command needs its data directory: name it with --data-dir", dir, address)
	switch access {
	case Registry:
		text = fmt.Sprintf("there is no registry in the directory %s. The server at %s answers; to use it instead of the named directory, name it: --server %s", dir, address, address)
	case Crawl, Setup:
		text += ". To begin another data directory here, name one with --data-dir"
	}
	return exit.Dataf("%s", text)
}

// FindConfiguredServer returns the address of a server on the configured address, for a command that
// found nothing in the data directory; it says so to the user.
func (a *App) FindConfiguredServer(ctx context.Context, settings config.Config) (string, bool) {
	c, answers := a.findConfiguredServer(ctx, settings)
	if !answers {
		return "", false
	}
	a.reportOtherServer(settings, c)
	return c.Base, true
}

// reportOtherServer says that a server answers although the data directory has no data.
func (a *App) reportOtherServer(settings config.Config, c *Client) {
	fmt.Fprintf(a.Err, "There is no data in the directory %s; the server at %s answers.\n", format.Visible(settings.DataDir), c.Base)
}

// probeTimeout bounds the check that a server answers on the configured address.
const probeTimeout = time.Second

// findConfiguredServer returns a client for the server on the configured address; false if no
// server answers there.
func (a *App) findConfiguredServer(ctx context.Context, settings config.Config) (*Client, bool) {
	if settings.Listen == "" {
		return nil, false
	}
	c := &Client{HTTP: &http.Client{Transport: fetch.DefaultHTTP1(), CheckRedirect: followOnlyReads}, Base: config.LocalURL(settings.Listen), silence: a.Timeout}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var status struct {
		Version string `json:"version"`
	}
	_, err := c.GetJSON(ctx, "/api/v1/status", &status)
	return c, err == nil && status.Version != ""
}

// isEmpty reports whether a server has no service and no agent.
func isEmpty(ctx context.Context, c *Client) bool {
	var page struct {
		Services []json.RawMessage `json:"services"`
		Agents   []json.RawMessage `json:"agents"`
	}
	if _, err := c.GetJSON(ctx, "/api/v1/services?limit=1", &page); err != nil || len(page.Services) > 0 {
		return false
	}
	_, err := c.GetJSON(ctx, "/api/v1/agents?limit=1", &page)
	return err == nil && len(page.Agents) == 0
}

// newRemoteClient returns a client of the server in --server.
func (a *App) newRemoteClient() (*Client, error) {
	server := a.Server
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, exit.Usagef("--server %s: want an address such as http://127.0.0.1:8080", server)
	}
	return &Client{HTTP: &http.Client{Transport: fetch.DefaultHTTP1(), CheckRedirect: followOnlyReads}, Base: strings.TrimSuffix(u.String(), "/"), silence: a.Timeout}, nil
}

// followOnlyReads follows the redirects of reads, ten at most. A foreign server could redirect a
// write to an address that only this machine reaches, such as the operator's listener.
func followOnlyReads(_ *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return http.ErrUseLastResponse
	case len(via) >= 10:
		return errors.New("it redirects more than ten times")
	}
	return nil
}

// NewSocketClient returns a client over the socket of the data directory, and false if no server
// answers there.
func NewSocketClient(dir string) (*Client, bool) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		address, release, err := server.SocketAddress(filepath.Join(dir, server.SocketName))
		if err != nil {
			return nil, err
		}
		defer release()
		var d net.Dialer
		return d.DialContext(ctx, "unix", address)
	}
	conn, err := dial(context.Background(), "", "")
	if err != nil {
		return nil, false
	}
	conn.Close()
	transport := &http.Transport{DialContext: dial}
	return &Client{HTTP: &http.Client{Transport: transport}, Base: "http://localhost", Local: true, dir: dir}, true
}

// socketTime is how long a command waits for the socket of a server that is starting.
const socketTime = 30 * time.Second

// awaitSocket waits until the process that holds the data directory answers on its socket: a server
// holds the directory for a moment before it does, and after it has stopped to answer. It returns
// false if that takes too long, or when no process holds the directory any more.
func (a *App) awaitSocket(ctx context.Context, dir string) (*Client, bool) {
	fmt.Fprintf(a.Err, "The server of %s is starting or stopping; waiting for it.\n", format.Visible(dir))
	ctx, cancel := context.WithTimeout(ctx, socketTime)
	defer cancel()
	for wait.For(ctx, 20*time.Millisecond) == nil {
		if c, ok := NewSocketClient(dir); ok {
			c.silence = a.Timeout
			return c, true
		}
		if boltfile.Holder(dir) == nil {
			break
		}
	}
	return nil, false
}

// indexPatience is how long a command waits for an index that makes no progress before it asks why.
const indexPatience = 30 * time.Second

// awaitIndex waits until the index has followed the store up to a sequence, however long it is built.
// An index that cannot be written is not waited for; the command goes on without the newer documents.
func (a *App) awaitIndex(ctx context.Context, index interface {
	follow.Follower
	Failure() error
}, seq uint64) error {
	for told := false; ; told = true {
		err := follow.Await(ctx, index, seq, indexPatience)
		if !errors.Is(err, follow.ErrStalled) {
			return err
		}
		if why := index.Failure(); why != nil {
			fmt.Fprintf(a.Err, "The index cannot be written, so that newer documents are missing from it: %v\n", why)
			return nil
		}
		if !told {
			fmt.Fprintln(a.Err, "Waiting for the index, which is being built.")
		}
	}
}

// startOwnServer opens the data directory in this process and runs it without a
// public address. If another process has just opened the directory, its server answers instead.
func (a *App) startOwnServer(ctx context.Context, settings config.Config, crawl bool) (*Client, func() error, error) {
	if settings.LogLevel == config.Default().LogLevel {
		settings.LogLevel = "warn" // the command reports events itself; the log would repeat them
	}
	// The first search reads the table of words, which must not end it on a slow machine. Nobody else
	// waits for this server.
	settings.Search.Timeout = max(settings.Search.Timeout, config.Duration(time.Minute))
	h, err := server.Open(ctx, settings, a.Environment, NewLogger(a.Err, settings.LogLevel), nil)
	if _, held := errors.AsType[*boltstore.HeldError](err); held {
		if c, ok := a.awaitSocket(ctx, settings.DataDir); ok {
			return c, func() error { return nil }, nil
		}
		h, err = server.Open(ctx, settings, a.Environment, NewLogger(a.Err, settings.LogLevel), nil)
	}
	if other, ok := errors.AsType[*checkpoint.NameError](err); ok && a.ConfigFile == "" {
		return nil, nil, exit.Dataf("no server runs on %s, so this command opens it with its own configuration, in which the transparency log is %s. That of the directory is %s: start the server, or name its configuration with --config",
			format.Visible(settings.DataDir), format.Visible(other.Want), format.Visible(other.Name))
	}
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ready := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running, nil, crawl, func() { close(ready) }) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, h.Close())
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		if err == nil {
			err = ctx.Err() // interrupted before it was ready
		}
		return nil, nil, errors.Join(err, h.Close())
	}
	if err := a.awaitIndex(ctx, h.Index, h.Store.Head().Seq); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	c, ok := NewSocketClient(settings.DataDir)
	if ok {
		c.Own = &settings
	} else {
		return nil, nil, errors.Join(errors.New("our own socket does not answer"), stop())
	}
	return c, stop, nil
}

// GetJSON requests path and decodes the answer into v; raw is the unchanged body. Error statuses
// that are not in also become errors with their exit code.
func (c *Client) GetJSON(ctx context.Context, path string, v any, also ...int) (raw []byte, err error) {
	request, err := c.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return c.sendAndDecode(request, v, also...)
}

// sendAndDecode sends a request and decodes the answer into v.
func (c *Client) sendAndDecode(request *http.Request, v any, also ...int) (raw []byte, err error) {
	response, err := c.Send(request, also...)
	if err != nil {
		return nil, err
	}
	return c.DecodeAnswer(response, v)
}

// PostForLines posts body and calls each for every line of the answer when it arrives, decoded and unchanged.
// each must not keep the text.
func PostForLines[T any](ctx context.Context, c *Client, path string, body any, each func(line T, text []byte) error) error {
	request, err := c.newJSONRequest(ctx, http.MethodPost, path, body, nil)
	if err != nil {
		return err
	}
	response, err := c.Send(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return c.describeRefusal(response, nil, refusal{})
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxAnswerLine)
	first := true
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if !first && !json.Valid(text) {
			return endOfLines(ctx, io.ErrUnexpectedEOF)
		}
		first = false
		var line T
		if err := c.Decode(text, &line); err != nil {
			return err
		}
		if err := each(line, text); err != nil {
			return err
		}
	}
	if first && lines.Err() == nil && ctx.Err() == nil {
		return c.strangeError(DescribeBody(nil))
	}
	return endOfLines(ctx, lines.Err())
}

// endOfLines returns the error of an answer in lines that ended with err, nil for its regular end.
func endOfLines(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, bufio.ErrTooLong):
		return exit.Networkf("the answer of the server has a line of more than %d MiB", maxAnswerLine>>20)
	case err != nil:
		return exit.Networkf("the answer of the server is not complete: %s", describeNetworkError(err))
	}
	return nil
}

// maxAnswerLine is the number of bytes of a line of [PostForLines].
const maxAnswerLine = 4 << 20

// Send sends a request and returns an answer that accepts it: for GET, 200 alone has what was asked for.
// Any other status, unless it is in also, becomes an error with its exit code, even if its body is cut
// off.
func (c *Client) Send(request *http.Request, also ...int) (*http.Response, error) {
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	status := response.StatusCode
	if status == http.StatusOK || status/100 == 2 && request.Method != http.MethodGet || slices.Contains(also, status) {
		return response, nil
	}
	raw, readErr := c.ReadAnswer(response)
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	if readErr != nil {
		return nil, c.describeRefusal(response, nil, refusal{})
	}
	return nil, c.RefusalError(response, raw)
}

// SendFor is Send for an answer of a media type, such as text/event-stream. An answer of another one becomes
// an error.
func (c *Client) SendFor(request *http.Request, mediaType string) (*http.Response, error) {
	response, err := c.Send(request)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), mediaType) {
		return response, nil
	}
	raw, err := c.ReadAnswer(response)
	if err != nil {
		return nil, err
	}
	return nil, c.strangeError(DescribeBody(raw))
}

// UnlimitedByDefault returns a client that waits for an answer without limit, for work that takes long
// without a sign of life. A --timeout that the user has given still applies.
func (c *Client) UnlimitedByDefault(command *cobra.Command) *Client {
	if command.Flags().Changed("timeout") {
		return c
	}
	unlimited := *c
	unlimited.silence = 0
	return &unlimited
}

// Do sends a request. Its errors have an exit code. It stops waiting if the server sends nothing
// for the time of --timeout, also in the middle of an answer.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	sent, stop := request, func() {}
	var watch *time.Timer
	var abort context.CancelCauseFunc
	if c.silence > 0 {
		ctx, cancel := context.WithCancelCause(request.Context())
		watch = time.AfterFunc(c.silence, func() { cancel(errSilent) })
		stop = func() { watch.Stop(); cancel(nil) }
		abort = cancel
		sent = request.WithContext(ctx)
	}
	response, err := c.HTTP.Do(sent)
	if err == nil {
		response.Body = &watchedBody{ReadCloser: response.Body, watch: watch, silence: c.silence, ctx: sent.Context(), abort: abort, stop: stop}
		return response, nil
	}
	if errors.Is(context.Cause(sent.Context()), errSilent) {
		stop()
		return nil, c.silenceError()
	}
	stop()
	if gone := request.Context().Err(); gone != nil {
		return nil, gone
	}
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // it repeats the whole address
	}
	answer := exit.Networkf("%s does not answer: %s\nIs a server running there? gazetteer serve starts one; --server names another", c.Base, describeNetworkError(err))
	if c.Local {
		answer = exit.Networkf("%s does not answer: %s", c.place(), describeNetworkError(err))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		answer = &droppedError{answer}
	}
	return nil, answer
}

// A droppedError is that of a server that closed the connection before it answered.
type droppedError struct{ error }

func (e *droppedError) Unwrap() error { return e.error }

// silenceError returns the error of a server that accepted a request and sent nothing for the time of
// --timeout. On this machine its process can be examined.
func (c *Client) silenceError() error {
	if !c.Local {
		return exit.Networkf("%s does not answer: it has sent nothing for %s (--timeout)", c.place(), c.silence)
	}
	process := "its process"
	if holder := boltfile.Holder(c.dir); holder != nil && holder.PID > 0 {
		process = fmt.Sprintf("its process %d", holder.PID)
	}
	return exit.Networkf("%s does not answer: it has sent nothing for %s (--timeout)\n%s is busy or suspended: read its log; kill -CONT continues a suspended process; a larger --timeout waits longer", c.place(), c.silence, process)
}

// errSilent means that a server sent nothing for the time of --timeout.
var errSilent = errors.New("it has stopped sending (--timeout sets the limit)")

// A watchedBody is the body of an answer. It fails if the sender pauses for longer than silence.
type watchedBody struct {
	io.ReadCloser
	watch   *time.Timer // nil: no limit
	silence time.Duration
	ctx     context.Context // of the request
	abort   context.CancelCauseFunc
	stop    func()
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	if b.watch != nil {
		b.watch.Reset(b.silence)
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(b.ctx), errSilent) {
		err = errSilent
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}

const (
	// maxAnswer is the largest answer that commands read whole, in bytes.
	maxAnswer = 64 << 20
	// answerTimes is the time for a whole answer, in times of --timeout: a server that sends a byte now
	// and then is never silent.
	answerTimes = 10
)

// errSlow means that an answer was not complete in time.
var errSlow = errors.New("the answer is not complete in time")

// ReadAnswer reads all of an answer of [Client.Do], up to maxAnswer bytes, and closes it. Its errors
// have an exit code; with them it returns what it has read.
func (c *Client) ReadAnswer(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	body, watched := response.Body.(*watchedBody)
	if watched = watched && body.abort != nil; watched {
		defer time.AfterFunc(answerTimes*c.silence, func() { body.abort(errSlow) }).Stop()
	}
	raw, err := limit.ReadAll(response.Body, maxAnswer)
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		return nil, exit.Networkf("the answer of %s is larger than %d MiB: it is not read", c.place(), maxAnswer>>20)
	case err != nil && watched && errors.Is(context.Cause(body.ctx), errSlow):
		return raw, exit.Networkf("%s has not sent all of its answer in %s, %d times --timeout", c.place(), answerTimes*c.silence, answerTimes)
	case err != nil:
		return raw, exit.Networkf("the answer of %s was not read: %s", c.place(), describeNetworkError(err))
	}
	return raw, nil
}

// DecodeAnswer reads a JSON answer into v and closes it; raw is the unchanged body.
func (c *Client) DecodeAnswer(response *http.Response, v any) (raw []byte, err error) {
	if raw, err = c.ReadAnswer(response); err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		if err := json.Unmarshal(raw, v); err != nil {
			return nil, c.RefusalError(response, raw)
		}
		return raw, nil
	}
	if err := c.Decode(raw, v); err != nil {
		return nil, err
	}
	return raw, nil
}
