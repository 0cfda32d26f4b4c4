package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gazetteer/store/boltstore"
)

// client talks to a running server: over the socket of the data directory, or
// over the network when --server names one.
type client struct {
	http  *http.Client
	base  string
	local bool // over the socket, where the admin routes are
}

// ask connects for one verb, lets use ask what it wants, and ends what connect
// began.
func (a *app) ask(ctx context.Context, crawl bool, use func(*client) error) error {
	c, stop, err := a.connect(ctx, crawl)
	if err != nil {
		return err
	}
	err = use(c)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	return err
}

// connect finds the server to talk to. When none runs, this process opens the
// data directory itself and answers on the socket for as long as the verb
// lasts, so that every verb has one way to its answers; crawl tells whether it
// then crawls too. The returned function ends what connect began.
func (a *app) connect(ctx context.Context, crawl bool) (*client, func() error, error) {
	if a.server != "" {
		c, err := remoteClient(a.server)
		return c, func() error { return nil }, err
	}
	config, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	if c, ok := socketClient(config.DataDir); ok {
		return c, func() error { return nil }, nil
	}
	if !crawl && !exists(filepath.Join(config.DataDir, boltstore.FormatFile)) {
		return nil, nil, &exitError{exitData, fmt.Errorf("there is no data in %s yet: crawl something first (gazetteer crawl example.com), or name another directory with --data-dir or a server with --server", config.DataDir)}
	}
	return a.ownHouse(ctx, config, crawl)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// remoteClient talks to a server elsewhere.
func remoteClient(server string) (*client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--server %s: want an address such as http://127.0.0.1:8080", server)
	}
	return &client{http: &http.Client{}, base: strings.TrimSuffix(u.String(), "/")}, nil
}

// socketClient returns a client over the socket of the data directory, and
// false when nobody answers there.
func socketClient(dir string) (*client, bool) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		address, release, err := socketAddress(filepath.Join(dir, socketName))
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
	return &client{http: &http.Client{Transport: transport}, base: "http://localhost", local: true}, true
}

// ownHouse opens the data directory in this process and runs it without a
// public address.
func (a *app) ownHouse(ctx context.Context, config Config, crawl bool) (*client, func() error, error) {
	if config.LogLevel == defaultConfig().LogLevel {
		config.LogLevel = "warn" // the verb says what happens; the log would say it twice
	}
	h, err := openHouse(ctx, config, a.edge, logger(a.err, config.LogLevel), nil)
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ready := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- h.run(running, nil, crawl, func() { close(ready) }) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, h.close())
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		if err == nil {
			err = ctx.Err() // interrupted before it was ready
		}
		return nil, nil, errors.Join(err, h.close())
	}
	if err := h.index.WaitFor(ctx, h.store.Head().Seq); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	c, ok := socketClient(config.DataDir)
	if !ok {
		return nil, nil, errors.Join(errors.New("our own socket does not answer"), stop())
	}
	return c, stop, nil
}

// problem is what an RFC 9457 body tells a person.
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Help   string `json:"help"`
	Error  any    `json:"error"`
	Where  struct {
		Parameter string `json:"parameter"`
		Column    int    `json:"column"`
	} `json:"where"`
}

func (p problem) text() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if s, ok := p.Error.(string); ok && text == "" {
		text = s
	}
	if p.Where.Parameter != "" && p.Where.Column > 0 {
		text += fmt.Sprintf(" (at character %d of %s)", p.Where.Column, p.asked())
	}
	if p.Help != "" {
		text += "\n" + p.Help
	}
	return text
}

// asked is what a person calls the parameter that is wrong.
func (p problem) asked() string {
	if p.Where.Parameter == "q" {
		return "the query"
	}
	return p.Where.Parameter
}

// get asks for path and decodes the answer into v; raw is the body as sent.
// Statuses other than those in also are errors with their exit code.
func (c *client) get(ctx context.Context, path string, v any, also ...int) (raw []byte, err error) {
	response, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, networkf("read the answer of %s: %v", c.base, err)
	}
	ok := response.StatusCode == http.StatusOK
	for _, status := range also {
		ok = ok || response.StatusCode == status
	}
	if !ok {
		return nil, statusError(response.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, networkf("%s did not answer as Gazetteer would: %v", c.base, err)
	}
	return raw, nil
}

// lines posts body and calls each with every line of the answer as it comes.
func (c *client) lines(ctx context.Context, path string, body any, each func(line []byte) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	response, err := c.send(ctx, http.MethodPost, path, text)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return statusError(response.StatusCode, raw)
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
			return networkf("the server stopped answering: %v", err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// send sends a body of JSON, or none.
func (c *client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := c.request(ctx, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.do(request)
}

// do sends a request; the error knows its exit code.
func (c *client) do(request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
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
	if c.local {
		return nil, networkf("ask the server of the data directory: %v", err)
	}
	return nil, networkf("ask %s: %v\nIs a server running there? gazetteer serve starts one; --server names another", c.base, err)
}

// statusError turns a refusal into an error with the verb's exit code.
func statusError(status int, body []byte) error {
	var p problem
	json.Unmarshal(body, &p) // what does not parse has no words for a person
	text := p.text()
	if text == "" {
		text = fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	}
	switch {
	case status == http.StatusNotFound:
		return &exitError{exitNotFound, errors.New(text)}
	case status < 500 && status != http.StatusTooManyRequests:
		return &exitError{exitUsage, errors.New(text)}
	default:
		return &exitError{exitNetwork, errors.New(text)}
	}
}
