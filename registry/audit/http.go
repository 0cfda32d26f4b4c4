package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// Answer answers a GET or HEAD request with the layout of C2SP tlog-tiles, and four answers for clients
// that do not compute proofs. The caller has stripped a prefix from the path.
//
//	GET /checkpoint                     the newest signed checkpoint
//	GET /key                            the public key; prefer a copy from another source
//	GET /tile/{level}/{n}[.p/{width}]   hashes
//	GET /tile/entries/{n}[.p/{width}]   leaves; an erased one has length 0
//	GET /entries?key=K[&limit=N]        the leaves of a record and of those below it, newest first
//	GET /inclusion?index=I[&size=S]     leaf, hash and proof (JSON); ?key=K for the newest leaf of a record
//	GET /consistency?old=M[&new=N]      proof between two sizes (JSON); with the checkpoint if N is the newest
//	GET /proof?index=I                  proof and checkpoint in one text (C2SP tlog-proof); ?key=K too
//
// With an error nothing was written. A [*QueryError] and errors that match [ErrRange] or [tiles.ErrNoFile]
// are for the client; [ErrGrowing] and [ErrClosed] pass by.
func (l *Log) Answer(w http.ResponseWriter, r *http.Request) error {
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case "entries":
		return l.answerEntries(w, r)
	case "inclusion":
		return l.answerInclusion(w, r)
	case "consistency":
		return l.answerConsistency(w, r)
	case "proof":
		return l.answerProof(w, r)
	default:
		return l.answerFile(w, r, name)
	}
}

// A QueryError describes an invalid parameter.
type QueryError struct{ Parameter, Problem string }

func (e *QueryError) Error() string { return "parameter " + e.Parameter + ": " + e.Problem }

// How long answers may be cached. Hashes never change. A bundle changes when one of its leaves is
// erased, and clients should see that on the same day.
const (
	cacheNever  = "no-cache"
	cacheHour   = "public, max-age=3600"
	cacheAlways = "public, max-age=31536000, immutable"
)

// writeBody answers with bytes. The standard library handles ranges, conditions and HEAD.
func writeBody(w http.ResponseWriter, r *http.Request, kind, cache string, body []byte) {
	sum := sha256.Sum256(body)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", cache)
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeBody(w, r, "application/json", cacheNever, append(body, '\n'))
	return nil
}

func (l *Log) answerFile(w http.ResponseWriter, r *http.Request, name string) error {
	body, err := l.File(r.Context(), name)
	if err != nil {
		return err
	}
	switch {
	case name == tiles.CheckpointFile || name == tiles.KeyFile:
		writeBody(w, r, "text/plain; charset=utf-8", cacheNever, body)
	case strings.HasPrefix(name, "tile/entries/"):
		writeBody(w, r, "application/octet-stream", cacheHour, body)
	default:
		writeBody(w, r, "application/octet-stream", cacheAlways, body)
	}
	return nil
}

// An EntryView is a leaf in an answer.
type EntryView struct {
	Index    int64     `json:"index"`
	Key      string    `json:"key"`
	LeafHash tlog.Hash `json:"leaf_hash"`
	Erased   bool      `json:"erased,omitempty"`
	Deleted  bool      `json:"deleted,omitempty"`
	// Leaf is the hashed text. The unescaped bytes between the quotation marks are the leaf.
	Leaf string `json:"leaf,omitempty"`
}

func viewOf(e LogEntry) EntryView {
	return EntryView{Index: e.Index, Key: e.Key, LeafHash: e.Hash, Erased: e.Erased, Deleted: e.Deleted, Leaf: string(e.Leaf)}
}

const (
	defaultEntries = 20
	maxEntries     = 100
)

func (l *Log) answerEntries(w http.ResponseWriter, r *http.Request) error {
	key, err := keyParameter(r)
	if err != nil {
		return err
	}
	limit, err := numberParameter(r, "limit", defaultEntries)
	if err != nil {
		return err
	}
	if limit < 1 || limit > maxEntries {
		return &QueryError{"limit", "it is between 1 and 100"}
	}
	answer := struct {
		Key     string      `json:"key"`
		Entries []EntryView `json:"entries"`
		More    bool        `json:"more"`
	}{Key: key, Entries: []EntryView{}}
	for e, err := range l.Find(r.Context(), key) {
		if err != nil {
			return err
		}
		if answer.More = int64(len(answer.Entries)) == limit; answer.More {
			break
		}
		answer.Entries = append(answer.Entries, viewOf(e))
	}
	return writeJSON(w, r, answer)
}

func (l *Log) answerInclusion(w http.ResponseWriter, r *http.Request) error {
	head, signed, err := l.newestHead()
	if err != nil {
		return err
	}
	index, err := l.indexParameter(r)
	if err != nil {
		return err
	}
	size, err := numberParameter(r, "size", head.N)
	if err != nil {
		return err
	}
	p, err := l.Prove(r.Context(), index, size)
	if err != nil {
		return err
	}
	e, err := l.Entry(r.Context(), index)
	if err != nil {
		return err
	}
	answer := struct {
		Entry      EntryView        `json:"entry"`
		Size       int64            `json:"size"`
		Hashes     tlog.RecordProof `json:"hashes"`
		Checkpoint string           `json:"checkpoint,omitempty"`
	}{Entry: viewOf(e), Size: p.Size, Hashes: p.Hashes}
	if size == head.N {
		answer.Checkpoint = string(signed)
	}
	return writeJSON(w, r, answer)
}

func (l *Log) answerProof(w http.ResponseWriter, r *http.Request) error {
	head, signed, err := l.newestHead()
	if err != nil {
		return err
	}
	index, err := l.indexParameter(r)
	if err != nil {
		return err
	}
	p, err := l.Prove(r.Context(), index, head.N)
	if err != nil {
		return err
	}
	writeBody(w, r, "text/plain; charset=utf-8", cacheNever, p.Text(signed))
	return nil
}

func (l *Log) answerConsistency(w http.ResponseWriter, r *http.Request) error {
	older, err := numberParameter(r, "old", -1)
	if err != nil {
		return err
	}
	if older < 0 {
		return &QueryError{"old", "it is required: the size of the tree that you know"}
	}
	head, signed, err := l.newestHead()
	if err != nil {
		return err
	}
	newer, err := numberParameter(r, "new", head.N)
	if err != nil {
		return err
	}
	p, err := l.proveConsistency(r.Context(), older, newer)
	if err != nil {
		return err
	}
	answer := struct {
		Old        int64          `json:"old"`
		New        int64          `json:"new"`
		Hashes     tlog.TreeProof `json:"hashes"`
		Checkpoint string         `json:"checkpoint,omitempty"`
	}{Old: older, New: newer, Hashes: p}
	if newer == head.N {
		answer.Checkpoint = string(signed)
	}
	return writeJSON(w, r, answer)
}

// numberParameter reads a number. The parameter may be missing but must not occur twice.
func numberParameter(r *http.Request, name string, missing int64) (int64, error) {
	values := r.URL.Query()[name]
	if len(values) == 0 {
		return missing, nil
	}
	n, err := checkpoint.ParseNumber(values[0])
	if len(values) > 1 || err != nil {
		return 0, &QueryError{name, "it is one decimal number without sign and leading zeros"}
	}
	return n, nil
}

func keyParameter(r *http.Request) (string, error) {
	values := r.URL.Query()["key"]
	if len(values) != 1 || values[0] == "" || len(values[0]) > 512 {
		return "", &QueryError{"key", "it is one key of a record, such as agent/AIR-7K2M-9QXD-4TZN, of at most 512 bytes"}
	}
	return values[0], nil
}

// indexParameter reads the parameter that selects a leaf: its index, or a key for its newest leaf.
func (l *Log) indexParameter(r *http.Request) (int64, error) {
	index, err := numberParameter(r, "index", -1)
	if err != nil || index >= 0 {
		return index, err
	}
	key, err := keyParameter(r)
	if err != nil {
		return 0, &QueryError{"index", "an index of a leaf or a key of a record is required"}
	}
	e, err := l.Newest(r.Context(), key)
	return e.Index, err
}
