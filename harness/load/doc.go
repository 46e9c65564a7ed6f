// Package load answers: how late, how fast?
//
// Run puts an open-loop load on a delay queue and measures it. Data flows one
// way: a Plan gives a schedule; the pacer wakes each producer at the intended
// instant of its next message; producers offer; consumers take and look at the
// clock; the ledger accounts for every single message; the result is a
// report.Run.
//
// Nothing that is measured waits for anything else that is measured: a slow
// offer delays neither other producers nor the intended instants that follow,
// and its delay shows as schedule lag, never as lateness.
package load
