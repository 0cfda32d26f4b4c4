//go:build race

package api_test

// raceDetector says that the tests run with the race detector, which ends a
// process with more than 8,128 goroutines.
const raceDetector = true
