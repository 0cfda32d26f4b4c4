package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gazetteer/api/air"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A LogHead is the newest tree of a registry's log that the program has verified. For each remote
// registry the program stores it in a private file of the user and compares it on each use: a log
// that shows two histories is refused.
type LogHead struct {
	Log        string `json:"log"`        // its URL
	Key        string `json:"key"`        // its public key when it was first seen
	Checkpoint string `json:"checkpoint"` // signed
	// Promises are the signed promises of inclusion that are not yet fulfilled.
	Promises []string `json:"promises,omitempty"`

	path string // "" where nothing is stored
	// fulfilled are the promises that this command has removed.
	fulfilled []string
	verifier  note.Verifier
	tree      checkpoint.Checkpoint
}

// Tree returns the tree.
func (h *LogHead) Tree() checkpoint.Checkpoint { return h.tree }

// headPath returns the path of the file with the head of a log, "" if the user has no directory for
// it.
func headPath(log string) string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
		if !FileExists(home) {
			return ""
		}
	}
	sum := sha256.Sum256([]byte(log))
	return filepath.Join(state, "gazetteer", "log-heads", hex.EncodeToString(sum[:16])+".json")
}

// ReadLogHead returns the stored head of the log at a URL, nil for none.
func ReadLogHead(log string) (*LogHead, error) {
	h := &LogHead{Log: log, path: headPath(log)}
	if h.path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(h.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, h)
	}
	if err == nil {
		h.verifier, err = checkpoint.NewVerifier(h.Key)
	}
	if err == nil {
		h.tree, err = checkpoint.Parse([]byte(h.Checkpoint), h.verifier)
	}
	if err != nil {
		return nil, exit.Dataf("%s, the last tree head of %s, cannot be used: %v; if you know why, run: gazetteer log forget %s", h.path, log, err, log)
	}
	return h, nil
}

// ForgetLogHead deletes the stored head of the log at a URL. It returns false if there is none.
func ForgetLogHead(log string) (bool, error) {
	path := headPath(log)
	if path == "" || !FileExists(path) {
		return false, nil
	}
	return true, privatefile.Remove(path)
}

// CheckLog fetches the newest tree head of the server's log, compares it with the previous one, and
// stores it. It returns nil for a server without a log. If the log contradicts its earlier tree,
// the error has the exit code of a failed check. A second call for the same client returns the head
// of the first one.
func (a *App) CheckLog(ctx context.Context, c *Client) (*LogHead, error) {
	if c.head != nil {
		return c.head, nil
	}
	h, err := a.compareLog(ctx, c)
	if err == nil {
		c.head = h
	}
	return h, err
}

// compareLog is CheckLog without its memory. For a known log it usually sends one request.
func (a *App) compareLog(ctx context.Context, c *Client) (*LogHead, error) {
	log := c.Base + "/log"
	var before *LogHead
	var err error
	if !c.Local { // anyone who can open the socket can write the files of the log
		if before, err = ReadLogHead(log); err != nil {
			return nil, err
		}
	}
	if before != nil {
		var grown air.LogConsistency
		switch _, err := c.GetJSON(ctx, fmt.Sprintf("/log/consistency?old=%d", before.tree.N), &grown); {
		case err == nil && grown.Checkpoint != "":
			if _, err := checkpoint.Parse([]byte(grown.Checkpoint), before.verifier); err == nil {
				if err := a.advanceHead(ctx, c, before, []byte(grown.Checkpoint), grown.Hashes); err != nil {
					return before, err
				}
				return before, a.followPromises(ctx, c, before)
			}
		case err != nil && !isRefusal(err):
			return nil, err
		}
		// The log is smaller than before, has another key, or its server is older: see its checkpoint.
	}
	signed, err := c.GetText(ctx, "/log/checkpoint")
	switch {
	case before != nil && IsRefusedWithStatus(err, http.StatusNotFound):
		return nil, exit.NotFoundf("%s shows no log any more; the last tree that it has shown has %s", log, Plural(int(before.tree.N), "leaf"))
	case before == nil && isMissing(err), IsRefusedWithStatus(err, http.StatusServiceUnavailable):
		if before != nil {
			fmt.Fprintf(a.Err, "%s shows no signed tree at the moment, so it was not compared with the one that it has shown before.\n", log)
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	if before != nil && IsSigned(signed) {
		if _, err := checkpoint.Parse(signed, before.verifier); err == nil || !IsLoopbackURL(c.Base) {
			if err := a.advanceHead(ctx, c, before, signed, nil); err != nil {
				return before, err
			}
			return before, a.followPromises(ctx, c, before)
		}
		// On the local machine each trial begins a new log.
		fmt.Fprintf(a.Err, "%s is signed with another key than before: another log was begun there.\n", log)
	}
	if !IsSigned(signed) {
		return nil, c.strangeError(DescribeBody(signed))
	}
	key, err := c.GetText(ctx, "/log/key")
	if err != nil {
		return nil, err
	}
	h := &LogHead{Log: log, Key: strings.TrimSpace(string(key)), Checkpoint: string(signed)}
	if !c.Local {
		h.path = headPath(log)
	}
	if h.verifier, err = checkpoint.NewVerifier(h.Key); err == nil {
		h.tree, err = checkpoint.Parse(signed, h.verifier)
	}
	if err != nil {
		return nil, exit.NotFoundf("%s: %v", log, err)
	}
	return h, h.saveFile()
}

// isRefusal reports whether a server answered, but not with what was requested. Where another program
// answers there is nothing to ask for.
func isRefusal(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && (!refused.Stranger || refused.Status >= 500)
}

// IsSigned reports whether a text has the form of a signed note; it does not check the signature. A login
// page that a network shows in place of the log does not have that form, and does not contradict the log.
func IsSigned(text []byte) bool { return bytes.Contains(text, []byte("\n\n\u2014 ")) }

// isMissing reports whether a server answered that it has nothing at an address, as a registry without a
// log does in its own words.
func isMissing(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && refused.Status == http.StatusNotFound
}

// advanceHead compares a newer checkpoint with a head, and replaces the head. It requests the proof
// that the newer tree contains the other one, unless hashes are that proof.
func (a *App) advanceHead(ctx context.Context, c *Client, h *LogHead, signed []byte, hashes []string) error {
	next, err := checkpoint.Parse(signed, h.verifier)
	if err != nil {
		return exit.NotFoundf("%s: %v. It was signed with %s before; if its operator has published another key, run: gazetteer log forget %s", h.Log, err, h.Key, h.Log)
	}
	fork := func(problem string) error { return h.reportFork(problem, signed, next.N == h.tree.N) }
	switch {
	case next.N == h.tree.N && next.Hash != h.tree.Hash:
		return fork(fmt.Sprintf("it has shown another tree of %d leaves before", next.N))
	case next.N < h.tree.N:
		return fork(fmt.Sprintf("it shows a tree of %d leaves, and has shown one of %d before", next.N, h.tree.N))
	case next.N == h.tree.N:
		return nil
	}
	if h.tree.N > 0 {
		if hashes == nil {
			var answer air.LogConsistency
			if _, err := c.GetJSON(ctx, fmt.Sprintf("/log/consistency?old=%d&new=%d", h.tree.N, next.N), &answer); err != nil {
				return err
			}
			hashes = answer.Hashes
		}
		proof, err := parseHashes(hashes)
		if err != nil || tlog.CheckTree(proof, next.N, next.Hash, h.tree.N, h.tree.Hash) != nil {
			return fork(fmt.Sprintf("it does not prove that its tree of %d leaves contains the tree of %d that it has shown before", next.N, h.tree.N))
		}
	}
	h.tree, h.Checkpoint = next, string(signed)
	return h.saveFile()
}

// reportFork stores a checkpoint that contradicts the head, and returns the error about it. Two trees
// of the same size are a proof by themselves.
func (h *LogHead) reportFork(problem string, signed []byte, proves bool) error {
	evidence := ""
	if h.path != "" && privatefile.Replace(h.path+".fork", signed) == nil {
		evidence = fmt.Sprintf(" Both are signed with its key: %s has what was seen before, %s.fork what is shown now.", h.path, h.path)
		if proves {
			evidence += " They prove it."
		}
	}
	return exit.NotFoundf("%s contradicts itself: %s. Do not rely on it, and tell others.%s To use it nevertheless, run: gazetteer log forget %[1]s", h.Log, problem, evidence)
}

func parseHashes(texts []string) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(texts))
	for i, text := range texts {
		var err error
		if hashes[i], err = tlog.ParseHash(text); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// checkInclusion checks the proof that a signed tree of the log contains a leaf of a record,
// compares that tree with the head, and returns the hash of the leaf.
func (a *App) checkInclusion(ctx context.Context, c *Client, h *LogHead, p air.LogInclusion) (tlog.Hash, error) {
	tree, err := checkpoint.Parse([]byte(p.Checkpoint), h.verifier)
	if err != nil {
		return tlog.Hash{}, exit.NotFoundf("the proof of inclusion of %s: %v", h.Log, err)
	}
	proof, err := parseHashes(p.Hashes)
	leaf := tlog.RecordHash([]byte(p.Entry.Leaf))
	if p.Entry.Erased {
		leaf, err = tlog.ParseHash(p.Entry.LeafHash)
	}
	if err != nil || tlog.CheckRecord(proof, tree.N, tree.Hash, p.Entry.Index, leaf) != nil {
		return leaf, exit.NotFoundf("the proof of inclusion of %s does not lead from leaf %d to the tree that the log has signed", h.Log, p.Entry.Index)
	}
	if tree.N < h.tree.N {
		return leaf, nil // another answer was newer
	}
	return leaf, a.advanceHead(ctx, c, h, []byte(p.Checkpoint), nil)
}

// CheckLogged checks and describes the statements of a registry's log about a registration: the
// promise to include it and, if present, the proof of inclusion.
func (a *App) CheckLogged(ctx context.Context, c *Client, airID string, logged *air.Logged) (string, error) {
	h, err := a.CheckLog(ctx, c)
	if err != nil || h == nil || logged == nil {
		return "", err
	}
	promise, err := proof.ParsePromise([]byte(logged.Promise), h.verifier)
	if err != nil {
		return "", exit.NotFoundf("%s: %v", h.Log, err)
	}
	if !strings.HasPrefix(promise.Key, "agent/"+airID+"/") {
		return "", exit.NotFoundf("%s has promised to include %s, which is another record", h.Log, promise.Key)
	}
	if logged.Inclusion == nil {
		if h.path != "" && len(h.Promises) < maxPromises {
			h.Promises = append(h.Promises, logged.Promise)
			if err := h.saveFile(); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%s has promised to include it by %s", promise.Origin, promise.By.Format("2006-01-02 15:04 UTC")), nil
	}
	leaf, err := a.checkInclusion(ctx, c, h, *logged.Inclusion)
	if err == nil && leaf != promise.Leaf {
		err = exit.NotFoundf("%s has included another leaf than it has promised", h.Log)
	}
	return fmt.Sprintf("leaf %d of %s, verified", logged.Inclusion.Entry.Index, promise.Origin), err
}

// maxPromises is the number of promises of one log that are checked later.
const maxPromises = 100

// followPromises checks that the log has included the promised leaves. It removes fulfilled
// promises. An expired promise is evidence against the log.
func (a *App) followPromises(ctx context.Context, c *Client, h *LogHead) error {
	var open []string
	var broken error
	for _, signed := range h.Promises {
		promise, err := proof.ParsePromise([]byte(signed), h.verifier)
		if err != nil {
			return exit.Dataf("%s contains a promise that cannot be used: %v", h.path, err)
		}
		kept, err := a.isKept(ctx, c, h, promise)
		if err != nil {
			return err
		}
		if kept {
			h.fulfilled = append(h.fulfilled, signed)
			continue
		}
		open = append(open, signed)
		if a.Environment.Now().After(promise.By) {
			broken = exit.NotFoundf("%s has broken its promise: it has signed that it includes %s by %s, but does not. Do not rely on it, and tell others: the promise in %s proves it.",
				h.Log, promise.Key, promise.By.Format("2006-01-02 15:04 UTC"), h.path)
		}
	}
	if len(open) < len(h.Promises) {
		h.Promises = open
		if err := h.saveFile(); err != nil {
			return err
		}
	}
	return broken
}

// isKept reports whether the log proves that it contains the leaf of a promise.
func (a *App) isKept(ctx context.Context, c *Client, h *LogHead, promise proof.Promise) (bool, error) {
	entries, err := FetchLogEntries(ctx, c, promise.Key)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.LeafHash != promise.Leaf.String() {
			continue
		}
		_, leaf, err := a.ProveEntry(ctx, c, h, e.Index)
		return err == nil && leaf == promise.Leaf, err
	}
	return false, nil
}

// FetchLogEntries returns the leaves of a record and of the records below it, newest first; none if
// the log shows none.
func FetchLogEntries(ctx context.Context, c *Client, key string) ([]air.LogEntry, error) {
	var entries air.LogEntries
	_, err := c.GetJSON(ctx, "/log/entries?"+url.Values{"key": {key}}.Encode(), &entries)
	if IsRefusedWithStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	return entries.Entries, err
}

// ProveEntry fetches a leaf, checks that the signed tree of the log contains it, and returns it
// with its hash.
func (a *App) ProveEntry(ctx context.Context, c *Client, h *LogHead, index int64) (air.LogEntry, tlog.Hash, error) {
	var inclusion air.LogInclusion
	if _, err := c.GetJSON(ctx, fmt.Sprintf("/log/inclusion?index=%d", index), &inclusion); err != nil {
		return air.LogEntry{}, tlog.Hash{}, err
	}
	leaf, err := a.checkInclusion(ctx, c, h, inclusion)
	return inclusion.Entry, leaf, err
}

// IsLoopbackURL reports whether a URL points to this machine.
func IsLoopbackURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := u.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}
