package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// side is the services of one Redisson release: they offer to each queue, and transfer without a pause. The texts are
// Redisson's; a JVM would not follow a server that dies as fast.
type side struct {
	release string
	sent    sync.Map // value → when it is due, in Unix ms; 0 if the answer to the offer was lost
}

func (s *side) run(ctx context.Context, t *testing.T, conn redis.Conn, queues []string) {
	r := must(wire.LookupRelease(s.release))
	offerScript, _ := r.Script(wire.ScriptOffer)
	transferScript, _ := r.Script(wire.ScriptTransfer)
	offer, transfer := redis.NewScript(offerScript.Body), redis.NewScript(transferScript.Body)
	for n := 0; ctx.Err() == nil; n++ {
		for i, queue := range queues {
			names := wire.NamesOf(queue)
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			if (n+i)%4 == 0 {
				id := any(int64(rand.Uint64()>>2 | 1<<61))
				if r.Layout() == wire.LayoutBc0Lc0 {
					id = binary.LittleEndian.AppendUint64(nil, rand.Uint64())
				}
				value, due := fmt.Sprintf("%s %s %d", queue, s.release, n), time.Now().UnixMilli()+2500+rand.Int64N(500)
				err := conn.Run(call, offer, []string{names.Destination, names.TimeoutSet, names.Pending, names.Channel}, due, id, value).Err()
				if err != nil && !errors.Is(err, redis.Nil) {
					due = 0
				}
				s.sent.Store(value, due)
			}
			_ = conn.Run(call, transfer, []string{names.Destination, names.TimeoutSet, names.Pending}, time.Now().UnixMilli(), 100) // fails at the other layout
			cancel()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fleet is 20 queues on a server that keeps everything on disk, two guards of all queues, and what services sent.
type fleet struct {
	t         *testing.T
	ctx       context.Context
	srv       *redis.Server
	conn      redis.Conn
	queues    []string
	guards    sync.WaitGroup
	killGuard func() // one of the two
}

func newFleet(t *testing.T, limit time.Duration) *fleet {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	f := &fleet{t: t, ctx: ctx, srv: redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")}
	f.conn = f.srv.Conn()
	for i := range 20 {
		f.queues = append(f.queues, "queue-"+strconv.Itoa(i))
	}
	_, f.killGuard = f.guard(), f.guard()
	t.Cleanup(func() { cancel(); f.guards.Wait(); _ = f.conn.Close() })
	return f
}

// guard keeps a guard of all queues running, as a supervisor does: one that finds no server at its start ends.
func (f *fleet) guard() (kill func()) {
	var running atomic.Pointer[exec.Cmd]
	f.guards.Go(func() {
		for f.ctx.Err() == nil {
			cmd := exec.CommandContext(f.ctx, "dq-bench", "guard", "--all", "--redis", f.srv.URL())
			if cmd.Start() == nil {
				running.Store(cmd)
				_ = cmd.Wait()
			}
		}
	})
	return func() {
		if cmd := running.Load(); cmd != nil {
			_ = cmd.Process.Kill()
		}
	}
}

// killGuards kills one guard at random instants. Any instant: there is no event to wait for.
func (f *fleet) killGuards(length time.Duration, kills int, half func()) {
	for i := range kills {
		time.Sleep(time.Duration(rand.Int64N(int64(length) / int64(kills))))
		f.killGuard()
		if i == kills/2 {
			half()
		}
	}
}

// migrate is killed at a random instant, and goes on.
func (f *fleet) migrate(release string) {
	migrate := func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, "dq-bench", "migrate", "--all", "--to", release, "--yes", "--redis", f.srv.URL())
	}
	half, cancel := context.WithTimeout(f.ctx, time.Duration(rand.Int64N(int64(200*time.Millisecond))))
	defer cancel()
	_ = migrate(half).Run() // killed, or done before
	output, err := migrate(f.ctx).CombinedOutput()
	if strings.Contains(string(output), "left: ") { // of an offer whose reply was lost: the same command goes on
		output, err = migrate(f.ctx).CombinedOutput()
	}
	require.NoError(f.t, err, string(output))
}

func (f *fleet) drained() {
	for waiting := int64(1); waiting > 0; time.Sleep(20 * time.Millisecond) {
		require.NoError(f.t, f.ctx.Err())
		waiting = 0
		for _, queue := range f.queues {
			set, err := f.conn.Do(f.ctx, "ZCARD", wire.NamesOf(queue).TimeoutSet).Int64()
			held, err2 := f.conn.Do(f.ctx, "ZCARD", ops.AheadKey(queue)).Int64()
			require.NoError(f.t, errors.Join(err, err2))
			waiting += set + held
		}
	}
}

// account fails if a message that was offered is lost, or came twice.
func (f *fleet) account(sent ...*sync.Map) {
	came := map[string]int{}
	for _, queue := range f.queues {
		values, err := f.conn.Do(f.ctx, "LRANGE", queue, 0, -1).StringSlice()
		require.NoError(f.t, err)
		for _, v := range values {
			came[v]++
		}
	}
	offered, uncertain, lost, twice := 0, 0, []any{}, []any{}
	for _, some := range sent {
		some.Range(func(value, due any) bool {
			offered++
			switch n := came[value.(string)]; {
			case due.(int64) == 0:
				uncertain++
			case n == 0:
				lost = append(lost, value)
			case n > 1:
				twice = append(twice, value)
			}
			return true
		})
	}
	f.t.Logf("offered %d, of these %d uncertain", offered, uncertain)
	require.Empty(f.t, lost, "of %d lost", offered)
	require.Empty(f.t, twice, "of %d twice", offered)
}

// Services of both layouts on 20 queues and two guards of all queues. One guard is killed at random instants and begins
// again, the server is killed once, and at the end of the roll migrate is killed too: no message is lost or comes twice.
func TestGuardsOfAFleet(t *testing.T) {
	t.Parallel()
	length, kills := 1500*time.Millisecond, 1
	if redistest.Thorough() {
		length, kills = 30*time.Second, 15
	}
	f := newFleet(t, 3*time.Minute)
	sides := []*side{{release: "3.16.6"}, {release: "4.7.0"}}
	oldest, endOld := context.WithCancel(f.ctx)
	newest, endNew := context.WithCancel(f.ctx)
	defer func() { endNew(); endOld() }()
	var old, running sync.WaitGroup
	old.Go(func() { sides[0].run(oldest, t, f.conn, f.queues) })
	running.Go(func() { sides[1].run(newest, t, f.conn, f.queues) })
	f.killGuards(length, kills, func() { require.NoError(t, f.srv.Nodes()[0].Restart(f.ctx)) })
	endOld() // the roll is over
	old.Wait()
	f.migrate("4.7.0")
	endNew()
	running.Wait()
	f.drained()
	f.account(&sides[0].sent, &sides[1].sent)
}

// deployed starts the processes of a manifest on this machine: one run, and agents that join it. With TLS, the run has a certificate.
func deployed(t *testing.T, run, agent []string, agents int, withTLS bool) {
	t.Helper()
	folder := t.TempDir()
	token := filepath.Join(folder, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	listener := must(net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))) // no client of another test has such a port
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())
	values := map[string]string{
		"--redis": redistest.Redis(t).URL(), "--listen": addr, "--join": addr, "--token-file": token, "--out": filepath.Join(folder, "out"),
		"--duration": "1s", "--delay": "100ms",
	}
	if withTLS {
		files := must(redistest.WriteCertificate(folder))
		values["--listen"] += "?tls_cert=" + files.Cert + "&tls_key=" + files.Key
		values["--join"] += "?tls_ca=" + files.CA
	}
	here := func(args []string) (replaced []string) {
		for _, arg := range args {
			name, _, _ := strings.Cut(arg, "=")
			if value, ok := values[name]; ok {
				arg = name + "=" + value
			}
			replaced = append(replaced, arg)
		}
		return replaced
	}
	codes := make(chan int, agents)
	for range agents {
		go func() { codes <- Execute(here(agent), nil, io.Discard, io.Discard) }()
	}
	var out, told strings.Builder
	// A busy machine sends late, and nothing else may fail.
	code := Execute(append(here(run), "--warmup=0s", "--slo=none", "--set=max_schedule_lag=1m", "--json"), nil, &out, &told)
	require.Equal(t, exitOK, code, "%s%s", out.String(), told.String())
	for range agents {
		require.Zero(t, <-codes)
	}
	var document struct {
		Agents int
		Counts struct{ Offered, Delivered int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &document))
	require.Equal(t, agents, document.Agents)
	require.EqualValues(t, 1000, document.Counts.Delivered)
}

// manifests returns the documents of a YAML file that have a kind, "" for all.
func manifests(t *testing.T, file, kind string) (all []any) {
	t.Helper()
	data := must(os.ReadFile(filepath.Join("../../../docker", file)))
	for documents := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var m map[string]any
		if err := documents.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		if kind == "" || m["kind"] == kind {
			all = append(all, m)
		}
	}
}

// at returns what a document has at a path such as spec.containers.0.args, and wordsAt a list of texts.
func at(document any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		if list, ok := document.([]any); ok {
			document = list[must(strconv.Atoi(key))]
		} else {
			object, _ := document.(map[string]any)
			document = object[key]
		}
	}
	return document
}

func wordsAt(document any, path string) (all []string) {
	for _, text := range at(document, path).([]any) {
		all = append(all, text.(string))
	}
	return all
}

// The containers of the compose file are one run and its agents.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	services := at(manifests(t, "compose.yaml", "")[0], "services")
	agents := at(services, "agent.deploy.replicas").(int)
	require.Contains(t, wordsAt(services, "run.command"), "--agents="+strconv.Itoa(agents))
	deployed(t, wordsAt(services, "run.command"), wordsAt(services, "agent.command"), agents, false)
}

// The exit code of the Job is the verdict on the whole; its agents are a Job of their own. No container may write
// to its root, or do more than an unprivileged user may.
func TestKubernetesJob(t *testing.T) {
	t.Parallel()
	jobs := manifests(t, "k8s-job.yaml", "Job")
	require.Len(t, jobs, 2)
	const args, security = "spec.template.spec.containers.0.args", "spec.template.spec.containers.0.securityContext."
	for _, j := range jobs {
		for path, want := range map[string]any{
			"apiVersion": "batch/v1", "spec.backoffLimit": 0, "spec.template.spec.securityContext.runAsNonRoot": true,
			"spec.template.spec.securityContext.seccompProfile.type": "RuntimeDefault", security + "readOnlyRootFilesystem": true,
			security + "allowPrivilegeEscalation": false, security + "capabilities.drop": []any{"ALL"},
		} {
			require.Equal(t, want, at(j, path), path)
		}
	}
	agents := at(jobs[1], "spec.parallelism").(int)
	require.Contains(t, wordsAt(jobs[0], args), "--agents="+strconv.Itoa(agents))
	deployed(t, wordsAt(jobs[0], args), wordsAt(jobs[1], args), agents, true)
}

// The guards of the Deployment and of the unit deliver, serve metrics, and may do no more than an unprivileged user.
func TestGuardManifests(t *testing.T) {
	t.Parallel()
	deployments := manifests(t, "k8s-guard.yaml", "Deployment")
	require.Len(t, deployments, 1)
	require.Equal(t, 2, at(deployments[0], "spec.replicas"))
	container := at(deployments[0], "spec.template.spec.containers.0")
	require.Equal(t, "/metrics", at(container, "livenessProbe.httpGet.path"))
	require.Equal(t, "/metrics", at(container, "readinessProbe.httpGet.path"))
	unit := must(os.ReadFile("../../../docker/dq-guard.service"))
	_, command, ok := strings.Cut(string(unit), "ExecStart=/usr/local/bin/dq-bench ")
	require.True(t, ok)
	command, _, _ = strings.Cut(command, "\n")
	for _, args := range [][]string{wordsAt(container, "args"), strings.Fields(command)} {
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

func TestMigrationVerdict(t *testing.T) {
	none, refused := &ops.Migration{Name: "a"}, &ops.Migration{Name: "c", Refusal: "why", Left: 1}
	partial := &ops.Migration{Name: "e", Rewritten: map[string]int64{"ready": 3}, Partial: "interrupted", Left: 1}
	require.NoError(t, migrationVerdict([]*ops.Migration{none}))
	err := migrationVerdict([]*ops.Migration{none, refused, refused})
	require.EqualError(t, err, `queue "c": nothing was changed: why (and 1 queue more)`)
	require.NotErrorAs(t, err, new(*exitError), "the environment's")
	err = migrationVerdict([]*ops.Migration{partial})
	require.EqualError(t, err, `queue "e": ended after 3 messages or more were rewritten, which stay so: interrupted; the same command goes on`)
	require.ErrorAs(t, err, new(*exitError))
}
