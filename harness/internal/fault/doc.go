// Package fault answers: what if it breaks?
//
// A plan says what breaks when (plan.Fault). An Injector stands between the implementation and
// the server, does that, and notes when it began and ended; Account says what it did to the
// messages. How each fault is done is in network.go (in the proxy), settings.go (by commands to
// the server) and process.go (by signals to it).
package fault
