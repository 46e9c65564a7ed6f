// Package container lets --redis start containers: a program that imports it can, and links a client of Docker, which is as large as all
// else. Tests of other packages do without.
package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	moby "github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/dq-bench/dq-bench/internal/redis"
)

func init() { redis.StartContainer = start }

const (
	// daemonTimeout bounds the search for a Docker daemon.
	daemonTimeout = 3 * time.Second
	// pullIdle bounds a pull without progress.
	pullIdle = 15 * time.Second
	// containerTimeout bounds the creation, the start and the removal of a container, each.
	containerTimeout = 30 * time.Second
	// processLabel names the process that started a container: testcontainers' label of a session is the same in its child processes.
	processLabel = "dq-bench.pid"
)

func start(ctx context.Context, image string) (addr string, stop func() error, err error) {
	provider, err := dockerProvider(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("no Docker daemon here: %w: start one for container %s, or choose another --redis", redis.OneLine(err), image)
	}
	defer provider.Close()
	if err := haveImage(ctx, provider.Client(), image); err != nil {
		return "", nil, fmt.Errorf("no image %s here, and it cannot be pulled: %w: check the name, or build it with docker/build-local.sh", image, redis.OneLine(err))
	}
	if addr, stop, err = run(ctx, image); err != nil {
		err = fmt.Errorf("container %s does not serve: %w", image, err)
	}
	if err != nil && strings.Contains(err.Error(), "reaper") {
		err = fmt.Errorf("no reaper image for containers here (TESTCONTAINERS_RYUK_DISABLED=true does without): %w", err)
	}
	return addr, stop, err
}

// hush keeps testcontainers from writing its banner to stderr between our own lines.
var hush = sync.OnceFunc(func() { log.SetDefault(log.NewNoopLogger()) })

// within returns what f returns, or an error at the end of ctx: f ignores contexts and can hang.
func within[T any](ctx context.Context, f func() (T, error)) (value T, err error) {
	done := make(chan func() (T, error), 1)
	go func() {
		value, err := f()
		done <- func() (T, error) { return value, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// dockerProvider returns a provider whose daemon has answered. If DOCKER_HOST is set its daemon must answer: testcontainers would turn to
// the default socket.
func dockerProvider(ctx context.Context) (*testcontainers.DockerProvider, error) {
	hush()
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	return within(ctx, func() (*testcontainers.DockerProvider, error) {
		if os.Getenv("DOCKER_HOST") != "" {
			docker, err := moby.New(moby.FromEnv)
			if err == nil {
				_, err = docker.Ping(ctx, moby.PingOptions{})
				_ = docker.Close()
			}
			if err != nil {
				return nil, err
			}
		}
		p, err := testcontainers.NewDockerProvider()
		if err == nil {
			_, err = p.Client().Ping(ctx, moby.PingOptions{})
		}
		return p, err
	})
}

// haveImage pulls an image unless the daemon has it. testcontainers retries an unreachable registry for a quarter of an hour.
func haveImage(ctx context.Context, docker moby.APIClient, image string) error {
	if _, err := docker.ImageInspect(ctx, image); err == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(pullIdle, func() { cancel(fmt.Errorf("no progress for %s", pullIdle)) })
	defer idle.Stop()
	pull, err := docker.ImagePull(ctx, image, moby.ImagePullOptions{})
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	defer pull.Close()
	for msg, err := range pull.JSONMessages(ctx) {
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errors.Join(err, context.Cause(ctx))
		case msg.Error != nil:
			return msg.Error
		}
		idle.Reset(pullIdle)
	}
	return context.Cause(ctx)
}

func run(ctx context.Context, image string) (addr string, stop func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	// A daemon finishes a container that it began, so the caller waits for it, to remove it.
	making, made := context.WithTimeout(context.WithoutCancel(ctx), containerTimeout)
	defer made()
	ctr, err := testcontainers.Run(making, image,
		testcontainers.WithNoStart(),
		testcontainers.WithExposedPorts("6379/tcp"),
		testcontainers.WithWaitStrategy(wait.ForLog(redis.ReadyLine)),
		testcontainers.WithLabels(map[string]string{processLabel: strconv.Itoa(os.Getpid())}),
	)
	stop = sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), containerTimeout/2)
		defer cancel()
		_, err := within(ctx, func() (any, error) { return nil, testcontainers.TerminateContainer(ctr, testcontainers.StopTimeout(0)) })
		return err
	})
	if err == nil {
		err = ctr.Start(ctx)
	}
	if err == nil {
		addr, err = ctr.PortEndpoint(ctx, "6379/tcp", "")
	}
	if err != nil {
		return "", nil, errors.Join(redis.OneLine(err), stop())
	}
	return addr, stop, nil
}
