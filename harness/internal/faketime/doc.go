// Package faketime answers: how is a program given a clock that is wrong?
//
// A File says how far the wall clock is ahead of the machine's. A program that is started
// with its Environment has that clock, from each time the File is Set: one in C, or on a JVM,
// by libfaketime, and one of ours, whose Go runtime asks the kernel by itself, by FromEnvironment.
// The monotonic clock stays as it is, by which the harness counts.
package faketime
