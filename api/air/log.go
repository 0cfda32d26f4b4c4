package air

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

// logRoutes declares the files of the transparency log (C2SP tlog-tiles), the answers for clients
// that do not compute proofs, and two routes of the reference.
func (a *Routes) logRoutes(h huma.API) {
	log := func(id, mediaType string, schema *huma.Schema) huma.Operation {
		return route.Respond(route.Op(id), "200", "OK", mediaType, schema)
	}
	text := func(id string) huma.Operation { return log(id, "text/plain", route.TextSchema()) }
	route.Handle(a.Mux, h, text("log-checkpoint"), logAnswer[struct{}](a))
	route.Handle(a.Mux, h, text("log-key"), logAnswer[struct{}](a))
	route.Handle(a.Mux, h, log("log-entries", "application/json", route.SchemaOf[LogEntries](h)), logAnswer[logEntriesInput](a))
	route.Handle(a.Mux, h, log("log-inclusion", "application/json", route.SchemaOf[LogInclusion](h)), logAnswer[logInclusionInput](a))
	route.Handle(a.Mux, h, log("log-consistency", "application/json", route.SchemaOf[LogConsistency](h)), logAnswer[logConsistencyInput](a))
	route.Handle(a.Mux, h, text("log-proof"), logAnswer[logProofInput](a))
	// Tiles have paths of any depth, which OpenAPI cannot describe.
	const tile = answer.LogPath + "/tile/"
	route.Handle(a.Mux, h, log("log-tile", "application/octet-stream", &huma.Schema{}), logAnswer[logTileInput](a))
	paths := h.OpenAPI().Paths
	paths[tile+"{path}"] = paths[tile+"*path"]
	delete(paths, tile+"*path")

	route.Handle(a.Mux, h, route.Op("audit-verify"), a.verifyLog)
	route.Handle(a.Mux, h, route.Op("audit-anchor"), a.getAnchor)
}

// The inputs document the parameters, which package audit reads.
type (
	logEntriesInput struct {
		Key   string `query:"key" doc:"the key of a record, such as agent/AIR-7K2M-9QXD-4TZN"`
		Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many, 1 to 100"`
	}
	logInclusionInput struct {
		Index int    `query:"index" minimum:"0" doc:"the number of a leaf, from 0"`
		Key   string `query:"key" doc:"the key of a record, in the place of index: its newest leaf"`
		Size  int    `query:"size" minimum:"0" doc:"the size of the tree; the newest when left out"`
	}
	logConsistencyInput struct {
		Old int `query:"old" minimum:"0" doc:"the size of the tree that you know"`
		New int `query:"new" minimum:"0" doc:"the size of the other; the newest when left out"`
	}
	logProofInput struct {
		Index int    `query:"index" minimum:"0" doc:"the number of a leaf, from 0"`
		Key   string `query:"key" doc:"the key of a record, in the place of index: its newest leaf"`
	}
	logTileInput struct {
		Path string `path:"path" doc:"the level and the number, as 0/x001/234 or entries/000.p/7"`
	}
)

// LogEntry documents a leaf of the log.
type LogEntry struct {
	Index    int64  `json:"index"`
	Key      string `json:"key" doc:"of the record"`
	LeafHash string `json:"leaf_hash" doc:"base64"`
	Erased   bool   `json:"erased,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"`
	Leaf     string `json:"leaf,omitempty" doc:"the text that was hashed"`
}

// LogEntries documents the leaves of a record.
type LogEntries struct {
	Key     string     `json:"key"`
	Entries []LogEntry `json:"entries" doc:"newest first"`
	More    bool       `json:"more" doc:"there are older ones"`
}

// LogInclusion documents the proof of a leaf.
type LogInclusion struct {
	Entry      LogEntry `json:"entry"`
	Size       int64    `json:"size" doc:"of the tree"`
	Hashes     []string `json:"hashes" doc:"base64, from the leaf's neighbor up"`
	Checkpoint string   `json:"checkpoint,omitempty" doc:"the signed tree, when it is the newest"`
}

// LogConsistency documents the proof between two trees.
type LogConsistency struct {
	Old        int64    `json:"old"`
	New        int64    `json:"new"`
	Hashes     []string `json:"hashes" doc:"base64"`
	Checkpoint string   `json:"checkpoint,omitempty" doc:"the signed tree, when it is the newest"`
}

// logAnswer passes a request to the log.
func logAnswer[I any](a *Routes) func(context.Context, *I) (*route.StreamOutput, error) {
	return func(context.Context, *I) (*route.StreamOutput, error) {
		if a.Answers.Log == nil {
			return nil, answer.ErrNoLog
		}
		return &route.StreamOutput{Body: func(ctx huma.Context) {
			c := humagin.Unwrap(ctx)
			if ctx.Query("key") != "" {
				a.awaitLog(ctx.Context())
			}
			inner := c.Request.Clone(ctx.Context())
			inner.URL.Path = strings.TrimPrefix(inner.URL.Path, answer.LogPath)
			// The common layer of all routes adds the entity tag, compresses the answer and
			// evaluates conditions.
			for _, name := range []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range"} {
				inner.Header.Del(name)
			}
			if err := a.Answers.Log.Answer(c.Writer, inner); err != nil {
				route.WriteProblem(ctx, a.CompleteProblem(ctx.Context(), ctx.Operation().Path, err))
				return
			}
			header := c.Writer.Header()
			header.Del("Accept-Ranges")
			if strings.HasPrefix(inner.URL.Path, "/tile/") && !strings.HasPrefix(inner.URL.Path, "/tile/entries/") && c.Writer.Status() == http.StatusOK {
				header.Set("Cache-Control", header.Get("Cache-Control")+", no-transform") // hashes do not shrink
			}
		}}, nil
	}
}

// logTimeout bounds the time for which a request about a record waits until the log contains the
// earlier writes: clients that see an entry of a history request its leaf next.
const logTimeout = 2 * time.Second

// awaitLog waits until the log contains the earlier writes. After the timeout the log answers with
// what it has.
func (a *Routes) awaitLog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	a.Answers.Log.WaitFor(ctx, a.Answers.Store.Head().Seq) // without it the answer covers fewer leaves
}

// An Anchor is a tree that an outside witness has seen.
type Anchor struct {
	_ struct{} `nullable:"true"`

	AnchoredAt string `json:"anchored_at" doc:"when the witness cosigned"`
	TipHash    string `json:"tip_hash" doc:"root of the tree, in hex"`
	EntryCount int64  `json:"entry_count"`
	Matches    *bool  `json:"matches,omitempty" doc:"the tree of now contains the one that was anchored"`
	Witness    string `json:"witness,omitempty" doc:"who cosigned"`
	Checkpoint string `json:"checkpoint,omitempty" doc:"what was cosigned, with all signatures"`
}

// AnchorAnswer holds the newest anchor.
type AnchorAnswer struct {
	Anchor *Anchor `json:"anchor"`
}

func (a *Routes) getAnchor(context.Context, *struct{}) (*route.Output[AnchorAnswer], error) {
	if a.Answers.Log == nil {
		return nil, answer.ErrNoLog
	}
	return route.JSON(AnchorAnswer{a.newestAnchor()}), nil
}

func (a *Routes) newestAnchor() *Anchor {
	if a.anchored == nil {
		return nil
	}
	return a.anchored()
}

// maxVerified bounds the entries that one request checks.
const maxVerified = 1000

type verifyInput struct {
	From   int `query:"from" minimum:"0" doc:"the entry after which to begin; by default the last 256 entries are returned"`
	To     int `query:"to" minimum:"0" doc:"the last entry to check; the newest when left out. At most 1,000 are checked at once"`
	client netip.Addr
}

// Resolve records the client (huma.Resolver).
func (in *verifyInput) Resolve(ctx huma.Context) []error {
	in.client = route.ClientAddress(humagin.Unwrap(ctx))
	return nil
}

// LogCheck says whether entries of the log agree with its signed tree.
type LogCheck struct {
	Valid          bool    `json:"valid"`
	FirstBrokenID  *int64  `json:"first_broken_id" doc:"from 1; null for none"`
	EntriesChecked int64   `json:"entries_checked"`
	Count          int64   `json:"count" doc:"entries of the tree that was checked against"`
	TipHash        string  `json:"tip_hash" doc:"its root, in hex"`
	LiveTipHash    string  `json:"live_tip_hash" doc:"the root of the newest signed tree"`
	LiveCount      int64   `json:"live_count"`
	LastAnchor     *Anchor `json:"last_anchor"`
}

func (a *Routes) verifyLog(ctx context.Context, in *verifyInput) (*route.Output[LogCheck], error) {
	log := a.Answers.Log
	if log == nil {
		return nil, answer.ErrNoLog
	}
	if err := route.AdmitClient(ctx, a.logChecks, in.client, "checks of the log"); err != nil {
		return nil, err
	}
	release, err := route.AcquireSlot(ctx, a.logCheckSlots, in.client, "checks of the log run already")
	if err != nil {
		return nil, err
	}
	defer release()
	head := log.Head()
	query := route.Query(ctx)
	from, to := max(head.N-256, 0), head.N
	if query.Has("to") {
		to = min(int64(in.To), head.N)
		from = max(to-256, 0)
	}
	if query.Has("from") {
		from = min(int64(in.From), to)
	}
	to = min(to, from+maxVerified)
	v := LogCheck{Valid: true, Count: head.N, TipHash: hex.EncodeToString(head.Hash[:])}
	v.EntriesChecked, err = log.CheckLeaves(ctx, from, to, head.N)
	if _, damaged := errors.AsType[*tiles.DamagedError](err); damaged {
		broken := from + v.EntriesChecked + 1
		v.Valid, v.FirstBrokenID = false, &broken
	} else if err != nil {
		return nil, err
	}
	live := log.Head()
	v.LiveTipHash, v.LiveCount, v.LastAnchor = hex.EncodeToString(live.Hash[:]), live.N, a.newestAnchor()
	return route.JSON(v), nil
}

// SigningState says whether the log signs.
type SigningState struct {
	Origin string `json:"origin" doc:"the name of the log"`
	Leaves int64  `json:"leaves"`
	Signs  bool   `json:"signs"`
}

// resumeSigning lets the log sign again after it was halted.
func (a *Routes) resumeSigning(ctx context.Context, _ *struct{}) (*route.Output[SigningState], error) {
	log := a.Answers.Log
	if log == nil || a.resume == nil {
		return nil, answer.ErrNoLog
	}
	if err := a.resume(ctx); err != nil {
		return nil, route.ResumeProblem(err)
	}
	s := log.Status()
	return route.JSON(SigningState{Origin: s.Origin, Leaves: s.Leaves, Signs: s.Signs()}), nil
}

// Logged is the transparency log's statement about a change.
type Logged struct {
	Promise   string        `json:"promise" doc:"a signed note: the log with this origin will include the leaf with this hash by this time"`
	Inclusion *LogInclusion `json:"inclusion,omitempty" doc:"the leaf, and the proof that it is in the signed tree; absent if this took longer than ?wait="`
}

// firstEntry is the number of the registration in the history of an agent.
const firstEntry = 1

// logRegistration requests the log's promise to include the registration of an agent, and waits for
// the proof. It returns nil if there is no log, and while the log signs nothing.
func (a *Routes) logRegistration(ctx context.Context, airID string, wait time.Duration) (*Logged, error) {
	log := a.Answers.Log
	if log == nil {
		return nil, nil
	}
	record, err := a.Answers.Store.Get(ctx, store.EntryKey(airID, firstEntry))
	if err != nil {
		return nil, err
	}
	promise, err := log.Promise(record)
	if errors.Is(err, audit.ErrHalted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	logged := &Logged{Promise: string(promise)}
	if wait == 0 {
		return logged, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := log.WaitFor(ctx, record.Seq); err != nil {
		return logged, nil // the promise covers it
	}
	if logged.Inclusion, err = proveNewest(ctx, log, record.Key); err != nil {
		return logged, err
	}
	return logged, nil
}

// proveNewest returns the newest leaf of a record with the proof that the newest tree contains it.
func proveNewest(ctx context.Context, log *audit.Log, key string) (*LogInclusion, error) {
	signed, err := log.Checkpoint()
	if err != nil {
		return nil, err
	}
	verifier, err := checkpoint.NewVerifier(log.Key())
	if err != nil {
		return nil, err
	}
	head, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		return nil, err
	}
	e, err := log.Newest(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := log.Prove(ctx, e.Index, head.N)
	if err != nil {
		return nil, err
	}
	inclusion := &LogInclusion{
		Entry: LogEntry{Index: e.Index, Key: e.Key, LeafHash: e.Hash.String(), Erased: e.Erased, Deleted: e.Deleted, Leaf: string(e.Leaf)},
		Size:  head.N, Hashes: []string{}, Checkpoint: string(signed),
	}
	for _, h := range p.Hashes {
		inclusion.Hashes = append(inclusion.Hashes, h.String())
	}
	return inclusion, nil
}
