package changefeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/protocol"
	"gazetteer/store"
)

// contents is what an item needs of a document: the members of the stored form of
// [document.Document] by the same names.
type contents struct {
	Digest  string `json:"digest"`
	Service struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"service"`
	Operations []struct {
		ID   string `json:"id"`
		Verb string `json:"verb"`
	} `json:"operations"`
}

// describeVersion adds to the item of a version its content and the changes since the version that
// d remembers, and then has d remember this one.
func (p *projection) describeVersion(ctx context.Context, item *Item, v crawler.Version, d *documentState) (titleTexts, error) {
	var texts titleTexts
	now, err := p.readContents(ctx, item.Host, v)
	if err != nil {
		return texts, err
	}
	texts.name, texts.operations = now.Service.Name, len(now.Operations)
	item.Namespace = cleanText(now.Service.Namespace, maxText)
	item.Severity = newSeverities[item.Kind]
	broken, before, old := brokenRules(v.Findings), d.Digest, d.Rules
	d.Digest, d.Gone, d.Rules = v.Digest, false, broken
	if before == "" || before == v.Digest {
		item.RulesBroken = broken[:min(len(broken), maxRules)]
		item.Verbs = now.verbsOf(nil)
		return texts, nil
	}
	item.From = before
	if err := p.compareVersions(ctx, item, v, before, now); err != nil {
		return texts, err
	}
	item.RulesBroken = exceptTexts(broken, old, maxRules)
	item.RulesRepaired = exceptTexts(old, broken, maxRules)
	return texts, nil
}

// newSeverities are those of items that compare nothing.
var newSeverities = map[Kind]diff.Severity{
	ServiceAppeared: diff.Low, ServiceReturned: diff.Low, DocumentAdded: diff.Low, DocumentReturned: diff.Low, DocumentChanged: diff.Low,
}

// compareVersions adds what changed since the version before. A version that cannot be compared
// leaves the item without changes.
func (p *projection) compareVersions(ctx context.Context, item *Item, v crawler.Version, before string, now contents) error {
	a, err := p.readBlob(ctx, before)
	if err != nil {
		return err
	}
	b, err := p.readBlob(ctx, v.Digest)
	if err != nil {
		return err
	}
	if a == nil || b == nil {
		item.Verbs = now.verbsOf(nil)
		return nil
	}
	result, err := diff.Compare(diff.Input{Kind: v.Kind, URL: v.URL, Bytes: a}, diff.Input{Kind: v.Kind, URL: v.URL, Bytes: b})
	if err != nil {
		item.Verbs = now.verbsOf(nil)
		return nil
	}
	item.Severity = result.Severity
	if item.Kind == ServiceReturned || item.Kind == DocumentReturned {
		item.Severity = max(item.Severity, diff.Low)
	}
	operations, whole := map[string]bool{}, false
	for n, c := range result.Changes {
		operation := ""
		if c.Operation != nil {
			operation = *c.Operation
			operations[operation] = true
		}
		whole = whole || c.Operation == nil && c.Severity > diff.Low
		if n < maxChanges {
			item.Changes = append(item.Changes, Change{
				Kind: c.Kind, Severity: c.Severity, Operation: cleanText(operation, maxText), From: cleanPointer(c.From), To: cleanPointer(c.To),
			})
		}
	}
	item.MoreChanges = len(result.Changes) - len(item.Changes)
	if whole {
		operations = nil
	}
	item.Verbs = now.verbsOf(operations)
	return nil
}

// verbsOf returns the verbs of the operations with these ids, nil for all operations. An id that
// the document does not have, because its operation was removed, may begin with its verb (AGIS).
func (c contents) verbsOf(ids map[string]bool) []string {
	var verbs []string
	known := map[string]bool{}
	for _, o := range c.Operations {
		known[o.ID] = true
		if ids == nil || ids[o.ID] {
			verbs = append(verbs, cleanVerb(o.Verb))
		}
	}
	for id := range ids {
		if verb, _, ok := strings.Cut(id, " /"); ok && !known[id] {
			verbs = append(verbs, cleanVerb(verb))
		}
	}
	verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == "" })
	return limitTexts(verbs, maxVerbs)
}

func cleanVerb(verb string) string { return cleanText(strings.ToUpper(verb), 60) }

func cleanPointer(text *string) string {
	if text == nil {
		return ""
	}
	return cleanText(*text, maxText)
}

// readContents returns what a version says: from the current document if it is the version, else
// from its bytes. It is empty for bytes that cannot be read.
func (p *projection) readContents(ctx context.Context, host string, v crawler.Version) (contents, error) {
	var c contents
	record, err := p.feed.store.Get(ctx, store.DocumentKey(host, string(v.Kind)))
	switch {
	case err == nil && json.Unmarshal(record.Value, &c) == nil && c.Digest == v.Digest:
		return c, nil
	case err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt):
		return c, fmt.Errorf("read the document %s of %s: %w", v.Kind, host, err)
	}
	c = contents{}
	bytes, err := p.readBlob(ctx, v.Digest)
	if err != nil || bytes == nil {
		return c, err
	}
	d, err := document.Read(document.Input{Kind: v.Kind, Host: host, URL: v.URL, FetchedAt: v.Seen, Bytes: bytes})
	if err != nil {
		return c, nil
	}
	c.Service.Name, c.Service.Namespace = d.Service.Name, d.Service.Namespace
	for _, o := range d.Operations {
		c.Operations = append(c.Operations, struct {
			ID   string `json:"id"`
			Verb string `json:"verb"`
		}{o.ID, o.Verb})
	}
	return c, nil
}

// readBlob returns the bytes of a version, nil when they are gone or damaged.
func (p *projection) readBlob(ctx context.Context, digest string) ([]byte, error) {
	record, err := p.feed.store.Get(ctx, store.BlobKey(digest))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the bytes of a version: %w", err)
	}
	return record.Value, nil
}

// exceptTexts returns the texts that others lack, not more than most.
func exceptTexts(texts, others []string, most int) []string {
	var rest []string
	for _, t := range texts {
		if !slices.Contains(others, t) {
			rest = append(rest, t)
		}
	}
	return rest[:min(len(rest), most)]
}

// cleanText returns an untrusted text on one line, without control characters and characters that
// hide or reorder text, cut to a number of bytes.
func cleanText(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == ' ' || r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case isPlain(r):
			b.WriteRune(r)
		}
	}
	return protocol.ClipBytes(strings.TrimSpace(b.String()), most)
}
