package web

import (
	"context"
	"time"

	"gazetteer/api/answer"
)

// figuresCache keeps the last count, because counting reads every host.
type figuresCache struct {
	turn  chan struct{} // of one place; who stands in it may touch the following
	kept  answer.Figures
	until time.Time
}

// countEvery is how old the figures of the front page may be.
const countEvery = 5 * time.Second

// currentFigures returns the figures, counted anew when they are too old. A count that
// takes long is kept for longer: at most a twentieth of the time is spent on it.
func (p *Pages) currentFigures(ctx context.Context) (answer.Figures, error) {
	f := &p.figures
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return answer.Figures{}, ctx.Err()
	}
	defer func() { <-f.turn }()
	began := p.Now()
	if began.Before(f.until) {
		return f.kept, nil
	}
	counted, err := p.answers.Figures(ctx)
	if err != nil {
		return answer.Figures{}, err
	}
	took := p.Now().Sub(began)
	f.kept, f.until = counted, began.Add(max(countEvery, 20*took))
	return counted, nil
}
