package cli

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, into))
}

// request is what the command line and environment of a container ask for.
func request(t *testing.T, args []string, env map[string]string) *runRequest {
	t.Helper()
	require.Equal(t, "run", args[0])
	f := newRunFlags()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(flags)
	f.changed = flags.Changed
	require.NoError(t, flags.Parse(args[1:]))
	require.NoError(t, flagsFromEnv(flags, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, io.Discard))
	r, err := f.request(io.Discard)
	require.NoError(t, err)
	return r
}

// The workers of the compose file are one whole, and merge waits for all.
func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
			Volumes     []string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	readYAML(t, "../../../docker/compose.yaml", &file)
	var shares []int
	for name, service := range file.Services {
		require.Subset(t, keys(file.Services), keys(service.DependsOn), name)
		if !strings.HasPrefix(name, "worker-") {
			continue
		}
		share := request(t, service.Command, service.Environment).options.Share
		require.Equal(t, 4, share.Worker.Count)
		require.NotNil(t, share.Start)
		shares = append(shares, share.Worker.Number%4)
		require.Equal(t, "service_completed_successfully", file.Services["merge"].DependsOn[name].Condition)
		require.Equal(t, "/out/workers/"+strings.TrimPrefix(name, "worker-"), service.Environment["DQ_OUT"])
	}
	require.ElementsMatch(t, []int{0, 1, 2, 3}, shares)
	merge := newMergeCmd()
	args := file.Services["merge"].Command
	require.Equal(t, "merge", args[0])
	require.NoError(t, merge.Flags().Parse(args[1:]))
	require.Equal(t, []string{"/out/workers"}, merge.Flags().Args())
	require.Contains(t, file.Volumes, "out")
}

func keys[V any](m map[string]V) []string {
	names := []string{}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Each completion index of the Job is a share of the whole.
func TestKubernetesJob(t *testing.T) {
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			BackoffLimit             *int `yaml:"backoffLimit"`
			Template                 struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	readYAML(t, "../../../docker/k8s-job.yaml", &job)
	require.Equal(t, "batch/v1 Job Indexed", strings.Join([]string{job.APIVersion, job.Kind, job.Spec.CompletionMode}, " "))
	require.Equal(t, job.Spec.Completions, job.Spec.Parallelism)
	require.Equal(t, 0, *job.Spec.BackoffLimit)
	for index := range job.Spec.Completions {
		var args []string
		for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
			args = append(args, strings.ReplaceAll(arg, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(index)))
		}
		worker := request(t, args, nil).options.Share.Worker
		require.Equal(t, plan.Worker{Number: index, Count: job.Spec.Completions}, worker)
	}
}
