package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// deployed starts the processes of a manifest on this machine: one run, and agents that join it.
// With TLS, the run has a certificate.
func deployed(t *testing.T, run, agent []string, agents int, withTLS bool) {
	t.Helper()
	folder := t.TempDir()
	token := filepath.Join(folder, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())
	at := map[string]string{"--listen": addr, "--join": addr}
	if withTLS {
		files, err := redistest.WriteCertificate(folder)
		require.NoError(t, err)
		at = map[string]string{"--listen": addr + "?tls_cert=" + files.Cert + "&tls_key=" + files.Key, "--join": addr + "?tls_ca=" + files.CA}
	}
	here := func(args []string) []string {
		replaced := slices.Clone(args)
		for i, arg := range replaced {
			name, _, _ := strings.Cut(arg, "=")
			switch name {
			case "--redis":
				replaced[i] = "--redis=" + redistest.Redis(t).URL()
			case "--listen", "--join":
				replaced[i] = name + "=" + at[name]
			case "--token-file":
				replaced[i] = name + "=" + token
			case "--out":
				replaced[i] = "--out=" + filepath.Join(folder, "out")
			case "--duration":
				replaced[i] = "--duration=1s"
			case "--delay":
				replaced[i] = "--delay=100ms"
			}
		}
		return replaced
	}
	var all sync.WaitGroup
	for range agents {
		all.Go(func() { assert.Zero(t, Execute(here(agent), nil, io.Discard, io.Discard)) })
	}
	var out, told strings.Builder
	// A busy machine sends late, and nothing else may fail.
	code := Execute(append(here(run), "--warmup=0s", "--slo=none", "--set=max_schedule_lag=1m", "--json"), nil, &out, &told)
	require.Equal(t, exitOK, code, "%s%s", out.String(), told.String())
	all.Wait()
	var document struct {
		Agents int
		Counts struct{ Offered, Delivered int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &document))
	require.Equal(t, agents, document.Agents)
	require.EqualValues(t, 1000, document.Counts.Delivered)
}

// The containers of the compose file are one run and its agents.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Command []string
			Deploy  struct{ Replicas int }
		}
	}
	data, err := os.ReadFile("../../../docker/compose.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &file))
	agents := file.Services["agent"]
	require.Contains(t, file.Services["run"].Command, "--agents="+strconv.Itoa(agents.Deploy.Replicas))
	deployed(t, file.Services["run"].Command, agents.Command, agents.Deploy.Replicas, false)
}

// manifest is what the tests read of a Job or a Deployment.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Spec       struct {
		Parallelism  int
		Replicas     int
		BackoffLimit *int `yaml:"backoffLimit"`
		Template     struct {
			Spec struct {
				SecurityContext struct {
					RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
					SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				Containers []struct {
					Args            []string
					SecurityContext struct {
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path string } `yaml:"httpGet"`
}

// manifestsOf returns the documents of a kind.
func manifestsOf(t *testing.T, path, kind string) (all []manifest) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for documents := yaml.NewDecoder(file); ; {
		var m manifest
		if err := documents.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		if m.Kind == kind {
			all = append(all, m)
		}
	}
}

// The exit code of the Job is the verdict on the whole; its agents are a Job of their own. No container may write
// to its root, or do more than an unprivileged user may.
func TestKubernetesJob(t *testing.T) {
	t.Parallel()
	jobs := manifestsOf(t, "../../../docker/k8s-job.yaml", "Job")
	require.Len(t, jobs, 2)
	for _, j := range jobs {
		require.Equal(t, "batch/v1", j.APIVersion)
		require.Zero(t, *j.Spec.BackoffLimit)
		pod := j.Spec.Template.Spec
		require.True(t, pod.SecurityContext.RunAsNonRoot)
		require.Equal(t, "RuntimeDefault", pod.SecurityContext.SeccompProfile.Type)
		require.True(t, pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
		require.False(t, *pod.Containers[0].SecurityContext.AllowPrivilegeEscalation)
		require.Equal(t, []string{"ALL"}, pod.Containers[0].SecurityContext.Capabilities.Drop)
	}
	run, agents := jobs[0].Spec, jobs[1].Spec
	args := run.Template.Spec.Containers[0].Args
	require.Contains(t, args, "--agents="+strconv.Itoa(agents.Parallelism))
	deployed(t, args, agents.Template.Spec.Containers[0].Args, agents.Parallelism, true)
}

// The guards of the Deployment and of the unit deliver, serve metrics, and may do no more than an unprivileged user.
func TestGuardManifests(t *testing.T) {
	t.Parallel()
	deployments := manifestsOf(t, "../../../docker/k8s-guard.yaml", "Deployment")
	require.Len(t, deployments, 1)
	require.Equal(t, 2, deployments[0].Spec.Replicas)
	container := deployments[0].Spec.Template.Spec.Containers[0]
	require.Equal(t, "/metrics", container.LivenessProbe.HTTPGet.Path)
	require.Equal(t, "/metrics", container.ReadinessProbe.HTTPGet.Path)
	unit, err := os.ReadFile("../../../docker/dq-guard.service")
	require.NoError(t, err)
	_, command, ok := strings.Cut(string(unit), "ExecStart=/usr/local/bin/dq-bench ")
	require.True(t, ok)
	command, _, _ = strings.Cut(command, "\n")
	for _, args := range [][]string{container.Args, strings.Fields(command)} {
		srv := redistest.Redis(t)
		client := redistest.Client(srv)
		defer client.Close()
		require.NoError(t, offered(t.Context(), client, "orders", wire.LayoutBc0Lc0, "x", time.Now().Add(-time.Minute)))
		var all []string
		for i := 0; i < len(args); i++ {
			switch {
			case args[i] == "--listen":
				i++
			case !strings.HasPrefix(args[i], "--redis=") && !strings.HasPrefix(args[i], "--listen="):
				all = append(all, args[i])
			}
		}
		require.Zero(t, Execute(append(all, "--redis="+srv.URL(), "--listen=127.0.0.1:0", "--for=1s"), nil, io.Discard, io.Discard))
		require.EqualValues(t, 1, client.LLen(t.Context(), "orders").Val())
	}
}
