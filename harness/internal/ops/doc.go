// Package ops finds faults of live queues, and repairs them.
//
//	Redis ── reads in pipelines ──► Look ── rules ──► findings, each with one next command ──► text, JSON, metrics, page
//	      ◄── one atomic script ◄── []Change, an undo file before it ◄── queue, migrate
//	      ◄── one atomic script ◄── Guard
//
// A look only reads, and needs no right but to read: it names the calls that a server refuses, and shows the rest. All changes go
// through one script, which sees each member as it is at that instant.
//
// The values in a queue are told apart by their bytes: DetectValue. With an application's classes and Redisson's own codecs a Java
// reads them, converts them to another codec, and writes Go types for their classes: StartJava, JavaValues.java.
package ops
