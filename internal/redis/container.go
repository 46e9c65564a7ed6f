package redis

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
)

// DefaultImage is what "container" runs when no image is named. It is on
// Docker Hub; docker/build-local.sh makes the same name without a registry.
const DefaultImage = "redis:7.0"

const (
	// daemonTimeout bounds the question whether a Docker daemon answers.
	daemonTimeout = 3 * time.Second
	// pullIdle is how long a pull may stand still before it counts as impossible.
	pullIdle = 15 * time.Second
	// containerTimeout bounds creating, starting and removing a container, each.
	containerTimeout = 30 * time.Second
)

func startContainer(ctx context.Context, image string) (*Server, error) {
	if image == "" {
		image = DefaultImage
	}
	provider, err := dockerProvider(ctx)
	if err != nil {
		err = fmt.Errorf("expected a Docker daemon for container %s, none answers: %w: start one, or choose another --redis", image, &oneLine{err})
		return nil, &briefError{err, "no Docker daemon here"}
	}
	defer provider.Close()
	if err := haveImage(ctx, provider.Client(), image); err != nil {
		err = fmt.Errorf("expected image %s here or from its registry, the pull failed: %w: check the name, or build it with docker/build-local.sh", image, &oneLine{err})
		return nil, &briefError{err, "no image " + image + " here, and it cannot be pulled"}
	}
	s, err := runContainer(ctx, image)
	switch {
	case err == nil:
		return s, nil
	case strings.Contains(err.Error(), "reaper"):
		err = fmt.Errorf("container %s does not serve, testcontainers' reaper image cannot be had: %w: pull it or set TESTCONTAINERS_RYUK_DISABLED=true", image, err)
		return nil, &briefError{err, "no reaper image for containers here (TESTCONTAINERS_RYUK_DISABLED=true does without)"}
	}
	return nil, &briefError{fmt.Errorf("container %s does not serve: %w", image, err), "container " + image + " does not serve: " + (&oneLine{err}).Error()}
}

// hush keeps testcontainers from writing its banner to stderr between our own lines.
var hush = sync.OnceFunc(func() { log.SetDefault(log.NewNoopLogger()) })

// dockerProvider gives a provider whose daemon has answered. Finding the daemon
// can hang on a dead socket and ignores contexts, so it is waited for aside.
func dockerProvider(ctx context.Context) (*testcontainers.DockerProvider, error) {
	hush()
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	type answer struct {
		provider *testcontainers.DockerProvider
		err      error
	}
	got := make(chan answer, 1)
	go func() {
		if err := pingDockerHost(ctx); err != nil {
			got <- answer{nil, err}
			return
		}
		p, err := testcontainers.NewDockerProvider()
		if err == nil {
			_, err = p.Client().Ping(ctx, moby.PingOptions{})
		}
		got <- answer{p, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return nil, a.err
		}
		return a.provider, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pingDockerHost holds to DOCKER_HOST where it is set: testcontainers would turn
// to the default socket when that host does not answer.
func pingDockerHost(ctx context.Context) error {
	if os.Getenv("DOCKER_HOST") == "" {
		return nil
	}
	docker, err := moby.New(moby.FromEnv)
	if err != nil {
		return err
	}
	defer docker.Close()
	_, err = docker.Ping(ctx, moby.PingOptions{})
	return err
}

// haveImage pulls image unless the daemon has it. testcontainers would do so
// too, but retries an unreachable registry for a quarter of an hour.
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
		case err != nil && errors.Is(err, io.EOF):
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

// processLabel tells whose a container is: testcontainers' own label of a session is the same in
// all processes that one has started.
const processLabel = "dq-bench.pid"

func runContainer(ctx context.Context, image string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	// A daemon that is left while it makes a container goes on, and nobody would know of it.
	making, made := context.WithTimeout(context.WithoutCancel(ctx), containerTimeout)
	defer made()
	ctr, err := testcontainers.Run(making, image,
		testcontainers.WithNoStart(),
		testcontainers.WithExposedPorts("6379/tcp"),
		testcontainers.WithWaitStrategy(wait.ForLog(readyLine)),
		testcontainers.WithLabels(map[string]string{processLabel: strconv.Itoa(os.Getpid())}),
	)
	remove := func() error {
		return testcontainers.TerminateContainer(ctr, testcontainers.StopTimeout(0))
	}
	if err == nil {
		err = ctr.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(&oneLine{err}, removed(remove))
	}
	s := &Server{How: "container " + image, closer: func() error { return removed(remove) }}
	if s.Addr, err = ctr.PortEndpoint(ctx, "6379/tcp", ""); err != nil {
		return nil, errors.Join(&oneLine{err}, s.Close())
	}
	s.address.Hosts = []string{s.Addr}
	return identified(ctx, s)
}

// removed bounds the removal of a container, which takes no context.
func removed(remove func() error) error {
	done := make(chan error, 1)
	go func() { done <- remove() }()
	select {
	case err := <-done:
		return err
	case <-time.After(containerTimeout / 2):
		return errors.New("the Docker daemon does not remove the container in time")
	}
}
