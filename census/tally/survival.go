package tally

import "time"

// SurvivalPoint is the share of hosts that still publish that many days after they began.
type SurvivalPoint struct {
	Days  int     `json:"days"`
	Share float64 `json:"share"`
	// AtRisk is how many hosts were observed for so long.
	AtRisk int `json:"at_risk"`
}

// SurvivalDays are the ages, in days, for which the survival is computed.
var SurvivalDays = []int{0, 1, 7, 14, 30, 60, 90, 120, 180, 270, 365, 545, 730, 1095, 1825}

// maxDays bounds how long a host is observed.
const maxDays = 4000

// Lifetimes counts for how many days hosts have published.
type Lifetimes struct {
	ended, going []int // by day
}

// Add counts a host that published for some time, and still does or not. It returns the number of
// whole days.
func (l *Lifetimes) Add(lifetime time.Duration, going bool) int {
	list := &l.ended
	if going {
		list = &l.going
	}
	days := min(max(int(lifetime/(24*time.Hour)), 0), maxDays)
	if len(*list) <= days {
		*list = append(*list, make([]int, days+1-len(*list))...)
	}
	(*list)[days]++
	return days
}

// EstimateSurvival returns the estimate of Kaplan and Meier: hosts that still publish count for as
// long as they have been observed.
func (l *Lifetimes) EstimateSurvival() []SurvivalPoint {
	atRisk := 0
	for _, n := range l.ended {
		atRisk += n
	}
	for _, n := range l.going {
		atRisk += n
	}
	if atRisk == 0 {
		return nil
	}
	var points []SurvivalPoint
	share, next := 1.0, 0
	for day := 0; next < len(SurvivalDays) && atRisk > 0; day++ {
		if day == SurvivalDays[next] {
			points = append(points, SurvivalPoint{day, share, atRisk})
			next++
		}
		if day < len(l.ended) && l.ended[day] > 0 {
			share *= 1 - float64(l.ended[day])/float64(atRisk)
			atRisk -= l.ended[day]
		}
		if day < len(l.going) {
			atRisk -= l.going[day]
		}
	}
	return points
}
