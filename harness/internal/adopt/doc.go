// Package adopt answers: what does a Redisson do that the catalogue does not know?
//
//	conformance.Plan ──► report: every case, and what the server saw of it
//	                        │              recordings of the nearest release
//	                        ▼                       │
//	                     Compare ◄──────────────────┘
//	                        │
//	                        ▼
//	                    Adoption  cases | scripts | rules ──► page, text and HTML
//	                        │
//	                        ▼ Checkout.Write
//	          dq/wire/releases.txt, dq/wire/scripts, recordings/redisson/<release>,
//	          harness/matrix/releases.txt
//	                        │
//	                        ▼ Checkout.Column: a program built from that
//	          recordings/MATRIX.md
//
// Nothing is decided by similarity: a case is the same where trace.Compare finds nothing, a
// script where its text has the same SHA-1. Only which known text a new one is shown beside,
// and the name that is proposed for it, come from likeness; people review both.
package adopt
