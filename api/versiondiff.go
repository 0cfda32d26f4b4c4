package api

import (
	"context"
	"time"

	"gazetteer/api/route"
	"gazetteer/document"
	"gazetteer/document/diff"
)

type versionDiffInput struct {
	Host string     `path:"host" doc:"the name of a host, such as www.example.com"`
	Kind storedKind `path:"kind" doc:"the format of the document"`
	From string     `query:"from" pattern:"^sha256:[0-9a-f]{64}$" doc:"the digest of the earlier version, sha256: and 64 lowercase hex digits; left out, it is the one stored before the later version"`
	To   string     `query:"to" pattern:"^sha256:[0-9a-f]{64}$" doc:"the digest of the later version, in the same form; left out, it is the current one"`
}

// VersionDiff is the difference between two stored versions of a document.
type VersionDiff struct {
	Host     string          `json:"host"`
	Kind     document.Kind   `json:"kind"`
	From     ComparedVersion `json:"from"`
	To       ComparedVersion `json:"to"`
	Severity string          `json:"severity" enum:"none,low,medium,high" doc:"the worst of the changes"`
	Changes  []VersionChange `json:"changes" doc:"the gravest first"`
	Invalid  []string        `json:"invalid,omitempty" enum:"a,b" doc:"the versions that break a rule of their draft: a is the earlier one, b the later one"`
}

// ComparedVersion names one of the two versions.
type ComparedVersion struct {
	Digest string    `json:"digest"`
	Seen   time.Time `json:"seen" doc:"when this version was first fetched"`
}

// VersionChange is one change.
type VersionChange struct {
	Kind      diff.Kind `json:"kind" doc:"what changed, such as endpoint-host-changed"`
	Severity  string    `json:"severity" enum:"low,medium,high"`
	Operation *string   `json:"operation" doc:"the id of the operation, or METHOD /path; null for the service"`
	Path      string    `json:"path" doc:"JSON Pointer in the earlier version; for additions, in the later one"`
	From      *string   `json:"from" doc:"the value before, null if there was none"`
	To        *string   `json:"to" doc:"the value after, null if there is none"`
	Help      string    `json:"help" doc:"what callers should do"`
}

func (a *API) compareVersions(ctx context.Context, in *versionDiffInput) (*route.Output[VersionDiff], error) {
	d, err := a.Answers.CompareVersions(ctx, in.Host, document.Kind(in.Kind), in.From, in.To)
	if err != nil {
		return nil, err
	}
	view := VersionDiff{
		Host: d.Host, Kind: d.Kind, Severity: d.Severity.String(), Changes: []VersionChange{}, Invalid: d.Invalid,
		From: ComparedVersion{d.From.Digest, d.From.Seen}, To: ComparedVersion{d.To.Digest, d.To.Seen},
	}
	for _, c := range d.Changes {
		view.Changes = append(view.Changes, VersionChange{
			Kind: c.Kind, Severity: c.Severity.String(), Operation: c.Operation, Path: c.Path, From: c.From, To: c.To, Help: c.Help,
		})
	}
	return route.JSON(view), nil
}
