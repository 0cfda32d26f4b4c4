package answer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
)

// ErrOneVersion: a document has no stored version before the requested one.
var ErrOneVersion = errors.New("no version before it is stored")

// VersionDiff is the difference between two stored versions of a document.
type VersionDiff struct {
	Host string
	Kind document.Kind
	From ComparedVersion
	To   ComparedVersion
	diff.Result
}

// ComparedVersion is one of two versions that are compared.
type ComparedVersion struct {
	Digest string
	Seen   time.Time // when it was first fetched
	Bytes  []byte
}

// CompareVersions compares two stored versions of a host's document, each named by its digest. An
// empty to means the current version, an empty from the version before to. The error wraps
// [ErrNoDocument], [ErrOneVersion], [ErrDamaged], or those of [diff.Compare].
func (a *Answers) CompareVersions(ctx context.Context, host string, kind document.Kind, from, to string) (*VersionDiff, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	after, err := a.Document(ctx, host, kind, to)
	if err != nil {
		return nil, err
	}
	if from == "" {
		if from, err = a.digestBefore(ctx, host, kind, after.Digest); err != nil {
			return nil, err
		}
	}
	before, err := a.Document(ctx, host, kind, from)
	if err != nil {
		return nil, err
	}
	result, err := diff.Compare(
		diff.Input{Kind: kind, URL: before.URL, Bytes: before.Bytes},
		diff.Input{Kind: kind, URL: after.URL, Bytes: after.Bytes})
	if err != nil {
		return nil, fmt.Errorf("compare two versions of %s of %s: %w", kind, host, err)
	}
	return &VersionDiff{
		Host: host, Kind: kind, Result: *result,
		From: ComparedVersion{before.Digest, before.Seen, before.Bytes},
		To:   ComparedVersion{after.Digest, after.Seen, after.Bytes},
	}, nil
}

// digestBefore returns the digest of the version that was stored before another one.
func (a *Answers) digestBefore(ctx context.Context, host string, kind document.Kind, digest string) (string, error) {
	versions, err := a.Versions(ctx, host, kind) // newest first
	if err != nil {
		return "", err
	}
	for i, v := range versions {
		if v.Digest == digest && i+1 < len(versions) {
			return versions[i+1].Digest, nil
		}
	}
	return "", fmt.Errorf("%s of %s, %s: %w", kind, host, digest, ErrOneVersion)
}
