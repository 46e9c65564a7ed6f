package series

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// DefaultDriver is what a plan that names no driver is run with.
const DefaultDriver = "dq"

// Case is one plan, and the sides to run it with.
type Case struct {
	scenario.Run
	// Folder is below the one of the series; it is empty for the only case.
	Folder string
	Sides  []Side
}

// Cases makes a case of each run: with the drivers, or if there are none with the one of
// its scenario, each on every server. A run whose fleet says itself which drivers run would be
// the same for each of the drivers: it is left out, and named in left. Its error is wrong usage,
// also where no run remains.
func Cases(runs []scenario.Run, drivers, servers []string) (cases []Case, left []string, err error) {
	for _, server := range servers {
		if _, err := redis.Parse(server); err != nil {
			return nil, nil, err
		}
	}
	if len(drivers) > 0 {
		all := runs
		runs = slices.DeleteFunc(slices.Clone(runs), fixed)
		for _, r := range all {
			if fixed(r) {
				left = append(left, r.Plan.Name)
			}
		}
		if len(runs) == 0 && len(left) > 0 {
			return nil, nil, fmt.Errorf("--driver: %s names the driver of each member of its fleet, so that none can be given: leave --driver out", strings.Join(left, ", "))
		}
	}
	folders, err := caseFolders(runs)
	if err != nil {
		return nil, nil, err
	}
	cases = make([]Case, len(runs))
	for i, r := range runs {
		specs := drivers
		switch {
		case len(specs) > 0:
		case r.Driver != "":
			specs = []string{r.Driver}
		default:
			specs = []string{DefaultDriver}
		}
		sides, err := cross(specs, servers)
		if err != nil {
			return nil, nil, err
		}
		cases[i] = Case{Run: r, Folder: folders[i], Sides: sides}
	}
	return cases, left, nil
}

// fixed reports whether a run leaves no driver to choose.
func fixed(r scenario.Run) bool {
	return len(r.Plan.Fleet) > 0 && !slices.ContainsFunc(r.Plan.Fleet, func(m plan.Member) bool { return m.Driver == "" })
}

// cross makes a side of each driver on each server.
func cross(drivers, servers []string) ([]Side, error) {
	var sides []Side
	for _, name := range drivers {
		d, err := spec.Parse(name)
		if err != nil {
			return nil, err
		}
		for _, server := range servers {
			at, err := redis.Parse(server)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(name, "redisson:") && at.Address.Files != (redis.Files{}) {
				return nil, fmt.Errorf("--driver %s: the program of Redisson trusts by the system's authorities alone and has no certificate: expected --redis without files for TLS", name)
			}
			if strings.HasPrefix(name, "redisson:") && at.Address.Unix {
				return nil, fmt.Errorf("--driver %s: Redisson connects by TCP alone: expected --redis with a host and a port, got %s", name, redis.Redact(server))
			}
			side := Side{Spec: name, Driver: d}
			if len(servers) > 1 {
				side.Redis = server
			}
			sides = append(sides, side)
		}
	}
	return sides, nil
}

// caseFolders are scenario/variant, or the variants' names if all are of one scenario.
func caseFolders(runs []scenario.Run) ([]string, error) {
	folders := make([]string, len(runs))
	if len(runs) == 1 {
		return folders, nil
	}
	scenarios, seen := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		name, _, _ := strings.Cut(r.Plan.Name, "/")
		scenarios[name] = true
	}
	for i, r := range runs {
		if seen[r.Plan.Name] {
			return nil, fmt.Errorf("file: %s is there twice, and would overwrite its own runs; --repeat runs it several times", r.Plan.Name)
		}
		seen[r.Plan.Name] = true
		name := r.Plan.Name
		if len(scenarios) == 1 {
			name = path.Base(name)
		}
		folders[i] = filepath.FromSlash(name)
	}
	return folders, nil
}

// ParseLabels reads key=value texts.
func ParseLabels(texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("label: expected key=value, got %q", text)
		}
		labels[key] = value
	}
	return labels, nil
}
