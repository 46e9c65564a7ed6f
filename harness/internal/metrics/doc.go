// Package metrics answers: what would a monitoring system ask?
//
// While a run lasts, a Server tells Prometheus how it stands, and lets Go's
// profiler in. It asks the run when it is asked itself, so that a run that nobody
// looks at costs nothing more. Queues that dq-bench inspect watches are served the
// same way, as they were seen last.
package metrics
