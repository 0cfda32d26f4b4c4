package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
	"gazetteer/store/boltstore"
)

// Client talks to a running server: over the socket of the data directory, or
// over the network when --server names one.
type Client struct {
	HTTP  *http.Client
	Base  string
	Local bool // over the socket, where the admin routes are

	clock func() time.Time // of the signatures; nil: time.Now
}

// WithServer connects for one verb, lets use ask what it wants, and ends what connect
// began.
func (a *App) WithServer(ctx context.Context, crawl bool, use func(*Client) error) error {
	c, stop, err := a.connectToServer(ctx, crawl)
	if err != nil {
		return err
	}
	c.clock = a.Environment.Clock
	err = use(c)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	return err
}

// connectToServer finds the server to talk to. When none runs, this process opens the
// data directory itself and answers on the socket for as long as the verb
// lasts, so that every verb has one way to its answers; crawl tells whether it
// then crawls too. The returned function ends what connect began.
func (a *App) connectToServer(ctx context.Context, crawl bool) (*Client, func() error, error) {
	if a.Server != "" {
		c, err := newRemoteClient(a.Server)
		return c, func() error { return nil }, err
	}
	config, err := a.Config()
	if err != nil {
		return nil, nil, err
	}
	if c, ok := NewSocketClient(config.DataDir); ok {
		return c, func() error { return nil }, nil
	}
	if !crawl && !FileExists(filepath.Join(config.DataDir, boltstore.FormatFile)) {
		return nil, nil, &exit.Error{Code: exit.Data, Err: fmt.Errorf("there is no data in %s yet: crawl something first (gazetteer crawl example.com), or name another directory with --data-dir or a server with --server", config.DataDir)}
	}
	return a.startOwnServer(ctx, config, crawl)
}

// newRemoteClient talks to a server elsewhere.
func newRemoteClient(server string) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, exit.Usagef("--server %s: want an address such as http://127.0.0.1:8080", server)
	}
	return &Client{HTTP: &http.Client{}, Base: strings.TrimSuffix(u.String(), "/")}, nil
}

// NewSocketClient returns a client over the socket of the data directory, and
// false when nobody answers there.
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
	return &Client{HTTP: &http.Client{Transport: transport}, Base: "http://localhost", Local: true}, true
}

// startOwnServer opens the data directory in this process and runs it without a
// public address.
func (a *App) startOwnServer(ctx context.Context, settings config.Config, crawl bool) (*Client, func() error, error) {
	if settings.LogLevel == config.Default().LogLevel {
		settings.LogLevel = "warn" // the verb says what happens; the log would say it twice
	}
	h, err := server.Open(ctx, settings, a.Environment, NewLogger(a.Err, settings.LogLevel), nil)
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
	if err := h.Index.WaitFor(ctx, h.Store.Head().Seq); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	c, ok := NewSocketClient(settings.DataDir)
	if !ok {
		return nil, nil, errors.Join(errors.New("our own socket does not answer"), stop())
	}
	return c, stop, nil
}

// GetJSON asks for path and decodes the answer into v; raw is the body as sent.
// Statuses other than those in also are errors with their exit code.
func (c *Client) GetJSON(ctx context.Context, path string, v any, also ...int) (raw []byte, err error) {
	response, err := c.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, exit.Networkf("read the answer of %s: %v", c.Base, err)
	}
	ok := response.StatusCode == http.StatusOK
	for _, status := range also {
		ok = ok || response.StatusCode == status
	}
	if !ok {
		return nil, StatusError(response.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, exit.Networkf("%s did not answer as Gazetteer would: %v", c.Base, err)
	}
	return raw, nil
}

// PostForLines posts body and calls each with every line of the answer as it comes.
func (c *Client) PostForLines(ctx context.Context, path string, body any, each func(line []byte) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	response, err := c.Send(ctx, http.MethodPost, path, text)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return StatusError(response.StatusCode, raw)
	}
	decoder := json.NewDecoder(response.Body)
	for {
		var line json.RawMessage
		switch err := decoder.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return exit.Networkf("the server stopped answering: %v", err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// Send sends a body of JSON, or none.
func (c *Client) Send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := c.newRequest(ctx, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.Do(request)
}

// Do sends a request; the error knows its exit code.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	response, err := c.HTTP.Do(request)
	if err == nil {
		return response, nil
	}
	if gone := request.Context().Err(); gone != nil {
		return nil, gone
	}
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // it says the whole address again
	}
	if c.Local {
		return nil, exit.Networkf("ask the server of the data directory: %v", err)
	}
	return nil, exit.Networkf("ask %s: %v\nIs a server running there? gazetteer serve starts one; --server names another", c.Base, err)
}
