// Package conformance answers: does an implementation behave as Redisson?
//
//	scenarios/conformance/*.yaml        recordings.Redisson()
//	          │ Load                                  │ LoadOracle
//	          ▼                                       │
//	        Case ──steps──► driver.Program            │
//	          │              dq in process,           │
//	          │              redisson:<version>,      │
//	          │              exec:<your port>         │
//	          │                   │ commands          │
//	          │                   ▼                   │
//	          │   set-up ────►  Redis ──MONITOR──► lines of the case
//	          │                   │                   │
//	          │ replies           │ keys              ▼ trace.Normalise, trace.Compare
//	          └────────┬──────────┴───────────────────┘
//	                   ▼
//	                Result  pass | fail | skip | failed-as-expected | error
//
// A server that was started for the run is emptied before each case. On any other one only the keys of the case before
// are deleted, and the run stops when there is a sign of somebody else: see package guest.
//
// A case begins with an empty server and the mark ECHO case:<id>; it ends when the last connection of the program is
// gone. Everything in between is its recording, set-up commands of the case included, which makes a recording complete:
// it can be replayed. Only what the harness polls with is left out.
//
// Three things are judged: what the calls answer, what is in the database at the end, all of it, and every command that
// the server saw, against the recording of the real Redisson of that release. The first two are written in the case;
// the third is never written by hand.
//
// An error is no verdict: the server died, the program crashed, there is nothing to compare with. A known failure that
// passes is a failure, so that the list of known ones stays true.
package conformance
