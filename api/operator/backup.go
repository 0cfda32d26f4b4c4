package operator

import (
	"context"
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

type backupInput struct {
	Dir string `query:"dir" required:"true" doc:"an absolute path on the machine of the server, of a directory that does not exist"`
}

// Resolve lifts the time limits of the connection (huma.Resolver).
func (in *backupInput) Resolve(ctx huma.Context) []error {
	route.LiftTimeLimits(ctx)
	return nil
}

func (a *Operator) writeBackup(ctx context.Context, in *backupInput) (*route.Output[BackupResult], error) {
	if a.options.Backup == nil {
		return nil, route.NewProblem(route.Unavailable, "this process writes no backups", "ask the server of the data directory")
	}
	if !filepath.IsAbs(in.Dir) {
		return nil, route.NewProblem(route.BadParameter, "dir is not an absolute path", "give the whole path of a directory that does not exist").WithLocation(route.Location{Parameter: "dir"})
	}
	result, err := a.options.Backup(ctx, filepath.Clean(in.Dir))
	if err != nil {
		return nil, route.NewProblem(route.Unavailable, "the backup was not written: "+err.Error(), "nothing is left of it; repair the cause and try again")
	}
	return route.JSON(result), nil
}
