// Package plan answers: what is to be done?
//
// A Plan says which messages are offered when, with which delays, and who takes
// them: it is the same for every implementation, language and host. A Role is the
// share of one part of a run. Everything here is arithmetic: nothing is started,
// and two parts that hold the same plan agree on every message without a word.
package plan
