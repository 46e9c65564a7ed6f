package run

import "fmt"

// ToolUsage is what the process of a part used in the measured phase.
type ToolUsage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUShare is how much of the time of all its processors it used while messages were
	// offered, from 0 to 1; 0 where that is not known.
	CPUShare       float64 `json:"cpu_share,omitempty"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// SchedulingP99 is how long a goroutine that could run waited for a processor, in
	// ns; 0 where that is not known.
	SchedulingP99 int64 `json:"scheduling_p99_ns,omitempty"`
}

// ServerStats is what the server did in the measured phase, drain included. It
// counts all clients of the server, not only those of the run.
type ServerStats struct {
	// TransferCalls counts zrangebyscore, which each transfer script calls once.
	TransferCalls           int64   `json:"transfer_calls"`
	TransferCallsPerMessage float64 `json:"transfer_calls_per_message"`
	Commands                int64   `json:"commands"`
	CPUSeconds              float64 `json:"cpu_seconds"`
	// CPUShare is how much of the time of one processor the server used while messages were
	// offered, of several masters the busiest: commands run on one. It may be above 1, for
	// it has other threads too, and is 0 where that is not known.
	CPUShare float64 `json:"cpu_share,omitempty"`
	// SlowCommands is how many the server has put into its slow log; missing where it
	// has none, or the user may not read it.
	SlowCommands *int64 `json:"slow_commands,omitempty"`
}

// check refuses statistics that no server has, nor a sum over many runs could take.
func (s *ServerStats) check() error {
	if s == nil {
		return nil
	}
	for _, v := range []float64{float64(s.TransferCalls), s.TransferCallsPerMessage, float64(s.Commands), s.CPUSeconds, s.CPUShare} {
		switch {
		case v < 0:
			return fmt.Errorf("damaged: a negative figure in the server statistics %+v", *s)
		case v > maxCount:
			return fmt.Errorf("damaged: a figure above %d in the server statistics %+v", int64(maxCount), *s)
		}
	}
	return nil
}
