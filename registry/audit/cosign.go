package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Cosign asks a witness to cosign the newest checkpoint, with a proof that its tree contains the
// tree that the witness cosigned before (C2SP tlog-witness). The cosignature is then part of
// [Log.Checkpoint] until the log signs the next one. prefix is the witness's submission URL. The
// client decides which addresses are allowed and how long an answer may take.
//
// A *ForkError means that the witness has cosigned a tree that this log does not contain, and has shown
// its checkpoint, which the key of this log has signed: an older copy of all files was restored. A witness
// that only claims it gets another error, because anybody can claim it. A witness whose tree is newer than the one that was read, but not
// newer than what this log has submitted itself, is asked again about the newest checkpoint.
func (l *Log) Cosign(ctx context.Context, client *http.Client, prefix string, witness note.Verifier) error {
	for try := 1; ; try++ {
		head, signed, err := l.newestHead()
		if err != nil {
			return err
		}
		err = l.cosignHead(ctx, client, prefix, witness, head, signed)
		if claim, ok := errors.AsType[*ForkError](err); ok {
			return l.checkClaim(ctx, client, prefix, witness, claim)
		}
		if !errors.Is(err, errOvertaken) || l.Head().N == head.N || try == cosignTries {
			return err
		}
	}
}

// cosignTries limits the requests to a witness that is always ahead of the newest checkpoint.
const cosignTries = 3

// errOvertaken means that a witness has cosigned a newer tree of this log than the submitted one.
var errOvertaken = errors.New("it has cosigned a newer checkpoint of this log meanwhile")

// cosignHead asks a witness to cosign a checkpoint.
func (l *Log) cosignHead(ctx context.Context, client *http.Client, prefix string, witness note.Verifier, head checkpoint.Checkpoint, signed []byte) error {
	address := strings.TrimSuffix(prefix, "/") + "/add-checkpoint"
	l.mu.Lock()
	older := l.witnessed[witness.Name()]
	l.mu.Unlock()
	prove := func(older int64) (tlog.TreeProof, error) { return l.proveConsistency(ctx, older, head.N) }
	line, size, err := submitCheckpoint(ctx, client, address, min(older, head.N), head, signed, prove)
	switch {
	case err == nil && line == nil && size > head.N && size <= l.submittedSize():
		err = errOvertaken
	case err == nil && line == nil: // the witness has another size than expected, and has returned it
		line, size, err = submitCheckpoint(ctx, client, address, size, head, signed, prove)
	}
	if err == nil && line == nil {
		err = fmt.Errorf("its last checkpoint has %d leaves, and changes while we ask", size)
	}
	if err != nil {
		return fmt.Errorf("ask the witness %s: %w", witness.Name(), err)
	}
	return l.addCosignature(head, line, witness)
}

// submittedSize returns the size of the largest tree that this log has signed or submitted to its
// lock, or with which the lock lets it continue. A witness that claims a larger tree contradicts it.
func (l *Log) submittedSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.last.N, l.lockSize, l.lockSubmitted)
}

// witnessTransport is shared by all clients, so that they share its connections.
var witnessTransport = sync.OnceValue(fetch.DefaultHTTP1)

// newWitnessClient returns a client for requests to witnesses. It follows no redirect: a witness that
// lies could send our request to an address that only this machine reaches, such as the operator's
// listener.
func newWitnessClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: witnessTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A prover proves that a tree contains an older one of the given size.
type prover func(older int64) (tlog.TreeProof, error)

// submitCheckpoint sends one request. It returns the signature lines, or the size of the witness's
// tree if it differs from older.
func submitCheckpoint(ctx context.Context, client *http.Client, address string, older int64, head checkpoint.Checkpoint, signed []byte, prove prover) (lines []byte, size int64, err error) {
	if older > head.N {
		return nil, 0, &ForkError{cause: CauseWitness, Problem: fmt.Sprintf("a witness has cosigned a tree of %d leaves, and this one has %d: an older copy of the log was put back", older, head.N),
			Remedy: remedyRestore + ", or " + remedyAnew}
	}
	proof, err := prove(older)
	if err != nil {
		return nil, 0, err
	}
	body := fmt.Appendf(nil, "old %d\n", older)
	for _, h := range proof {
		body = fmt.Appendf(body, "%s\n", h)
	}
	body = append(append(body, '\n'), signed...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	// A witness may close an idle connection while the request is on its way. The same request may come
	// twice: net/http sends it again if this header is there, which it does not send when it is empty.
	request.Header["Idempotency-Key"] = []string{}
	answer, err := client.Do(request)
	if err != nil {
		return nil, 0, describeUnanswered(address, err)
	}
	defer answer.Body.Close()
	text, err := limit.ReadAll(answer.Body, checkpoint.MaxSize)
	if err != nil {
		return nil, 0, fmt.Errorf("read the answer: %w", err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return text, 0, nil
	case http.StatusConflict:
		size, err := checkpoint.ParseNumber(strings.TrimSuffix(string(text), "\n"))
		if err == nil && size == older && older == 0 {
			err = errors.New("it refuses the proof from the empty tree, and claims to have cosigned no other")
		} else if err == nil && size == older {
			err = &ForkError{cause: CauseWitness, Problem: fmt.Sprintf("a witness has cosigned another tree of %d leaves: an older copy of the log was put back and written to", size),
				Remedy: remedyRestore + ", or " + remedyAnew}
		}
		return nil, size, err
	case http.StatusUnprocessableEntity:
		// We check our proofs before we send them, so the witness has another tree.
		return nil, 0, &ForkError{cause: CauseWitness, Problem: fmt.Sprintf("a witness has cosigned another tree of %d leaves than the first %d of this log: %s", older, older, protocol.ClipBytes(string(text), 4*checkpoint.MaxQuoted)),
			Remedy: remedyRestore + ", or " + remedyAnew}
	}
	return nil, 0, fmt.Errorf("the answer is %s: %s", answer.Status, protocol.ClipBytes(describeRefusal(text), 4*checkpoint.MaxQuoted))
}

// describeRefusal returns the sentence in the body of a refusal: the detail and the help of a problem
// document (RFC 9457), as another Gazetteer server sends it, or else the body.
func describeRefusal(body []byte) string {
	var problem struct{ Detail, Help string }
	if json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
		return string(body)
	}
	if problem.Help == "" {
		return problem.Detail
	}
	return problem.Detail + " (" + problem.Help + ")"
}

// describeUnanswered says which address did not answer, and why in the words of the system alone.
func describeUnanswered(address string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s does not answer: %w", address, err)
}

// addCosignature adds a cosignature to the published checkpoint if it is still the newest one.
func (l *Log) addCosignature(head checkpoint.Checkpoint, lines []byte, witness note.Verifier) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != head || l.signed == nil {
		l.noteWitnessed(witness.Name(), head.N)
		return nil
	}
	_, n, err := checkpoint.Open(append(bytes.Clone(l.signed), lines...), witness)
	if err != nil {
		return fmt.Errorf("the witness %s has answered with something else than its signature: %w", witness.Name(), err)
	}
	if len(n.Sigs) == 0 {
		return fmt.Errorf("the witness %s has answered without a signature of its key", witness.Name())
	}
	if at := checkpoint.CosignatureTime(n.Sigs[0]); at.Sub(l.now()).Abs() > maxWitnessClock {
		return fmt.Errorf("the witness %s has cosigned with the time %s: its clock is wrong, or it lies", witness.Name(), at.Format(time.RFC3339))
	}
	l.noteWitnessed(witness.Name(), head.N)
	line := fmt.Appendf(nil, "\u2014 %s %s\n", n.Sigs[0].Name, n.Sigs[0].Base64)
	if !bytes.Contains(l.signed, line) {
		l.signed = append(bytes.Clone(l.signed), line...)
	}
	return nil
}

// maxWitnessClock is how far the clock of a witness can be off. Others would read the time of its
// cosignature as that of the tree.
const maxWitnessClock = 24 * time.Hour

// noteWitnessed records the size that a witness has cosigned. The caller holds l.mu.
func (l *Log) noteWitnessed(name string, size int64) {
	if l.witnessed == nil {
		l.witnessed = map[string]int64{}
	}
	l.witnessed[name] = size
}
