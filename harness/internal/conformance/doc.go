// Package conformance answers: does an implementation behave as Redisson?
//
//	case ──steps──► program under test ──commands──► Redis ──MONITOR──► lines
//	                        │ replies                  │ keys             │ rules, trace.Compare with the recording
//	                        └──────────────► Result ◄──┴──────────────────┘
//
// A case begins with an empty server and the mark ECHO case:<id>, and ends when the program's last connection is gone. All
// commands in between are its recording, the set-up of the case included; only the harness's polls are left out.
package conformance
