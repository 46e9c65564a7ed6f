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
// A case begins with an empty server and the mark ECHO case:<id>, and ends when the program's last connection is gone. All
// commands in between are its recording, the set-up of the case included, so that the recording can be replayed; only the
// harness's polls are left out.
//
// A case judges the answers of calls, the whole database at the end, and every command that the server saw: by the rules,
// and by the recording of the real Redisson of the release. The answers and the database are written in the case.
package conformance
