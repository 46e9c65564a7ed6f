// Package report answers: what do the numbers say?
//
// It holds the run file and its histograms, judges service-level objectives,
// prints a run for a person, merges the files of several workers and compares
// two sets of runs. It knows nothing of Redis and starts nothing.
package report
