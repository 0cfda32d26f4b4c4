package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/tlog"
)

// Handler serves the log below a prefix that the caller strips (see http.StripPrefix): the layout
// of C2SP tlog-tiles, and four answers for clients that do not compute proofs.
//
//	GET /checkpoint                     the newest signed checkpoint
//	GET /key                            the public key; trust one that you have from elsewhere more
//	GET /tile/{level}/{n}[.p/{width}]   hashes
//	GET /tile/entries/{n}[.p/{width}]   leaves; an erased one has length 0
//	GET /entries?key=K[&limit=N]        the leaves of a record and of those below it, newest first
//	GET /inclusion?index=I[&size=S]     leaf, hash and proof (JSON); ?key=K for the newest leaf of a record
//	GET /consistency?old=M[&new=N]      proof between two sizes (JSON)
//	GET /proof?index=I                  proof and checkpoint in one text (C2SP tlog-proof); ?key=K too
//
// Refusals are problem documents of RFC 9457.
func (l *Log) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeProblem(w, http.StatusMethodNotAllowed, "this path supports GET and HEAD")
			return
		}
		l.serveFile(w, r)
	})
}

func (l *Log) serveFile(w http.ResponseWriter, r *http.Request) {
	var err error
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case "entries":
		err = l.answerEntries(w, r)
	case "inclusion":
		err = l.answerInclusion(w, r)
	case "consistency":
		err = l.answerConsistency(w, r)
	case "proof":
		err = l.answerProof(w, r)
	default:
		err = l.answerFile(w, r, name)
	}
	if err != nil {
		l.writeError(w, r, err)
	}
}

// A badQuery describes an invalid parameter.
type badQuery struct{ parameter, problem string }

func (e *badQuery) Error() string { return "parameter " + e.parameter + ": " + e.problem }

// writeError answers with the error, without internal details.
func (l *Log) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var bad *badQuery
	switch {
	case errors.As(err, &bad):
		writeProblem(w, http.StatusBadRequest, bad.Error())
	case errors.Is(err, ErrRange):
		writeProblem(w, http.StatusNotFound, err.Error())
	case errors.Is(err, ErrNoFile):
		writeProblem(w, http.StatusNotFound, "the log has no such file, or not yet")
	case errors.Is(err, ErrGrowing) || errors.Is(err, ErrClosed):
		w.Header().Set("Retry-After", "30")
		writeProblem(w, http.StatusServiceUnavailable, "the log cannot be read at this moment; try again")
	case r.Context().Err() != nil:
	default:
		l.log.Error("a question to the log failed", "path", r.URL.Path, "error", err)
		writeProblem(w, http.StatusInternalServerError, "the log could not be read; the operator has been notified")
	}
}

func writeProblem(w http.ResponseWriter, status int, detail string) {
	body, _ := json.Marshal(struct { // only texts and a number
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

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
	case name == checkpointFile || name == keyFile:
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
		return &badQuery{"limit", "it is between 1 and 100"}
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
		return &badQuery{"old", "it is required: the size of the tree that you know"}
	}
	newer, err := numberParameter(r, "new", l.Head().N)
	if err != nil {
		return err
	}
	p, err := l.proveConsistency(r.Context(), older, newer)
	if err != nil {
		return err
	}
	return writeJSON(w, r, struct {
		Old    int64          `json:"old"`
		New    int64          `json:"new"`
		Hashes tlog.TreeProof `json:"hashes"`
	}{older, newer, p})
}

// numberParameter reads a number. The parameter may be missing but must not occur twice.
func numberParameter(r *http.Request, name string, missing int64) (int64, error) {
	values := r.URL.Query()[name]
	if len(values) == 0 {
		return missing, nil
	}
	n, err := checkpoint.ParseNumber(values[0])
	if len(values) > 1 || err != nil {
		return 0, &badQuery{name, "it is one decimal number without sign and leading zeros"}
	}
	return n, nil
}

func keyParameter(r *http.Request) (string, error) {
	values := r.URL.Query()["key"]
	if len(values) != 1 || values[0] == "" || len(values[0]) > 512 {
		return "", &badQuery{"key", "it is one key of a record, such as agent/AIR-7K2M-9QXD-4TZN, of at most 512 bytes"}
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
		return 0, &badQuery{"index", "an index of a leaf or a key of a record is required"}
	}
	e, err := l.Newest(r.Context(), key)
	return e.Index, err
}
