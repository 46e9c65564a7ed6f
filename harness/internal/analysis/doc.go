// Package analysis answers: what does a MONITOR log say about the delay queues in it?
//
// It reads lines one after another and keeps no more than what is alive: messages that
// wait or have not been taken, connections, and a bounded number of findings. Data flows
// one way:
//
//	monitor.Scanner → Analysis.Line → calls → queues → findings → Document
//
// A call is a command of a client with the commands of its script. What a call did is
// taken from the commands that ran, never from what was asked for: an EVALSHA that the
// server did not know leaves no trace but its line. Commands of scripts go to the queue
// whose key they name, so that lines of several servers may be mixed.
//
// What MONITOR does not show is modelled: which member a command without one took, and
// which client got an element, since replies are not logged. A command on a queue's keys
// that the model does not know makes what it says about that queue's pending list unsure,
// and then nothing is said about it.
package analysis
