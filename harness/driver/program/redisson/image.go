package redisson

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// imageName is that of docker/redisson and docker/build-local.sh.
const imageName = "dq-bench/redisson"

// dockerTimeout bounds a question to the Docker daemon.
const dockerTimeout = 20 * time.Second

// findImage returns the program as an image of the release that Docker has here;
// nothing is pulled. The container shares the host's network, so that it reaches
// the same servers by the same addresses. missing is why there is nothing better.
func (b builder) findImage(ctx context.Context, version string, missing error) (*Program, error) {
	image := imageName + ":" + version
	docker, err := exec.LookPath("docker")
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
		defer cancel()
		err = exec.CommandContext(ctx, docker, "image", "inspect", "--format", "{{.Id}}", image).Run()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; or, with Docker, have the image %s: docker/build-local.sh redisson-%s, or docker/redisson/Dockerfile",
			missing, image, version)
	}
	b.progress(fmt.Sprintf("no Java or no Maven here: Redisson %s runs from the image %s", version, image))
	return &Program{Version: version, Command: []string{docker, "run", "--interactive", "--rm", "--network", "host", image}}, nil
}
