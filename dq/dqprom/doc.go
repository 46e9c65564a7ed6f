// Package dqprom makes Prometheus metrics of a dq.Client's work and of its queues.
//
//	metrics := dqprom.NewMetrics()
//	client, err := dq.NewClient(rdb, dq.WithObserver(metrics.Observe))
//	registry.MustRegister(metrics, dqprom.NewQueues(rdb, "orders"))
//
// Metrics counts in the process: each instance of a service shows its own share, and their sum is the
// whole. Queues asks the server, whenever it is scraped, so that one instance is enough.
//
// All have the label queue, the destination queue's name. Durations are in seconds.
//
//	dq_offer_seconds{result}    offers, by how long they took: confirmed, uncertain, failed
//	dq_offered_total            messages that were confirmed
//	dq_transfer_seconds{result} runs of the transfer script: ok, failed
//	dq_transfer_late_seconds    how long after the earliest due time they were done: the part of the
//	                            lateness that this process is answerable for
//	dq_taken_total              messages that consumers of this process got
//	dq_handler_seconds{result}  calls of handlers: ok, error, panic
//	dq_retries_total            calls that were not the message's first attempt
//	dq_returned_total           messages that went back to the front of the queue
//	dq_quarantined_total        members that are unreadable, and were set aside
//	dq_disconnects_total        losses of the subscription's connection, without a queue
//	dq_clock_steps_total        times that this machine's wall clock was set by more than half a second,
//	                            whether it was followed or not, without a queue
//
//	dq_waiting                  messages that wait for their time
//	dq_ready                    messages that wait for a consumer
//	dq_overdue_seconds          how long the earliest waiting message has been due: more
//	                            than a second means that no client transfers
//	dq_held, dq_dead            messages that a dq.Worker holds, and its dead letters
package dqprom
