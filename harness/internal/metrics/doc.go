// Package metrics answers: what would a monitoring system ask?
//
// A Source writes its families in Prometheus' text format each time somebody asks. A
// run that is not scraped costs nothing. Queues are served as doctor saw them last.
package metrics
