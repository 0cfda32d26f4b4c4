package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// Document returns the bytes that host sent as its document of that kind: the current ones if
// digest is "", otherwise those of the stored version with that digest. It finds only versions of
// this host and kind. Bytes that no longer match their digest are not returned: the error is
// [ErrDamaged] then, and [ErrNoDocument] if there is no such document.
func (a *Answers) Document(ctx context.Context, host string, kind document.Kind, digest string) (RawDocument, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return RawDocument{}, err
	}
	if err := a.checkShown(ctx, host); err != nil {
		return RawDocument{}, err
	}
	raw, err := a.currentDocument(ctx, host, kind)
	if err != nil {
		return RawDocument{}, err
	}
	if digest == "" && raw.Digest == "" {
		return RawDocument{}, fmt.Errorf("%w: %s has no current %s", ErrNoDocument, host, kind)
	}
	if digest != "" && digest != raw.Digest {
		if raw, err = a.findVersion(ctx, host, kind, digest); err != nil {
			return RawDocument{}, err
		}
	}
	blob, err := a.Store.Get(ctx, store.BlobKey(raw.Digest))
	if err != nil {
		return RawDocument{}, fmt.Errorf("read the bytes of %s of %s: %w", kind, host, asDamage(err))
	}
	if sum := sha256.Sum256(blob.Value); raw.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		return RawDocument{}, fmt.Errorf("%w: %s of %s is filed under %s", ErrDamaged, kind, host, raw.Digest)
	}
	raw.Bytes = blob.Value
	return raw, nil
}

// asDamage turns "not found" into damage: the store must have the bytes that a document names.
func asDamage(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: they are gone", ErrDamaged)
	}
	return err
}

// currentDocument describes the current document, the zero value if there is none.
func (a *Answers) currentDocument(ctx context.Context, host string, kind document.Kind) (RawDocument, error) {
	record, err := a.Store.Get(ctx, store.DocumentKey(host, string(kind)))
	if errors.Is(err, store.ErrNotFound) {
		return RawDocument{}, nil
	}
	if err != nil {
		return RawDocument{}, fmt.Errorf("read %s of %s: %w", kind, host, err)
	}
	d, err := decodeRecord[document.Document](record)
	if err != nil {
		return RawDocument{}, err
	}
	return RawDocument{Kind: kind, Host: host, Digest: d.Digest, MediaType: d.MediaType, URL: d.URL, Seen: d.ChangedAt}, nil
}

// findVersion describes the stored version with that digest.
func (a *Answers) findVersion(ctx context.Context, host string, kind document.Kind, digest string) (RawDocument, error) {
	for record, err := range a.Store.List(ctx, store.VersionsOf(host, string(kind)), "") {
		if err != nil {
			return RawDocument{}, fmt.Errorf("list the versions of %s of %s: %w", kind, host, err)
		}
		v, err := decodeRecord[Version](record)
		if err != nil {
			return RawDocument{}, err
		}
		if v.Digest == digest {
			return RawDocument{Kind: kind, Host: host, Digest: digest, URL: v.URL, Seen: v.Seen}, nil
		}
	}
	return RawDocument{}, fmt.Errorf("%w: %s of %s never was %s", ErrNoDocument, kind, host, digest)
}

// ListVersions lists the stored versions of a host's document, and [ErrNoDocument]
// when there never was one.
func (a *Answers) ListVersions(ctx context.Context, host string, kind document.Kind) (string, []Version, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return "", nil, err
	}
	if err := a.checkShown(ctx, host); err != nil {
		return "", nil, err
	}
	versions, err := a.Versions(ctx, host, kind)
	if err != nil {
		return "", nil, err
	}
	if len(versions) == 0 {
		return "", nil, fmt.Errorf("%w: %s never had %s", ErrNoDocument, host, kind)
	}
	return host, versions, nil
}
