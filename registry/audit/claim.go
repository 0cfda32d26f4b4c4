package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gazetteer/limit"
	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// The refusals of a witness (C2SP tlog-witness) are not signed. So a witness that contradicts the log has
// to show the checkpoint that it has cosigned: only this log can have signed it.

// checkClaim returns the claim of a witness that contradicts the log if the checkpoint that the witness
// has cosigned last proves it, and otherwise an error that is no *ForkError.
func (l *Log) checkClaim(ctx context.Context, client *http.Client, prefix string, witness note.Verifier, claim *ForkError) error {
	shown, err := l.fetchCosigned(ctx, client, prefix)
	if err == nil {
		err = l.checkShown(ctx, shown)
	}
	if err == nil {
		return fmt.Errorf("ask the witness %s: %w", witness.Name(), claim)
	}
	return fmt.Errorf("the witness %s claims without proof, so that the log continues: %s (%w); compare the log with its witnesses, and remove this one if it is wrong",
		witness.Name(), claim.Problem, err)
}

// checkShown returns nil if a checkpoint, which this log has signed, proves that this tree is another one.
func (l *Log) checkShown(ctx context.Context, shown checkpoint.Checkpoint) error {
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case shown.N > l.submittedSize():
		return nil
	case shown.N > head.N || shown.N == 0:
		return errContained
	}
	root, err := tlog.TreeHash(shown.N, l.hashes)
	if err == nil && root == shown.Hash {
		err = errContained
	}
	return err
}

// errContained means that a witness contradicts the log, and shows a tree that the log contains.
var errContained = errors.New("the checkpoint that it shows is one of this log")

// fetchCosigned returns the checkpoint of this log that a witness has cosigned last.
func (l *Log) fetchCosigned(ctx context.Context, client *http.Client, prefix string) (checkpoint.Checkpoint, error) {
	address := strings.TrimSuffix(prefix, "/") + "/checkpoint?" + url.Values{"origin": {l.key.Name()}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return checkpoint.Checkpoint{}, describeUnanswered(address, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return checkpoint.Checkpoint{}, fmt.Errorf("it shows no checkpoint: %s", answer.Status)
	}
	text, err := limit.ReadAll(answer.Body, checkpoint.MaxSize)
	if err != nil {
		return checkpoint.Checkpoint{}, fmt.Errorf("read its checkpoint: %w", err)
	}
	shown, err := checkpoint.Parse(text, l.key.Verifier())
	if err != nil {
		return checkpoint.Checkpoint{}, fmt.Errorf("the checkpoint that it shows is not signed by this log: %w", err)
	}
	return shown, nil
}
