package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
)

const (
	// cosignInterval is the time between two rounds of requests to the witnesses.
	cosignInterval = time.Hour
	// cosignTimeout bounds the answer of one witness.
	cosignTimeout = 30 * time.Second
)

// A Cosigner is a witness that cosigns a log on request.
type Cosigner struct {
	Key note.Verifier
	URL string // the prefix of its submission URL, without a slash at the end
}

// ParseCosigner reads a witness from its public key and its URL, with a space between.
func ParseCosigner(text string) (Cosigner, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 || !strings.HasPrefix(fields[1], "http://") && !strings.HasPrefix(fields[1], "https://") {
		return Cosigner{}, errors.New("want the public key of a witness and the URL to send checkpoints to: \"PUBLIC-KEY https://registry.example/witness\"")
	}
	if _, err := note.NewVerifier(fields[0]); err == nil {
		return Cosigner{}, errors.New("it is the key of a log; want that of a witness, as the other registry shows it at /witness/key")
	}
	key, err := checkpoint.NewVerifier(fields[0])
	return Cosigner{Key: key, URL: strings.TrimSuffix(fields[1], "/")}, err
}

// An Anchor is a tree that a witness has cosigned.
type Anchor struct {
	Witness    string // the name of its key
	Time       time.Time
	Checkpoint checkpoint.Checkpoint
	Signed     []byte // the checkpoint with its signatures
}

// Cosigners asks witnesses to cosign a log, and remembers the newest cosigned tree. Its methods may
// be called from any goroutine. [NewCosigners] creates one.
type Cosigners struct {
	log  *Log
	list []Cosigner

	mu     sync.Mutex // guards the following fields
	newest *Anchor
	// answers contains the state of each witness, by name.
	answers map[string]WitnessStatus
}

// NewCosigners returns the witnesses of a log. It sends no requests.
func NewCosigners(l *Log, list []Cosigner) *Cosigners {
	return &Cosigners{log: l, list: list, answers: map[string]WitnessStatus{}}
}

// Len returns the number of witnesses.
func (c *Cosigners) Len() int { return len(c.list) }

// Run asks the witnesses every hour until ctx ends, and then returns nil. It passes the error of
// each round to failed and continues.
func (c *Cosigners) Run(ctx context.Context, failed func(error)) error {
	tick := time.NewTicker(cosignInterval)
	defer tick.Stop()
	for {
		if err := c.AskAll(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// AskAll asks all witnesses at the same time to cosign the newest checkpoint, so that a slow one does
// not delay the others. It joins the errors of the witnesses that failed, in the order of the list.
func (c *Cosigners) AskAll(ctx context.Context) error {
	if c.log.Head().N == 0 {
		return nil // no checkpoint exists yet, and no witness has answered
	}
	client := newWitnessClient(cosignTimeout)
	failures := make([]error, len(c.list))
	var asking sync.WaitGroup
	for i, witness := range c.list {
		asking.Go(func() {
			failures[i] = c.askWitness(ctx, client, witness)
			c.noteAnswer(witness.Key.Name(), failures[i])
		})
	}
	asking.Wait()
	all := errors.Join(failures...)
	cosigned := len(slices.DeleteFunc(failures, func(err error) bool { return err != nil }))
	if all == nil || len(c.list) == 1 {
		return all
	}
	return fmt.Errorf("%d of %d witnesses have cosigned, and not: %w", cosigned, len(c.list), all)
}

func (c *Cosigners) askWitness(ctx context.Context, client *http.Client, witness Cosigner) error {
	if err := c.log.Cosign(ctx, client, witness.URL, witness.Key); err != nil {
		return err
	}
	signed, err := c.log.Checkpoint()
	if err != nil {
		return err
	}
	at, err := checkpoint.CheckCosignature(signed, witness.Key)
	if err != nil {
		return nil // the log signed another checkpoint meanwhile: the next round cosigns it
	}
	key, err := checkpoint.NewVerifier(c.log.Key())
	if err != nil {
		return err
	}
	checkpoint, err := checkpoint.Parse(signed, key)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil && c.newest.Checkpoint.N > checkpoint.N {
		return nil // another witness has answered meanwhile
	}
	c.newest = &Anchor{Witness: witness.Key.Name(), Time: at, Checkpoint: checkpoint, Signed: signed}
	return nil
}

// NewestAnchor returns the newest tree that a witness has cosigned since the start, false if there
// is none.
func (c *Cosigners) NewestAnchor() (Anchor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == nil {
		return Anchor{}, false
	}
	return *c.newest, true
}
