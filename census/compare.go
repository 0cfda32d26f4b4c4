package census

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/store"
)

// compareVersions compares the versions of the last 30 days with those before them.
func (w *walker) compareVersions(ctx context.Context, h *Facts) {
	for i := range h.Versions {
		if v := &h.Versions[i]; !v.First && v.Seen.After(w.compareSince) {
			v.Severity = w.compareVersion(ctx, &h.Versions[i-1], v)
		}
	}
}

// compareVersion returns what the change from one version to the next means to callers.
func (w *walker) compareVersion(ctx context.Context, before, after *Version) string {
	a, errA := w.readBlob(ctx, before.Digest)
	b, errB := w.readBlob(ctx, after.Digest)
	if errA != nil || errB != nil || a == nil || b == nil {
		return notCompared
	}
	kind := document.Kind(after.Kind)
	result, err := diff.Compare(diff.Input{Kind: kind, URL: before.url, Bytes: a}, diff.Input{Kind: kind, URL: after.url, Bytes: b})
	if err != nil {
		return notCompared
	}
	return result.Severity.String()
}

// compareTime is how long Live compares versions at a time. It does so once a second, so the pages and
// the crawl have the rest.
const compareTime = 20 * time.Millisecond

// comparePending compares new versions of hosts with those before them until a time, and reports
// whether all are compared, also those that another call began with.
func (l *Live) comparePending(ctx context.Context, until time.Time) (done bool) {
	select {
	case l.comparing <- struct{}{}:
		defer func() { <-l.comparing }()
	case <-ctx.Done():
		return false
	}
	w := walker{store: l.o.Store}
	for ctx.Err() == nil {
		host, versions := l.nextUncompared()
		if host == "" {
			return true
		}
		if len(versions) > 0 {
			compared := w.compareStored(ctx, host, versions)
			if ctx.Err() != nil { // what was interrupted says nothing, and would stay as "not compared"
				l.postponeComparison(host)
				return false
			}
			l.setSeverities(host, compared)
		}
		if time.Now().After(until) {
			break
		}
	}
	return false
}

// nextUncompared takes the next host off the list of those with versions to compare, and returns
// copies of its versions that are not compared yet, each with the one before it; no host if none is
// left.
func (l *Live) nextUncompared() (host string, pairs [][2]liveVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := EndOfDay(l.o.Now()).Add(-changeWindow)
	for id := range l.uncompared {
		delete(l.uncompared, id)
		h := l.rows[id]
		for i, v := range h.Versions {
			if i > 0 && h.Versions[i-1].Kind == v.Kind && v.Severity == "" && v.Seen.After(since) {
				pairs = append(pairs, [2]liveVersion{h.Versions[i-1], v})
			}
		}
		return h.Host, pairs
	}
	return "", nil
}

// postponeComparison puts a host back that [Live.nextUncompared] took.
func (l *Live) postponeComparison(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, known := l.ids[host]; known {
		l.uncompared[id] = true
	}
}

// compareStored returns the newer version of each pair with the severity of its change.
func (w *walker) compareStored(ctx context.Context, host string, pairs [][2]liveVersion) []liveVersion {
	compared := make([]liveVersion, len(pairs))
	for i, p := range pairs {
		compared[i] = p[1]
		before, errA := w.findVersion(ctx, host, p[0])
		after, errB := w.findVersion(ctx, host, p[1])
		if compared[i].Severity = notCompared; errA == nil && errB == nil {
			compared[i].Severity = w.compareVersion(ctx, before, after)
		}
	}
	return compared
}

// findVersion reads the record of a version.
func (w *walker) findVersion(ctx context.Context, host string, v liveVersion) (*Version, error) {
	prefix := store.VersionsOf(host, v.Kind) + v.Seen.UTC().Format(keyTime) + "-"
	for r, err := range w.store.List(ctx, prefix+v.Digest, "") {
		if err != nil {
			return nil, err
		}
		var record versionRecord
		if err := decodeRecord(r.Value, &record); err != nil {
			return nil, err
		}
		return &Version{Kind: v.Kind, Seen: v.Seen, Digest: strings.TrimPrefix(r.Key, prefix), url: record.URL}, nil
	}
	return nil, fmt.Errorf("the version %s is gone", prefix)
}

// setSeverities sets the severities of versions that still exist: the store may be read again
// meanwhile.
func (l *Live) setSeverities(host string, compared []liveVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, known := l.ids[host]
	if !known {
		return
	}
	l.changed = true
	h := l.rows[id]
	for _, v := range compared {
		if i, found := slices.BinarySearchFunc(h.Versions, v, orderVersions); found {
			h.Versions[i].Severity = v.Severity
		}
	}
}
