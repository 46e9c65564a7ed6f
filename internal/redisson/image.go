package redisson

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// imageName is that of docker/redisson and docker/build-local.sh.
const imageName = "dq-bench/redisson"

// dockerTimeout bounds a question to the Docker daemon.
const dockerTimeout = 20 * time.Second

// findImage returns the program as an image of the release that Docker has here; nothing is pulled. The container shares the
// host's network, so that it reaches the same servers by the same addresses. missing is why there is nothing better.
func (b builder) findImage(ctx context.Context, release wire.Release, missing error) (*Program, error) {
	image := imageName + ":" + release.String()
	docker, err := exec.LookPath("docker")
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
		defer cancel()
		err = exec.CommandContext(ctx, docker, "image", "inspect", "--format", "{{.Id}}", image).Run()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; or, with Docker, have the image %s: docker/build-local.sh redisson-%s, or docker/redisson/Dockerfile",
			missing, image, release)
	}
	b.progress(fmt.Sprintf("no Java or no Maven here: Redisson %s runs from the image %s", release, image))
	return &Program{Release: release, Command: []string{docker, "run", "--interactive", "--rm", "--network", "host", image}}, nil
}
