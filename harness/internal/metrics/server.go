package metrics

import (
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Handler answers /metrics and /debug/pprof/.
func Handler(tool run.Tool, what Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		w := new(Writer)
		if err := what.WriteMetrics(w); err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Family("dq_bench_build_info", Gauge, "1, labelled with the build.")
		w.Sample(1, "goversion", runtime.Version(), "version", tool.Version)
		w.process()
		out.Header().Set("Content-Type", contentType)
		_, _ = out.Write(w.Bytes()) // a client that is gone has no answer
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", programName)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// process writes the families of the process that people watch in a long run.
func (w *Writer) process() {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	w.Family("go_goroutines", Gauge, "Goroutines that exist.")
	w.Sample(float64(runtime.NumGoroutine()))
	w.Family("go_memstats_heap_alloc_bytes", Gauge, "Heap in use.")
	w.Sample(float64(memory.HeapAlloc))
	w.Family("go_gc_cycles_total", Counter, "Garbage collections that ended.")
	w.Sample(float64(memory.NumGC))
}

// programName stands for pprof.Cmdline: the arguments may hold passwords.
func programName(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, os.Args[0]) // a client that is gone has no answer
}
