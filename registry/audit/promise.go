package audit

import (
	"fmt"
	"time"

	"gazetteer/registry/audit/proof"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/tlog"
)

// promiseDelay is the time within which the log must include a promised leaf. A full disk or an
// unreachable lock may last for hours.
const promiseDelay = 24 * time.Hour

// Promise returns a signed promise that the log will include a record of the store. The error
// matches [ErrHalted] while the log is halted.
func (l *Log) Promise(r store.Record) ([]byte, error) {
	if _, halted := l.Halted(); halted {
		return nil, ErrHalted
	}
	if !l.isLeaf(r.Key) || r.Deleted {
		return nil, fmt.Errorf("promise inclusion: the record %s becomes no leaf", r.Key)
	}
	issued := l.now().UTC().Truncate(time.Second)
	p := proof.Promise{Origin: l.key.Name(), Key: r.Key, Leaf: tlog.RecordHash(l.salter.RecordLeaf(r)),
		Issued: issued, By: issued.Add(promiseDelay)}
	signed, err := l.key.SignText(p.Text())
	if err != nil {
		return nil, fmt.Errorf("promise inclusion: %w", err)
	}
	return signed, nil
}
