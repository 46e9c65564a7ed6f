// Package ops answers: what is wrong with a queue that runs, and how is it repaired?
//
//	Redis ── reads in pipelines ──► Look ── rules ──► findings, each with one next command ──► text, JSON, metrics, page
//	      ◄── one atomic script ◄── []Change, an undo file before it ◄── queue, migrate
//	      ◄── one atomic script ◄── Guard
//
// A look only reads, and needs no right but to read: what a server refuses is named, and the rest is told. All changes go
// through one script, which sees each member as it is at that instant.
package ops
