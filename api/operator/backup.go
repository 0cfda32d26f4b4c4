package operator

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
)

// BackupResult says what a backup holds.
type BackupResult struct {
	Dir    string `json:"dir"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes" doc:"of all files together"`
	Seq    uint64 `json:"seq" doc:"the newest write that the store of the backup has"`
	Leaves int64  `json:"leaves" doc:"of the transparency log of the backup; what is missing grows again from the store"`
	// Undeclared is set while the log cannot sign.
	Undeclared int64   `json:"undeclared,omitempty" doc:"erased leaves of that log that no leaf declares yet"`
	TookMS     float64 `json:"took_ms"`
}

// BackupLine is one line of the answer to a backup: the part that is copied next, the result, or the
// error.
type BackupLine struct {
	Part   string        `json:"part,omitempty" doc:"what is copied next"`
	Result *BackupResult `json:"result,omitempty" doc:"the last line of a backup that was written"`
	Error  string        `json:"error,omitempty" doc:"the last line of one that was not; nothing is left of it"`
}

type backupInput struct {
	Dir string `query:"dir" required:"true" doc:"an absolute path on the machine of the server, of a directory that does not exist"`
}

func (a *Operator) backupRoute(h huma.API) {
	op := route.Respond(route.Op("backup"), "200", "One line of JSON for each part, the result or the error last. A connection that is cut before its end did not finish.",
		"application/x-ndjson", route.SchemaOf[BackupLine](h))
	route.Handle(a.Mux, h, op, a.writeBackup)
}

func (a *Operator) writeBackup(_ context.Context, in *backupInput) (*route.StreamOutput, error) {
	if a.options.Backup == nil {
		return nil, route.NewProblem(route.Unavailable, "this process writes no backups", "ask the server of the data directory")
	}
	if !filepath.IsAbs(in.Dir) {
		return nil, route.NewProblem(route.BadParameter, "dir is not an absolute path", "give the whole path of a directory that does not exist").WithLocation(route.Location{Parameter: "dir"})
	}
	dir := filepath.Clean(in.Dir)
	return &route.StreamOutput{Body: func(ctx huma.Context) { a.streamBackup(ctx, dir) }}, nil
}

// streamBackup writes a backup and names each part before it is copied. It ends when nobody reads any
// more.
func (a *Operator) streamBackup(ctx huma.Context, dir string) {
	c := route.BeginLines(ctx)
	working, cancel := context.WithCancel(ctx.Context())
	defer cancel()
	encoder := json.NewEncoder(c.Writer)
	send := func(l BackupLine) {
		if encoder.Encode(l) != nil {
			cancel()
		}
		c.Writer.Flush()
	}
	result, err := a.options.Backup(working, dir, func(part string) { send(BackupLine{Part: part}) })
	if err != nil {
		send(BackupLine{Error: err.Error()})
		return
	}
	send(BackupLine{Result: &result})
}
